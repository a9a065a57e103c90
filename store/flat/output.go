package flat

import (
	"bufio"
	"errors"
	"hash/crc32"
	"os"

	"github.com/memcore/memcore/internal/generation"
)

// An output appends to files of an unpublished generation.
type output struct {
	manifest // of all written so far
	last     *snapshot
	places   map[place]uint32 // the new ones

	vectors, codes, records, table *appender
}

// newOutput appends to last's files, or to new ones if it is empty.
func newOutput(next *generation.Next, last *snapshot) (*output, error) {
	out := &output{manifest: last.manifest, last: last, places: map[place]uint32{}}
	for _, file := range []struct {
		appender **appender
		name     string
		length   int64
	}{
		{&out.vectors, vectorsFile, last.vectorsSize()},
		{&out.codes, codesFile, last.codesSize()},
		{&out.records, recordsFile, last.Records},
		{&out.table, tableFile, last.tableSize()},
	} {
		f, err := next.Append(file.name, file.length)
		if err != nil {
			return nil, out.close(err)
		}
		*file.appender = &appender{f, file.length, bufio.NewWriterSize(f, 1<<16)}
	}
	return out, nil
}

// addRow completes e with place and offset.
func (o *output) addRow(p place, e entry, record []byte, vector []float32) error {
	number, err := o.placeNumber(p)
	if err != nil {
		return err
	}
	e.setNumber(number)
	e.setOffset(o.Records)
	code := NewCode(vector)
	e.setCodeSum(codeSumOf(code))
	if err := errors.Join(o.vectors.write(bytesOf(vector)), o.codes.write(code), o.records.write(record)); err != nil {
		return err
	}
	o.Records += int64(len(record))
	o.Rows++
	o.Live++
	return o.addEntry(e)
}

func (o *output) addDead(row uint32) error {
	o.Live--
	return o.addEntry(newDeadEntry(row))
}

func (o *output) placeNumber(p place) (uint32, error) {
	if number, known := o.last.log.known.find(o.last, p); known {
		return number, nil
	}
	if number, known := o.places[p]; known {
		return number, nil
	}
	number := uint32(len(o.last.places) + len(o.places))
	o.places[p] = number
	return number, o.addEntry(newPlaceEntry(p))
}

func (o *output) addEntry(e entry) error {
	o.Checksum = crc32.Update(o.Checksum, castagnoli, e)
	o.Entries += len(e) / entrySize
	return o.table.write(e)
}

// close truncates shared files after an error, its own or err, so that a full disk does not stay
// full.
func (o *output) close(err error) error {
	all := []*appender{o.vectors, o.codes, o.records, o.table}
	for _, a := range all {
		if a != nil {
			err = errors.Join(err, a.buffer.Flush())
		}
	}
	for _, a := range all {
		if a != nil {
			err = errors.Join(err, a.close(err != nil))
		}
	}
	return err
}

// An appender writes to the end of one file.
type appender struct {
	file   *os.File
	from   int64
	buffer *bufio.Writer
}

func (a *appender) write(b []byte) error {
	_, err := a.buffer.Write(b)
	return err
}

func (a *appender) close(undo bool) error {
	if undo {
		a.file.Truncate(a.from)
	}
	return a.file.Close()
}

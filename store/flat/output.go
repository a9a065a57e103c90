package flat

import (
	"bufio"
	"errors"
	"hash/crc32"
	"os"

	"github.com/memcore/memcore/internal/generation"
)

// An output appends to the files of a generation in preparation.
type output struct {
	meta   // of what is written so far
	last   *snapshot
	places map[place]uint32 // those that are new

	vectors, codes, records, table *appender
}

// newOutput appends behind what last has; to new files if that is empty.
func newOutput(next *generation.Next, last *snapshot) (out *output, err error) {
	out = &output{meta: last.meta, last: last, places: map[place]uint32{}}
	out.ByteOrder = byteOrder
	defer func() {
		if err != nil {
			err = out.close(err)
		}
	}()
	if out.vectors, err = newAppender(next, vectorsFile, last.vectorsSize()); err != nil {
		return out, err
	}
	if out.codes, err = newAppender(next, codesFile, last.codesSize()); err != nil {
		return out, err
	}
	if out.records, err = newAppender(next, recordsFile, last.Records); err != nil {
		return out, err
	}
	out.table, err = newAppender(next, tableFile, last.tableSize())
	return out, err
}

// addRow writes a row; e lacks only its place and where the record is.
func (o *output) addRow(p place, e entry, record []byte, vector []float32) error {
	number, err := o.placeNumber(p)
	if err != nil {
		return err
	}
	if o.Rows == maxRows || o.Entries > maxEntries-maxName/entrySize-2 {
		return errors.New("index is full")
	}
	e.setNumber(number)
	e.setOffset(o.Records)
	code := newCode(vector)
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

// placeNumber returns the number of a place, which gets one if it has none yet.
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

// close ends writing. After an error, its own or the one it is given, what was appended to shared
// files is cut off, so that a full disk is not left full.
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

func newAppender(next *generation.Next, name string, length int64) (*appender, error) {
	f, err := next.Append(name, length)
	if err != nil {
		return nil, err
	}
	return &appender{f, length, bufio.NewWriterSize(f, 1<<16)}, nil
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

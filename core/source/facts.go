package source

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/memcore/memcore/internal/filetime"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/varint"
)

// fileFacts are known about a file while it is unchanged.
type fileFacts struct {
	fileState
	sniffed
	reason string // why the file is skipped

	tooLarge bool // which is the reason
	passing  bool // another process may find otherwise though the file is unchanged
}

// A fileState tells an unchanged file.
type fileState struct {
	size              int64
	modified, changed time.Time   // as package filetime has them
	info              fs.FileInfo // nil if another process saw the file
}

func stateOf(info fs.FileInfo) fileState {
	return fileState{size: info.Size(), modified: filetime.Modified(info), changed: filetime.Changed(info), info: info}
}

func (s fileState) isOf(info fs.FileInfo) bool {
	return s.size == info.Size() && s.modified.Equal(filetime.Modified(info)) && s.changed.Equal(filetime.Changed(info)) &&
		(s.info == nil || os.SameFile(s.info, info))
}

// A factsFile keeps what is known about the logs of a folder for the next process: to read the
// beginnings of hundreds of logs takes longer than to answer. It is lost without harm.
type factsFile string

// enoughExamined is how many logs have to be new or changed for the file to be written: to examine
// fewer takes less than that.
const enoughExamined = 8

// load returns nothing if the file is missing, damaged, or of another build, which may know other
// formats.
func (f factsFile) load() map[string]fileFacts {
	known := map[string]fileFacts{}
	if f == "" {
		return known
	}
	text, err := os.ReadFile(string(f))
	if err != nil || len(text) < crc32.Size {
		return known
	}
	d := varint.Decoder{Rest: text[crc32.Size:]}
	if binary.LittleEndian.Uint32(text) != crc32.ChecksumIEEE(d.Rest) || d.Text() != build() {
		return known
	}
	for len(d.Rest) > 0 {
		path := d.Text()
		known[path] = fileFacts{
			fileState: fileState{size: d.Number(), modified: readTime(&d), changed: readTime(&d)},
			sniffed:   sniffed{format: d.Text(), cwd: d.Text(), branch: d.Text(), copyOf: d.Text()},
			reason:    d.Text(), tooLarge: d.Number() != 0,
		}
	}
	if d.End() != nil {
		return map[string]fileFacts{}
	}
	return known
}

// save writes the file if its folder exists. It leaves out files that were written when the folder
// was listed, since a second change within the step of a file's time does not show.
func (f factsFile) save(known map[string]fileFacts, listed time.Time) {
	if f == "" || build() == "" {
		return
	}
	if _, err := os.Stat(filepath.Dir(string(f))); err != nil {
		return
	}
	text := varint.Encoder(make([]byte, crc32.Size, 256*len(known)+crc32.Size))
	text.Texts(build())
	for path, facts := range known {
		if recent := listed.Add(-time.Second); facts.passing || facts.modified.After(recent) || facts.changed.After(recent) {
			continue
		}
		text.Texts(path)
		text.Numbers(facts.size)
		appendTime(&text, facts.modified)
		appendTime(&text, facts.changed)
		text.Texts(facts.format, facts.cwd, facts.branch, facts.copyOf, facts.reason)
		isLarge := int64(0)
		if facts.tooLarge {
			isLarge = 1
		}
		text.Numbers(isLarge)
	}
	binary.LittleEndian.PutUint32(text, crc32.ChecksumIEEE(text[crc32.Size:]))
	_ = safefile.Replace(filepath.Dir(string(f)), filepath.Base(string(f)), text, 0o600) // the next process examines the logs again
}

// build is the state of this program's file, or "".
var build = sync.OnceValue(func() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return fmt.Sprint(path, info.Size(), filetime.Modified(info).UnixNano(), filetime.Changed(info).UnixNano())
})

// appendTime keeps the zero time, which is unknown, apart from all others.
func appendTime(e *varint.Encoder, t time.Time) {
	if t.IsZero() {
		e.Numbers(0, -1)
		return
	}
	e.Numbers(t.Unix(), int64(t.Nanosecond()))
}

func readTime(d *varint.Decoder) time.Time {
	seconds, nanoseconds := d.Number(), d.Number()
	if nanoseconds < 0 {
		return time.Time{}
	}
	return time.Unix(seconds, nanoseconds)
}

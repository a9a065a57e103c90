package jsonfile

import (
	"errors"
	"os"

	"github.com/memcore/memcore/internal/safefile"
)

// AppendLine adds a line in one write, so that lines of several processes stay apart. It ends a
// line that a crash left unfinished.
func AppendLine(file string, line []byte) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_APPEND|os.O_CREATE|safefile.Nonblock, 0o600)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if unfinished(f) {
		line = append([]byte{'\n'}, line...)
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}

// unfinished reports whether the last line has no end.
func unfinished(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	var last [1]byte
	_, err = f.ReadAt(last[:], info.Size()-1)
	return err == nil && last[0] != '\n'
}

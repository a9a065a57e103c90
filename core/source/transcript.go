package source

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/beneath"
)

// Transcript reads the end of a conversation log: the turns in its last bytes, most of them, in any
// format that is indexed. A log that is one JSON document has to be read whole, so a larger one is
// an error. An agent names the file; whether the log is indexed does not matter.
func Transcript(ctx context.Context, path string, most int64) ([]chunker.Turn, error) {
	fail := func(err error) ([]chunker.Turn, error) {
		return nil, fmt.Errorf("read transcript %s: %w", path, err)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return fail(err)
	}
	for _, name := range []string{path, real} {
		if reason := DenyReason(name); reason != "" {
			return fail(fmt.Errorf("it is never opened: %s", reason))
		}
	}
	ext := strings.ToLower(filepath.Ext(real))
	if ext != ".jsonl" && ext != ".json" {
		return fail(fmt.Errorf("%s is the extension of no log", ext))
	}
	file, err := os.OpenFile(real, os.O_RDONLY|beneath.Nonblock, 0)
	if err != nil {
		return fail(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return fail(err)
	}
	if !info.Mode().IsRegular() {
		return fail(fmt.Errorf("it is %s", beneath.KindOf(info.Mode())))
	}
	head, err := readHead(real)
	if err != nil {
		return fail(err)
	}
	name, _ := sniff(head, ext == ".json", false)
	f, ok := formatNamed(name)
	if !ok {
		return fail(fmt.Errorf("it has %s", unknownFormat))
	}
	session := sessionOf(Document{File: real})
	if ext == ".json" {
		if info.Size() > most {
			return fail(fmt.Errorf("it has %d bytes, %d are read at most", info.Size(), most))
		}
		content, err := readJSONLog(ctx, file, f, session)
		if err != nil {
			return fail(err)
		}
		return content.Turns, nil
	}
	c := &conversation{progress: progress{session: session}}
	if c.start, err = lastLines(file, info.Size()-most); err != nil {
		return fail(err)
	}
	c.start.progress = c.progress
	if err := c.readLines(ctx, file, f); err != nil {
		return fail(err)
	}
	return c.told(), nil
}

// lastLines is where the first line begins that begins at or after an offset.
func lastLines(file *os.File, from int64) (mark, error) {
	if from <= 0 {
		return mark{}, nil
	}
	if _, err := file.Seek(from-1, io.SeekStart); err != nil {
		return mark{}, err
	}
	rest := bufio.NewReader(file)
	at := from - 1
	for {
		part, err := rest.ReadSlice('\n')
		at += int64(len(part))
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return mark{}, err
		}
		// The number of the line is not known, but it is not the first.
		return mark{offset: at, line: 1}, nil
	}
}

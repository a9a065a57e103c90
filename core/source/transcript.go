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
	"github.com/memcore/memcore/internal/safefile"
)

// Transcript reads the turns in a log's last most bytes; a JSON document must be smaller.
func Transcript(ctx context.Context, path string, most int64) ([]chunker.Turn, error) {
	turns, err := transcript(ctx, path, most)
	if err != nil {
		return nil, fmt.Errorf("read transcript %s: %w", path, err)
	}
	return turns, nil
}

func transcript(ctx context.Context, path string, most int64) ([]chunker.Turn, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{path, real} {
		if reason := DenyReason(name); reason != "" {
			return nil, fmt.Errorf("it is never opened: %s", reason)
		}
	}
	ext := strings.ToLower(filepath.Ext(real))
	if !isLog(real) {
		return nil, fmt.Errorf("no log has the extension %q", ext)
	}
	file, info, err := safefile.OpenPath(real)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	head, err := readHead(real)
	if err != nil {
		return nil, err
	}
	name, _ := sniff(head, ext == ".json", false)
	f, ok := formatNamed(name)
	if !ok {
		return nil, fmt.Errorf("it has %s", unknownFormat)
	}
	session := sessionOf(Document{File: real})
	if ext == ".json" {
		if info.Size() > most {
			return nil, fmt.Errorf("it has %d bytes, more than %d", info.Size(), most)
		}
		content, err := readJSONLog(ctx, file, f, session)
		return content.Turns, err
	}
	c := &conversation{progress: progress{session: session}}
	if c.start, err = firstLineFrom(file, info.Size()-most); err != nil {
		return nil, err
	}
	c.start.progress = c.progress
	if err := c.readLines(ctx, file, f); err != nil {
		return nil, err
	}
	return c.finished(), nil
}

// firstLineFrom finds the first line at or after an offset.
func firstLineFrom(file *os.File, from int64) (mark, error) {
	if from <= 0 {
		return mark{}, nil
	}
	if _, err := file.Seek(from-1, io.SeekStart); err != nil {
		return mark{}, err
	}
	rest := bufio.NewReader(file)
	for at := from - 1; ; at++ {
		b, err := rest.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return mark{offset: at, line: 1}, nil
		case err != nil:
			return mark{}, err
		case b == '\n':
			return mark{offset: at + 1, line: 1}, nil // any line number but that of the first
		}
	}
}

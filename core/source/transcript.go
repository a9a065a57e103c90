package source

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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

// openLog opens a log by its path, and finds its format.
func openLog(ctx context.Context, path string) (file *os.File, info fs.FileInfo, f format, err error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, nil, format{}, err
	}
	for _, name := range []string{path, real} {
		if reason := DenyReason(name); reason != "" {
			return nil, nil, format{}, fmt.Errorf("it is never opened: %s", reason)
		}
	}
	if !isLog(real) {
		return nil, nil, format{}, fmt.Errorf("no log has the extension %q", filepath.Ext(real))
	}
	file, info, err = safefile.OpenPath(real)
	if err != nil {
		return nil, nil, format{}, err
	}
	log, err := sniffLog(ctx, file, info.Size(), real, false)
	if err = cmp.Or(err, ctx.Err()); err != nil {
		return nil, nil, format{}, errors.Join(err, file.Close())
	}
	f, ok := formatNamed(log.format)
	if !ok {
		err = fmt.Errorf("it has %s", unknownFormat)
	} else if f.parse == nil {
		err = fmt.Errorf("a log of %s has no records of its own", f.name)
	} else {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, nil, format{}, errors.Join(err, file.Close())
	}
	return file, info, f, nil
}

// isLines reports whether each line of a log is a record.
func isLines(path string) bool { return !isJSON(path) && !isArchive(path) && !isMarkdown(path) }

func isJSON(path string) bool { return strings.EqualFold(filepath.Ext(path), ".json") }

// CheckLog returns why a file is no log that Transcript reads, or nil.
func CheckLog(ctx context.Context, path string) error {
	file, _, _, err := openLog(ctx, path)
	if err != nil {
		return fmt.Errorf("read log %s: %w", path, err)
	}
	return file.Close()
}

// IsMarkdownLog reports whether a Markdown file is the log of an agent.
func IsMarkdownLog(path string) bool {
	if !isMarkdownLog(path) {
		return false
	}
	file, info, err := safefile.OpenPath(path)
	if err != nil {
		return false
	}
	defer file.Close()
	log, err := sniffLog(context.Background(), file, info.Size(), path, false) // its first bytes
	return err == nil && log.format != ""
}

// TurnsIn reads the turns in lines of a log, the first of which has the number first.
func TurnsIn(ctx context.Context, path string, lines []byte, first int) ([]chunker.Turn, error) {
	file, _, f, err := openLog(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("read log %s: %w", path, err)
	}
	defer file.Close()
	c := &conversation{name: file.Name(), file: file.Name(), progress: progress{session: sessionOf(Document{File: file.Name()})}}
	for line := range bytes.Lines(lines) {
		if line = bytes.TrimSpace(line); len(line) > 0 {
			c.take(f, record{line: first, endLine: first, json: line}, 0)
		}
		first++
	}
	return c.finished(), ctx.Err()
}

func transcript(ctx context.Context, path string, most int64) ([]chunker.Turn, error) {
	file, info, f, err := openLog(ctx, path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	real := file.Name()
	session := sessionOf(Document{File: real})
	if isJSON(real) {
		if info.Size() > most {
			return nil, fmt.Errorf("it has %d bytes, more than %d", info.Size(), most)
		}
		content, err := readJSONLog(ctx, file, real, f, session)
		return content.Turns, err
	}
	c := &conversation{name: real, file: real, progress: progress{session: session}}
	log := newLogFile(file, info.Size(), real)
	if (log.packed || log.wide) && log.size > most {
		return nil, fmt.Errorf("it has %d bytes, more than %d", log.size, most)
	}
	if c.start, err = firstLineFrom(file, info.Size()-most); err != nil {
		return nil, err
	}
	c.start.progress = c.progress
	if err := c.readLines(ctx, log, f); err != nil {
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

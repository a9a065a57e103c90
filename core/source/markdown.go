package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// errBinary is what a file without text is refused with.
var errBinary = errors.New("not text: it contains NUL bytes")

var byteOrderMark = []byte("\xef\xbb\xbf")

// isMarkdown tells Markdown files by their names. MDX counts: it is prose with a few tags.
func isMarkdown(name string) bool {
	switch strings.ToLower(extension(name)) {
	case ".md", ".markdown", ".mdx":
		return true
	}
	return false
}

// readMarkdown returns the bytes of a text file, without a byte order mark.
func readMarkdown(ctx context.Context, file *os.File, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, errors.New(tooLarge(size, limit))
	}
	var text bytes.Buffer
	text.Grow(int(size) + bytes.MinRead)
	for {
		n, err := io.CopyN(&text, file, 1<<20)
		read := text.Bytes()[text.Len()-int(n):]
		switch {
		case bytes.IndexByte(read, 0) >= 0:
			return nil, errBinary
		case int64(text.Len()) > limit: // it has grown since
			return nil, errors.New(tooLarge(int64(text.Len()), limit))
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, io.EOF):
			return bytes.TrimPrefix(text.Bytes(), byteOrderMark), nil
		case err != nil:
			return nil, err
		}
	}
}

func tooLarge(size, limit int64) string {
	return fmt.Sprintf("%s, larger than the limit of %s", megabytes(size), megabytes(limit))
}

func megabytes(n int64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.4g MB", float64(n)/(1<<20))
}

// extension is that of a file name, "" for a hidden file without one (".md" is no Markdown file).
func extension(name string) string {
	if ext := filepath.Ext(name); ext != name {
		return ext
	}
	return ""
}

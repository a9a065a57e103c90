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

var errBinary = errors.New("not text: it contains NUL bytes")

var byteOrderMark = []byte("\xef\xbb\xbf")

// isMarkdown includes MDX, prose with tags, and MDC, rules of Cursor.
func isMarkdown(name string) bool {
	switch strings.ToLower(extension(name)) {
	case ".md", ".markdown", ".mdx", ".mdc":
		return true
	}
	return false
}

// readMarkdown drops a byte order mark.
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
		case int64(text.Len()) > limit:
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

// extension returns none for a file called ".md".
func extension(name string) string {
	if ext := filepath.Ext(name); ext != name {
		return ext
	}
	return ""
}

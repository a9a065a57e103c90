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

	"github.com/memcore/memcore/internal/text/charset"
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

// readText returns UTF-8, and the name of the encoding if that was not.
func readText(ctx context.Context, file *os.File, size, limit int64) (text []byte, encoding string, err error) {
	if size > limit {
		return nil, "", errors.New(tooLarge(size, limit))
	}
	var all bytes.Buffer
	all.Grow(int(size) + bytes.MinRead)
	for {
		n, err := io.CopyN(&all, file, 1<<20)
		read := all.Bytes()[all.Len()-int(n):]
		switch {
		case bytes.IndexByte(read, 0) >= 0 && !charset.HasMark(all.Bytes()):
			return nil, "", errBinary
		case int64(all.Len()) > limit:
			return nil, "", errors.New(tooLarge(int64(all.Len()), limit))
		case ctx.Err() != nil:
			return nil, "", ctx.Err()
		case errors.Is(err, io.EOF):
			text, encoding := charset.Decode(all.Bytes())
			if bytes.IndexByte(text, 0) >= 0 {
				return nil, "", errBinary
			}
			return text, encoding, nil
		case err != nil:
			return nil, "", err
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

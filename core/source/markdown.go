package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/internal/text/charset"
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// isMarkdown includes MDX, prose with tags, and MDC, rules of Cursor.
func isMarkdown(name string) bool {
	switch strings.ToLower(extension(name)) {
	case ".md", ".markdown", ".mdx", ".mdc":
		return true
	}
	return false
}

// A text is UTF-8 without NUL bytes.
type text struct {
	all      []byte
	encoding string // of the file, if it is not UTF-8
	nul      int    // the line where NUL bytes were left out, or 0
}

func readText(ctx context.Context, file io.Reader, size, limit int64) (text, error) {
	if size > limit {
		return text{}, errors.New(tooLarge(size, limit))
	}
	var all bytes.Buffer
	all.Grow(int(size) + bytes.MinRead)
	for {
		_, err := io.CopyN(&all, file, 1<<20)
		switch {
		case int64(all.Len()) > limit:
			return text{}, errors.New(tooLarge(int64(all.Len()), limit))
		case ctx.Err() != nil:
			return text{}, ctx.Err()
		case errors.Is(err, io.EOF):
			decoded, encoding := charset.Decode(all.Bytes())
			rest, nul, err := charset.CutNULs(decoded)
			return text{rest, encoding, nul}, err
		case err != nil:
			return text{}, err
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

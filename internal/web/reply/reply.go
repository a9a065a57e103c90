// Package reply reads answers of servers that are not trusted, such as models'. It bounds them, and
// makes errors that quote them safe to show.
package reply

import (
	"cmp"
	"encoding/base64"
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/sanitize"
	"github.com/memcore/memcore/internal/text/secret"
)

const (
	longest = 500      // the text of an Error, in characters
	read    = 32 << 10 // what is read of a long text for it, in bytes
)

// An Error quotes a server on one line, without secrets and control sequences.
type Error struct {
	err  error
	keys []string // the longest first
}

// New returns err as an Error, nil for nil. The server has the keys, which may be "". The address
// in net/http's errors is removed: it may hold a password.
func New(err error, keys ...string) error {
	if err == nil {
		return nil
	}
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	return &Error{err, partsOf(keys)}
}

// minPart is the least length of a line that may be a part of a key, in bytes.
const minPart = 8

// partsOf returns keys, also on one line and line by line, the longest first: a key may begin
// another.
func partsOf(keys []string) []string {
	var parts []string
	for _, key := range keys {
		parts = append(parts, key, strings.Join(strings.Fields(key), " "))
		for line := range strings.Lines(key) {
			if line = strings.TrimSpace(line); len(line) >= minPart {
				parts = append(parts, line)
			}
		}
	}
	slices.SortFunc(parts, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(parts)
}

// Unwrap returns the unchanged error.
func (e *Error) Unwrap() error { return e.err }

func (e *Error) Error() string {
	text := e.err.Error()
	cut := len(text) > read
	if cut {
		text = strings.ToValidUTF8(text[:read], "")
	}
	text = e.withoutKeys(text)
	// Again, without invisible characters within a key.
	text, _ = sanitize.Reveal(text)
	text = e.withoutKeys(strings.Join(strings.Fields(text), " "))
	text, _ = secret.Redact(text)
	runes := []rune(text)
	if cut { // it may end in half of a secret
		runes = runes[:max(len(runes)-longest-4*e.longestKey(), 0)]
	}
	if cut || len(runes) > longest {
		text = string(runes[:min(len(runes), longest)]) + "…"
	}
	return text
}

var quotation = lazy.Regexp(`"(?:[^"\\]|\\.)*"`)

// Unquoted returns an error of net/http without what it quotes of an answer: the server may repeat
// a key that New is not given.
func Unquoted(err error) error {
	return errors.New(quotation().ReplaceAllLiteralString(err.Error(), `"…"`))
}

func (e *Error) longestKey() int {
	if len(e.keys) == 0 {
		return 0
	}
	return len(e.keys[0])
}

func (e *Error) withoutKeys(text string) string {
	for _, key := range e.keys {
		text = withoutKey(text, key)
	}
	return text
}

func withoutKey(text, key string) string {
	if key == "" {
		return text
	}
	forms := []string{key, url.QueryEscape(key), url.PathEscape(key)}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		forms = append(forms, strings.TrimRight(encoding.EncodeToString([]byte(key)), "="))
	}
	for _, form := range forms {
		text = strings.ReplaceAll(text, form, "[key]")
	}
	return text
}

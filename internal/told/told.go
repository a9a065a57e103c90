// Package told hears servers that are not trusted, such as those of models: what one says is bounded, and an error with its words is
// fit to be shown to a person and put into a log.
//
// Servers repeat the key that they refuse, and what they were sent; and an answer may have been written by anybody.
package told

import (
	"encoding/base64"
	"errors"
	"net/url"
	"strings"

	"github.com/memcore/memcore/internal/sanitize"
	"github.com/memcore/memcore/internal/secret"
)

// longest is how much of an error is shown, in characters.
const longest = 500

// An Error is an error with words of a server's in it. Its text is one line without the key, in whatever form it was repeated, without anything else
// that looks like a secret, and without what a terminal would obey.
type Error struct {
	err error
	key string
}

// New returns err as it can be shown. key is what the server was sent to be let in, "" for nothing. An address that net/http puts
// before what went wrong, which may hold a password, is left out: who calls names the server. A nil err is nil.
func New(err error, key string) error {
	if err == nil {
		return nil
	}
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	return &Error{err, key}
}

// Unwrap returns the error with the server's words as they were.
func (e *Error) Unwrap() error { return e.err }

func (e *Error) Error() string {
	text := withoutKey(e.err.Error(), e.key)
	// Once more when what stood within the key is gone: a character that nobody sees, a line break instead of a blank.
	text, _ = sanitize.Reveal(text)
	text = withoutKey(strings.Join(strings.Fields(text), " "), e.key)
	text, _ = secret.Redact(text)
	if runes := []rune(text); len(runes) > longest {
		text = string(runes[:longest]) + "…"
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

package main

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/fatih/color"

	"github.com/memcore/memcore/internal/text/sanitize"
)

// A screen is standard output or standard error. It shows text without hidden characters and
// commands to terminals.
type screen struct {
	// raw is for protocols, hooks' answers, editors and progress bars.
	raw   io.Writer
	begun []byte // the first bytes of a character whose others follow
	mu    sync.Mutex
	key   string // stands for ESC in colours; no foreign text knows it
}

func newScreen(w io.Writer) *screen { return &screen{raw: w, key: rand.Text()} }

func (s *screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := append(s.begun, text...)
	whole := len(all)
	for i := 1; i < utf8.UTFMax && i <= len(all); i++ {
		if last := all[len(all)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				whole -= i
			}
			break
		}
	}
	s.begun = bytes.Clone(all[whole:])
	shown, _ := sanitize.Reveal(string(all[:whole]))
	if _, err := io.WriteString(s.raw, strings.ReplaceAll(shown, s.key, "\x1b")); err != nil {
		return 0, err
	}
	return len(text), nil
}

// paint colours text on a terminal, unless NO_COLOR is set.
func (s *screen) paint(attribute color.Attribute, text string) string {
	if !isTerminal(s) || attribute == color.Reset {
		return text
	}
	return strings.ReplaceAll(color.New(attribute).Sprint(strings.ReplaceAll(text, "\x1b", "")), "\x1b", s.key)
}

// json returns a writer for JSON, which escapes hidden characters.
func (s *screen) json() io.Writer { return jsonWriter{s.raw} }

// A jsonWriter takes whole JSON values.
type jsonWriter struct{ w io.Writer }

func (j jsonWriter) Write(text []byte) (int, error) {
	var b strings.Builder
	for _, r := range string(text) { // beyond ASCII it has characters in strings only
		if !isInvisible(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	if _, err := io.WriteString(j.w, b.String()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// isInvisible reports whether JSON escapes a character: controls, tags, and others that are not
// shown.
func isInvisible(r rune) bool {
	if r < 0x7F {
		return false // its encoder has escaped controls
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.Bidi_Control) ||
		r >= 0xE0000 && r <= 0xE0FFF
}

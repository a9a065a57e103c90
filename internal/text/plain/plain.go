// Package plain formats text for people.
package plain

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/memcore/memcore/internal/text/sanitize"
)

func Shorten(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// Thousands is a number for status bars: 812, 8.5k.
func Thousands(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n%1000 == 0:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fk", float64(n)/1000)
}

// Address is an address without its user and password.
func Address(address string) string {
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return address
	}
	scheme, _, ok := strings.Cut(address[:at], "://")
	if !ok {
		return address[at+1:]
	}
	return scheme + "://" + address[at+1:]
}

// Waits counts waiting proposals.
func Waits(n int) string {
	if n == 1 {
		return "1 proposal for memory waits"
	}
	return Count(n, "proposal") + " for memory wait"
}

// Count is "1 file" or "2 files".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Member is "ann (@platform, @ops)": a user of a service with teams.
func Member(user string, teams []string) string {
	if len(teams) == 0 {
		return user
	}
	return user + " (@" + strings.Join(teams, ", @") + ")"
}

// OneLine makes untrusted text safe for a terminal.
func OneLine(text string) string {
	text, _ = sanitize.Reveal(text)
	return strings.ReplaceAll(text, "\n", " ")
}

// Line formats a line. Its arguments may be foreign names: none ends the line or a column.
func Line(format string, args ...any) string {
	safe := make([]any, len(args))
	for i, arg := range args {
		switch v := arg.(type) {
		case error:
			arg = sanitize.Line(v.Error())
		case fmt.Stringer:
			arg = sanitize.Line(v.String())
		default:
			if text := reflect.ValueOf(arg); text.Kind() == reflect.String {
				arg = sanitize.Line(text.String())
			}
		}
		safe[i] = arg
	}
	return fmt.Sprintf(format, safe...)
}

// Bytes is a size: 812 B, 8.5 KB, 3.2 MB.
func Bytes(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1e6:
		return fmt.Sprintf("%.1f KB", float64(n)/1e3)
	case n < 1e9:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/1e9)
}

// Package section edits Markdown files.
package section

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/markdown/fence"
	"github.com/memcore/memcore/internal/markdown/statement"
	"github.com/memcore/memcore/internal/text/sanitize"
)

// Errors of Add.
var (
	ErrNothing = errors.New("there is nothing to add")
	ErrText    = errors.New("the file is not UTF-8 text: convert it first")
	ErrOpen    = errors.New("the text has a code fence or a comment that is not closed: close it")
)

// Errors of Strike.
var (
	ErrStruck    = errors.New("it is struck through already, or more than one paragraph")
	ErrLines     = errors.New("no such lines")
	ErrStatement = errors.New("these lines are not one statement, an item of a list or a paragraph")
)

// An OpenError is a section's open code fence or comment.
type OpenError struct{ Line int }

func (e *OpenError) Error() string {
	return fmt.Sprintf("the code fence or comment that begins in line %d is not closed: close it first", e.Line)
}

// A SaidError means that the file already makes the statement.
type SaidError struct {
	Line int    // from 1
	Text string // on one line
	Near bool   // the words differ
}

func (e *SaidError) Error() string {
	if e.Near {
		return fmt.Sprintf("line %d says about the same: %s", e.Line, e.Text)
	}
	return fmt.Sprintf("line %d says that already: %s", e.Line, e.Text)
}

// Add adds text at the end of a section, and returns the new text and the addition's line. It makes
// a missing section; "" is the end of the file. A single line becomes a list item.
// Invisible characters are removed.
//
// If the file makes the statement, or with near a similar one, the error is a *SaidError. An open
// code fence or comment is an *OpenError in the section, ErrOpen in the addition.
func Add(text, heading, addition string, near bool) (result string, line int, err error) {
	addition, _ = sanitize.Reveal(strings.ToValidUTF8(addition, ""))
	addition = strings.Trim(addition, "\n")
	switch {
	case strings.TrimSpace(addition) == "":
		return "", 0, ErrNothing
	case !utf8.ValidString(text) || strings.ContainsRune(text, 0):
		return "", 0, ErrText
	}
	if isItem := !strings.Contains(addition, "\n") && !strings.HasPrefix(addition, "#") && !strings.HasPrefix(addition, "```"); isItem && !statement.IsItem(addition) {
		addition = "- " + strings.TrimSpace(addition)
	}
	if _, last, _ := place(addition, ""); isOpen(addition, last) {
		return "", 0, ErrOpen
	}
	heading = title(heading)
	_, body, skipped, _ := chunker.SplitFrontmatter([]byte(text))
	if err := said(body, skipped, addition, near); err != nil {
		return "", 0, err
	}
	at, last, found := place(body, heading)
	if isOpen(body, last) {
		return "", 0, &OpenError{Line: skipped + last.Start + 1}
	}
	var added []string
	switch {
	case !found && heading != "":
		added = []string{"", "## " + heading, ""}
	case !(last.List && statement.IsItem(addition)):
		added = []string{""}
	}
	added = append(added, strings.Split(addition, "\n")...)
	return splice(text, at+skipped, added, len(added)-strings.Count(addition, "\n")-1)
}

// title returns a heading without marks and invisible characters.
func title(heading string) string {
	heading, _ = sanitize.Reveal(heading)
	return strings.TrimSpace(strings.TrimLeft(strings.Join(strings.Fields(heading), " "), "#"))
}

// said returns a *SaidError if body makes the statement.
func said(body string, skipped int, addition string, near bool) error {
	wanted := statement.Of(addition, 1)
	if len(wanted) != 1 {
		return nil // of several, some may be new
	}
	lines := strings.Split(body, "\n")
	for _, s := range statement.Of(body, 1) {
		if statement.IsStruck(strings.Join(lines[s.Start:s.End], "\n")) {
			continue // superseded
		}
		same := s.Words == wanted[0].Words
		if same || near && statement.Near(s.Words, wanted[0].Words) {
			return &SaidError{Line: skipped + s.Start + 1, Text: strings.Join(strings.Fields(strings.Join(lines[s.Start:s.End], " ")), " "), Near: !same}
		}
	}
	return nil
}

// place returns the end of a section's own text and its last block; without one the file's end.
func place(body, heading string) (at int, last chunker.Block, found bool) {
	for b := range chunker.Blocks(body) {
		if b.Level > 0 && heading != "" {
			if found {
				break
			}
			found = strings.EqualFold(plain(b.Title), plain(heading))
		}
		at, last = b.End, b
	}
	return at, last, found
}

// plain returns a heading without markup.
func plain(heading string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("`", "", "*", "", "_", "", `\`, "").Replace(heading)), " ")
}

func isOpen(body string, b chunker.Block) bool {
	if b.Prose || b.List || b.Level > 0 || b.End == 0 {
		return false
	}
	lines := strings.Split(body, "\n")[b.Start:b.End]
	if strings.HasPrefix(strings.TrimSpace(lines[0]), "<!--") {
		return !strings.Contains(strings.Join(lines, "\n"), "-->")
	}
	opened := fence.Opens(lines[0])
	return opened.Open() && (len(lines) == 1 || !opened.ClosedBy(lines[len(lines)-1]))
}

// splice inserts lines after line at and returns the line of added[of]. They end like the first.
func splice(text string, at int, added []string, of int) (string, int, error) {
	newline := "\n"
	if first, _, ok := strings.Cut(text, "\n"); ok && strings.HasSuffix(first, "\r") {
		newline = "\r\n"
	}
	lines := strings.SplitAfter(text, "\n")
	at = min(at, len(lines))
	head, rest := trimEnd(lines[:at]), trimEnd(lines[at:])
	for len(rest) > 0 && strings.TrimSpace(rest[0]) == "" {
		rest = rest[1:]
	}
	for len(head) == 0 && len(added) > 0 && added[0] == "" {
		added, of = added[1:], of-1
	}
	line := len(head) + of + 1
	var b strings.Builder
	for _, l := range head {
		b.WriteString(l)
	}
	if len(head) > 0 && !strings.HasSuffix(head[len(head)-1], "\n") {
		b.WriteString(newline)
	}
	b.WriteString(strings.Join(added, newline))
	if len(rest) > 0 {
		b.WriteString(newline + newline + strings.Join(rest, ""))
	}
	result := b.String()
	ends := text == "" || strings.HasSuffix(text, "\n")
	if ends && !strings.HasSuffix(result, "\n") {
		result += newline
	} else if !ends {
		result = strings.TrimSuffix(strings.TrimSuffix(result, "\n"), "\r")
	}
	return result, line, nil
}

func trimEnd(lines []string) []string {
	for len(lines) > 0 && strings.TrimSpace(lines[len(lines)-1]) == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// Remove removes lines, from 1. One blank line stays between.
func Remove(text string, first, last int) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	}
	if first < 1 || last < first || last > len(lines) {
		return "", fmt.Errorf("%w: there are no lines %d to %d in a text of %d", ErrLines, first, last, len(lines))
	}
	head, rest := lines[:first-1], lines[last:]
	if between := trimEnd(head); len(between) < len(head) && (len(rest) == 0 || strings.TrimSpace(rest[0]) == "") {
		head = between // the blank line of rest stays
	}
	return strings.Join(slices.Concat(head, rest), ""), nil
}

// Strike strikes lines through, as superseded since a date.
func Strike(text string, first, last int, since string) (string, error) {
	lines := strings.Split(text, "\n")
	if first < 1 || last < first || last > len(lines) {
		return "", fmt.Errorf("%w: there are no lines %d to %d in a text of %d", ErrLines, first, last, len(lines))
	}
	_, body, skipped, _ := chunker.SplitFrontmatter([]byte(text))
	if !slices.ContainsFunc(statement.Of(body, 1), func(s statement.Statement) bool { return skipped+s.Start+1 == first && skipped+s.End == last }) {
		return "", ErrStatement
	}
	struck, ok := statement.Strike(strings.Join(lines[first-1:last], "\n"), since)
	if !ok {
		return "", ErrStruck
	}
	return strings.Join(slices.Concat(lines[:first-1], []string{struck}, lines[last:]), "\n"), nil
}

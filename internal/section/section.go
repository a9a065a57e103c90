// Package section adds to the sections of Markdown files.
package section

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/fence"
	"github.com/memcore/memcore/internal/sanitize"
	"github.com/memcore/memcore/internal/statement"
)

// ErrNothing means that there is no text to add.
var ErrNothing = errors.New("there is nothing to add")

// ErrText means that the file is no text that can be added to.
var ErrText = errors.New("the file is not UTF-8 text: convert it first")

// ErrOpen means that what is to be added would take what follows it into a code fence or a comment.
var ErrOpen = errors.New("the text has a code fence or a comment that is not closed: close it")

// An OpenError means that text would be added inside of a code fence or a comment that is not closed.
type OpenError struct{ Line int }

func (e *OpenError) Error() string {
	return fmt.Sprintf("the code fence or comment that begins in line %d is not closed: close it first", e.Line)
}

// A SaidError means that the file says it already.
type SaidError struct {
	Line int    // from 1
	Text string // of the statement, on one line
	Near bool   // about, not word by word
}

func (e *SaidError) Error() string {
	if e.Near {
		return fmt.Sprintf("line %d says about the same: %s", e.Line, e.Text)
	}
	return fmt.Sprintf("line %d says that already: %s", e.Line, e.Text)
}

// Add returns the text of a file with something added at the end of a section, and the line where it stands. The section is looked for
// by its heading, whatever its case, and made at the end if it is not there; "" is the end of the file. A single line becomes
// an item of a list. Characters that nobody sees are left out. Line ends stay as they are, and so does whether the last line has one.
// A statement that the file makes already, if near also about, is a *SaidError. Nothing is added that would be inside of a fence or a comment (*OpenError), or
// have what follows inside (ErrOpen).
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

// title is a heading as it is compared and written.
func title(heading string) string {
	heading, _ = sanitize.Reveal(heading)
	return strings.TrimSpace(strings.TrimLeft(strings.Join(strings.Fields(heading), " "), "#"))
}

// said looks for a statement that says what is to be added.
func said(body string, skipped int, addition string, near bool) error {
	wanted := statement.Of(addition, 1)
	if len(wanted) != 1 {
		return nil // nothing, or several, of which some may be new
	}
	lines := strings.Split(body, "\n")
	for _, s := range statement.Of(body, 1) {
		if statement.IsStruck(strings.Join(lines[s.Start:s.End], "\n")) {
			continue // it holds no longer
		}
		same := s.Words == wanted[0].Words
		if same || near && statement.Near(s.Words, wanted[0].Words) {
			return &SaidError{Line: skipped + s.Start + 1, Text: strings.Join(strings.Fields(strings.Join(lines[s.Start:s.End], " ")), " "), Near: !same}
		}
	}
	return nil
}

// place returns the line behind the last block of a section's own text, and that block; of the whole text for "" and for a section that
// is not there.
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

// plain is a heading without markup.
func plain(heading string) string {
	return strings.Join(strings.Fields(strings.NewReplacer("`", "", "*", "", "_", "", `\`, "").Replace(heading)), " ")
}

// isOpen tells whether a block is a code fence or a comment without an end.
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

// splice puts lines behind the first ones of a text. of is which of them the caller wants to know the line of. Lines keep the ends they have; new ones
// have that of the first line.
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

// Remove returns the text of a file without the lines from first to last, from 1; of blank lines on both sides one stays.
func Remove(text string, first, last int) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	if last := len(lines) - 1; lines[last] == "" { // behind the last newline there is no line
		lines = lines[:last]
	}
	if first < 1 || last < first || last > len(lines) {
		return "", fmt.Errorf("there are no lines %d to %d in a text of %d", first, last, len(lines))
	}
	head, rest := lines[:first-1], lines[last:]
	if between := trimEnd(head); len(between) < len(head) && (len(rest) == 0 || strings.TrimSpace(rest[0]) == "") {
		head = between // one blank line stays, that of rest
	}
	return strings.Join(slices.Concat(head, rest), ""), nil
}

// ErrStruck means that a statement cannot be struck through: a part of it is already, or it has several paragraphs.
var ErrStruck = errors.New("it is struck through already, or more than one paragraph")

// ErrStatement means that lines are not one statement: an item of a list, or a paragraph.
var ErrStatement = errors.New("these lines are not one statement, an item of a list or a paragraph")

// Strike returns the text of a file whose lines from first to last, from 1, are struck through as superseded since a date.
func Strike(text string, first, last int, since string) (string, error) {
	lines := strings.Split(text, "\n")
	if first < 1 || last < first || last > len(lines) {
		return "", fmt.Errorf("there are no lines %d to %d in a text of %d", first, last, len(lines))
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

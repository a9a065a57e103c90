package notes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/memcore/memcore/internal/markdown/section"
	"github.com/memcore/memcore/internal/text/sanitize"
	"github.com/memcore/memcore/internal/text/secret"
)

// Ways to correct lines.
const (
	Rewrite = "edit"
	Strike  = "strike"
	Remove  = "forget"
)

// A Correction replaces lines that a person saw.
type Correction struct {
	How   string
	Place Statement // its lines; First 0 is the whole file
	// Seen is what the person saw of the lines (Shown). It finds them if they moved; "" takes them
	// as they are.
	Seen string
	// Base is the whole file as the person saw it (Shown), to find the lines by what others have
	// changed since; "" if unknown.
	Base string
	New  string // for Rewrite
}

// Corrected is a correction in the present file.
type Corrected struct {
	Change
	Written     bool
	First, Last int // lines before the change
	// Seen, Base and New are for another Correction. New has others' changes, too.
	Seen, Base, New string
	Since           string // diff of what others changed in Base
}

// Errors of Correct.
var (
	ErrHow = errors.New("a correction is to edit, strike or forget")
	// ErrStruck means that it cannot be struck through.
	ErrStruck = section.ErrStruck
	// ErrLines means that lines are not one statement.
	ErrLines = section.ErrStatement
	// ErrNoLines means that the file is shorter.
	ErrNoLines = section.ErrLines
)

// Shown returns a text's lines without secrets and invisible characters.
func Shown(text string) []string {
	text, _ = secret.Redact(strings.ToValidUTF8(text, "\uFFFD"))
	lines := linesOf(text)
	for i, l := range lines {
		l, _ = sanitize.Reveal(strings.TrimSuffix(l, "\r"))
		lines[i] = strings.ReplaceAll(l, "\n", " ")
	}
	return lines
}

// linesOf returns no line after the last line break.
func linesOf(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// joined is linesOf backwards.
func joined(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

// Read returns the text of the statement's file.
func (s Statement) Read() (string, error) {
	text, exists, err := readFile(s.Dir, s.Name)
	if err == nil && !exists {
		err = ErrNoFile
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", s.Path, err)
	}
	return text, err
}

// Version names a text.
func Version(text string) string { return sum(text) }

// Correct makes a correction if confirm agrees. Unchanged lines keep their secrets, new ones lose
// theirs. ErrChanged means that the lines are gone or have changed since confirm.
func (j *Journal) Correct(ctx context.Context, c Correction, confirm func(context.Context, Change) (bool, error)) (Corrected, error) {
	var done Corrected
	seen := ""
	change, written, err := j.change(ctx, c.How, c.Place, confirm, func(before string, change *Change) (string, error) {
		if seen != "" && Version(before) != seen {
			return "", ErrChanged
		}
		seen = Version(before)
		after, err := c.in(before, &done)
		change.Line, change.Redacted = cmp.Or(done.First, c.Place.First), done.Redacted
		return after, err
	})
	done.Change, done.Written = change, written
	return done, err
}

// in corrects a text and fills in done.
func (c Correction) in(before string, done *Corrected) (after string, err error) {
	shown := Shown(before)
	done.Base = BaseOf(shown)
	if done.First, done.Last, err = c.find(shown); err != nil {
		return "", err
	}
	now := shown[done.First-1 : done.Last]
	done.Seen, done.New = strings.Join(now, "\n"), c.New
	if base := cmp.Or(c.Base, c.Seen); c.Base != "" || c.Place.First == 0 && base != "" {
		done.Since = diff(c.Place.Path, base+"\n", joined(shown))
		seen := strings.Split(base, "\n")
		if c.Place.First > 0 {
			seen = seen[c.Place.First-1 : c.Place.Last]
		}
		done.New = merged(strings.Join(seen, "\n"), done.Seen, c.New)
	}
	switch {
	case c.How == Rewrite:
		after, done.Redacted = rewrite(before, now, done.First, done.New)
		return after, nil
	case c.How != Strike && c.How != Remove:
		return "", fmt.Errorf("%w, not to %q", ErrHow, c.How)
	case len(now) == 0: // others removed them
		return before, nil
	case c.How == Strike:
		return section.Strike(before, done.First, done.Last, time.Now().Format(time.DateOnly))
	}
	return section.Remove(before, done.First, done.Last)
}

// maxBase is the longest Base, in bytes.
const maxBase = 256 << 10

// BaseOf returns the Base of a file's lines (Shown); "" for a long one.
func BaseOf(shown []string) string {
	if text := strings.Join(shown, "\n"); len(text) <= maxBase {
		return text
	}
	return ""
}

// find returns where the seen lines are now. Last is before First if others removed them.
func (c Correction) find(shown []string) (first, last int, err error) {
	first, last = c.Place.First, c.Place.Last
	lines := len(shown)
	if c.Base != "" {
		lines = strings.Count(c.Base, "\n") + 1
	}
	switch {
	case first == 0:
		return 1, len(shown), nil
	case c.Base != "" && first > 0 && last >= first-1 && last <= lines:
		edits := udiff.Lines(c.Base+"\n", joined(shown))
		first = placeNow(edits, c.Base+"\n", first-1, true) + 1
		return first, max(placeNow(edits, c.Base+"\n", last, false), first-1), nil
	case c.Base != "" || c.Seen == "":
		if first < 0 || last < first || last > lines {
			err = fmt.Errorf("%w: it has no lines %d to %d", ErrChanged, first, last)
		}
		return first, last, err
	}
	seen := strings.Split(c.Seen, "\n")
	var found []int
	for at := 0; at+len(seen) <= len(shown); at++ {
		if slices.Equal(shown[at:at+len(seen)], seen) {
			found = append(found, at+1)
		}
	}
	switch {
	case slices.Contains(found, first):
	case len(found) == 1:
		first = found[0]
	default:
		return first, last, ErrChanged
	}
	return first, first + len(seen) - 1, nil
}

// placeNow returns the number of lines, in an edited text, before the place that is after some
// lines of base. With past, lines inserted at the place count, too.
func placeNow(edits []udiff.Edit, base string, after int, past bool) int {
	at := len(joined(linesOf(base)[:after]))
	now := after
	for _, e := range edits {
		added := strings.Count(e.New, "\n")
		switch {
		case e.End < at, e.End == at && (past || e.Start < at):
			now += added - strings.Count(base[e.Start:e.End], "\n")
		case e.Start < at: // it ends after the place
			gone := strings.Count(base[e.Start:at], "\n")
			now += min(added, gone) - gone
		}
	}
	return now
}

// merged joins a person's edit of base with others'. In a conflict the person's wins.
func merged(base, theirs, mine string) string {
	base, theirs, mine = base+"\n", theirs+"\n", mine+"\n"
	text := mine
	if edits, ok := udiff.Merge(udiff.Lines(base, theirs), udiff.Lines(base, mine)); ok {
		if both, err := udiff.Apply(base, edits); err == nil {
			text = both
		}
	}
	return strings.TrimSuffix(text, "\n")
}

// rewrite replaces lines from first on, shown as now. Lines that stay keep what was hidden in them.
func rewrite(before string, now []string, first int, text string) (after string, redacted []Redaction) {
	all, end := linesOf(before), ""
	if len(all) > 0 && strings.HasSuffix(all[0], "\r") {
		end = "\r"
	}
	text, _ = sanitize.Reveal(strings.ToValidUTF8(text, "\uFFFD"))
	edited := linesOf(strings.TrimRight(text, "\n"))
	old := all[first-1 : first-1+len(now)]
	kept := stayed(old, now, edited)
	lines := slices.Clone(all[:first-1])
	for i, l := range edited {
		if kept[i] >= 0 {
			lines = append(lines, old[kept[i]])
		} else {
			lines = append(lines, l+end)
		}
	}
	lines = append(lines, all[first-1+len(now):]...)
	clean, found := secret.Redact(strings.Join(lines, "\n"))
	for i, l := range strings.Split(clean, "\n") {
		if n := i - (first - 1); n >= 0 && n < len(edited) && kept[n] < 0 && lines[i] != l {
			lines[i] = l
			for _, f := range found {
				if f.Line == i+1 {
					redacted = append(redacted, f)
				}
			}
		}
	}
	after = strings.Join(lines, "\n")
	if len(lines) > 0 && (before == "" || strings.HasSuffix(before, "\n")) {
		after += "\n"
	}
	return after, redacted
}

// stayed returns each edited line's old one, or -1. Neighbours that hide something, such as a key
// of many lines, stay together or not at all.
func stayed(old, now, edited []string) []int {
	kept := common(now, edited)
	hides := func(n int) bool { return strings.TrimSuffix(old[n], "\r") != now[n] }
	for from := 0; from < len(old); from++ {
		to := from
		for to < len(old) && hides(to) {
			to++
		}
		if from == to {
			continue
		}
		k := slices.Index(kept, from)
		whole := k >= 0 && k+to-from <= len(kept)
		for n := from; n < to && whole; n++ {
			whole = kept[k+n-from] == n
		}
		if !whole {
			for i, n := range kept {
				if n >= from && n < to {
					kept[i] = -1
				}
			}
			if k = only(edited, now[from]); k >= 0 && only(now, now[from]) >= 0 && k+to-from <= len(edited) && slices.Equal(edited[k:k+to-from], now[from:to]) {
				for n := from; n < to; n++ {
					kept[k+n-from] = n
				}
			}
		}
		from = to
	}
	return kept
}

// common returns each edited line's place in now by a diff, or -1. It is rough for large edits.
func common(now, edited []string) []int {
	kept := make([]int, len(edited))
	for i := range kept {
		kept[i] = -1
	}
	base := strings.Join(now, "\n") + "\n"
	i, k, at := 0, 0, 0 // lines of now and edited, bytes of base
	same := func(until int) {
		for at < until && i < len(now) && k < len(edited) {
			kept[k] = i
			at += len(now[i]) + 1
			i, k = i+1, k+1
		}
	}
	for _, e := range udiff.Lines(base, strings.Join(edited, "\n")+"\n") {
		same(e.Start)
		i += strings.Count(base[e.Start:e.End], "\n")
		k += strings.Count(e.New, "\n")
		at = e.End
	}
	same(len(base))
	return kept
}

// only returns the place of a line that is there once, or -1.
func only(lines []string, line string) int {
	at := slices.Index(lines, line)
	if at < 0 || slices.Contains(lines[at+1:], line) {
		return -1
	}
	return at
}

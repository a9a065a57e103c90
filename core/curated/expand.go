package curated

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/internal/text/sanitize"
)

// A line of a body.
type line struct {
	text   string
	from   *origin
	number int // in its file, from 1; 0 if memcore added it
}

// An origin is a file that lines come from.
type origin struct {
	tier         Tier
	path         string // as shown
	importedFrom string // as shown
	hash         string
}

// A body is the text of a candidate and its imports.
type body struct {
	lines    []line
	leftOut  []gap    // lines that were cut
	imported []string // real paths
	longest  int      // list in its note, in bytes; 0 means maxList
}

func (d *body) text() string { return textOf(d.lines) }

func textOf(lines []line) string {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(l.text)
	}
	return b.String()
}

// An expansion replaces imports. It gives each file once.
type expansion struct {
	*reader
	given    map[string]bool // real paths of files that are included already
	imported map[string]bool // those imported here
	// unfollowed are the imports that were named as not followed.
	unfollowed map[string]bool
}

// A part is a file whose text goes into a body.
type part struct {
	*parsed
	from     *origin
	chain    []string // real paths of the files that import each other down to this one
	mentions bool     // imports within a sentence count
}

// bodyOf returns a candidate's text with its imports.
func (x *expansion) bodyOf(c candidate) *body {
	d := &body{}
	from := &origin{tier: c.tier, path: x.names.Of(c.file), hash: c.hash}
	d.lines = trimmed(x.expand(d, part{c.parsed, from, []string{c.real}, followsMentions(c.file)}))
	return d
}

// expand replaces a file's imports. The text of mentions comes last.
func (x *expansion) expand(d *body, p part) []line {
	var out, mentioned []line
	count := 0
	for i, text := range p.lines {
		if x.ctx.Err() != nil {
			break
		}
		l := line{text, p.from, p.skipped + i + 1}
		imports := p.imports[i]
		if x.o.NoImports || len(imports) == 0 || imports[0].mention || x.isText(p, imports[0], l.number) {
			out = append(out, l)
		}
		for _, n := range imports {
			if x.o.NoImports || n.mention && !p.mentions || x.isText(p, n, l.number) {
				continue
			}
			count++
			text := x.insert(d, p, n, l.number, count)
			if !n.mention {
				out = append(out, text...)
			} else if len(text) > 0 {
				mentioned = append(mentioned, line{from: p.from}, line{text: "<!-- @" + comment(n.path) + " -->", from: p.from})
				mentioned = append(mentioned, text...)
			}
		}
	}
	return append(out, mentioned...)
}

// isText reports whether a reference that may be an import is ordinary text. If its file exists,
// but is of a kind that imports do not follow, that is reported once.
func (x *expansion) isText(p part, n importRef, number int) bool {
	t := x.targets[importKey{p.real, n.path}]
	if !n.perhaps || t.parsed != nil {
		return false
	}
	if errors.Is(t.err, errOtherFile) && !x.unfollowed[n.path] {
		x.unfollowed[n.path] = true
		x.warn(p.from.path, number, fmt.Sprintf("import of %.200q is not followed: only .md files are", n.path))
	}
	return t.err == nil || errors.Is(t.err, errKind) || isMissing(t.err)
}

// insert returns the imported lines, a comment that refuses them, or nothing if they are elsewhere.
// count is the imports so far.
func (x *expansion) insert(d *body, p part, n importRef, number, count int) []line {
	refuse := func(text, why string) []line {
		if n.mention { // the sentence may not mean a file
			return nil
		}
		x.warn(p.from.path, number, fmt.Sprintf("import of %.200q is left out: %s", n.path, why))
		return []line{{text: fmt.Sprintf("<!-- "+text+" -->", comment(n.path)), from: p.from, number: number}}
	}
	t := x.targets[importKey{p.real, n.path}]
	switch {
	case len(p.chain) > x.o.ImportDepth:
		return refuse("Import depth exceeded for %s", fmt.Sprintf("imports are %d levels deep at most", x.o.ImportDepth))
	case count > maxImports:
		return refuse("Too many imports: %s", fmt.Sprintf("a file has %d imports at most", maxImports))
	case t.parsed == nil:
		return refuse("Import refused: %s", t.err.Error())
	case slices.Contains(p.chain, t.parsed.real):
		return refuse("Circular import detected: %s", "it imports itself, directly or through other files")
	case x.given[t.parsed.real] || !t.parsed.head.Enabled:
		return nil
	}
	real := t.parsed.real
	x.given[real], x.imported[real] = true, true
	d.imported = append(d.imported, real)
	from := &origin{tier: p.from.tier, path: x.names.Of(real), importedFrom: p.from.path, hash: t.parsed.hash}
	x.reportOn(t.parsed, from.path)
	x.inspectForeign(t.parsed, from.path)
	return trimmed(x.expand(d, part{t.parsed, from, append(slices.Clip(p.chain), real), p.mentions || followsMentions(real)}))
}

func (x *expansion) reportOn(c *parsed, path string) {
	for _, w := range c.problems {
		w.Path = path
		x.report(w)
	}
}

// inspectForeign warns about text outside of project and Beans that hides something or imitates a
// message. It only warns, since the user trusts the folder.
func (x *expansion) inspectForeign(c *parsed, path string) {
	for _, folder := range []string{x.project, x.beans} {
		if _, inside := below(folder, c.real); folder != "" && inside {
			return
		}
	}
	for i, text := range c.lines {
		if _, findings := sanitize.Text(text); len(findings) > 0 {
			x.warn(path, c.skipped+i+1, "is imported from outside of the project and has text that may pass for something else: "+findings[0].Detail)
		}
	}
}

// runs splits lines into runs of one file with rising numbers.
func runs(lines []line) [][]line {
	var all [][]line
	start, end := -1, 0 // of the current run; end is behind its last line with a number
	for i, l := range lines {
		if l.number == 0 {
			continue
		}
		if start < 0 || lines[start].from != l.from || l.number < lines[end-1].number {
			if start >= 0 {
				all = append(all, lines[start:end])
			}
			start = i
		}
		end = i + 1
	}
	if start >= 0 {
		all = append(all, lines[start:end])
	}
	return all
}

// trimmed drops blank lines at either end.
func trimmed(lines []line) []line {
	for len(lines) > 0 && blank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && blank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// comment makes a name safe within an HTML comment.
func comment(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == '<' || r == '>' || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	return excerpt.Of(name, 200)
}

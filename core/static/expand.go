package static

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/sanitize"
)

// A line of what is given, and where it comes from.
type line struct {
	text   string
	from   *origin
	number int // in its file, from 1; 0 for one that stands in no file
}

// An origin is a file that lines come from.
type origin struct {
	tier         Tier
	path         string // as shown
	importedFrom string // as shown
	hash         string
}

// An expansion puts the text of imports in their places.
type expansion struct {
	*reading
	given    map[string]bool // real paths of files whose text is somewhere
	imported map[string]bool // those that are imported here
}

// A doc is the text of a file that is given, imports included.
type doc struct {
	lines    []line
	left     []region        // what was cut, from the end
	imported []string        // real paths
	size     []size          // of the lines up to each, once measured
	blocks   []chunker.Block // once something is cut
}

// whole returns a candidate's text with its imports.
func (x *expansion) whole(c candidate) *doc {
	d := &doc{}
	from := &origin{tier: c.tier, path: x.names.Of(c.file), hash: c.hash}
	d.lines = trimmed(x.expand(d, c.content, from, []string{c.real}, x.o.mentions(filepath.Base(c.file))))
	return d
}

// expand returns the lines of a content, each import replaced by what it imports. Chain are the real paths that led here.
func (x *expansion) expand(d *doc, c *content, from *origin, chain []string, mentions bool) []line {
	own := &doc{lines: make([]line, len(c.lines))}
	for i, text := range c.lines {
		own.lines[i] = line{text, from, c.skipped + i + 1}
	}
	if most := x.o.Limits.FileLines; most >= 0 && len(own.lines) > most {
		for len(own.lines)+noteLines > most && own.drop() {
		}
		x.warn(from.path, 0, fmt.Sprintf("has %d lines, more than %d; left out: %s", len(c.lines), most, own.leftOut()))
	}
	var out, mentioned []line
	count := 0
	for i, l := range own.lines {
		if x.ctx.Err() != nil {
			break
		}
		imports := c.imports[i]
		if x.o.Imports.Off || len(imports) == 0 {
			out = append(out, l)
			continue
		}
		if imports[0].mention {
			out = append(out, l)
		}
		for _, n := range imports {
			if n.mention && !mentions {
				continue
			}
			count++
			text := x.insert(d, c, from, n, l.number, count, chain, mentions)
			if !n.mention {
				out = append(out, text...)
			} else if len(text) > 0 {
				mentioned = append(mentioned, line{from: from}, line{text: "<!-- @" + comment(n.path) + " -->", from: from})
				mentioned = append(mentioned, text...)
			}
		}
	}
	if len(chain) == 1 {
		d.left = own.left // its note comes at the end, with what else is cut
	} else if note := own.note(); note != "" {
		out = append(trimmed(out), line{from: from}, line{text: note, from: from})
	}
	return append(out, mentioned...)
}

// tell reports what is wrong with a file.
func (x *expansion) tell(c *content, path string) {
	if c == nil {
		return
	}
	for _, w := range c.problems {
		x.warn(path, w.Line, w.Text)
	}
}

// insert returns the lines that stand in the place of an import.
func (x *expansion) insert(d *doc, c *content, from *origin, n named, number, count int, chain []string, mentions bool) []line {
	shown := comment(n.path)
	refuse := func(text, why string) []line {
		if n.mention { // a sentence may speak of a file that is none
			return nil
		}
		x.warn(from.path, number, fmt.Sprintf("import of %.200q is left out: %s", n.path, why))
		return []line{{text: text, from: from, number: number}}
	}
	if len(chain) > x.o.Imports.MaxDepth {
		return refuse(fmt.Sprintf("<!-- Import depth exceeded for %s -->", shown), fmt.Sprintf("imports are %d levels deep at most", x.o.Imports.MaxDepth))
	}
	if count > x.o.Imports.MaxPerFile {
		return refuse(fmt.Sprintf("<!-- Too many imports: %s -->", shown), fmt.Sprintf("a file has %d imports at most", x.o.Imports.MaxPerFile))
	}
	t := x.targets[place{c.real, n.path}]
	if t.content == nil {
		return refuse(fmt.Sprintf("<!-- Import refused: %s -->", shown), t.err.Error())
	}
	if slices.Contains(chain, t.content.real) {
		return refuse(fmt.Sprintf("<!-- Circular import detected: %s -->", shown), "it imports itself, by way of other files or none")
	}
	if x.given[t.content.real] || !t.content.head.Enabled {
		return nil // once is enough
	}
	x.given[t.content.real], x.imported[t.content.real] = true, true
	d.imported = append(d.imported, t.content.real)
	path := x.names.Of(t.content.real)
	x.tell(t.content, path)
	x.inspectForeign(t.content, path)
	next := &origin{tier: from.tier, path: path, importedFrom: from.path, hash: t.content.hash}
	return trimmed(x.expand(d, t.content, next, append(slices.Clip(chain), t.content.real), mentions || x.o.mentions(filepath.Base(t.content.real))))
}

// inspectForeign reports instruction-like text in a file that is neither the project's nor the user's own. It stays as it is: who
// trusts its folder may want it.
func (x *expansion) inspectForeign(c *content, path string) {
	for _, folder := range []string{x.project, x.beans} {
		if _, inside := below(folder, c.real); folder != "" && inside {
			return
		}
	}
	for i, text := range c.lines {
		if _, findings := sanitize.Text(text); len(findings) > 0 {
			x.warn(path, c.skipped+i+1, "is imported from outside of the project and has text that reads like an attack on instructions: "+findings[0].Detail)
		}
	}
}

// trimmed is lines without blank ones at either end.
func trimmed(lines []line) []line {
	blank := func(l line) bool { return strings.TrimSpace(l.text) == "" }
	for len(lines) > 0 && blank(lines[0]) {
		lines = lines[1:]
	}
	for len(lines) > 0 && blank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// comment is a name as it may stand in an HTML comment, on one line.
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
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "") + "…"
	}
	return name
}

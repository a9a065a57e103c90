package static

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// key is what memory is made of: the same key makes the same memory.
func (r *reading) key(found []candidate) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %v\n", r.project, r.covering(r.project) != "")
	for _, c := range found {
		fmt.Fprintf(&b, "%q %s %q %s\n", c.file, c.tier, c.reason, c.version())
	}
	for _, at := range slices.SortedFunc(maps.Keys(r.targets), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.name, b.name))
	}) {
		t := r.targets[at]
		fmt.Fprintf(&b, "%q %q %v %s\n", at.from, at.name, t.err, t.content.version())
	}
	for _, w := range r.sortedWarnings() { // they come in any order
		fmt.Fprintln(&b, w)
	}
	return b.String()
}

func (c *content) version() string {
	if c == nil {
		return ""
	}
	return c.hash + " " + c.real
}

// isContext tells what is given as the project's context from what is given as the user's instructions.
func isContext(t Tier) bool { return t == Project || t == Directory }

// assemble makes memory of what was read. skip says why a candidate does not apply now.
// Text of files in already, real paths, is not imported again.
func (r *reading) assemble(found []candidate, limits Limits, already map[string]bool, skip func(candidate) string) Memory {
	ordered := slices.Clone(found)
	slices.SortStableFunc(ordered, func(a, b candidate) int {
		if x, y := isContext(a.tier), isContext(b.tier); x != y {
			if y {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.priority(), b.priority())
	})
	x := &expansion{reading: r, given: maps.Clone(already), imported: map[string]bool{}}
	if x.given == nil {
		x.given = map[string]bool{}
	}
	for i := range ordered {
		c := &ordered[i]
		x.tell(c.content, r.names.Of(c.file))
		switch {
		case c.content == nil:
		case !c.head.Enabled:
			c.reason = "it is turned off: enabled is false in its frontmatter"
		default:
			c.reason = skip(*c)
		}
		if c.reason == "" {
			x.given[c.real] = true
		}
	}
	docs := make([]*doc, len(ordered))
	var pieces []piece
	for i, c := range ordered {
		if c.reason != "" {
			continue
		}
		docs[i] = x.whole(c)
		pieces = append(pieces, piece{c, docs[i]})
	}
	gone, repeated := r.shrink(pieces, limits)
	m := Memory{Project: r.project, Trusted: r.covering(r.project) != ""}
	for i, c := range ordered {
		m.Files = append(m.Files, r.describe(c, docs[i], x))
	}
	r.render(&m, pieces, gone)
	r.weigh(&m, limits, repeated)
	return m
}

func (c candidate) priority() int {
	if c.content == nil {
		return 0
	}
	return c.head.Priority
}

// describe tells what became of a candidate.
func (r *reading) describe(c candidate, d *doc, x *expansion) File {
	f := File{Path: r.names.Of(c.file), File: c.file, Tier: c.tier, Kind: c.kind, Reason: c.reason, Untrusted: c.reason == notTrusted, Head: Head{Version: Version, Enabled: true}}
	if c.content != nil {
		f.Head = c.head
		if c.reason != "" && x.imported[c.real] {
			f.Reason = "another file imports it"
		}
	}
	if d == nil {
		return f
	}
	f.Imported, f.Lines, f.Cut = d.imported, len(d.lines), len(d.left) > 0
	switch {
	case f.Lines > 0:
		f.Tokens = r.o.Count(d.text())
	case f.Cut:
		f.Reason = "it is left out to fit"
	case len(trimmed(linesOf(c.content))) > 0:
		f.Reason = "other files say all of it"
	default:
		f.Reason = "it is empty"
	}
	return f
}

func linesOf(c *content) []line {
	lines := make([]line, len(c.lines))
	for i, text := range c.lines {
		lines[i].text = text
	}
	return lines
}

// render makes the texts and tells where they come from.
func (r *reading) render(m *Memory, pieces []piece, gone []string) {
	var instructions, context []string
	for _, p := range pieces {
		if len(p.lines) == 0 {
			continue
		}
		text := p.text()
		if note := p.note(); note != "" {
			text += "\n\n" + note
		}
		if isContext(p.tier) {
			context = append(context, text)
		} else {
			instructions = append(instructions, text)
		}
		for _, at := range runsOf(p.lines) {
			part := doc{lines: trimmed(p.lines[at.start:at.end])}
			if len(part.lines) == 0 {
				continue
			}
			m.Segments = append(m.Segments, Segment{Tier: at.from.tier, Path: at.from.path, ImportedFrom: at.from.importedFrom, FirstLine: part.lines[0].number, LastLine: part.lines[len(part.lines)-1].number,
				Tokens: r.o.Count(part.text()), Hash: at.from.hash, Text: part.text()})
		}
	}
	if len(gone) > 0 {
		note := goneNote(gone)
		if len(context) > 0 || len(instructions) == 0 {
			context = append(context, note)
		} else {
			instructions = append(instructions, note)
		}
	}
	m.instructions, m.context = strings.Join(instructions, "\n\n"), strings.Join(context, "\n\n")
}

// weigh says how much is given, and warns about too much.
func (r *reading) weigh(m *Memory, l Limits, repeated int) {
	u := &m.Usage
	for _, f := range m.Files {
		if f.Reason == "" {
			u.Files++
		}
	}
	for _, text := range []string{m.instructions, m.context} {
		if text != "" {
			u.Lines += strings.Count(text, "\n") + 1
			u.Bytes += len(text)
			u.Tokens += r.o.Count(text)
		}
	}
	u.Context = l.Context
	most := l.share(l.Percent)
	u.Within = most < 0 || u.Tokens <= most
	if l.WarnBytes >= 0 && u.Bytes > l.WarnBytes {
		r.warn("", 0, fmt.Sprintf("memory has %.1f KB, more than %d KB: agents follow short memory better", float64(u.Bytes)/1024, l.WarnBytes>>10))
	}
	if warn := l.share(l.WarnPercent); !u.Within {
		r.warn("", 0, fmt.Sprintf("memory has %d tokens, more than %g %% of the context window of %d; from %g %% on it is cut", u.Tokens, l.Percent, l.Context, l.HardPercent))
	} else if warn >= 0 && u.Tokens > warn {
		r.warn("", 0, fmt.Sprintf("memory has %d tokens, more than %g %% of the context window of %d", u.Tokens, l.WarnPercent, l.Context))
	}
	if repeated > 0 {
		r.o.Log.Debug("static memory says the same in several files", "statements", repeated)
	}
	m.Warnings = r.sortedWarnings()
}

func (r *reading) sortedWarnings() []Warning {
	sorted := slices.Clone(r.warnings)
	slices.SortFunc(sorted, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	return sorted
}

package curated

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/paths"
)

// key is equal for equal memory.
func (r *reader) key(found []candidate) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %v\n", r.project, r.covering(r.project) != "")
	for _, c := range found {
		fmt.Fprintf(&b, "%q %s %q %s\n", c.file, c.tier, c.reason, c.version())
	}
	for _, at := range slices.SortedFunc(maps.Keys(r.targets), func(a, b importKey) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.name, b.name))
	}) {
		t := r.targets[at]
		fmt.Fprintf(&b, "%q %q %v %s\n", at.from, at.name, t.err, t.parsed.version())
	}
	for _, w := range r.sortedWarnings() {
		fmt.Fprintln(&b, w)
	}
	return b.String()
}

func (c *parsed) version() string {
	if c == nil {
		return ""
	}
	return c.hash + " " + c.real
}

// isContext reports whether a tier is context, not instructions.
func isContext(t Tier) bool { return t == Project || t == Directory }

// assemble makes the memory. skip says why a candidate does not apply now. Files in already, by
// real path, are not imported.
func (r *reader) assemble(found []candidate, limits Limits, already map[string]bool, skip func(candidate) string) Memory {
	all := inOrder(found)
	x := &expansion{reader: r, given: map[string]bool{}, imported: map[string]bool{}, unfollowed: map[string]bool{}}
	maps.Copy(x.given, already)
	for _, file := range r.o.Has {
		x.given[paths.Resolve(file)] = true
	}
	for i := range all {
		c := &all[i]
		if c.parsed == nil {
			continue
		}
		x.reportOn(c.parsed, r.names.Of(c.file))
		c.reason = "it is turned off: enabled is false in its frontmatter"
		if c.head.Enabled {
			c.reason = skip(*c)
		}
		x.given[c.real] = x.given[c.real] || c.reason == ""
	}
	var given []candidate
	for i := range all {
		if c := &all[i]; c.reason == "" {
			c.body = x.bodyOf(*c)
			given = append(given, *c)
		}
	}
	gone, repeated := r.shrink(given, limits)
	m := Memory{Project: r.project, Trusted: r.covering(r.project) != ""}
	for _, c := range all {
		m.Files = append(m.Files, r.describe(c, x))
	}
	r.render(&m, given, gone, limits)
	r.measureUsage(&m, limits, repeated)
	return m
}

// inOrder sorts stably by priority, the highest last.
func inOrder(found []candidate) []candidate {
	ordered := slices.Clone(found)
	priority := prioritiesOf(found)
	slices.SortStableFunc(ordered, func(a, b candidate) int { return cmp.Compare(priority[a.file], priority[b.file]) })
	return ordered
}

// prioritiesOf gives a ".local.md" at least its neighbour's priority.
func prioritiesOf(found []candidate) map[string]int {
	priorities := map[string]int{}
	for _, c := range found {
		if c.parsed != nil {
			priorities[c.file] = c.head.Priority
		}
	}
	for _, c := range found {
		if c.parsed == nil || !c.head.Enabled || c.kind != Instructions {
			continue
		}
		local := filepath.Join(filepath.Dir(c.file), LocalName(filepath.Base(c.file)))
		if own, known := priorities[local]; known {
			priorities[local] = max(own, c.head.Priority)
		}
	}
	return priorities
}

func (r *reader) describe(c candidate, x *expansion) File {
	f := File{Path: r.names.Of(c.file), File: c.file, Tier: c.tier, Kind: c.kind, Reason: c.reason, Untrusted: c.untrusted, Plugin: c.plugin, Head: Head{Version: Version, Enabled: true}}
	if c.parsed != nil {
		f.Head = c.head
		if c.reason != "" && x.imported[c.real] {
			f.Reason = "another file imports it"
		}
	}
	if c.body == nil {
		return f
	}
	f.Imported, f.Lines, f.Cut = c.body.imported, len(c.body.lines), len(c.leftOut) > 0
	f.LeftOut = linesOfGaps(c.leftOut, maxList)
	switch {
	case f.Lines > 0:
		f.Tokens = r.o.Count(c.body.text())
	case f.Cut:
		f.Reason = "it is left out to fit"
	case strings.TrimSpace(strings.Join(c.parsed.lines, "")) != "":
		f.Reason = "other files say all of it"
	default:
		f.Reason = "it is empty"
	}
	return f
}

func (r *reader) render(m *Memory, given []candidate, gone []string, limits Limits) {
	put := func(context bool, text string) {
		if last := len(m.sections) - 1; last >= 0 && m.sections[last].Context == context {
			m.sections[last].Text += "\n\n" + text
		} else {
			m.sections = append(m.sections, Section{context, text})
		}
	}
	for _, c := range given {
		if len(c.body.lines) == 0 {
			continue
		}
		text := c.body.text()
		if note := c.note(); note != "" {
			text += "\n\n" + note
		}
		put(isContext(c.tier), text)
		for _, run := range runs(c.body.lines) {
			from := run[0].from
			if run = trimmed(run); len(run) > 0 {
				text := textOf(run)
				m.Segments = append(m.Segments, Segment{Tier: from.tier, Path: from.path, ImportedFrom: from.importedFrom, FirstLine: run[0].number, LastLine: run[len(run)-1].number,
					Tokens: r.o.Count(text), Hash: from.hash, Text: text})
			}
		}
	}
	if note := goneNote(gone, limits.maxList()); note != "" {
		last := len(m.sections) - 1
		put(last < 0 || m.sections[last].Context, note)
	}
}

// measureUsage warns if the given text is too long.
func (r *reader) measureUsage(m *Memory, l Limits, repeated int) {
	u := &m.Usage
	for _, f := range m.Files {
		if f.Reason == "" {
			u.Files++
		}
	}
	for _, s := range m.sections {
		u.Lines += strings.Count(s.Text, "\n") + 1
		u.Bytes += len(s.Text)
		u.Tokens += r.o.Count(s.Text)
	}
	if l.Tokens >= 0 && u.Tokens > l.warnAt() {
		r.warn("", 0, fmt.Sprintf("memory has %d tokens; from %d on it is cut, and agents follow short memory better", u.Tokens, l.Tokens))
	}
	if repeated > 0 {
		r.o.Log.Debug("several files of curated memory say the same", "statements", repeated)
	}
	m.Warnings = r.sortedWarnings()
}

func (r *request) sortedWarnings() []Warning {
	sorted := slices.Clone(r.warnings)
	slices.SortFunc(sorted, func(a, b Warning) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text))
	})
	return sorted
}

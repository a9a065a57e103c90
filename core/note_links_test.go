package core_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

const retries = "# Backoff\n\nA call is tried three times within ten seconds.\n"

// finds reports whether a search by words finds a note.
func finds(t *testing.T, m *core.Manager, query, note string) bool {
	t.Helper()
	return slices.ContainsFunc(search(t, m, query).Hits, func(h core.MemoryHit) bool { return h.Path == "notes/"+note })
}

func TestLinksNameTheirTarget(t *testing.T) {
	for _, tt := range []struct {
		name, from, text, to string
		want                 bool
	}{
		{"of Markdown", "plan.md", "See [the quota of zebras](calls/backoff.md).", "calls/backoff.md", true},
		{"from the folder of the note", "plans/plan.md", "See [the quota of zebras](../calls/backoff.md#top).", "calls/backoff.md", true},
		{"out of the notes", "plans/plan.md", "See [the quota of zebras](../../../backoff.md).", "backoff.md", false},
		{"with an escaped name", "plan.md", "See [the quota of zebras](my%20backoff.md).", "my backoff.md", true},
		{"of Obsidian", "plan.md", "See [[Backoff|the quota of zebras]].", "calls/backoff.md", true},
		{"by the end of its path", "plan.md", "See [[calls/backoff|the quota of zebras]].", "in/calls/backoff.md", true},
		{"by the end of another path", "plan.md", "See [[other/backoff|the quota of zebras]].", "calls/backoff.md", false},
		{"with a dot", "plan.md", "See [[backoff v1.2|the quota of zebras]].", "backoff v1.2.md", true},
		{"in code", "plan.md", "See `[[backoff|the quota of zebras]]`.", "backoff.md", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mem := newMemory(t)
			mem.options.Embedder = nil
			mem.write(tt.from, "# Plan\n\n"+tt.text+"\n")
			mem.write(tt.to, retries)
			m := mem.open()
			index(t, m)
			if got := finds(t, m, "quota of zebras", tt.to); got != tt.want {
				t.Errorf("found %v, want %v", got, tt.want)
			}
		})
	}
}

// A name that two notes have is that of neither, but of the one beside the link.
func TestLinksOfOneNameAmongMany(t *testing.T) {
	mem := newMemory(t)
	mem.options.Embedder = nil
	mem.write("plan.md", "# Plan\n\nSee [[backoff|the quota of zebras]].\n")
	mem.write("a/plan.md", "# Plan\n\nSee [[backoff|the herd of gnus]].\n")
	mem.write("a/backoff.md", retries)
	mem.write("b/backoff.md", retries+"\nOr four times.\n")
	m := mem.open()
	index(t, m)
	if finds(t, m, "zebras", "a/backoff.md") || finds(t, m, "zebras", "b/backoff.md") {
		t.Error("a link to two notes names one of them")
	}
	if !finds(t, m, "gnus", "a/backoff.md") || finds(t, m, "gnus", "b/backoff.md") {
		t.Error("a link does not name the note beside it alone")
	}
}

// Of two notes that differ only in the extension, a link names the one whose extension it has.
func TestLinksOfOneNameWithTwoExtensions(t *testing.T) {
	for _, tt := range []struct{ link, want string }{
		{"(intro)", ""},
		{"(intro.md)", "doc/intro.md"},
		{"(intro.mdx)", "doc/intro.mdx"},
	} {
		t.Run(tt.link, func(t *testing.T) {
			for range 5 { // a map has another order each time
				mem := newMemory(t)
				mem.options.Embedder = nil
				mem.write("doc/plan.md", "# Plan\n\nSee [the quota of zebras]"+tt.link+".\n")
				mem.write("doc/intro.md", retries)
				mem.write("doc/intro.mdx", retries+"\nOr four times.\n")
				m := mem.open()
				index(t, m)
				for _, note := range []string{"doc/intro.md", "doc/intro.mdx"} {
					if got := finds(t, m, "zebras", note); got != (note == tt.want) {
						t.Errorf("%s found: %v", note, got)
					}
				}
			}
		})
	}
}

// What is indexed change by change answers as what is indexed at once, and no note is read, nor
// embedded, because another one has changed.
func TestLinksKeptUp(t *testing.T) {
	for _, embeds := range []bool{false, true} {
		t.Run(fmt.Sprintf("embedder %v", embeds), func(t *testing.T) { testLinksKeptUp(t, embeds) })
	}
}

func testLinksKeptUp(t *testing.T, embeds bool) {
	mem := newMemory(t)
	if !embeds {
		mem.options.Embedder = nil
	}
	m := mem.open()
	type answer struct {
		path  string
		score float64
	}
	answers := func() (all []answer) {
		for _, query := range []string{"quota of zebras", "herd of gnus", "backoff", "tried three times"} {
			for _, h := range search(t, m, query).Hits {
				all = append(all, answer{query + ": " + h.Path, h.Score})
			}
		}
		return all
	}
	plan := func(text string) { mem.write("plan.md", "# Plan\n\n"+text+"\n") }
	index(t, m)
	for _, step := range []struct {
		name   string
		change func()
		zebras string // the note that is found, or ""
	}{
		{"the note that is named", func() { mem.write("backoff.md", retries) }, ""},
		{"a link", func() { plan("See [[backoff|the quota of zebras]].") }, "backoff.md"},
		{"a note that is named changes", func() { mem.write("backoff.md", "# New\n\nSomething first.\n\n"+retries) }, "backoff.md"},
		{"it grows", func() { mem.write("backoff.md", "# New\n\nSomething first.\n\n"+retries+"\n# End\n\nNo more.\n") }, "backoff.md"},
		{"another link", func() { plan("See [[backoff|the herd of gnus]] or so.") }, ""},
		{"back again", func() { plan("Look: [[backoff|the quota of zebras]].") }, "backoff.md"},
		{"the note moves", func() { mem.remove("backoff.md"); mem.write("calls/backoff.md", retries) }, "calls/backoff.md"},
		{"a second of its name", func() { mem.write("other/backoff.md", "# Other\n\nNothing of calls.\n") }, ""},
		{"which goes", func() { mem.remove("other/backoff.md") }, "calls/backoff.md"},
		{"the note with the link goes", func() { mem.remove("plan.md") }, ""},
	} {
		step.change()
		report := index(t, m)
		for _, note := range []string{"backoff.md", "calls/backoff.md", "other/backoff.md"} {
			if got := finds(t, m, "quota of zebras", note); !embeds && got != (note == step.zebras) { // vectors list all
				t.Errorf("%s: %s found: %v", step.name, note, got)
			}
		}
		if n := report.Added + report.Changed; n > 1 {
			t.Errorf("%s: %d notes changed, want one at most", step.name, n)
		}
		if report.Pending > 0 && embeds || report.Embedded > report.Written {
			t.Errorf("%s: %d chunks embedded of %d written, and %d pending, want none", step.name, report.Embedded, report.Written, report.Pending)
		}
		require.NoError(t, m.Check(t.Context()), step.name)
		kept := answers()
		_, err := m.Index(t.Context(), core.IndexOptions{Rebuild: true})
		require.NoError(t, err)
		require.Equal(t, answers(), kept, step.name)
	}
}

// A note has the names that most notes give it, and not many.
func TestLinksNameWithinBounds(t *testing.T) {
	mem := newMemory(t)
	mem.options.Embedder = nil
	mem.write("backoff.md", retries)
	for i := range 9 {
		for j := range 9 - i {
			mem.write(fmt.Sprintf("%d%d.md", i, j), fmt.Sprintf("# Plan\n\nSee [name%d](backoff.md).\n", i))
		}
	}
	m := mem.open()
	index(t, m)
	for i := range 9 {
		if got, want := finds(t, m, fmt.Sprintf("name%d", i), "backoff.md"), i < 5; got != want {
			t.Errorf("the name that %d notes give it: found %v, want %v", 9-i, got, want)
		}
	}
}

// A failing call leaves no note without its name, nor with a former one.
func TestLinksWithFaults(t *testing.T) {
	eachCall(t, func(t *testing.T, fail func(*faults)) {
		mem := newMemory(t)
		mem.options.Embedder = nil
		f := mem.withFaults()
		mem.write("backoff.md", retries)
		mem.write("plan.md", "# Plan\n\nSee [[backoff|the quota of zebras]].\n")
		m := mem.open()
		index(t, m)
		mem.write("plan.md", "# Plan\n\nSee [[backoff|the herd of gnus]] today.\n")
		fail(f)
		_, err := m.Index(t.Context(), core.IndexOptions{})
		failed := f.disarm()
		if err != nil {
			require.ErrorIs(t, err, errDisk)
		}
		index(t, m)
		require.NoError(t, m.Check(t.Context()))
		if finds(t, m, "zebras", "backoff.md") || !finds(t, m, "gnus", "backoff.md") {
			t.Errorf("after %s failed, the note has not the name that it has now", failed)
		}
	})
}

// Names that a query has no time for are those of the next run, also of another process.
func TestLinksBeyondTheDeadline(t *testing.T) {
	for _, next := range []string{"a query", "an indexing run"} {
		t.Run(next, func(t *testing.T) {
			mem := newMemory(t)
			mem.options.Embedder = nil
			mem.write("backoff.md", retries)
			mem.write("plan.md", "# Plan\n\nNothing yet.\n")
			index(t, mem.open())
			mem.write("plan.md", "# Plan\n\nSee [[backoff|the quota of zebras]].\n")
			mem.options.Freshness = time.Nanosecond
			if finds(t, mem.open(), "zebras", "backoff.md") {
				t.Error("a query without time has corrected the names")
			}
			if next != "a query" {
				mem.options.Freshness = -1
			}
			m := mem.open()
			if next != "a query" {
				index(t, m)
			}
			if !finds(t, m, "zebras", "backoff.md") {
				t.Error("the name is lost")
			}
		})
	}
}

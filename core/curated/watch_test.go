package curated

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// age makes files look an hour old.
func age(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		then := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(file, then, then))
	}
}

func TestWatch(t *testing.T) {
	w := newFixture(t, map[string]string{"BEANS.md": "one", "docs/x.md": "x"})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	changes := make(chan string, 100)
	done := make(chan error, 1)
	go func() { done <- New(w.options).Watch(ctx, func(m Memory) { changes <- text(m) }) }()
	time.Sleep(100 * time.Millisecond) // it may watch already or not: what it sees is compared with what it has loaded
	want := func(wanted string) {
		t.Helper()
		for deadline := time.After(time.Minute); ; {
			select {
			case got := <-changes:
				if got == wanted {
					return
				}
			case err := <-done:
				t.Fatal(err)
			case <-deadline:
				t.Fatalf("memory never became %q", wanted)
			}
		}
	}
	w.write("BEANS.md", "two")
	want("two")
	// Editors replace a file by another one.
	w.write("BEANS.md.tmp", "three")
	require.NoError(t, os.Rename(w.path("BEANS.md.tmp"), w.path("BEANS.md")))
	want("three")
	// Folders that appear later, one in the other.
	w.write(".beans/rules/r.md", "rule")
	want("three\n\nrule")
	w.write("~/.beans/memories/m.md", "note")
	want("note\n==\nthree\n\nrule")
	// Imported files, also indirectly imported ones.
	w.write("BEANS.md", "@docs/x.md")
	want("note\n==\nx\n\nrule")
	w.write("docs/x.md", "y")
	want("note\n==\ny\n\nrule")
	// Gone and back.
	require.NoError(t, os.RemoveAll(w.path(".beans")))
	want("note\n==\ny")
	w.write(".beans/rules/r.md", "rule again")
	want("note\n==\ny\n\nrule again")
	// Many changes in a row cause few calls.
	for len(changes) > 0 {
		<-changes
	}
	for i := range 50 {
		w.write("docs/x.md", string(rune('a'+i%26)))
	}
	w.write("docs/x.md", "last")
	want("note\n==\nlast\n\nrule again")
	require.Less(t, len(changes), 5)
	stop()
	require.ErrorIs(t, <-done, context.Canceled)
}

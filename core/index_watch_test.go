package core_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

// A change is found within a second, without a query.
func TestWatch(t *testing.T) {
	mem := newMemory(t)
	mem.options.Freshness = -1 // queries do not look
	m := mem.open()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	indexed := make(chan core.IndexReport, 1000)
	go func() {
		ended <- m.Watch(ctx, core.WatchOptions{Indexed: func(r core.IndexReport, err error) {
			if err != nil {
				t.Error(err)
			}
			indexed <- r
		}})
	}()
	require.Equal(t, 3, (<-indexed).Documents, "it indexes first")
	finds := func(words string) func() bool {
		return func() bool { return found(t, m, words, words) }
	}
	within := func(what string, is func() bool) {
		t.Helper()
		begun := time.Now()
		require.Eventually(t, is, time.Minute, 5*time.Millisecond, what)
		t.Logf("%s: %v", what, time.Since(begun).Round(time.Millisecond))
	}
	path := func(name string) string { return filepath.Join(mem.notes, name) }
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(path(name)), 0o755))
		require.NoError(t, os.WriteFile(path(name), []byte(text), 0o644))
	}
	write("new.md", "# New\n\nzebra\n")
	within("a new file", finds("zebra"))
	write("new.md", "# New\n\ngiraffe\n")
	within("a change", finds("giraffe"))
	write("deep/er/folder/x.md", "# X\n\nokapi\n")
	within("a new folder", finds("okapi"))
	write("deep/er/folder/y.md", "# Y\n\ntapir\n")
	within("a new file in it", finds("tapir"))
	write("other", "# Z\n\nlemur\n")
	require.NoError(t, os.Rename(path("other"), path("z.md")))
	within("a renamed file", finds("lemur"))
	require.NoError(t, os.Rename(path("deep"), path("shallow")))
	write("shallow/er/folder/w.md", "# W\n\nibex\n")
	within("a renamed folder", finds("ibex"))
	require.NoError(t, os.Rename(path("shallow"), path("../aside")))
	write("shallow/er/folder/w.md", "# W\n\ngnu\n")
	within("a folder made anew in the place of one that was moved away", finds("gnu"))
	write("shallow/er/folder/w.md", "# W\n\nkudu\n")
	within("a change in it", finds("kudu"))
	require.NoError(t, os.RemoveAll(path("shallow")))
	within("a removed folder", func() bool { return !found(t, m, "okapi", "okapi") })
	log := `{"role":"user","content":"the quagga is extinct"}` + "\n"
	write("chat.jsonl", log)
	within("a log", finds("quagga"))
	file, err := os.OpenFile(path("chat.jsonl"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString(`{"role":"assistant","content":"so is the thylacine"}` + "\n")
	require.NoError(t, err)
	require.NoError(t, file.Close())
	within("a log that grows", finds("thylacine"))

	for i := range 2000 {
		write(fmt.Sprintf("mass/%d/%d.md", i%40, i), fmt.Sprintf("# M\n\nmassword%d stands here\n", i))
	}
	within("2,000 files at once", func() bool {
		status, err := m.Status(t.Context())
		return err == nil && status.Documents["markdown"] > 2000 && status.Stale == nil
	})
	within("the last of them", finds("massword1999"))
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// Watch reads a file again that it read right after a write.
func TestWatchReadsAgain(t *testing.T) {
	mem := newMemory(t)
	m := mem.open()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- m.Watch(ctx, core.WatchOptions{Quiet: time.Millisecond, Longest: time.Millisecond, Every: time.Hour})
	}()
	for i := range 10 {
		words := fmt.Sprintf("quagga%d", i)
		require.NoError(t, os.WriteFile(filepath.Join(mem.notes, "new.md"), []byte("# New\n\n"+words+"\n"), 0o644)) // just now
		require.Eventually(t, func() bool {
			status, err := m.Status(t.Context())
			return err == nil && status.Documents["markdown"] == 4 && status.Stale == nil
		}, time.Minute, 5*time.Millisecond)
		require.True(t, found(t, m, words, words))
	}
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// Queries skip the file check while a watch reports no change.
func TestQueriesTrustAWatch(t *testing.T) {
	mem := newMemory(t)
	mem.options.Freshness = time.Minute
	m := mem.open()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Watch(ctx, core.WatchOptions{}) }()
	looked := func() bool {
		result, err := m.Search(t.Context(), "port", core.SearchOptions{})
		require.NoError(t, err)
		return result.Took["fold-in"] > 0
	}
	require.Eventually(t, func() bool { return !looked() }, time.Minute, 5*time.Millisecond)
	for i := range 20 {
		words := fmt.Sprintf("zebra%d", i)
		require.NoError(t, os.WriteFile(filepath.Join(mem.notes, "zebra.md"), []byte("# Z\n\n"+words+"\n"), 0o644))
		require.Eventually(t, func() bool { return found(t, m, words, words) }, time.Minute, time.Millisecond)
	}
	stop()
	require.ErrorIs(t, <-ended, context.Canceled)
	require.True(t, looked())
}

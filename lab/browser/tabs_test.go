package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// chunks returns how many chunks are indexed.
func (h home) chunks(t *testing.T) int {
	t.Helper()
	var status struct{ Chunks int }
	require.NoError(t, json.Unmarshal([]byte(h.run(t, "", "status", "--json")), &status))
	return status.Chunks
}

// An editor changes a file while two tabs are open: both say so, and show it when asked to.
func TestTwoTabsAndAnEditor(t *testing.T) {
	t.Parallel()
	h := emptyHome(t, "small")
	note := "# Harbour\n"
	for i := range 10 {
		note += fmt.Sprintf("\n## Berth %d\n\nBerth %d is kept free for the ferry to island %d.\n", i, i, i)
	}
	h.write(t, "notes/harbour.md", note)
	h.run(t, "", "index")
	first := newBrowser(t)
	address := h.open(t, first)
	require.Equal(t, 10, h.chunks(t))
	second := newTab(t, first)
	document := address + "document?path=notes/harbour.md"
	do(t, second, visit(document), shown("h1"))
	require.NotContains(t, evaluate[string](t, second, `document.body.innerText`), "lightship")
	const changed = `!document.getElementById("changed").hidden`
	// The editor writes beside the file and renames.
	edit := func(text string) {
		temporary := filepath.Join(h.workspace, ".harbour.md.swp")
		require.NoError(t, os.WriteFile(temporary, []byte(text), 0o644))
		require.NoError(t, os.Rename(temporary, filepath.Join(h.workspace, "notes/harbour.md")))
	}
	// A page hears nothing of what happens before it listens, so the editor saves until it says so.
	noticed := func(tab context.Context, text string) {
		saved := 0
		require.Eventually(t, func() bool {
			saved++
			edit(text + strings.Repeat("\n", saved%9))
			for range 20 {
				if evaluate[bool](t, tab, changed) {
					return true
				}
				time.Sleep(100 * time.Millisecond)
			}
			return false
		}, time.Minute, time.Millisecond)
	}
	noticed(first, strings.Replace(note, "ferry to island 3", "lightship", 1))
	noticed(second, strings.Replace(note, "ferry to island 3", "lightship", 1))
	require.NotContains(t, evaluate[string](t, second, `document.body.innerText`), "lightship", "a page does not change below the reader")
	do(t, second, clickOn("#changed a"))
	until(t, second, `document.body.innerText.includes("lightship")`)
	require.Equal(t, document, get(t, second, chromedp.Location()))
	require.False(t, evaluate[bool](t, second, changed))
	for _, page := range menuPages(t, first, address) { // works on while files change
		h.write(t, "notes/harbour.md", note+fmt.Sprintf("\n## Now\n\nIt is %s.\n", time.Now()))
		require.Empty(t, refusal(t, first, page))
	}

	// Files go: the page of a document says so, and a page that is open stays as it is.
	do(t, second, visit(document), shown("nav"))
	noticed(second, note)
	require.NoError(t, os.Remove(filepath.Join(h.workspace, "notes/harbour.md")))
	until(t, second, `document.querySelector("nav") !== null`)
	require.Eventually(t, func() bool { return strings.Contains(refusal(t, second, document), "not in the index") }, time.Minute, 100*time.Millisecond)
	require.Empty(t, refusal(t, first, address))
}

// Each page of a big memory is small and comes soon.
func TestManyChunks(t *testing.T) {
	t.Parallel()
	const files, sections = 1000, 100
	h := emptyHome(t, "big")
	for i := range files {
		var note strings.Builder
		fmt.Fprintf(&note, "# Depot %d\n", i)
		for j := range sections {
			fmt.Fprintf(&note, "\n## Shelf %d\n\nShelf %d of depot %d holds part %d of the pump.\n", j, j, i, i*sections+j)
		}
		h.write(t, fmt.Sprintf("notes/%d/depot-%d.md", i%30, i), note.String())
	}
	h.settings(t, "embedder: none")
	h.run(t, "", "index")
	ctx := newBrowser(t)
	address := h.open(t, ctx)
	all := menuPages(t, ctx, address)
	require.GreaterOrEqual(t, h.chunks(t), files*sections)
	all["document"] = address + "document?path=notes/0/depot-0.md"
	all["find"] = address + "memory?find=depot-7"
	all["asked"] = address + "ask?q=which+part+of+the+pump+does+shelf+7+of+depot+70+hold"
	for _, name := range sorted(all) {
		require.Empty(t, refusal(t, ctx, all[name]), name)
		// The best of five, since other tests may run beside.
		best := evaluate[struct {
			Size         int     `json:"size"`
			Milliseconds float64 `json:"milliseconds"`
		}](t, ctx, `(async () => {
		  let size, milliseconds = Infinity;
		  for (let i = 0; i < 5; i++) {
		    const begun = performance.now();
		    size = (await (await fetch(`+quoted(all[name])+`)).arrayBuffer()).byteLength;
		    milliseconds = Math.min(milliseconds, performance.now() - begun);
		  }
		  return {size, milliseconds};
		})()`)
		t.Logf("%s: %d KB in %.0f ms", name, best.Size>>10, best.Milliseconds)
		require.Less(t, best.Size, 300_000, name)
		if name == "overview" {
			require.Less(t, best.Milliseconds, 100.0)
		}
	}
}

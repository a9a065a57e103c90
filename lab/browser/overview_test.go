package browser_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// given writes a record of what agents got and opened in the last weeks.
func (h home) given(t *testing.T) {
	t.Helper()
	indexes, err := filepath.Glob(filepath.Join(h.dir, ".cache", "memcore", "index", "*"))
	require.NoError(t, err)
	require.Len(t, indexes, 1)
	state := filepath.Join(h.dir, ".local", "state", "memcore", "workspaces", filepath.Base(indexes[0]))
	require.NoError(t, os.MkdirAll(state, 0o700))
	var log strings.Builder
	for i := range 60 {
		at := time.Now().AddDate(0, 0, -i/2).UTC().Format(time.RFC3339)
		path := "notes/deploy.md"
		if i%3 == 0 {
			path = "notes/staging.md"
		}
		fmt.Fprintf(&log, `{"id":"t%d","agent":"claude-code","session":"s","at":%q,"event":"prompt","key":"k","prompt":"question %d","took":"9ms","given":[{"kind":"passage","key":"h","source":%q,"path":%q,"score":0.8,"tokens":40}]}`+"\n", i, at, i, path+"#L1-L9", path)
		if i%5 > 0 {
			fmt.Fprintf(&log, `{"id":"t%d","agent":"claude-code","session":"s","opened":["h"]}`+"\n", i)
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(state, "journal.jsonl"), []byte(log.String()), 0o600))
}

func TestOverview(t *testing.T) {
	h := newHome(t)
	n := 0
	require.NoError(t, filepath.WalkDir(h.workspace, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			n++
			at := time.Now().AddDate(0, 0, -n*n)
			err = os.Chtimes(path, at, at)
		}
		return err
	}))
	h.run(t, "", "index")
	h.given(t)
	h.run(t, "", "tool", "save_memory", `{"fact":"Run the linter."}`)
	ctx := newBrowser(t)
	do(t, ctx, visit(h.run(t, "", "view", "--link")), shown(".figures"))
	address := get(t, ctx, chromedp.Location())
	main := evaluate[string](t, ctx, `document.querySelector("main").innerText`)
	for _, want := range []string{"To do:", "trust:", "1 proposal for memory waits", "notes/deploy.md", "Opened by agents", "notes/staging.md", "English"} {
		require.Contains(t, main, want)
	}
	do(t, ctx, chromedp.Evaluate[chromedp.Void]("document.querySelectorAll('details').forEach((d) => d.open = true)"))
	for _, colours := range []string{"light", "dark"} {
		for name, width := range map[string]int64{"desktop": 1280, "phone": 390} {
			do(t, ctx, chromedp.EmulateViewport(width, 900), scheme(colours), visit(address), shown(".figures"))
			shot(t, ctx, "overview-full-"+name+"-"+colours)
			require.LessOrEqual(t, get(t, ctx, chromedp.Evaluate[int64]("document.documentElement.scrollWidth")), width)
		}
	}
}

// Documents come in pages.
func TestDocumentsHavePages(t *testing.T) {
	h := emptyHome(t, "many")
	for n := range 250 {
		h.write(t, fmt.Sprintf("notes/%03d.md", n), fmt.Sprintf("# Depot %d\n\nIt holds a pump.\n", n))
	}
	h.run(t, "", "index")
	ctx := newBrowser(t)
	do(t, ctx, visit(h.open(t, ctx)+"memory"), shown("a[rel=next]"))
	for _, want := range []string{"1 to 100 of 250", "101 to 200 of 250", "201 to 250 of 250"} {
		do(t, ctx, says("main", want))
		if want != "201 to 250 of 250" {
			do(t, ctx, leaving(clickOn("a[rel=next]")), shown("a[rel=prev]"))
		}
	}
}

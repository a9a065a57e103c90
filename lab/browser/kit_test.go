package browser_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// A home is an empty home with a workspace.
type home struct {
	dir, workspace, program string
}

// newHome returns a home with the workspace of testdata.
func newHome(t *testing.T) home {
	t.Helper()
	h := emptyHome(t, "harbourline")
	require.NoError(t, os.CopyFS(h.workspace, os.DirFS("../../testdata/workspace")))
	return h
}

// emptyHome returns a home with an empty workspace.
func emptyHome(t *testing.T, name string) home {
	t.Helper()
	program := os.Getenv("MEMCORE")
	_, err := exec.LookPath("chromium")
	if program == "" || err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("MEMCORE names no program, or there is no chromium")
		}
		t.Skip("MEMCORE names no program, or there is no chromium")
	}
	h := home{dir: t.TempDir(), program: program}
	h.workspace = filepath.Join(h.dir, name)
	require.NoError(t, os.MkdirAll(filepath.Join(h.workspace, ".git"), 0o755))
	t.Cleanup(func() { h.run(t, "", "serve", "--stop") })
	return h
}

// run runs memcore and returns its output.
func (h home) run(t *testing.T, input string, args ...string) string {
	t.Helper()
	c := exec.Command(h.program, args...)
	c.Dir, c.Env = h.workspace, []string{"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "MEMCORE_HOOK_BUDGET=20s"} // for busy machines
	c.Stdin = strings.NewReader(input)
	var problems strings.Builder
	c.Stderr = &problems
	out, err := c.Output()
	require.NoError(t, err, "%s: %s", args, problems.String())
	return strings.TrimSpace(string(out))
}

// settings writes the user's settings.
func (h home) settings(t *testing.T, lines string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(h.dir, ".beans"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, ".beans/config.yaml"), []byte("memory:\n  "+lines+"\n"), 0o644))
}

// write writes a file of the workspace.
func (h home) write(t *testing.T, name, text string) {
	t.Helper()
	path := filepath.Join(h.workspace, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// prompt sends a prompt of an agent.
func (h home) prompt(t *testing.T, session, text string) {
	t.Helper()
	event, err := json.Marshal(map[string]string{"hook_event_name": "UserPromptSubmit", "session_id": session, "prompt": text})
	require.NoError(t, err)
	h.run(t, string(event), "hook", "claude-code")
}

// open opens the pages in a tab and returns the address of the first one.
func (h home) open(t *testing.T, ctx context.Context) string {
	t.Helper()
	do(t, ctx, visit(h.run(t, "", "view", "--link")), shown("h1"))
	return get(t, ctx, chromedp.Location())
}

// newBrowser opens a browser of its own.
func newBrowser(t *testing.T, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath("chromium"), chromedp.NoSandbox, chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(t.TempDir()))
	options = append(options, more...)
	ctx, stop := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate("about:blank")))
	return ctx
}

// get runs an action that returns a value.
func get[T any](t *testing.T, ctx context.Context, a chromedp.Action[T]) T {
	t.Helper()
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	v, err := chromedp.Run(ctx, a)
	require.NoError(t, err)
	return v
}

// do runs actions.
func do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	get(t, ctx, chromedp.Steps(steps...))
}

// shot keeps a screenshot, if MEMCORE_SHOTS names a folder.
func shot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	if folder := os.Getenv("MEMCORE_SHOTS"); folder != "" {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name+".png"), get(t, ctx, chromedp.FullScreenshot(100)), 0o644))
	}
}

// scheme returns the action that prefers light or dark colours.
func scheme(name string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, page *chromedp.Target) error {
		_, err := cdp.Call(ctx, page, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
		return err
	})
}

// wait returns the action that waits until an expression is true, also in a page that comes next.
func wait(expression string) chromedp.Action[chromedp.Void] {
	is := chromedp.Evaluate[bool](expression)
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		for {
			try, stop := context.WithTimeout(ctx, 10*time.Second)
			done, err := chromedp.Run(try, is)
			stop()
			if err == nil && done {
				return nil
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("wait for %s: %w", expression, errors.Join(ctx.Err(), err))
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
}

// loaded is true in a page that loaded after the one in which window.left was set.
const loaded = `window.left === undefined && document.readyState === "complete"`

// visit returns the action that opens an address.
func visit(address string) chromedp.Action[chromedp.Void] {
	return leaving(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		result, err := cdp.Call(ctx, target, page.Navigate, page.NavigateParams{URL: address})
		if err == nil && result.ErrorText != "" {
			err = fmt.Errorf("open %s: %s", address, result.ErrorText)
		}
		return err
	}))
}

// visited returns the action that opens a page and waits until it is shown.
func visited(address string) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(visit(address), shown("h1"))
}

// back returns the action that goes back to the page before.
func back() chromedp.Action[chromedp.Void] { return leaving(script("history.back()")) }

// leaving returns the action that leaves a page by a step, and waits until the next is loaded.
func leaving(step chromedp.Action[chromedp.Void]) chromedp.Action[chromedp.Void] {
	return chromedp.Steps(script("window.left = true"), step, wait(loaded))
}

// script returns the action that runs a statement in the page.
func script(statement string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, _ *chromedp.Target) error {
		_, err := chromedp.Run(ctx, chromedp.Evaluate[any](statement+"; null"))
		return err
	})
}

// shown returns the action that waits until the first element of a selector can be seen.
func shown(selector string) chromedp.Action[chromedp.Void] {
	return wait(`document.querySelector(` + strconv.Quote(selector) + `)?.checkVisibility({ visibilityProperty: true }) === true`)
}

// says returns the action that waits until the first element of a selector has a text. To find the
// element and to read it is one step of the page, which may be replaced at any time.
func says(selector, text string) chromedp.Action[chromedp.Void] {
	return wait(`document.querySelector(` + strconv.Quote(selector) + `)?.innerText.includes(` + strconv.Quote(text) + `) === true`)
}

// clickOn returns the action that clicks the first element of a selector, once it can be seen and
// nothing covers it. To look and to click is one step of the page, so nothing moves in between.
func clickOn(selector string) chromedp.Action[chromedp.Void] {
	return wait(`(() => {
		const element = document.querySelector(` + strconv.Quote(selector) + `);
		element?.scrollIntoView({ block: "center", behavior: "instant" });
		const box = element?.getClientRects()[0];
		const top = box && document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
		if (!top || !element.contains(top)) return false;
		element.click();
		return true;
	})()`)
}

// newTab opens another tab of a browser.
func newTab(t *testing.T, ctx context.Context, options ...chromedp.ContextOption) context.Context {
	t.Helper()
	ctx, stop := chromedp.NewContext(ctx, options...)
	t.Cleanup(stop)
	require.NoError(t, chromedp.Do(ctx)) // without the time limit of get, which would close it
	return ctx
}

// evaluate returns the value of an expression of the page.
func evaluate[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	return get(t, ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
}

// until waits until an expression of a whole page is true, also of a page that comes next.
func until(t *testing.T, ctx context.Context, expression string) {
	t.Helper()
	do(t, ctx, wait(`document.readyState === "complete" && (`+expression+`)`))
}

// leave runs a statement that leads to another page, and waits for that.
func leave(t *testing.T, ctx context.Context, statement string) {
	t.Helper()
	do(t, ctx, leaving(script(statement)))
}

// menuPages returns the addresses of the menu's pages, by name.
func menuPages(t *testing.T, ctx context.Context, address string) map[string]string {
	t.Helper()
	all := map[string]string{}
	do(t, ctx, visit(address), shown("nav"))
	for _, link := range evaluate[[]string](t, ctx, `[...document.querySelectorAll("nav a")].map(a => a.href)`) {
		name := strings.TrimPrefix(link, address)
		if name == "" {
			name = "overview"
		}
		all[name] = link
	}
	require.GreaterOrEqual(t, len(all), 5)
	return all
}

// allPages returns the addresses of the menu's pages and of pages, by name.
func allPages(t *testing.T, ctx context.Context, address string) map[string]string {
	t.Helper()
	all := menuPages(t, ctx, address)
	for name, path := range pages {
		all[name] = address + path
	}
	return all
}

// sorted returns the names of pages in order.
func sorted(all map[string]string) []string { return slices.Sorted(maps.Keys(all)) }

// A diary holds what a tab did that no page of memcore does.
type diary struct {
	mu      sync.Mutex
	strange []string
}

// watch writes a diary of a tab, whose own pages begin with origin.
func watch(t *testing.T, ctx context.Context, origin string) *diary {
	t.Helper()
	d := &diary{}
	require.NoError(t, chromedp.Listen(ctx, func(event any) {
		switch e := event.(type) {
		case *page.EventJavascriptDialogOpening:
			d.add("dialog: " + e.Message)
			go func() {
				_, _ = chromedp.Call(ctx, page.HandleJavaScriptDialog, page.HandleJavaScriptDialogParams{})
			}()
		case *page.EventWindowOpen:
			d.add("window: " + e.URL)
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, origin+"/") && !strings.HasPrefix(e.Request.URL, "data:") { // an icon of the browser
				d.add("request: " + e.Request.URL)
			}
		case *network.EventWebSocketCreated:
			d.add("socket: " + e.URL)
		case *runtime.EventConsoleAPICalled:
			d.add(fmt.Sprintf("console: %s %s", e.Type, e.Args[0].Description))
		case *runtime.EventExceptionThrown:
			d.add(fmt.Sprintf("exception: %s", e.ExceptionDetails.Text))
		case *log.EventEntryAdded:
			if !strings.Contains(e.Entry.Text, "status of 4") { // such as that there is no such document
				d.add(fmt.Sprintf("log: %s: %s", e.Entry.Text, e.Entry.URL))
			}
		}
	}))
	return d
}

func (d *diary) add(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.strange = append(d.strange, line)
}

// read returns the lines since the last call.
func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.strange
	d.strange = nil
	return lines
}

package browser_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// usedHome returns a home with an index, some turns and two runs of cases, and its first address in
// a tab.
func usedHome(t *testing.T) (h home, ctx context.Context, address string) {
	t.Helper()
	h = newHome(t)
	h.run(t, "", "index")
	h.run(t, "", "view", "--link") // starts the daemon
	for _, prompt := range []string{"I changed the nginx rules. What do I have to do now?", "go on", "which port does the staging database use?"} {
		h.prompt(t, "one", prompt)
	}
	h.run(t, "", "tool", "save_memory", `{"fact":"Run the linter before each commit."}`)
	h.run(t, "", "tool", "memory_append", `{"path":"facts/user.md","entry":"- Ada prefers tabs."}`)
	ctx = newBrowser(t)
	return h, ctx, h.open(t, ctx)
}

// A look is a size and colours.
type look struct {
	name, colours string
	width, height int64
}

// looks are the sizes and colours in which pages are seen.
var looks = []look{{"desktop-light", "light", 1280, 900}, {"desktop-dark", "dark", 1280, 900}, {"phone-light", "light", 390, 844}, {"phone-dark", "dark", 390, 844}}

// MEMCORE_AXE is the script of axe-core, which .ci/browser gets. It finds nothing serious.
func TestAccessible(t *testing.T) {
	t.Parallel()
	name := os.Getenv("MEMCORE_AXE")
	if name == "" {
		t.Skip("MEMCORE_AXE names no script; .ci/browser gets it")
	}
	axe, err := os.ReadFile(name)
	require.NoError(t, err)
	_, ctx, address := usedHome(t)
	all := allPages(t, ctx, address)
	all["problem"] = address + "document?path=none"
	for name, path := range map[string]string{"problem": "document?path=none", "log": "document?path=sessions/claude-barcode.jsonl",
		"edit": "edit?path=notes/deploy.md&first=13&last=16", "strike": "change?how=strike&path=notes/deploy.md&first=9&last=9"} {
		all[name] = address + path
	}
	rules := 0
	for _, page := range sorted(all) {
		do(t, ctx, visited(all[page]))
		get(t, ctx, chromedp.Evaluate[any](string(axe)+`; for (const d of document.querySelectorAll("details")) d.open = true; null`))
		for _, look := range []look{looks[0], looks[3]} { // each size and both colours
			do(t, ctx, chromedp.EmulateViewport(look.width, look.height), scheme(look.colours))
			found := evaluate[struct {
				Passes  int      `json:"passes"`
				Serious []string `json:"serious"`
			}](t, ctx, `axe.run().then(r => ({passes: r.passes.length, serious: r.violations.filter(v => ["serious", "critical"].includes(v.impact)).flatMap(v => v.nodes.map(n => v.id + ": " + n.html + ": " + n.failureSummary))}))`)
			require.Empty(t, found.Serious, "%s, %s", page, look.name)
			rules += found.Passes
		}
	}
	t.Logf("%d pages, %d rules passed", len(all), rules)
	require.Greater(t, rules, 40*len(all))
}

// controls lists what can have the focus: window.wanted holds what had none yet, window.unseen
// what had it without a visible outline.
const controls = `(() => {
  const all = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")].filter((e) =>
    e.tabIndex >= 0 && !e.disabled && e.type !== "hidden" && e.checkVisibility({visibilityProperty: true}) && !(e.type === "radio" && !e.checked));
  window.wanted = new Set(all);
  window.unseen = [];
  document.addEventListener("focusin", ({target: e}) => {
    window.wanted.delete(e);
    const s = getComputedStyle(e), box = e.getBoundingClientRect();
    if (s.outlineStyle === "none" || parseFloat(s.outlineWidth) < 1 || box.width < 1 || box.height < 1 || box.right < 1) window.unseen.push(e.outerHTML.slice(0, 200));
  });
  window.wanted.delete(document.activeElement);
  return all.length;
})()`

// Each control of each page is reached by Tab and is seen to be. Keys of the page and Enter work.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	_, ctx, address := usedHome(t)
	all := allPages(t, ctx, address)
	for _, page := range sorted(all) {
		do(t, ctx, visited(all[page]))
		n := evaluate[int](t, ctx, controls)
		do(t, ctx, chromedp.KeyEvent(strings.Repeat(kb.Tab, n+n/4+10)))
		require.Empty(t, evaluate[[]string](t, ctx, `[...window.wanted].map(e => e.outerHTML.slice(0, 200))`), "%s: not reached", page)
		require.Empty(t, evaluate[[]string](t, ctx, `window.unseen`), "%s: not seen", page)
		if evaluate[bool](t, ctx, `!!document.querySelector("summary")`) {
			do(t, ctx, chromedp.Focus("summary"), chromedp.KeyEvent(kb.Enter))
			require.True(t, evaluate[bool](t, ctx, `document.querySelector("details").open`), page)
		}
	}

	do(t, ctx, visit(address), shown("h1"), chromedp.KeyEvent(kb.Tab))
	require.Equal(t, "skip", evaluate[string](t, ctx, `document.activeElement.className`), "the first key leads to the link over the menu")
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	require.Equal(t, "main", evaluate[string](t, ctx, `document.activeElement.id`))

	menu := evaluate[[]string](t, ctx, `[...document.querySelectorAll("nav a")].map(a => a.href)`)
	for i, link := range menu[:min(9, len(menu))] {
		do(t, ctx, visit(menu[(i+1)%len(menu)]), shown("h1"), chromedp.KeyEvent(string(rune('1'+i))))
		until(t, ctx, `location.href === `+quoted(link))
	}
	do(t, ctx, visit(address), shown("h1"), chromedp.KeyEvent(kb.Tab+kb.Tab+kb.Tab), chromedp.KeyEvent(kb.Enter))
	until(t, ctx, `location.href === `+quoted(menu[1]))
	do(t, ctx, visit(menu[1]), shown("textarea"), chromedp.Blur("textarea"), chromedp.KeyEvent("/"))
	require.Equal(t, "TEXTAREA", evaluate[string](t, ctx, `document.activeElement.tagName`))
}

// Without JavaScript each page says the same, shows no control that does nothing, and its forms
// lead where they should.
func TestWithoutJavaScript(t *testing.T) {
	t.Parallel()
	_, ctx, address := usedHome(t)
	all := allPages(t, ctx, address)
	const parts = `document.querySelectorAll("main tr, main li, main pre, main h2, main dt").length`
	with := map[string]int{}
	for page, link := range all {
		do(t, ctx, visited(link))
		with[page] = evaluate[int](t, ctx, parts)
	}
	_, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	require.NoError(t, err)
	for _, page := range sorted(all) {
		do(t, ctx, visited(all[page]))
		require.GreaterOrEqual(t, evaluate[int](t, ctx, parts), with[page], page)
		require.Greater(t, evaluate[int](t, ctx, `document.querySelector("main").innerText.length`), 40, page)
		require.Empty(t, evaluate[[]string](t, ctx, `[...document.querySelectorAll("main button, main input, main select, main textarea")].filter(e => !e.form && e.checkVisibility()).map(e => e.outerHTML)`), page)
		for i := range evaluate[int](t, ctx, `document.querySelectorAll("main form:not([method=post])").length`) {
			do(t, ctx, visited(all[page]))
			form := `document.querySelectorAll("main form:not([method=post])")[` + string(rune('0'+i)) + `]`
			leave(t, ctx, `for (const e of `+form+`.querySelectorAll("textarea, input:not([type]), input[type=search]")) if (!e.value) e.value = e.placeholder.split(",")[0] || "staging"; `+form+`.querySelector("button").click()`)
			require.True(t, evaluate[bool](t, ctx, `!!document.querySelector("nav")`), "%s: form %d: %s", page, i, get(t, ctx, chromedp.Location()))
		}
	}
}

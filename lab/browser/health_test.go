package browser_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// hostileCases attack the page by their questions and by what they expect.
const hostileCases = `cases:
- query: Which port does the staging database use?
  expect: notes/staging-database.md
- query: I changed the nginx rules. What do I have to do now?
  expect: notes/deploy.md
- query: '<script>alert(1)</script><img src=x onerror=alert(2)>" onmouseover="alert(3)" style="x:expression(1)"'
  expect:
    text: "</td></table><script>alert(4)</script>\u202e"
- query: '"><svg onload=alert(5)><a href=javascript:alert(6)>{{.}}'
  expect_nothing: true
- query: who won the chess world championship in 1972
  expect_nothing: true
`

// measure runs the cases of a workspace, hostile ones if it has none.
func (h home) measure(t *testing.T) {
	t.Helper()
	cases := filepath.Join(h.workspace, "memcore-eval.yaml")
	if _, err := os.Stat(cases); err != nil {
		require.NoError(t, os.WriteFile(cases, []byte(hostileCases), 0o600))
	}
	h.run(t, "", "eval", "run", "--data", "memcore-eval.yaml")
}

func TestHealth(t *testing.T) {
	h := newHome(t)
	h.run(t, "", "index")
	ctx := newBrowser(t)
	do(t, ctx, visit(h.run(t, "", "view", "--link")), shown(".figures"))
	address := get(t, ctx, chromedp.Location())
	text := func() string {
		return get(t, ctx, chromedp.Evaluate[string]("document.querySelector('main').innerText"))
	}
	elements := func(of string) int64 {
		return get(t, ctx, chromedp.Evaluate[int64]("document.querySelectorAll(`"+of+"`).length"))
	}

	// Without cases the page says how to make some.
	do(t, ctx, visit(address+"health"), shown("h1"))
	require.Contains(t, text(), "memcore eval init")
	require.Zero(t, elements("main form"))
	shot(t, ctx, "health-none")

	// The button runs the cases. Pressing it again while they run starts no second run.
	cases := filepath.Join(h.workspace, "memcore-eval.yaml")
	require.NoError(t, os.WriteFile(cases, []byte(hostileCases+strings.Repeat("- query: How long is the cache kept?\n  expect: notes/cache.md\n", 1000)), 0o600))
	do(t, ctx, visit(address+"health"), shown("main form"))
	require.Contains(t, text(), "Ask 1005 questions now")
	do(t, ctx, clickOn("main form button"))
	until(t, ctx, `document.querySelector("#running") !== null`)
	shot(t, ctx, "health-running")
	require.Zero(t, elements("main form"), "no second run meanwhile")
	status := get(t, ctx, chromedp.Evaluate[string](`(() => { const r = new XMLHttpRequest(); r.open("POST", "evaluate", false); r.send(); return r.status + " " + r.responseURL })()`))
	require.Regexp(t, "^200 .*/health$", status)
	until(t, ctx, `document.querySelectorAll("td a[href^='health?run=']").length === 1`) // by the script, without a reload by hand
	require.Zero(t, elements("#running"))

	// A question opens in Ask as it is, and comes back.
	require.Equal(t, int64(0), elements("main script, main img, main [onload], main [onerror], main [style], main a[href^='javascript']"))
	do(t, ctx, clickOn(".questions a[href*='script']"), shown("textarea"))
	require.Contains(t, get(t, ctx, chromedp.Evaluate[string]("document.querySelector('textarea').value")), "<script>alert(1)</script>")

	// Two runs are compared, by keyboard.
	require.NoError(t, os.WriteFile(cases, []byte(hostileCases), 0o600))
	h.measure(t)
	do(t, ctx, visit(address+"health"), shown("polyline"))
	require.Equal(t, int64(2), elements("td a[href^='health?run=']"))
	get(t, ctx, chromedp.Evaluate[bool]("document.querySelector('form[action=compare] button').focus(), true"))
	do(t, ctx, chromedp.KeyEvent("\r"))
	until(t, ctx, `location.href.includes("compare?before=") && document.readyState === "complete"`)
	require.Contains(t, text(), "only in one are left out")
	require.Contains(t, text(), "the same")
	for range 3 {
		h.measure(t)
	}
	compared := strings.TrimPrefix(get(t, ctx, chromedp.Location()), address)
	for _, width := range []int64{1280, 390} {
		for _, colours := range []string{"light", "dark"} {
			for name, path := range map[string]string{"health": "health", "compare": compared} {
				do(t, ctx, chromedp.EmulateViewport(width, 900), scheme(colours), visit(address+path), shown("h1"))
				shot(t, ctx, name+"-"+map[int64]string{1280: "desktop", 390: "phone"}[width]+"-"+colours)
				require.LessOrEqual(t, get(t, ctx, chromedp.Evaluate[int64]("document.documentElement.scrollWidth")), width, "%s scrolls sideways", name)
			}
		}
	}
}

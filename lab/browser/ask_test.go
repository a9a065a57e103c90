package browser_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

const askedPort = "which port does the staging database use?"

// newAsked returns a home with an index and a daemon, whose hooks have time on a busy machine.
func newAsked(t *testing.T, settings ...string) home {
	t.Helper()
	h := newHome(t)
	require.NoError(t, os.Mkdir(filepath.Join(h.dir, ".beans"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(h.dir, ".beans", "config.yaml"), []byte("memory:\n  hook: {budget: 10s}\n  "+strings.Join(settings, "\n  ")+"\n"), 0o600))
	h.run(t, "", "index")
	h.run(t, "", "view", "--link") // starts the daemon
	return h
}

// pages returns a browser at the pages, and their address.
func (h home) pages(t *testing.T) (ctx context.Context, address string) {
	t.Helper()
	ctx = newBrowser(t)
	do(t, ctx, chromedp.EmulateViewport(1280, 900), visit(h.run(t, "", "view", "--link")), shown(".figures"))
	return ctx, get(t, ctx, chromedp.Location())
}

// asked sends a prompt as an agent's hook does.
func (h home) asked(t *testing.T, session, text string) {
	t.Helper()
	h.run(t, `{"hook_event_name":"UserPromptSubmit","session_id":"`+session+`","prompt":"`+text+`"}`, "hook", "claude-code")
}

// caseFile returns the file of cases.
func (h home) caseFile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(h.workspace, "memcore-eval.yaml"))
	if os.IsNotExist(err) {
		return ""
	}
	require.NoError(t, err)
	return string(text)
}

// press clicks the first button in a place with a text, and waits for the page that follows.
func press(t *testing.T, ctx context.Context, place, text string) {
	t.Helper()
	leave(t, ctx, `[...document.querySelector("`+place+`").querySelectorAll("button")].find(b => b.textContent.trim() === "`+text+`").click()`)
}

func TestAskMakesCases(t *testing.T) {
	h := newAsked(t)
	ctx, address := h.pages(t)
	ask := address + "ask?q=" + strings.ReplaceAll(askedPort, " ", "+") + "&since=5y"
	do(t, ctx, visit(ask), shown(".candidates"))
	shot(t, ctx, "ask-cases-none")
	press(t, ctx, "tr.given .marks", "This should have come")
	first := h.caseFile(t)
	require.Contains(t, first, "query: "+askedPort)
	require.Contains(t, first, "expect:\n      - path: ")
	require.Contains(t, get(t, ctx, chromedp.Location()), "since=5y#c1", "the same question as before")
	press(t, ctx, "tr.rejected .marks", "This should not")
	require.Contains(t, h.caseFile(t), "expect_not:")
	do(t, ctx, chromedp.SendKeys("#other input[name=expected]", "notes/none.md"))
	press(t, ctx, "#other", "This should have come")
	require.Contains(t, h.caseFile(t), "path: notes/none.md")
	require.Equal(t, 3, evaluate[int](t, ctx, `document.querySelectorAll("#case li").length`))
	shot(t, ctx, "ask-cases")

	// The question of a colleague keeps its comment.
	const mine = "# Ours.\ncases:\n  - query: hello   # small talk\n    expect_nothing: true\n"
	require.NoError(t, os.WriteFile(filepath.Join(h.workspace, "memcore-eval.yaml"), []byte(mine), 0o600))
	do(t, ctx, visit(ask), shown(".candidates"))
	press(t, ctx, "#mark", "Nothing should have come")
	require.Equal(t, mine+"  - query: "+askedPort+"\n    expect_nothing: true\n", h.caseFile(t))

	// A file that an editor left unreadable is not touched.
	const broken = "cases:\n  - query: [\n"
	require.NoError(t, os.WriteFile(filepath.Join(h.workspace, "memcore-eval.yaml"), []byte(broken), 0o600))
	press(t, ctx, "tr.given .marks", "This should have come")
	require.Contains(t, evaluate[string](t, ctx, `document.querySelector("#problem").innerText`), "memcore-eval.yaml")
	require.Equal(t, askedPort, evaluate[string](t, ctx, `document.getElementById("q").value`))
	require.Equal(t, broken, h.caseFile(t))
	shot(t, ctx, "ask-cases-broken")
}

func TestThresholdMoves(t *testing.T) {
	h := newAsked(t, "tokenBudget: 120")
	ctx, address := h.pages(t)
	do(t, ctx, visit(address+"ask?q="+strings.ReplaceAll(askedPort, " ", "+")), shown("#threshold"))
	given := func() int64 { return evaluate[int64](t, ctx, `document.querySelectorAll("tr.given").length`) }
	before := given()
	require.Positive(t, before)
	const rows = `[...document.querySelectorAll("tr[data-score]")].map(r => r.className + r.querySelector(".verdict").textContent).join()`
	shownFirst := evaluate[string](t, ctx, rows)
	do(t, ctx, chromedp.Focus("#threshold"), chromedp.KeyEvent(kb.ArrowRight))
	require.LessOrEqual(t, given(), before, "a stricter threshold gives no more")
	do(t, ctx, chromedp.KeyEvent(kb.ArrowLeft))
	require.Equal(t, shownFirst, evaluate[string](t, ctx, rows), "the threshold as it was")
	// The line is below the middle of the slider's thumb.
	for _, width := range []int64{390, 1280} {
		do(t, ctx, chromedp.EmulateViewport(width, 900))
		require.LessOrEqual(t, evaluate[float64](t, ctx, `(() => {
			const s = document.getElementById("threshold"), b = s.getBoundingClientRect();
			const inside = parseFloat(getComputedStyle(s).paddingLeft) + 8;
			const thumb = b.left + inside + (b.width - 2 * inside) * (s.value - s.min) / (s.max - s.min);
			return Math.abs(thumb - document.querySelector(".least").getBoundingClientRect().left);
		})()`), 2.5, width)
	}
	// By keyboard alone.
	do(t, ctx, chromedp.Focus("#threshold"), chromedp.KeyEvent(kb.Home))
	require.GreaterOrEqual(t, given(), before)
	require.NotContains(t, evaluate[string](t, ctx, `[...document.querySelectorAll("tr.given")].map(r => r.dataset.fixed).join()`), "never", "what other rules left out stays out")
	require.Contains(t, evaluate[string](t, ctx, `document.querySelector("#would").innerText`), "would be given, about ")
	shot(t, ctx, "ask-threshold-low")
	do(t, ctx, chromedp.KeyEvent(kb.End))
	require.LessOrEqual(t, given(), before)
	// By dragging the line.
	x := evaluate[float64](t, ctx, `document.querySelector("td.score").getBoundingClientRect().left + 30`)
	y := evaluate[float64](t, ctx, `document.querySelector("td.score").getBoundingClientRect().top + 5`)
	do(t, ctx, chromedp.MouseClickXY(x, y))
	require.InDelta(t, 30/evaluate[float64](t, ctx, `document.querySelector("td.score").getBoundingClientRect().width`), evaluate[float64](t, ctx, `Number(document.getElementById("threshold").value)`), .02)
	// With the threshold alone, the server gives what the page has said.
	press(t, ctx, ".threshold", "Ask with this threshold")
	require.Contains(t, get(t, ctx, chromedp.Location()), "with=threshold")
	alone := given()
	do(t, ctx, chromedp.Focus("#threshold"), chromedp.KeyEvent(kb.Home))
	require.GreaterOrEqual(t, given(), alone)
	lowest := given()
	require.Less(t, lowest, evaluate[int64](t, ctx, `[...document.querySelectorAll("tr[data-score]")].filter(r => r.dataset.score >= 0.005).length`), "the limit and the budget count")
	press(t, ctx, ".threshold", "Ask with this threshold")
	require.Equal(t, lowest, given())
}

func TestTurnArrivesLive(t *testing.T) {
	h := newAsked(t)
	h.asked(t, "first", "I changed the nginx rules. What do I have to do now?")
	h.asked(t, "first", "go on")
	h.asked(t, "second", askedPort)
	ctx, address := h.pages(t)
	do(t, ctx, visit(address+"turns"), shown(".session details summary"), clickOn(".session details summary"))
	do(t, ctx, chromedp.SendKeys("input[name=find]", "half a wo"))
	evaluate[bool](t, ctx, `scrollTo(0, 300), window.place = document.querySelector(".session").getBoundingClientRect().top, true`)
	h.asked(t, "third", "where are the nginx rules?")
	until(t, ctx, `!document.getElementById("live").hidden`)
	require.Contains(t, evaluate[string](t, ctx, `document.querySelector("#live").innerText`), "where are the nginx rules?")
	require.Contains(t, evaluate[string](t, ctx, `document.querySelector("#live-said").innerText`), "A new turn")
	require.True(t, evaluate[bool](t, ctx, `document.querySelector(".session details").open`))
	require.Equal(t, "half a wo", evaluate[string](t, ctx, `document.activeElement.value`))
	require.InDelta(t, 0, evaluate[float64](t, ctx, `document.querySelector(".session").getBoundingClientRect().top - place`), 1, "nothing moves under the eyes")
	h.asked(t, "third", "and the staging database port?")
	until(t, ctx, `document.querySelectorAll("#live li").length === 2`)
	shot(t, ctx, "turns-live")
}

func TestTurnsAreFoundAndOpen(t *testing.T) {
	h := newAsked(t)
	h.asked(t, "first", "I changed the nginx rules. What do I have to do now?")
	h.asked(t, "first", askedPort)
	ctx, address := h.pages(t)
	// A word that only the passage has.
	do(t, ctx, visit(address+"turns"), chromedp.SendKeys("input[name=find]", "upstream"), chromedp.KeyEvent(kb.Enter))
	until(t, ctx, `location.search.includes("upstream") && document.querySelector(".session") !== null`)
	require.Contains(t, evaluate[string](t, ctx, `document.querySelector(".session").innerText`), "nginx rules")
	require.NotContains(t, evaluate[string](t, ctx, `document.querySelector(".session").innerText`), askedPort)
	do(t, ctx, clickOn(".session h3 a"), shown("#case"))
	require.Contains(t, evaluate[string](t, ctx, `document.querySelector("main").innerText`), "The best ones, with their scores of then")
	require.Contains(t, evaluate[string](t, ctx, `document.querySelector("main").innerText`), "notes/deploy.md#L13-L16", "what it was told")
	shot(t, ctx, "turn-record")
	do(t, ctx, visit(address+"turns"), clickOn(".session h3 a"), shown(".candidates"))
	require.Contains(t, evaluate[string](t, ctx, `document.querySelector(".prompt").innerText`), askedPort)
	shot(t, ctx, "turn-trace")
	press(t, ctx, "tr.given .marks", "This should have come")
	require.Contains(t, get(t, ctx, chromedp.Location()), "turn?id=")
	require.Contains(t, h.caseFile(t), askedPort)
	// An impossible time is said, and the form stays.
	do(t, ctx, visit(address+"turns?since=someday&find=nginx"), shown("#problem"))
	require.Contains(t, evaluate[string](t, ctx, `document.querySelector("#problem").innerText`), "someday")
	require.Equal(t, "nginx", evaluate[string](t, ctx, `document.querySelector("[name=find]").value`))
}

// Each turn that got nothing says why, also when later ones of its session have replaced its trace.
func TestTurnsSayWhyNothingCame(t *testing.T) {
	h := newAsked(t)
	for _, prompt := range []string{askedPort, askedPort, "write a poem", "thanks"} {
		h.asked(t, "first", prompt)
	}
	h.asked(t, "second", askedPort)
	h.asked(t, "second", askedPort)
	ctx, address := h.pages(t)
	do(t, ctx, visit(address+"turns?session=first"), shown(".session"))
	rows := evaluate[[]string](t, ctx, `[...document.querySelectorAll(".session li[id]")].map(e => e.innerText)`)
	require.Len(t, rows, 4)
	require.Contains(t, rows[2], "Nothing was given: the conversation already has the best of it: notes/staging-database.md#L")
	require.NotContains(t, rows[1], "does not say why")
	do(t, ctx, visit(address+"turns?session=first"), clickOn(".session li:nth-child(3) h3 a"), says("main", "No passage: the conversation already has"))
	do(t, ctx, visit(address+"turns?session=second"), clickOn(".session li:first-child h3 a"), shown("#case"), clickOn("a[href^='ask?']"), says("main", "What the model gets"))
	require.Contains(t, evaluate[string](t, ctx, `document.querySelector("main").innerText`), "In its session this prompt got nothing: the conversation already has the best of it")
}

// A turn leads to its session's log: the agent's, or memcore's own if the agent keeps none.
func TestTurnLeadsToItsLog(t *testing.T) {
	h := newAsked(t)
	h.asked(t, "claude-barcode", askedPort)
	h.asked(t, "elsewhere", askedPort)
	ctx, address := h.pages(t)
	do(t, ctx, visit(address+"turns?session=claude-barcode"), clickOn(".session h3 a"), shown("#case"), clickOn("main a[href^='memory?find']"), says("main", "sessions/claude-barcode.jsonl"))
	do(t, ctx, visit(address+"turns?session=elsewhere"), clickOn(".session h3 a"), shown("#case"), clickOn("main a[href^='memory?find']"), says("main", "elsewhere"))
}

// tabTo presses Tab until a button with a text has the focus.
func tabTo(t *testing.T, ctx context.Context, text string) {
	t.Helper()
	for range 60 {
		if evaluate[bool](t, ctx, `document.activeElement.textContent.trim() === "`+text+`"`) {
			return
		}
		do(t, ctx, chromedp.KeyEvent(kb.Tab))
	}
	t.Fatalf("no Tab reaches %q", text)
}

func TestAskByKeyboard(t *testing.T) {
	h := newAsked(t)
	ctx, address := h.pages(t)
	do(t, ctx, visit(address+"ask"), shown("#q"), chromedp.KeyEvent("/"), chromedp.KeyEvent(askedPort))
	tabTo(t, ctx, "Ask")
	do(t, ctx, chromedp.KeyEvent(kb.Enter), shown(".candidates"))
	tabTo(t, ctx, "This should not")
	do(t, ctx, chromedp.KeyEvent(kb.Enter))
	until(t, ctx, `location.hash === "#c1" && document.readyState === "complete"`)
	require.Contains(t, h.caseFile(t), "expect_not:")
	tabTo(t, ctx, "This should have come") // of the next candidate: the focus is where it was
}

func TestAskWithoutScript(t *testing.T) {
	h := newAsked(t)
	h.asked(t, "first", askedPort)
	ctx, address := h.pages(t)
	do(t, ctx, chromedp.Func(func(ctx context.Context, page *chromedp.Target) error {
		_, err := cdp.Call(ctx, page, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	}), visit(address+"ask?q="+strings.ReplaceAll(askedPort, " ", "+")), shown(".candidates"), clickOn("tr.given .marks button"), shown("#case li"))
	require.Contains(t, h.caseFile(t), "path: notes/staging-database.md")
	until(t, ctx, `document.readyState === "complete"`)
	do(t, ctx, clickOn(".threshold button"))
	until(t, ctx, `location.search.includes("with=threshold") && document.readyState === "complete"`)
	require.Contains(t, evaluate[string](t, ctx, `document.querySelector("main").innerText`), "This is the answer with a threshold of")
	do(t, ctx, visit(address+"turns"), clickOn(".session h3 a"), shown("#case"))
	require.Contains(t, evaluate[string](t, ctx, `document.querySelector("#case").innerText`), "should come")
}

// Ask, a turn and Turns at both widths and in both schemes, with a case and with all kinds of
// evidence.
func TestAskShots(t *testing.T) {
	h := newAsked(t)
	h.asked(t, "first", "what did we decide about the barcode scanner?")
	h.asked(t, "first", "go on")
	h.asked(t, "second", "what did we decide about the barcode scanner?")
	ctx, address := h.pages(t)
	do(t, ctx, visit(address+"turns"), shown(".session"))
	turn := evaluate[string](t, ctx, `document.querySelector(".session h3 a").href`)
	for _, size := range []struct {
		name          string
		width, height int64
	}{{"desktop", 1280, 900}, {"phone", 390, 844}} {
		for _, colours := range []string{"light", "dark"} {
			for name, at := range map[string]string{"ask-barcode": address + "ask?q=what+did+we+decide+about+the+barcode+scanner%3F", "turn": turn, "turns-some": address + "turns"} {
				do(t, ctx, chromedp.EmulateViewport(size.width, size.height), scheme(colours), visit(at), shown("h1"))
				shot(t, ctx, name+"-"+size.name+"-"+colours)
				require.LessOrEqual(t, evaluate[int64](t, ctx, "document.documentElement.scrollWidth"), size.width, name)
				require.Less(t, evaluate[int64](t, ctx, "new Blob([document.documentElement.outerHTML]).size"), int64(300_000), name)
			}
		}
	}
}

// Enter asks, and Shift+Enter breaks the line of a prompt.
func TestEnterAsks(t *testing.T) {
	h := newAsked(t)
	ctx, address := h.pages(t)
	do(t, ctx, visited(address+"ask"), chromedp.Focus("#q"), chromedp.SendKeys("#q", "which port"))
	do(t, ctx, script(`document.getElementById("q").dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", shiftKey: true, bubbles: true, cancelable: true }))`))
	require.NotContains(t, get(t, ctx, chromedp.Location()), "which", "it waits")
	do(t, ctx, leaving(chromedp.KeyEvent(kb.Enter)), shown(".candidates"))
	require.Contains(t, get(t, ctx, chromedp.Location()), "q=which+port")
}

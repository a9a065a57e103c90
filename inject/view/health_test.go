package view

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/eval/runs"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app/kind"
)

// resultOf is a result with a rank.
func resultOf(mrr float64) eval.Result {
	return eval.Result{Name: "cases", Queries: 3, Unanswerable: 1, Scores: map[string]float64{"mrr": mrr, "recall@turn": mrr}, Intervals: map[string]eval.Interval{"mrr": {mrr - .1, mrr + .1}}}
}

// hostileRuns are runs of questions that attack.
func hostileRuns(n int) (all []runs.Run) {
	for i := range n {
		all = append(all, runs.Run{ID: fmt.Sprint("run", n-i), At: time.Now().AddDate(0, 0, -i), Version: hostile, Embedder: hostile, All: resultOf(.5)})
	}
	return all
}

func (fakeMemory) Runs(context.Context) (httpapi.Runs, error) {
	return httpapi.Runs{Runs: hostileRuns(3), File: "memcore-eval.yaml", Cases: 4, Problem: hostile, Failed: hostile}, nil
}

func (fakeMemory) Run(_ context.Context, r httpapi.RunRequest) (httpapi.Run, error) {
	if r.ID == "none" {
		return httpapi.Run{}, kind.As(kind.NotFound, runs.ErrNoRun)
	}
	asked := eval.Asked{Text: hostile, Answerable: true, Relevant: map[string]int{hostile: 1}, Injected: []string{hostile}, Scores: map[string]float64{"mrr": .5}}
	wrong := asked
	wrong.Injected = nil
	run := hostileRuns(1)[0]
	run.ID = r.ID
	return httpapi.Run{Run: run, Report: eval.Report{K: []int{1, 10}, All: resultOf(.5), Queries: []eval.Asked{asked, wrong}}}, nil
}

func (fakeMemory) CompareRuns(context.Context, httpapi.CompareRequest) (runs.Comparison, error) {
	asked, moved := []eval.Asked{{Text: hostile, Injected: []string{hostile}}}, []eval.Moved{{Text: hostile, Before: 1, After: .5}}
	c := runs.Comparison{Before: hostileRuns(1)[0], After: hostileRuns(1)[0], Broken: asked, Fixed: asked}
	c.Comparison = eval.Comparison{Queries: 3, Missing: 1, Worse: moved, Better: moved, Changes: []eval.Change{{Score: "mrr", Before: .2, After: .4, P: .2}, {Score: "recall@turn", Before: .4, After: .2, P: .01}}}
	return c, nil
}

func (fakeMemory) Evaluate(context.Context) (httpapi.Running, error) {
	return httpapi.Running{}, kind.As(kind.Conflict, errors.New("it runs already"))
}

// A runner has some runs.
type runner struct {
	fakeMemory
	runs httpapi.Runs
}

func (r runner) Runs(context.Context) (httpapi.Runs, error) { return r.runs, nil }

// page renders the page of a runner.
func (r runner) page(t *testing.T) string {
	t.Helper()
	p, err := healthOf(t.Context(), r, "")
	require.NoError(t, err)
	var b strings.Builder
	require.NoError(t, templates().ExecuteTemplate(&b, "health", p))
	return b.String()
}

func TestHealthSaysWhatToDo(t *testing.T) {
	for name, tt := range map[string]struct {
		runs   httpapi.Runs
		has    []string
		hasNot string
	}{
		"no cases":    {httpapi.Runs{}, []string{"memcore eval init", `href="ask"`, "No run yet"}, "<form"},
		"cases":       {httpapi.Runs{Cases: 2}, []string{`<form action="evaluate" method="post">`, "Ask 2 questions now", "No run yet"}, "eval init"},
		"bad cases":   {httpapi.Runs{Problem: "line 3: oh"}, []string{"line 3: oh"}, "<form"},
		"running":     {httpapi.Runs{Cases: 2, Running: &httpapi.Running{Done: 1, Total: 2}}, []string{"1 of 2 questions"}, "<form"},
		"failed":      {httpapi.Runs{Cases: 2, Failed: "no time"}, []string{"no time", "<form"}, `id="running"`},
		"one run":     {httpapi.Runs{Cases: 2, Runs: hostileRuns(1)}, []string{"0.50", "0.40 to 0.60", "Worst questions", `href="health?run=run1"`}, "Compare"},
		"two runs":    {httpapi.Runs{Cases: 2, Runs: hostileRuns(2)}, []string{"compare?before=run1&amp;after=run2", "<option", "<polygon"}, "No run yet"},
		"many runs":   {httpapi.Runs{Cases: 2, Runs: hostileRuns(50)}, []string{"health?run=run50", `health?run=run1"`}, "No run yet"},
		"lost source": {httpapi.Runs{Runs: hostileRuns(1)}, []string{"memcore eval init", "Worst questions"}, "<form"},
	} {
		text := runner{runs: tt.runs}.page(t)
		for _, has := range tt.has {
			require.Contains(t, text, has, name)
		}
		require.NotContains(t, text, tt.hasNot, name)
		require.Less(t, len(text), 300<<10, name)
	}
}

func TestHostileQuestionsStayText(t *testing.T) {
	v := newVisitor(t)
	v.open(t, "/a")
	for _, page := range []string{"health", "health?run=%22%3E%3Cscript%3E", "compare?before=%3Cscript%3E&after=%22onfocus=alert(1)"} {
		status, body := v.get(t, "/w/"+idOf("/a")+"/"+page)
		require.Equal(t, 200, status, page)
		for _, bad := range []string{"<script>", "<img", `" onmouseover`, `"onfocus`, `href="javascript:`, "style="} {
			require.NotContains(t, body, bad, page)
		}
		require.NotRegexp(t, "[\u202e\u200b\x1b]", body, page)
		require.Contains(t, body, `href="ask?q=%3cscript`, "the question opens in Ask: "+page)
	}
	status, body := v.get(t, "/w/"+idOf("/a")+"/health?run=none")
	require.Equal(t, 404, status)
	require.Contains(t, body, "no such run")
}

func TestComparisonSaysWhatIsChance(t *testing.T) {
	v := newVisitor(t)
	v.open(t, "/a")
	_, body := v.get(t, "/w/"+idOf("/a")+"/compare?before=run1&after=run2")
	require.Contains(t, body, "<strong>could be chance</strong>")
	require.Contains(t, body, "<strong>worse</strong>")
	require.Contains(t, body, "place 2")
	require.Contains(t, body, "1 only in one are left out")
	require.Equal(t, "better", change{Change: eval.Change{Before: .1, After: .9, P: .01}}.Verdict())
	require.Equal(t, "the same", change{Change: eval.Change{Before: .1, After: .1, P: 1}}.Verdict())
}

// The button starts a run once, and only from these pages. A second press while it runs is no error.
func TestRunNow(t *testing.T) {
	v := newVisitor(t)
	v.open(t, "/a")
	v.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	press := func(origin string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, v.server.URL+"/w/"+idOf("/a")+"/evaluate", nil)
		require.NoError(t, err)
		if origin != "" {
			r.Header.Set("Origin", origin)
		}
		response, err := v.Do(r)
		require.NoError(t, err)
		response.Body.Close()
		return response
	}
	response := press(v.server.URL)
	require.Equal(t, 303, response.StatusCode)
	require.Equal(t, "/w/"+idOf("/a")+"/health", response.Header.Get("Location"))
	require.Equal(t, 403, press("").StatusCode)
	require.Equal(t, 403, press("http://evil.example").StatusCode)
	status, _ := v.get(t, "/w/"+idOf("/a")+"/evaluate")
	require.Contains(t, []int{404, 405}, status, "not by a link")
}

// A page stays small whatever the questions are.
func TestLongQuestionsAreShortened(t *testing.T) {
	long := strings.Repeat("渡轮几点开？", 1000)
	asked := eval.Asked{Text: long, Answerable: true, Relevant: map[string]int{long: 1}, Injected: []string{long}}
	p := comparePage{}
	for range 1000 {
		p.Broken, p.Fixed = append(p.Broken, asked), append(p.Fixed, asked)
	}
	var b strings.Builder
	require.NoError(t, templates().ExecuteTemplate(&b, "compare", p))
	require.Less(t, b.Len(), 300<<10)
	require.Contains(t, b.String(), "1000 questions answered well now")
}

func TestHealthInTheFile(t *testing.T) {
	data, err := Static(t.Context(), fakeMemory{}, "v1")
	require.NoError(t, err)
	text := string(data)
	require.Contains(t, text, `<section id="health">`)
	require.Contains(t, text, "<polyline")
	require.Contains(t, text, "Worst questions")
	for _, none := range []string{"<form", "<select", `href="health`, `href="ask`, `href="compare`} {
		require.NotContains(t, text, none, "it would lead nowhere")
	}
}

package view

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memcore/memcore/eval"
	chart "github.com/memcore/memcore/eval/page"
	"github.com/memcore/memcore/eval/runs"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app/plain"
)

const (
	mostWorst  = 25 // questions of a run
	mostTurned = 10 // questions of a comparison, in each direction
)

// healthPage shows how well retrieval answers the workspace's own cases.
type healthPage struct {
	httpapi.Runs
	Trends []chart.Chart
	Shown  *httpapi.Run // nil without a run
	Charts []chart.Chart
	Worst  []eval.Asked
	Before string // the run before Shown; "" for none
}

func (s statePages) health(w http.ResponseWriter, r *http.Request, folder string) error {
	p, err := get(r.Context(), s.Server, folder, func(ws httpapi.Workspace) (healthPage, error) {
		return healthOf(r.Context(), ws, r.URL.Query().Get("run"))
	})
	if err != nil {
		return err
	}
	return s.show(w, folder, "health", "health", "Health of retrieval", p)
}

// healthOf returns the runs of a workspace, and one of them, by default the last, with its
// questions.
func healthOf(ctx context.Context, ws httpapi.RunKeeper, id string) (p healthPage, err error) {
	if p.Runs, err = ws.Runs(ctx); err != nil {
		return p, err
	}
	p.Trends = trendsOf(p.Runs.Runs)
	if id == "" && len(p.Runs.Runs) > 0 {
		id = p.Runs.Runs[0].ID
	}
	if id == "" {
		return p, nil
	}
	run, err := ws.Run(ctx, httpapi.RunRequest{ID: id})
	if err != nil {
		return p, err
	}
	p.Shown, p.Charts, p.Worst = &run, chart.Charts(run.Report), run.Report.Worst(mostWorst)
	if i := slices.IndexFunc(p.Runs.Runs, func(r runs.Run) bool { return r.ID == id }); i >= 0 && i+1 < len(p.Runs.Runs) {
		p.Before = p.Runs.Runs[i+1].ID
	}
	return p, nil
}

// A figure is a score as a person reads it.
type figure struct {
	score      string // its name in a report
	Name, Note string
}

// figures are those of a run, the most telling first.
var figures = []figure{
	{"recall@turn", "Given when wanted", "Share of the expected passages that a turn gets."},
	{silence, "Silent when not wanted", "Share of the questions that should get nothing, and get nothing."},
	{"recall@10", "Found among the first ten", "Share of the expected passages among the first ten hits of a search."},
	{"mrr", "Rank of the first right hit", "1 if it is always the first hit, 0.5 if it is the second."},
	{"recall@candidates", "Among the candidates", "Share of the expected passages that a turn considers at all."},
	{"ndcg@10", "Order of the first ten", "nDCG@10: 1 if no other hit comes before an expected one."},
}

// silence is the only figure of unanswerable questions.
const silence = "silence"

// The first mainFigures have a trend.
const mainFigures = 4

// A value is a figure of a run.
type value struct {
	figure
	Value    float64
	Interval *eval.Interval // nil for none
}

// valuesOf returns the figures of a run.
func valuesOf(r eval.Result) (all []value) {
	for _, f := range figures {
		if v, ok := valueOf(r, f); ok {
			all = append(all, v)
		}
	}
	return all
}

func valueOf(r eval.Result, f figure) (v value, ok bool) {
	v.figure = f
	if f.score == silence {
		v.Value = r.Injection.Silence
		return v, r.Unanswerable > 0
	}
	if v.Value, ok = r.Scores[f.score]; ok {
		if interval, known := r.Intervals[f.score]; known {
			v.Interval = &interval
		}
	}
	return v, ok
}

// trendsOf draws the main figures over runs, which are given latest first.
func trendsOf(all []runs.Run) (charts []chart.Chart) {
	label := "Jan 2"
	if len(all) > 0 && all[0].At.Sub(all[len(all)-1].At) < 24*time.Hour {
		label = "15:04"
	}
	for _, f := range figures[:mainFigures] {
		var points []chart.Point
		for _, run := range slices.Backward(all) {
			if v, ok := valueOf(run.All, f); ok {
				points = append(points, chart.Point{Label: run.At.Local().Format(label), Value: v.Value, Interval: v.Interval})
			}
		}
		if c := chart.Trend(f.Name, f.Note, points); c.SVG != "" {
			charts = append(charts, c)
		}
	}
	return charts
}

// A change of a figure, in words.
type change struct {
	figure
	eval.Change
}

// Verdict says whether the figure got better.
func (c change) Verdict() string {
	switch {
	case c.After == c.Change.Before:
		return "the same"
	case !c.Significant():
		return "could be chance"
	case c.Fell():
		return "worse"
	}
	return "better"
}

// comparePage is two runs side by side.
type comparePage struct {
	runs.Comparison
	Figures []change
	All     []runs.Run
}

func (s statePages) compare(w http.ResponseWriter, r *http.Request, folder string) error {
	q := r.URL.Query()
	p, err := get(r.Context(), s.Server, folder, func(ws httpapi.Workspace) (p comparePage, err error) {
		if p.Comparison, err = ws.CompareRuns(r.Context(), httpapi.CompareRequest{Before: q.Get("before"), After: q.Get("after")}); err != nil {
			return p, err
		}
		all, err := ws.Runs(r.Context())
		p.All = all.Runs
		return p, err
	})
	if err != nil {
		return err
	}
	for _, f := range figures {
		if i := slices.IndexFunc(p.Changes, func(c eval.Change) bool { return c.Score == f.score }); i >= 0 {
			p.Figures = append(p.Figures, change{f, p.Changes[i]})
		}
	}
	return s.show(w, folder, "health", "compare", "Two runs compared", p)
}

// evaluate starts a run, or shows the one that is running.
func (s statePages) evaluate(w http.ResponseWriter, r *http.Request, folder string) error {
	_, err := get(r.Context(), s.Server, folder, func(ws httpapi.Workspace) (httpapi.Running, error) { return ws.Evaluate(r.Context()) })
	if err != nil && httpapi.StatusOf(err) != http.StatusConflict {
		return err
	}
	http.Redirect(w, r, "health", http.StatusSeeOther)
	return nil
}

// Bounds of a question in a list and in a link, in characters.
const (
	longestShown = 200
	longestAsked = 500
)

// healthFuncs are for the templates of this page.
var healthFuncs = template.FuncMap{
	"figures": func() []figure { return figures[:mainFigures] }, "values": valuesOf,
	"share":  func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) },
	"change": func(before, after float64) string { return fmt.Sprintf("%+.2f", after-before) },
	"figure": func(r eval.Result, f figure) string {
		if v, ok := valueOf(r, f); ok {
			return strconv.FormatFloat(v.Value, 'f', 2, 64)
		}
		return "–"
	},
	"questions": func(r eval.Result) int { return r.Queries + r.Unanswerable },
	"took":      func(d time.Duration) string { return d.Round(100 * time.Microsecond).String() },
	"place": func(reciprocal float64) string {
		if reciprocal == 0 {
			return "not found"
		}
		return fmt.Sprintf("place %.0f", 1/reciprocal)
	},
	"brief": func(text string) string {
		return clean(plain.Shorten(strings.ReplaceAll(text, "expected: ", ""), longestShown))
	},
	"asked": func(text string) string { return plain.Shorten(text, longestAsked) },
	"first": func(all []eval.Asked) []eval.Asked { return all[:min(mostTurned, len(all))] },
	"run":   func(r runs.Run) string { return timeText(r.At) + ", memcore " + clean(r.Version) },
}

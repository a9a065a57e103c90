// Package page shows a report of package eval as one HTML file that needs nothing else: tables, charts, and
// the questions that went worst. It measures nothing.
package page

import (
	"cmp"
	_ "embed" // for the template
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/eval"
)

// worst is how many of the questions that went worst are shown.
const worst = 25

//go:embed page.gohtml
var source string

var layout = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"share":   func(x float64) string { return fmt.Sprintf("%.3f", x) },
		"percent": func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) },
		"took":    func(d time.Duration) string { return d.Round(10 * time.Microsecond).String() },
		"cosine":  func(x *float64) string { return fmt.Sprintf("%.2f", *x) },
		"change":  func(before, after float64) string { return fmt.Sprintf("%+.3f", after-before) },
		"terms":   relevance.Describe,
		"at":      func(name string, k int) string { return fmt.Sprintf("%s@%d", name, k) },
	}).Parse(source))
})

// A view is what the template gets.
type view struct {
	eval.Report
	Title  string
	Charts []chart
	Worst  []question
	Rows   []eval.Result
	Diff   *eval.Comparison // with an earlier run; nil if there is none
}

// A question is one that went badly.
type question struct {
	eval.Asked
	Missed []string // that answer it
}

// Answers tells whether one of the first hits answers the question.
func (q question) Answers(top eval.Top) bool {
	return slices.ContainsFunc(strings.Split(top.Name, ", "), func(name string) bool { return q.Relevant[name] > 0 })
}

// Write writes the page. Title stands at its head.
func Write(w io.Writer, title string, report eval.Report) error {
	return write(w, title, report, nil)
}

// WriteCompared writes the page of a run, with what has changed since an earlier one.
func WriteCompared(w io.Writer, title string, report eval.Report, since eval.Comparison) error {
	return write(w, title, report, &since)
}

func write(w io.Writer, title string, report eval.Report, diff *eval.Comparison) error {
	charts, err := draw(report)
	if err != nil {
		return fmt.Errorf("draw report: %w", err)
	}
	all := report.All
	all.Name = "all"
	return layout().Execute(w, view{Report: report, Title: title, Charts: charts, Worst: worstOf(report.Queries),
		Rows: append(slices.Clip(report.Collections), all), Diff: diff})
}

// worstOf are the answerable queries whose first true hit came last, or never.
func worstOf(asked []eval.Asked) []question {
	var all []question
	for _, a := range asked {
		if a.Answerable && a.Scores["mrr"] < 1 {
			all = append(all, questionOf(a))
		}
	}
	slices.SortStableFunc(all, func(a, b question) int { return cmp.Compare(a.Scores["mrr"], b.Scores["mrr"]) })
	return all[:min(worst, len(all))]
}

func questionOf(a eval.Asked) question {
	q := question{Asked: a}
	shown := map[string]bool{}
	for _, top := range a.Top {
		for _, name := range strings.Split(top.Name, ", ") {
			shown[name] = true
		}
	}
	for name := range a.Relevant {
		switch place := slices.Index(a.Found, name); {
		case shown[name]:
		case place < 0:
			q.Missed = append(q.Missed, name+" (not found)")
		default:
			q.Missed = append(q.Missed, fmt.Sprintf("%s (place %d)", name, place+1))
		}
	}
	slices.SortFunc(q.Missed, strings.Compare)
	return q
}

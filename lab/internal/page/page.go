// Package page renders a report of package eval as one self-contained HTML file.
package page

import (
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

// worst limits the questions shown.
const worst = 25

//go:embed page.gohtml
var source string

var layout = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"share":   func(x float64) string { return fmt.Sprintf("%.3f", x) },
		"percent": func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) },
		"took":    func(d time.Duration) string { return d.Round(10 * time.Microsecond).String() },
		"cosine":  func(x *float64) string { return fmt.Sprintf("%.2f", *x) },
		"terms":   relevance.Describe,
		"at":      func(name string, k int) string { return fmt.Sprintf("%s@%d", name, k) },
	}).Parse(source))
})

// A view is the data of the template.
type view struct {
	eval.Report
	Title  string
	Charts []Chart
	Worst  []question
	Rows   []eval.Result
}

// A question went badly.
type question struct {
	eval.Asked
	Missed []string // that answer it
}

// Answers reports whether a hit is relevant.
func (q question) Answers(top eval.Top) bool {
	return slices.ContainsFunc(strings.Split(top.Name, ", "), func(name string) bool { return q.Relevant[name] > 0 })
}

// Write writes the page.
func Write(w io.Writer, title string, report eval.Report) error {
	all := report.All
	all.Name = "all"
	return layout().Execute(w, view{Report: report, Title: title, Charts: Charts(report), Worst: worstOf(report),
		Rows: append(slices.Clip(report.Collections), all)})
}

func worstOf(report eval.Report) (all []question) {
	for _, a := range report.Worst(worst) {
		all = append(all, questionOf(a))
	}
	return all
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

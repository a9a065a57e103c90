package page

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/memcore/memcore/eval"
)

// A Chart is a drawing with a caption. The page that shows it styles its classes, so that the
// drawing follows dark mode and needs no inline style.
type Chart struct {
	Title, Note string
	SVG         template.HTML
	Lines       []string // names, if there are several; line i has class "line-i"
}

const (
	width, height = 560, 320
	turnHits      = 8 // most hits of a turn
	bins          = 25
)

// Charts draws a report.
func Charts(report eval.Report) (all []Chart) {
	for _, c := range []Chart{recallChart(report), thresholdChart(report), scoreChart(report), latencyChart(report)} {
		if c.SVG != "" {
			all = append(all, c)
		}
	}
	return all
}

// A line is a series of points.
type line struct{ x, y []float64 }

func (l *line) add(x, y float64) { l.x, l.y = append(l.x, x), append(l.y, y) }

// An axis goes from 0 to max.
type axis struct {
	max   float64
	ticks []tick
}

type tick struct {
	value float64
	label string
}

// axisTo returns an axis with five ticks.
func axisTo(most float64) axis {
	a := axis{max: most}
	for i := range 6 {
		v := most * float64(i) / 5
		a.ticks = append(a.ticks, tick{v, fmt.Sprintf("%.3g", v)})
	}
	return a
}

// axisOf returns an axis with ticks at values.
func axisOf(values []int) axis {
	a := axis{max: float64(slices.Max(values)), ticks: []tick{{label: "0"}}}
	for _, v := range values {
		a.ticks = append(a.ticks, tick{float64(v), fmt.Sprint(v)})
	}
	return a
}

// lines draws those lines that have two points; "" for none.
func lines(xName, yName string, x, y axis, all ...line) template.HTML {
	const left, right, top, bottom, closest = 44.0, width - 24.0, 24.0, height - 44.0, 24.0
	place := func(vx, vy float64) (px, py float64) {
		return left + (right-left)*vx/x.max, bottom - (bottom-top)*vy/y.max
	}
	var b strings.Builder
	text := func(px, py float64, anchor, label string) {
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f" text-anchor="%s">%s</text>`, px, py, anchor, html.EscapeString(label))
	}
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" aria-hidden="true">`, width, height)
	for _, t := range y.ticks {
		_, py := place(0, t.value)
		fmt.Fprintf(&b, `<path class="grid" d="M%.1f %.1fH%.1f"/>`, left, py, right)
		text(left-6, py+4, "end", t.label)
	}
	last := -closest
	for _, t := range x.ticks {
		px, _ := place(t.value, 0)
		fmt.Fprintf(&b, `<path class="axis" d="M%.1f %.1fv5"/>`, px, bottom)
		switch {
		case px-last < closest:
			continue
		case float64(6*len(t.label)) > width-px: // it would be cut off
			text(width-2, bottom+18, "end", t.label)
		default:
			text(px, bottom+18, "middle", t.label)
		}
		last = px
	}
	fmt.Fprintf(&b, `<path class="axis" d="M%.1f %.1fH%.1f"/>`, left, bottom, right)
	text((left+right)/2, height-6, "middle", xName)
	text(6, 14, "start", yName)
	drawn := false
	for i, l := range all {
		if len(l.x) < 2 {
			continue
		}
		drawn = true
		var path strings.Builder
		for j := range l.x {
			px, py := place(l.x[j], l.y[j])
			fmt.Fprintf(&path, "%.1f,%.1f ", px, py)
		}
		fmt.Fprintf(&b, `<polyline class="line-%d" points="%s"/>`, i, path.String())
	}
	if !drawn {
		return ""
	}
	return template.HTML(b.String() + "</svg>") // numbers, and labels that are escaped
}

func recallChart(r eval.Report) Chart {
	if len(r.K) == 0 {
		return Chart{}
	}
	var recall, anyOf line
	for _, k := range r.K {
		recall.add(float64(k), r.All.Scores[fmt.Sprintf("recall@%d", k)])
		anyOf.add(float64(k), r.All.Scores[fmt.Sprintf("any@%d", k)])
	}
	svg := lines("k", "", axisOf(r.K), axisTo(1), recall, anyOf)
	return Chart{"Recall", "Share of the answers among the first k hits; share of questions with at least one of them there.", svg, []string{"recall@k", "any@k"}}
}

// thresholdChart shows precision and recall at each threshold.
func thresholdChart(r eval.Report) Chart {
	var l line
	for t := 0.005; t < 1; t *= 1.15 {
		precision, recall, given := at(t, r.Queries)
		if given > 0 {
			l.add(recall, precision)
		}
	}
	svg := lines("recall", "precision", axisTo(1), axisTo(1), l)
	return Chart{"Precision and recall of the hits of a turn", fmt.Sprintf("At most %d hits a question, for thresholds from 0.005 (right) to 1 (left).", turnHits), svg, nil}
}

func at(threshold float64, asked []eval.Asked) (precision, recall, given float64) {
	right, questions := 0.0, 0.0
	for _, a := range asked {
		if !a.Answerable {
			continue
		}
		questions++
		hits := 0.0
		for i, score := range a.FoundScores[:min(turnHits, len(a.FoundScores))] {
			if score >= threshold {
				given++
				if a.Relevant[a.Found[i]] > 0 {
					hits++
				}
			}
		}
		right += hits
		recall += hits / float64(len(a.Relevant))
	}
	return right / max(given, 1), recall / max(questions, 1), given
}

// scoreChart compares the scores of relevant and other hits.
func scoreChart(r eval.Report) Chart {
	relevant, other := make([]float64, bins), make([]float64, bins)
	for _, a := range r.Queries {
		for i, score := range a.FoundScores[:min(turnHits, len(a.FoundScores))] {
			bin := min(int(score*bins), bins-1)
			if a.Relevant[a.Found[i]] > 0 {
				relevant[bin]++
			} else {
				other[bin]++
			}
		}
	}
	x := make([]float64, bins)
	top := 0.0
	for i := range x {
		x[i] = (float64(i) + 0.5) / bins
		relevant[i], other[i] = math.Log10(1+relevant[i]), math.Log10(1+other[i])
		top = max(top, relevant[i], other[i])
	}
	if top == 0 {
		return Chart{}
	}
	svg := lines("score", "log10(1 + hits)", axisTo(1), axisTo(math.Ceil(top)), line{x: x, y: relevant}, line{x: x, y: other})
	return Chart{"Scores", fmt.Sprintf("Of the first %d hits of all questions. Better: relevant ones farther right, the others farther left.", turnHits), svg, []string{"relevant", "not relevant"}}
}

func latencyChart(r eval.Report) Chart {
	var took []float64
	for _, a := range r.Queries {
		took = append(took, a.Took.Seconds()*1e3)
	}
	slices.Sort(took)
	if len(took) < 2 {
		return Chart{}
	}
	var l line
	for i, ms := range took[:len(took)-len(took)/100] { // the slowest 1 % would squeeze the rest
		l.add(ms, float64(i+1)/float64(len(took)))
	}
	svg := lines("milliseconds", "share of questions", axisTo(max(math.Ceil(l.x[len(l.x)-1]), 1)), axisTo(1), l)
	return Chart{"Time of an answer", "Share of questions answered within so many milliseconds, embedding included, without the slowest 1 %.", svg, nil}
}

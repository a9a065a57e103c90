package page

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"slices"

	gochart "github.com/wcharczuk/go-chart/v2"
	"github.com/wcharczuk/go-chart/v2/drawing"

	"github.com/memcore/memcore/eval"
)

// A chart is a drawing with what it shows.
type chart struct {
	Title, Note string
	SVG         template.HTML
}

const (
	width, height = 560, 320
	turnHits      = 8 // of a turn at most: what precision and recall over thresholds are about
	bins          = 25
)

var (
	blue   = drawing.ColorFromHex("1b6ec2")
	orange = drawing.ColorFromHex("d97a0a")
	grey   = drawing.ColorFromHex("888888")
)

func draw(report eval.Report) ([]chart, error) {
	var all []chart
	for _, one := range []func(eval.Report) (chart, error){recallChart, thresholdChart, scoreChart, latencyChart} {
		c, err := one(report)
		if err != nil {
			return nil, err
		}
		if c.SVG != "" {
			all = append(all, c)
		}
	}
	return all, nil
}

// A line is a series of points.
type line struct {
	name  string
	color drawing.Color
	x, y  []float64
}

// An axis goes from 0 to max.
type axis struct {
	max   float64
	ticks []gochart.Tick
}

// axisTo has five ticks.
func axisTo(most float64) axis {
	a := axis{max: most}
	for i := range 6 {
		v := most * float64(i) / 5
		a.ticks = append(a.ticks, gochart.Tick{Value: v, Label: fmt.Sprintf("%.3g", v)})
	}
	return a
}

// axisOf has ticks at some values.
func axisOf(values []int) axis {
	a := axis{max: float64(slices.Max(values)), ticks: []gochart.Tick{{Label: "0"}}}
	for _, v := range values {
		a.ticks = append(a.ticks, gochart.Tick{Value: float64(v), Label: fmt.Sprint(v)})
	}
	return a
}

// lines draws some; nothing if there are no two points.
func lines(xName, yName string, x, y axis, all ...line) (template.HTML, error) {
	var series []gochart.Series
	for _, l := range all {
		if len(l.x) > 1 {
			series = append(series, gochart.ContinuousSeries{Name: l.name, XValues: l.x, YValues: l.y,
				Style: gochart.Style{StrokeColor: l.color, StrokeWidth: 2.5}})
		}
	}
	if len(series) == 0 {
		return "", nil
	}
	c := gochart.Chart{
		Width: width, Height: height, Background: gochart.Style{Padding: gochart.Box{Top: 24, Left: 20, Right: 20, Bottom: 10}},
		XAxis: gochart.XAxis{Name: xName, Range: &gochart.ContinuousRange{Max: x.max}, Ticks: x.ticks},
		YAxis: gochart.YAxis{Name: yName, Range: &gochart.ContinuousRange{Max: y.max}, Ticks: y.ticks,
			GridMajorStyle: gochart.Style{StrokeColor: drawing.ColorFromHex("eeeeee"), StrokeWidth: 1}},
		Series: series,
	}
	if len(series) > 1 {
		c.Elements = []gochart.Renderable{gochart.LegendThin(&c)}
	}
	var out bytes.Buffer
	if err := c.Render(gochart.SVG, &out); err != nil {
		return "", err
	}
	return template.HTML(out.String()), nil
}

func recallChart(r eval.Report) (chart, error) {
	recall, anyOf := line{name: "recall@k", color: blue}, line{name: "any@k", color: orange}
	for _, k := range r.K {
		recall.x, recall.y = append(recall.x, float64(k)), append(recall.y, r.All.Scores[fmt.Sprintf("recall@%d", k)])
		anyOf.x, anyOf.y = append(anyOf.x, float64(k)), append(anyOf.y, r.All.Scores[fmt.Sprintf("any@%d", k)])
	}
	svg, err := lines("k", "", axisOf(r.K), axisTo(1), recall, anyOf)
	return chart{"Recall", "Share of what answers a question among the first k found; and of questions with at least one of it.", svg}, err
}

// thresholdChart shows what the first hits would be worth at each threshold.
func thresholdChart(r eval.Report) (chart, error) {
	l := line{color: blue}
	for t := 0.005; t < 1; t *= 1.15 {
		precision, recall, given := at(t, r.Queries)
		if given > 0 {
			l.x, l.y = append(l.x, recall), append(l.y, precision)
		}
	}
	svg, err := lines("recall", "precision", axisTo(1), axisTo(1), l)
	return chart{"Precision and recall of what a turn is given", fmt.Sprintf("At most %d hits a question, for thresholds from 0.005 (right) to 1 (left).", turnHits), svg}, err
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

// scoreChart shows how far true hits and others are apart.
func scoreChart(r eval.Report) (chart, error) {
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
		return chart{}, nil
	}
	svg, err := lines("score", "log10(1 + hits)", axisTo(1), axisTo(math.Ceil(top)), line{"relevant", blue, x, relevant}, line{"not relevant", grey, x, other})
	return chart{"Scores", fmt.Sprintf("Of the first %d hits of all questions. The farther right the blue line, and the farther left the grey one, the better.", turnHits), svg}, err
}

func latencyChart(r eval.Report) (chart, error) {
	var took []float64
	for _, a := range r.Queries {
		took = append(took, a.Took.Seconds()*1e3)
	}
	slices.Sort(took)
	if len(took) < 2 {
		return chart{}, nil
	}
	l := line{color: blue}
	for i, ms := range took[:len(took)-len(took)/100] { // the slowest of a hundred would squeeze the rest
		l.x, l.y = append(l.x, ms), append(l.y, float64(i+1)/float64(len(took)))
	}
	svg, err := lines("milliseconds", "share of questions", axisTo(max(math.Ceil(l.x[len(l.x)-1]), 1)), axisTo(1), l)
	return chart{"Time of RetrieveRelevant", "Share of questions answered within so many milliseconds, embedding included; without the slowest of a hundred.", svg}, err
}

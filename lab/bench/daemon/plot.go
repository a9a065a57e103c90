package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/wcharczuk/go-chart/v2"
)

// Size of a plot, in pixels.
const (
	plotWidth  = 900
	plotHeight = 300
)

// A line is a series of a plot.
type line struct {
	name   string // "" has no legend
	values []float64
}

// plot draws lines over seconds.
func plot(title, unit string, seconds []float64, lines ...line) ([]byte, error) {
	top := 0.
	graph := chart.Chart{Width: plotWidth, Height: plotHeight, Title: title, TitleStyle: chart.Style{FontSize: 10},
		Background: chart.Style{Padding: chart.Box{Top: 40, Left: 20, Right: 20, Bottom: 10}}, XAxis: chart.XAxis{Name: "seconds", ValueFormatter: whole}}
	for _, l := range lines {
		top = max(top, slices.Max(l.values))
		graph.Series = append(graph.Series, chart.ContinuousSeries{Name: l.name, XValues: seconds, YValues: l.values})
	}
	graph.YAxis = chart.YAxis{Name: unit, ValueFormatter: whole, Range: &chart.ContinuousRange{Min: 0, Max: top * 1.2}}
	if len(lines) > 1 {
		graph.Background.Padding.Left = 170
		graph.Elements = []chart.Renderable{chart.LegendLeft(&graph)}
	}
	var out bytes.Buffer
	err := graph.Render(chart.SVG, &out)
	return out.Bytes(), err
}

// whole formats a number without decimals.
func whole(v any) string {
	number, _ := v.(float64)
	return fmt.Sprintf("%.0f", number)
}

// A look is a Sample of lab/torture/soak.
type look struct {
	Seconds   float64
	Processes map[string]struct {
		Resident, Heap                   float64
		Goroutines, Descriptors, Threads float64
	}
	P50, P99 float64
}

// plotSoak draws the plots of a soak below each other.
func plotSoak(name, folder string) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	var looks []look
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var l look
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return fmt.Errorf("%s, line %d: %w", name, len(looks)+1, err)
		}
		looks = append(looks, l)
	}
	if len(looks) < 2 {
		return fmt.Errorf("%s has %d lines, want figures of a soak", name, len(looks))
	}
	of := func(value func(look) float64) (all []float64) {
		for _, l := range looks {
			all = append(all, value(l))
		}
		return all
	}
	processes := func(value func(l look, process string) float64) (lines []line) {
		for _, process := range []string{"daemon", "mcp", "proxy"} {
			lines = append(lines, line{process, of(func(l look) float64 { return value(l, process) })})
		}
		return lines
	}
	seconds := of(func(l look) float64 { return l.Seconds })
	heap := line{"heap of daemon", of(func(l look) float64 { return l.Processes["daemon"].Heap })}
	goroutines := line{"goroutines of daemon", of(func(l look) float64 { return l.Processes["daemon"].Goroutines })}
	var out bytes.Buffer
	plots := []struct {
		title, unit string
		lines       []line
	}{
		{"Resident memory, and the daemon's heap after each collection", "MB", append(processes(func(l look, p string) float64 { return l.Processes[p].Resident }), heap)},
		{"Open descriptors", "", processes(func(l look, p string) float64 { return l.Processes[p].Descriptors })},
		{"Threads, and the daemon's goroutines", "", append(processes(func(l look, p string) float64 { return l.Processes[p].Threads }), goroutines)},
		{"Latency of retrievals", "ms", []line{{"p50", of(func(l look) float64 { return l.P50 })}, {"p99", of(func(l look) float64 { return l.P99 })}}},
	}
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d">`+"\n", plotWidth, len(plots)*plotHeight)
	for i, p := range plots {
		drawn, err := plot(p.title, p.unit, seconds, p.lines...)
		if err != nil {
			return err
		}
		_, drawn, _ = bytes.Cut(drawn, []byte(">")) // a picture in a picture is not drawn alike everywhere
		fmt.Fprintf(&out, `<g transform="translate(0,%d)">%s</g>`+"\n", i*plotHeight, bytes.TrimSuffix(bytes.TrimSpace(drawn), []byte("</svg>")))
	}
	out.WriteString("</svg>\n")
	return os.WriteFile(filepath.Join(folder, "soak.svg"), out.Bytes(), 0o644)
}

package main

import (
	"image/color"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// lines by engine.
var lines = map[string]struct {
	title string
	color color.RGBA
	dots  bool
}{
	"flat":        {"flat (exact)", color.RGBA{0x1b, 0x6e, 0xc2, 0xff}, false},
	"lancedb":     {"LanceDB, exact", color.RGBA{0xd9, 0x7a, 0x0a, 0xff}, true},
	"lancedb-ann": {"LanceDB, IVF_FLAT", color.RGBA{0xc2, 0x2f, 0x2f, 0xff}, false},
	"chromem":     {"chromem-go (exact, in memory)", color.RGBA{0x77, 0x77, 0x77, 0xff}, true},
}

// plotAll draws the median time of a query by the number of vectors.
func plotAll(all []result, file string) error {
	p := plot.New()
	p.BackgroundColor = color.White
	p.Title.Text = "Nearest 50 of n vectors, 384 dimensions: median time"
	p.X.Label.Text, p.Y.Label.Text = "vectors", "milliseconds"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker = plot.ConstantTicks{{Value: 1e3, Label: "1,000"}, {Value: 1e4, Label: "10,000"}, {Value: 1e5, Label: "100,000"}, {Value: 1e6, Label: "1 million"}}
	p.Y.Tick.Marker = plot.LogTicks{Prec: -1}
	p.X.Min, p.X.Max, p.Y.Max = 900, 1.6e6, 400
	p.Add(plotter.NewGrid())
	p.Legend.Top, p.Legend.Left = true, true
	p.Legend.Padding = vg.Points(2)
	for _, engine := range []string{"flat", "lancedb", "lancedb-ann", "chromem"} {
		var points plotter.XYs
		for _, r := range all {
			if r.Engine == engine {
				points = append(points, plotter.XY{X: float64(r.Rows), Y: r.P50.Seconds() * 1e3})
			}
		}
		if len(points) == 0 {
			continue
		}
		line, marks, err := plotter.NewLinePoints(points)
		if err != nil {
			return err
		}
		style := lines[engine]
		line.Color, line.Width, marks.Color, marks.Shape = style.color, vg.Points(2), style.color, draw.CircleGlyph{}
		if style.dots {
			line.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
		}
		p.Add(line, marks)
		p.Legend.Add(style.title, line, marks)
	}
	goals, err := plotter.NewScatter(plotter.XYs{{X: 100_000, Y: 12}, {X: 1_000_000, Y: 40}})
	if err != nil {
		return err
	}
	goals.Shape, goals.Color, goals.Radius = draw.CrossGlyph{}, color.RGBA{0, 0, 0, 0xff}, vg.Points(5)
	p.Add(goals)
	p.Legend.Add("goals for LanceDB", goals)
	canvas := vgsvg.New(18*vg.Centimeter, 12*vg.Centimeter)
	p.Draw(draw.New(canvas))
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	if _, err := canvas.WriteTo(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

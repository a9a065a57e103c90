package view

import (
	"fmt"

	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/internal/text/plain"
)

// Sizes of the chart of use, in pixels.
const (
	barStep   = 20
	barThick  = 14
	barsHigh  = 90
	barsLeft  = 30 // of the scale
	barsBelow = 18 // of dates
)

// A usageChart has a bar for the passages given on each day.
type usageChart struct {
	Bars          []usageBar
	Labels        []label
	Width, Height int
	Left, Base    int // of the axis
	Text          string
}

// A usageBar is a day: used, unused and unjudged passages, from below.
type usageBar struct {
	use.Day
	X, Thick int
	Parts    []usagePart
}

// A label is text in the chart.
type label struct {
	X, Y int
	Text string
}

// A usagePart is a part of a bar.
type usagePart struct {
	Y, Height float64
	Class     string
}

func usageOf(days []use.Day) usageChart {
	c := usageChart{Width: barsLeft + len(days)*barStep, Height: barsHigh + barsBelow, Left: barsLeft, Base: barsHigh}
	most, given, used := 0, 0, 0
	for _, d := range days {
		most, given, used = max(most, d.Given), given+d.Given, used+d.Used
	}
	for i, d := range days {
		bar := usageBar{Day: d, X: barsLeft + i*barStep + (barStep-barThick)/2, Thick: barThick}
		y := float64(barsHigh)
		for _, part := range []struct {
			n     int
			class string
		}{{d.Used, "used"}, {d.Unused, "unused"}, {d.Unknown, "unknown"}} {
			if part.n > 0 {
				height := float64(barsHigh-10) * float64(part.n) / float64(most)
				y -= height
				bar.Parts = append(bar.Parts, usagePart{Y: y, Height: height, Class: part.class})
			}
		}
		c.Bars = append(c.Bars, bar)
		if i%7 == len(days)%7 {
			c.Labels = append(c.Labels, label{bar.X - 8, barsHigh + 14, d.Day[len("2026-"):]})
		}
	}
	if most > 0 {
		c.Labels = append(c.Labels, label{0, 14, fmt.Sprint(most)}, label{0, barsHigh, "0"})
	}
	c.Text = fmt.Sprintf("Given in the last %d days: %s, of which %d were used", len(days), plain.Count(given, "passage"), used)
	return c
}

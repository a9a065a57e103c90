package view

import (
	"fmt"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/internal/text/plain"
)

// Sizes of the calendar, in pixels and weeks.
const (
	daySide   = 11
	dayStep   = 13
	weeks     = 53
	dayLeft   = 30 // of names of weekdays
	dayTop    = 16 // of names of months
	monthName = 3 * dayStep
)

// A calendar shows when documents changed in the last year.
type calendar struct {
	Days          []day
	Labels        []label
	Width, Height int
	Changed       []core.DaySum // days with documents, the last one first
	Before        int           // documents that changed earlier
	Text          string        // for who does not see it
	Levels        []level       // of the legend
}

// A day is a square of the calendar.
type day struct {
	X, Y, Side int
	Level      int // from 0 for none to 4
	Date       string
	Count      int
}

// A label is text in a chart.
type label struct {
	X, Y int
	Text string
}

// A level explains a shade.
type level struct {
	Level int
	Text  string
}

var levels = []level{{0, "none"}, {1, "1"}, {2, "2 to 4"}, {3, "5 to 19"}, {4, "20 and more"}}

func calendarOf(days []core.DaySum, earlier int, now time.Time) calendar {
	c := calendar{Width: dayLeft + weeks*dayStep, Height: dayTop + 7*dayStep, Before: earlier, Levels: levels}
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	first := today.AddDate(0, 0, -int(today.Weekday())-7*(weeks-1)) // a Sunday
	of, sum, most := map[string]int{}, 0, core.DaySum{}
	for _, d := range days {
		if d.Day < first.Format(time.DateOnly) {
			c.Before += d.Documents
			continue
		}
		of[d.Day] = d.Documents
		c.Changed = append([]core.DaySum{d}, c.Changed...)
		sum += d.Documents
		if d.Documents >= most.Documents {
			most = d
		}
	}
	c.Text = fmt.Sprintf("%s changed last in the last %d weeks, on %s", plain.Count(sum, "document"), weeks, plain.Count(len(c.Changed), "day"))
	if sum > 0 {
		c.Text += fmt.Sprintf("; most on %s: %d", clean(most.Day), most.Documents)
	}
	for i, name := range []string{1: "Mon", 3: "Wed", 5: "Fri"} {
		if name != "" {
			c.Labels = append(c.Labels, label{0, dayTop + i*dayStep + daySide - 1, name})
		}
	}
	for i, free := 0, 0; ; i++ {
		date := first.AddDate(0, 0, i)
		if date.After(today) {
			return c
		}
		at := day{X: dayLeft + i/7*dayStep, Y: dayTop + i%7*dayStep, Side: daySide, Date: date.Format(time.DateOnly)}
		at.Count = of[at.Date]
		at.Level = levelOf(at.Count)
		if date.Day() == 1 && at.X >= free && at.X+monthName <= c.Width {
			c.Labels = append(c.Labels, label{at.X, dayTop - 5, date.Format("Jan")})
			free = at.X + monthName
		}
		c.Days = append(c.Days, at)
	}
}

// levelOf returns the shade of a count.
func levelOf(n int) int {
	for level, least := range []int{1, 2, 5, 20} {
		if n < least {
			return level
		}
	}
	return 4
}

package use

import (
	"cmp"
	"slices"
	"time"

	"github.com/memcore/memcore/core/journal"
)

// A Day counts the hits of prompts of a day.
type Day struct {
	Day     string `json:"day"` // such as 2026-11-17, in the location of the last day
	Prompts int    `json:"prompts"`
	Counts
}

// ByDay counts the prompts of each of the n days up to now.
func ByDay(entries []journal.Entry, now time.Time, n int) []Day {
	days := make([]Day, n)
	places := map[string]int{}
	for i := range days {
		days[i].Day = now.AddDate(0, 0, i+1-n).Format(time.DateOnly)
		places[days[i].Day] = i
	}
	for _, t := range Prompts(entries) {
		at, shown := places[t.At.In(now.Location()).Format(time.DateOnly)]
		if !shown {
			continue
		}
		days[at].Prompts++
		for _, g := range t.Passages() {
			days[at].count(g.Used)
		}
	}
	return days
}

// fewestUnused is how often a document must have been given in vain to be noise.
const fewestUnused = 3

// MostUsed returns the documents most used, at most n.
func (s Summary) MostUsed(n int) []Document {
	return s.most(n, func(d Document) int { return d.Used }, func(d Document) bool { return d.Used > 0 })
}

// Noise returns documents that were given often and never used, at most n.
func (s Summary) Noise(n int) []Document {
	return s.most(n, func(d Document) int { return d.Unused }, func(d Document) bool { return d.Used == 0 && d.Unused >= fewestUnused })
}

func (s Summary) most(n int, by func(Document) int, wanted func(Document) bool) []Document {
	some := slices.DeleteFunc(slices.Clone(s.Documents), func(d Document) bool { return !wanted(d) })
	slices.SortStableFunc(some, func(a, b Document) int { return cmp.Compare(by(b), by(a)) })
	return append([]Document{}, some[:min(n, len(some))]...)
}

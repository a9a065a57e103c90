package use

import (
	"cmp"
	"slices"
	"time"

	"github.com/memcore/memcore/core/journal"
)

// A Summary counts hits and how many of them were used.
type Summary struct {
	Since   time.Time `json:"since"`
	Prompts int       `json:"prompts"`
	Turns   int       `json:"turns"` // prompts that got anything that was searched for
	Counts
	Tokens    int        `json:"tokens"`    // of all hits
	Said      int        `json:"said"`      // statements of the user; their use is not judged
	Lines     Counts     `json:"lines"`     // of lists, which are used if they are opened
	Documents []Document `json:"documents"` // the most given first
}

// Counts are numbers of hits.
type Counts struct {
	Given   int `json:"given"`
	Used    int `json:"used"`
	Unused  int `json:"unused"`
	Unknown int `json:"unknown"`
}

// A Document counts the hits of one document.
type Document struct {
	Path string `json:"path"`
	Counts
}

// Prompts returns the prompts that were answered in agents' sessions, or too late. A script's
// prompt has no session, and so no answer of an agent to judge by.
func Prompts(entries []journal.Entry) (prompts []journal.Entry) {
	for _, e := range entries {
		answered := e.Took != "" || e.Undelivered != ""
		if e.Kind == journal.PromptEvent && e.Session != "" && answered {
			prompts = append(prompts, e)
		}
	}
	return prompts
}

// Summarise counts the passages of prompts since a time.
func Summarise(entries []journal.Entry, since time.Time) Summary {
	s := Summary{Since: since, Documents: []Document{}}
	of := map[string]int{} // places in Documents
	for _, t := range Prompts(entries) {
		if t.At.Before(since) {
			continue
		}
		s.Prompts++
		shown := slices.DeleteFunc(t.Shown(), journal.Given.AtStart)
		if len(shown) > 0 {
			s.Turns++
		}
		for _, g := range shown {
			switch g.Kind {
			case journal.Line:
				s.Lines.count(g.Used)
			case journal.Statement:
				s.Said++
			}
		}
		for _, h := range t.Passages() {
			at, known := of[h.Path]
			if !known {
				at = len(s.Documents)
				of[h.Path] = at
				s.Documents = append(s.Documents, Document{Path: h.Path})
			}
			s.count(h.Used)
			s.Documents[at].count(h.Used)
			s.Tokens += h.Tokens
		}
	}
	slices.SortFunc(s.Documents, func(a, b Document) int { return cmp.Or(b.Given-a.Given, cmp.Compare(a.Path, b.Path)) })
	return s
}

func (c *Counts) count(v journal.Use) {
	c.Given++
	switch v {
	case journal.Yes:
		c.Used++
	case journal.No:
		c.Unused++
	default:
		c.Unknown++
	}
}

// Share is of judged hits; ok is false without any.
func (c Counts) Share() (share float64, ok bool) {
	if c.Used+c.Unused == 0 {
		return 0, false
	}
	return float64(c.Used) / float64(c.Used+c.Unused), true
}

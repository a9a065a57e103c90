package journal

import (
	"cmp"
	"slices"
	"time"
)

// A Summary counts what prompts got, and what agents opened of it.
type Summary struct {
	Since   time.Time `json:"since"`
	Prompts int       `json:"prompts"`
	Turns   int       `json:"turns"` // prompts that got anything that was searched for
	Counts
	Tokens    int              `json:"tokens"` // of all passages
	Said      int              `json:"said"`   // statements of the user
	Lines     Counts           `json:"lines"`  // of lists
	Documents []DocumentCounts `json:"documents"`
}

// Counts are numbers of passages, or of lines.
type Counts struct {
	Given  int `json:"given"`
	Opened int `json:"opened"` // by the agent, by name or citation
}

// DocumentCounts counts the passages of one document.
type DocumentCounts struct {
	Path string `json:"path"`
	Counts
}

func (c *Counts) count(g Given) {
	if c.Given++; g.Opened {
		c.Opened++
	}
}

// Summarise counts what prompts of agents' sessions got since a time, the documents most given
// first. A script's prompt has no session.
func Summarise(entries []Entry, since time.Time) Summary {
	s := Summary{Since: since, Documents: []DocumentCounts{}}
	of := map[string]int{} // places in Documents
	for _, e := range entries {
		answered := e.Took != "" || e.Undelivered != ""
		if e.Kind != PromptEvent || e.Session == "" || !answered || e.At.Before(since) {
			continue
		}
		s.Prompts++
		shown := slices.DeleteFunc(e.Shown(), Given.AtStart)
		if len(shown) > 0 {
			s.Turns++
		}
		for _, g := range shown {
			switch g.Kind {
			case Line:
				s.Lines.count(g)
			case Statement:
				s.Said++
			case Passage:
				at, known := of[g.Path]
				if !known {
					at = len(s.Documents)
					of[g.Path] = at
					s.Documents = append(s.Documents, DocumentCounts{Path: g.Path})
				}
				s.count(g)
				s.Documents[at].count(g)
				s.Tokens += g.Tokens
			}
		}
	}
	slices.SortFunc(s.Documents, func(a, b DocumentCounts) int { return cmp.Or(b.Given-a.Given, cmp.Compare(a.Path, b.Path)) })
	return s
}

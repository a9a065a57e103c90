package view

import (
	"slices"
	"strings"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/httpapi"
)

// candidates of a question, with their evidence.
type candidates struct {
	Rows      []evidence
	Legend    []part
	Threshold float64
	Zero      float64 // where bars begin
	Answer    *httpapi.Retrieved
	// Unasked means that the prompt asks nothing, so scores do not decide alone.
	Unasked bool
	More    int // rejected ones that are not shown
	Marks   bool
}

// evidence is a candidate's evidence as a stacked bar.
type evidence struct {
	core.MemoryHit
	State string // "given", "rejected" or "withheld"
	// Fixed is "never" or "always" for candidates that a threshold does not change.
	Fixed string
	Parts []part
	Place int // from 1
	// Come and StayAway are what buttons send. Wish is what a case says already.
	Come, StayAway string
	Wish           string
}

// A part is one term of the score.
type part struct {
	Name     string // in words
	X, Width float64
	Colour   int // the place of its name
	Value    float64
}

const (
	// barWidth is the longest bar, in pixels.
	barWidth = 240.0
	// maxShown bounds the rejected candidates of a page.
	maxShown = 40
)

// termNames explain the terms of a score, in the order of their colours.
var termNames = [][2]string{
	{"keywords", "words in common"}, {"coverage", "share of the prompt's words"}, {"document", "words of its whole document"},
	{"cosine", "meaning"}, {"documentCosine", "meaning of its document"}, {"time", "time"},
	{"beforeKeywords", "words of the turn before"}, {"beforeCosine", "meaning of the turn before"}, {"answerKind", "has a time or number, as asked"},
	{"firstPerson", "not in the first person"}, {"toldByAssistant", "an assistant says it, as asked"}, {"otherSpeaker", "another speaker is asked for"},
	{"assistant", "said by an assistant or a tool"}, {"question", "asks something itself"}, {"afterQuestion", "follows a question"},
	{"turnLength", "length of the turn"}, {"chunkLength", "length"}, {"kind", "kind of document"}, {"wish", "says what the user wants"},
}

// partOf returns a term with its name in words.
func partOf(name string, value float64) part {
	i := slices.IndexFunc(termNames, func(n [2]string) bool { return n[0] == name })
	if i < 0 {
		return part{Name: name, Value: value, Colour: len(termNames)}
	}
	return part{Name: termNames[i][1], Value: value, Colour: i}
}

// candidatesOf returns hits, then withheld and rejected candidates, best first.
func candidatesOf(result core.Result) candidates {
	c := candidates{Threshold: result.Threshold, More: max(0, len(result.Rejected)-maxShown)}
	c.add("given", result.Hits)
	c.add("withheld", result.Withheld)
	c.add("rejected", result.Rejected[:min(len(result.Rejected), maxShown)])
	up, down := 0.0, 0.0
	for _, e := range c.Rows {
		above, below := 0.0, 0.0
		for _, p := range e.Parts {
			above, below = above+max(p.Value, 0), below-min(p.Value, 0)
			if !slices.ContainsFunc(c.Legend, func(l part) bool { return l.Name == p.Name }) {
				c.Legend = append(c.Legend, part{Name: p.Name, Colour: p.Colour})
			}
		}
		up, down = max(up, above), max(down, below)
	}
	slices.SortFunc(c.Legend, func(a, b part) int { return a.Colour - b.Colour })
	if up+down == 0 {
		return c
	}
	scale := barWidth / (up + down)
	c.Zero = down * scale
	for _, e := range c.Rows {
		left, right := c.Zero, c.Zero
		for i := range e.Parts {
			p := &e.Parts[i]
			if p.Value < 0 {
				p.Width = -p.Value * scale
				left -= p.Width
				p.X = left
			} else {
				p.X, p.Width = right, p.Value*scale
				right += p.Width
			}
		}
	}
	return c
}

// add adds candidates with the terms of their scores.
func (c *candidates) add(state string, hits []core.MemoryHit) {
	for _, hit := range hits {
		e := evidence{MemoryHit: hit, State: state, Fixed: fixed(state, hit), Place: len(c.Rows) + 1}
		if hit.Explain != nil {
			c.Unasked = c.Unasked || hit.Explain.Verdict == core.VerdictUnasked
			for _, t := range hit.Explain.Terms {
				if share := t.Value * t.Weight; share != 0 {
					e.Parts = append(e.Parts, partOf(t.Name, share))
				}
			}
		}
		c.Rows = append(c.Rows, e)
	}
}

// fixed returns evidence.Fixed.
func fixed(state string, hit core.MemoryHit) string {
	switch e := hit.Explain; {
	case state == "withheld", state == "rejected" && e != nil && e.Verdict != core.VerdictThreshold:
		return "never"
	case state == "given" && e != nil && e.Why != "":
		return "always"
	}
	return ""
}

// mark adds what buttons send and what a case of the question says.
func (c *candidates) mark(about Case) {
	c.Marks = true
	for i := range c.Rows {
		e := &c.Rows[i]
		expected := expectationOf(e.MemoryHit)
		e.Come, e.StayAway = wish(come, expected, e.Place), wish(stayAway, expected, e.Place)
		if slices.Contains(about.Expect, expected) {
			e.Wish = come
		} else if slices.Contains(about.ExpectNot, expected) {
			e.Wish = stayAway
		}
	}
}

// maxQuote is how many words quote a message in a case.
const maxQuote = 12

// expectationOf returns an expectation for a hit: its section, or words of its message.
func expectationOf(hit core.MemoryHit) Expectation {
	e := Expectation{Path: hit.Path}
	if words := strings.Fields(hit.Text); hit.Kind == "conversation" && len(words) > 0 {
		e.Text = strings.Join(words[:min(len(words), maxQuote)], " ")
	} else if n := len(hit.Headings); n > 0 {
		e.Heading = hit.Headings[n-1]
	}
	return e
}

package injection

import (
	"cmp"
	"slices"
	"strings"
)

// A Verdict says whether a text may contain an injection.
type Verdict struct {
	Flagged bool `json:"flagged"`
	// Score is the highest score of a window, in [0, 1]. From 0.5 on a text of its origin is
	// flagged.
	Score float64 `json:"score"`
	// Findings are at most maxFindings windows, highest score first.
	Findings []Finding `json:"findings,omitempty"`
	spans    []span    // all flagged parts, in order, without overlaps
}

// WithoutExcerpts returns a copy of the verdict that does not quote the text.
func (v Verdict) WithoutExcerpts() Verdict {
	v.Findings = slices.Clone(v.Findings)
	for i := range v.Findings {
		v.Findings[i].Excerpt = ""
	}
	return v
}

// Parts returns the flagged parts of the judged text, in order.
func (v Verdict) Parts(text string) (parts []string) {
	for _, s := range v.spans {
		parts = append(parts, text[s.start:s.end])
	}
	return parts
}

// Redact returns the judged text with each flagged part replaced.
func (v Verdict) Redact(text, by string) string {
	var b strings.Builder
	from := 0
	for _, s := range v.spans {
		b.WriteString(text[from:s.start])
		b.WriteString(by)
		from = s.end
	}
	b.WriteString(text[from:])
	return b.String()
}

// A Finding is a flagged part of a text.
type Finding struct {
	Score float64 `json:"score"` // in [0, 1]
	// Rules are the names of rules that match.
	Rules []string `json:"rules,omitempty"`
	// Signs are the features that weigh most, such as "ignore + orders".
	Signs []string `json:"signs,omitempty"`
	// Start and End are byte offsets in the text.
	Start int `json:"start"`
	End   int `json:"end"`
	// Line is the line of Start, from 1.
	Line int `json:"line"`
	// Excerpt is the start of the part, decoded. It is data from outside.
	Excerpt string `json:"excerpt,omitempty"`
}

// A span is a range of bytes.
type span struct{ start, end int }

// merged returns the spans in order. It joins those that touch.
func merged(spans []span) (all []span) {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	for _, s := range spans {
		if last := len(all) - 1; last >= 0 && s.start <= all[last].end {
			all[last].end = max(all[last].end, s.end)
			continue
		}
		all = append(all, s)
	}
	return all
}

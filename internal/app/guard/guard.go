// Package guard decides what a model may see of memory, and overwrite.
package guard

import (
	"slices"
	"strings"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/internal/text/injection"
	"github.com/memcore/memcore/internal/text/plain"
)

// A Guard makes text fit for a model: it removes secrets and hidden characters, judges injection,
// and sanitises text of untrusted folders.
type Guard struct {
	Filter  *injection.Filter
	Trusted func() bool
}

// Text returns a text that an agent saved as a model may see it.
func (g Guard) Text(text string) string {
	v := g.Filter.Judge(text, injection.Foreign) // agents write from what they read
	if v.Flagged && g.Filter.Policy == injection.Withhold {
		text = v.Redact(text, injection.Gap)
		v.Flagged = false
	}
	if text = g.clean(text); v.Flagged {
		text = injection.Mark + "\n" + injection.Quote(text)
	}
	return text
}

// Line is Text on one line, for a summary or a statement.
func (g Guard) Line(text string) string {
	return plain.OneLine(g.Text(text))
}

// Name is Line for names of files and headings. It judges those that could be a sentence.
func (g Guard) Name(text string) string {
	shown := plain.OneLine(g.clean(text))
	switch {
	case !g.Filter.Judge(core.Sentence(text), injection.Own).Flagged:
		return shown
	case g.Filter.Policy == injection.Withhold:
		return injection.Gap
	}
	return injection.Mark + " " + injection.Quote(shown)
}

// clean removes secrets and hidden characters, and sanitises untrusted text.
func (g Guard) clean(text string) string {
	text, _ = notes.Clean(text)
	if !g.Trusted() {
		text, _ = formatter.Sanitize(text)
	}
	return text
}

// Result returns the data of search_memory. A withheld hit keeps its reason, and no text of its
// file.
func (g Guard) Result(r core.Result) core.Result {
	r.Hits, r.Withheld, r.Degraded = slices.Clone(r.Hits), slices.Clone(r.Withheld), formatter.Reasons(r.Degraded)
	for i, hit := range r.Hits {
		r.Hits[i] = formatter.Shown(hit)
		for _, names := range [][]string{r.Hits[i].Also, r.Hits[i].Headings} { // no block has them
			for j, name := range names {
				names[j] = g.Name(name)
			}
		}
	}
	r.Said, r.Lines = slices.Clone(r.Said), slices.Clone(r.Lines)
	for i, s := range r.Said {
		r.Said[i] = formatter.ShownSaid(s)
	}
	for i, l := range r.Lines {
		r.Lines[i] = formatter.ShownLine(l)
	}
	for i, hit := range r.Withheld {
		r.Withheld[i] = core.MemoryHit{ID: hit.ID, Score: hit.Score, TokenEstimate: hit.TokenEstimate, Scope: hit.Scope, Kind: hit.Kind, StartLine: hit.StartLine, EndLine: hit.EndLine, Time: hit.Time, Injection: hit.Injection}
	}
	if r.Stale != nil {
		stale := *r.Stale
		stale.Reason = message(stale.Reason)
		r.Stale = &stale
	}
	return r
}

// Report returns the data of refresh_memory, without names and lines of files.
func Report(r core.IndexReport) core.IndexReport {
	r.Skipped, r.SkippedLines, r.SkippedAt, r.Warnings, r.SetAside, r.Unknown, r.Redacted = nil, nil, nil, nil, nil, nil, nil
	r.Degraded, r.Rebuilt = strings.Join(formatter.Reasons([]string{r.Degraded}), ""), message(r.Rebuilt)
	return r
}

// message sanitises a message of memcore, which may quote names and errors.
func message(text string) string {
	text, _ = formatter.Sanitize(plain.OneLine(text))
	return text
}

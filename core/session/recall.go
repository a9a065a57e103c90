package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/text/injection"
	"github.com/memcore/memcore/internal/text/sanitize"
	"github.com/memcore/memcore/internal/text/secret"
	"github.com/memcore/memcore/store/keyword"
)

// Sources of a session; also the scopes of a recall.
const (
	SourceDetail   = "detail"
	SourceMessages = "messages"
)

// A RecallRequest holds the arguments of recall_memory.
type RecallRequest struct {
	Query string `json:"query" jsonschema:"Search query"`
	Scope string `json:"scope,omitempty" jsonschema:"Which sources to search: all (default), detail or messages"`
	Limit int    `json:"limit,omitempty" jsonschema:"Maximum results; default 5"`
	Exact bool   `json:"exact,omitempty" jsonschema:"Only entries that hold the query as it is written, any characters"`
}

// A RecallHit is a message or a note's block.
type RecallHit struct {
	Session  string  `json:"session"`
	Source   string  `json:"source"` // detail or messages
	Path     string  `json:"path"`   // detail/auth-design.md, messages.jsonl
	File     string  `json:"file"`   // absolute
	Line     int     `json:"line"`
	Text     string  `json:"text"` // around the match, at most 300 characters
	Citation string  `json:"citation"`
	Score    float64 `json:"score"`           // in [0, 1]
	Exact    bool    `json:"exact,omitempty"` // it holds the query as written
	// Injection says why Text is marked; else nil.
	Injection *Verdict `json:"injection,omitempty"`
	raw       string   // Text before it was made safe
}

const (
	// DefaultRecall is the limit of a request that has none.
	DefaultRecall = 5
	maxRecall     = 100
	maxQuery      = 16 << 10 // bytes
	snippetLength = 300
)

// ErrScope means that a recall has an unknown scope.
var ErrScope = errors.New("scope is not all, detail or messages")

// A Filter judges injections by Verdicts.
type (
	Filter  = injection.Filter
	Verdict = injection.Verdict
)

// RecallOptions configure a recall. The zero value finds by words alone.
type RecallOptions struct {
	Limit    int            // of a request that has none; 0 means DefaultRecall
	Embedder embed.Embedder // to find by meaning, too
	// EmbedFor bounds embedding; 0 means 20 ms, negative none.
	EmbedFor time.Duration
	Filter   *Filter // judges what is found; nil judges nothing
}

// A RecallResult is the answer to a recall.
type RecallResult struct {
	Results []RecallHit `json:"results"` // best first
	// Withheld counts results left out as injections.
	Withheld int `json:"withheld,omitempty"`
	// Unembedded counts messages and blocks without a vector.
	Unembedded int `json:"unembedded,omitempty"`
	// Degraded says why the search by meaning failed, if so.
	Degraded string `json:"degraded,omitempty"`
}

const (
	defaultEmbedFor = 20 * time.Millisecond
	queryTimeout    = 10 * time.Second // of the query's vector; no turn waits for it
)

// Recall searches by words, by meaning and as written, best first. Citations begin with the
// session's ID, except the first's. A kept Session reads only what is new.
func Recall(ctx context.Context, sessions []*Session, r RecallRequest, o RecallOptions) (RecallResult, error) {
	if r.Scope != "" && r.Scope != "all" && r.Scope != SourceDetail && r.Scope != SourceMessages {
		return RecallResult{}, fmt.Errorf("%w: %q", ErrScope, r.Scope)
	}
	limit := min(cmp.Or(max(r.Limit, 0), max(o.Limit, 0), DefaultRecall), maxRecall)
	found := RecallResult{Results: []RecallHit{}}
	r.Query = strings.ToValidUTF8(r.Query[:min(len(r.Query), maxQuery)], "")
	var all []*unit
	asked := newQuestion(r)
	for _, s := range sessions {
		units, terms, err := s.units(ctx, r.Scope, r.Query)
		if err != nil {
			return found, err
		}
		all = append(all, units...)
		asked.add(terms)
	}
	if strings.TrimSpace(r.Query) == "" {
		return found, ctx.Err()
	}
	if !asked.exact && len(asked.terms) > 0 { // a query without a word has no meaning
		asked.vector, asked.scale, found.Degraded = o.embed(ctx, asked.text)
	}
	if asked.vector != nil {
		left, err := o.embedMissing(ctx, all)
		if found.Unembedded = left; err != nil {
			found.Degraded = err.Error()
		}
	}
	for _, m := range asked.rank(all, o.Embedder) {
		if len(found.Results) == limit {
			break
		}
		hit := m.hit(asked)
		if m.session != sessions[0] {
			hit.Citation = m.session.ID + "/" + hit.Citation
		}
		hit.makeNamesSafe()
		if v := o.Filter.Judge(hit.raw, m.origin()); v.Flagged {
			if o.Filter.Policy == injection.Withhold {
				found.Withheld++
				continue
			}
			v = v.WithoutExcerpts() // a model reads them, too
			hit.Injection, hit.Text = &v, injection.Mark+" "+injection.Quote(hit.Text)
		}
		found.Results = append(found.Results, hit)
	}
	return found, ctx.Err()
}

// origin says who wrote a match. Models write the notes of a session.
func (m match) origin() injection.Origin {
	if m.source == SourceDetail {
		return injection.Foreign
	}
	return injection.OfSpeaker(m.speaker)
}

// makeNamesSafe: agents choose the names of their notes.
func (h *RecallHit) makeNamesSafe() {
	for _, name := range []*string{&h.Session, &h.Path, &h.File, &h.Citation} {
		*name = sanitize.Name(*name)
	}
}

// redactAround is in bytes, on each side of a match.
const redactAround = 8 << 10

// hit returns the part that answers the question.
func (m match) hit(q question) RecallHit {
	text, line := m.text, m.line
	index, at := 0, q.literal.bestIn(text)
	switch {
	case at >= 0:
		index = strings.Count(text[:at], "\n")
	case m.exact && (q.exact || m.BM25 == 0): // it is in the lines above
		text = m.whole
		at = q.literal.bestIn(text)
		index = strings.Count(text[:at], "\n") - m.above
	default:
		index, at = q.bestLine(text)
	}
	if m.source == SourceDetail {
		line += index
	}
	start, end := max(0, at-redactAround), min(len(text), at+redactAround)
	shown, secrets := secret.Redact(strings.ToValidUTF8(text[start:end], ""))
	at = min(at-start, len(shown))
	if len(secrets) > 0 {
		if at = q.literal.bestIn(shown); !m.exact || at < 0 {
			_, at = q.bestLine(shown)
		}
	}
	raw := around(shown, at)
	return RecallHit{Exact: m.exact, Session: m.session.ID, Source: m.source, Path: m.path, File: m.file, Line: line,
		Text: snippet(raw), raw: raw, Citation: m.citation(line), Score: m.Score}
}

// index counts from 0; at is the first word's offset.
func (q question) bestLine(text string) (index, at int) {
	most, offset := 0, 0
	terms := keyword.NewTerms()
	for i, line := range strings.SplitAfter(text, "\n") {
		has := map[string]bool{}
		for _, term := range terms.Of(line) {
			if q.spelled[term] {
				has[term] = true
			}
		}
		if len(has) > most {
			most, index, at = len(has), i, offset+firstOf(line, has)
		}
		offset += len(line)
	}
	return index, at
}

// firstOf finds the first term, about: case can change lengths.
func firstOf(line string, terms map[string]bool) int {
	lower := strings.ToLower(line)
	first := len(line)
	for term := range terms {
		if at := strings.Index(lower, term); at >= 0 && at < first {
			first = at
		}
	}
	if first == len(line) {
		return 0
	}
	for first > 0 && !utf8.RuneStart(line[first]) {
		first--
	}
	return first
}

// around returns the part of a text around an offset.
func around(text string, at int) string {
	before, runes := utf8.RuneCountInString(text[:at]), []rune(text)
	if len(runes) <= snippetLength {
		return text
	}
	start := max(0, min(before-snippetLength/2, len(runes)-snippetLength))
	cut := runes[start : start+snippetLength]
	if start > 0 {
		cut[0] = '…'
	}
	if start+snippetLength < len(runes) {
		cut[snippetLength-1] = '…'
	}
	return string(cut)
}

// snippet makes a safe text of one line.
func snippet(text string) string {
	safe, _ := sanitize.Text(text)
	return strings.Join(strings.Fields(safe), " ")
}

// Answer returns the text that recall_memory gives the model.
func (found RecallResult) Answer(query string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Found %d result(s) for: %q\n", len(found.Results), query)
	for i, r := range found.Results {
		fmt.Fprintf(&b, "\n[%d] Source: %s\n", i+1, r.Source)
		if r.Source == SourceDetail {
			fmt.Fprintf(&b, "    File: %s:%d\n", r.Path, r.Line)
		} else {
			fmt.Fprintf(&b, "    Line: %d\n", r.Line)
		}
		content := r.Text
		if r.Injection == nil { // else it is quoted already
			content = injection.Quote(content)
		}
		fmt.Fprintf(&b, "    Content: %s\n    Citation: %s\n", content, r.Citation)
	}
	if found.Withheld > 0 {
		fmt.Fprintf(&b, "\nNote: %d more withheld, because they read like instructions to a model.\n", found.Withheld)
	}
	return b.String()
}

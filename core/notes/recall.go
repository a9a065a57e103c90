package notes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/sanitize"
	"github.com/memcore/memcore/internal/secret"
	"github.com/memcore/memcore/internal/suspicion"
	"github.com/memcore/memcore/store/keyword"
)

// Sources of working memory.
const (
	SourceDetail   = "detail"
	SourceMessages = "messages"
)

// A RecallRequest is what recall_memory is given.
type RecallRequest struct {
	Query string `json:"query" jsonschema:"Search query"`
	Scope string `json:"scope,omitempty" jsonschema:"Which sources to search: all (default), detail or messages"`
	Limit int    `json:"limit,omitempty" jsonschema:"Maximum results; default 5"`
}

// A Recalled is one piece of working memory that was found.
type Recalled struct {
	Session  string  `json:"session"`
	Source   string  `json:"source"` // detail or messages
	Path     string  `json:"path"`   // in the working memory: detail/auth-design.md, messages.jsonl
	File     string  `json:"file"`   // absolute
	Line     int     `json:"line"`
	Text     string  `json:"text"` // about the match, at most 300 characters
	Citation string  `json:"citation"`
	Score    float64 `json:"score"` // how sure memory is that it helps, in [0, 1]
	// Suspicion says why Text seems to be written for a model to obey; it is marked then. nil if it does not.
	Suspicion *suspicion.Verdict `json:"suspicion,omitempty"`
	raw       string             // Text before it was made safe
}

const (
	longestQuery  = 16 << 10 // bytes of a query that count
	defaultRecall = 5
	mostRecall    = 100
	snippetLength = 300
)

// ErrScope means that a scope of a recall has no such name.
var ErrScope = errors.New("scope is none of all, detail, messages")

// RecallOptions are what a recall is made with; the zero value finds by words alone.
type RecallOptions struct {
	// Embedder finds by meaning, too. What an embed.Keeper has kept costs nothing.
	Embedder embed.Embedder
	// EmbedFor is how long the recall may make vectors of what has none, the newest first; 0 is 20 ms, negative not at all.
	EmbedFor time.Duration
	// EmbedTimeout is how long it waits for the query's own; 0 is 2 s.
	EmbedTimeout time.Duration
	// Screen judges what is found; nil is not to.
	Screen *suspicion.Screen
}

// A Recollection is what a recall has found, and how far it can be trusted.
type Recollection struct {
	Results []Recalled `json:"results"` // best first
	// Withheld is how many results were left out as suspicious.
	Withheld int `json:"withheld,omitempty"`
	// Unembedded is how many pieces of working memory were found by words only, because they have no vector yet.
	Unembedded int `json:"unembedded,omitempty"`
	// Degraded says why meaning did not count; "" if it did, or no Embedder was given.
	Degraded string `json:"degraded,omitempty"`
}

const (
	defaultEmbedFor     = 20 * time.Millisecond
	defaultEmbedTimeout = 2 * time.Second
)

// Recall finds what sessions have written and said, by words and meaning, best first. It looks into the files as they are: a line that was written
// before the call is found. What shares no word with the query is found only if its meaning is near. A Session that
// is kept reads only what is new. Citations of other sessions than the first begin with their ID.
func Recall(ctx context.Context, sessions []*Session, r RecallRequest, o RecallOptions) (Recollection, error) {
	if r.Scope != "" && r.Scope != "all" && r.Scope != SourceDetail && r.Scope != SourceMessages {
		return Recollection{}, fmt.Errorf("%w: %q", ErrScope, r.Scope)
	}
	limit := min(cmp.Or(max(r.Limit, 0), defaultRecall), mostRecall)
	found := Recollection{Results: []Recalled{}}
	r.Query = strings.ToValidUTF8(r.Query[:min(len(r.Query), longestQuery)], "")
	var all []*unit
	asked := question{text: r.Query}
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
	asked.vector, asked.scale, found.Degraded = o.embed(ctx, r.Query)
	if asked.vector != nil {
		var failed error
		if found.Unembedded, failed = o.fill(ctx, all); failed != nil {
			found.Degraded = failed.Error()
		}
	}
	for _, m := range asked.rank(all, o.Embedder) {
		if len(found.Results) == limit {
			break
		}
		hit := m.recalled(asked)
		if m.session != sessions[0] {
			hit.Citation = m.session.ID + "/" + hit.Citation
		}
		for _, name := range []*string{&hit.Session, &hit.Path, &hit.File, &hit.Citation} { // agents name their notes by what they have read
			*name = shownName(*name)
		}
		if v := o.Screen.Judge(ctx, hit.raw); v.Suspicious {
			if o.Screen.Policy == suspicion.Withhold {
				found.Withheld++
				continue
			}
			v = v.WithoutExcerpts() // models see the data, too
			hit.Suspicion, hit.Text = &v, suspicion.Mark+" "+suspicion.Quote(hit.Text)
		}
		found.Results = append(found.Results, hit)
	}
	return found, ctx.Err()
}

// A Said is a message of a session.
type Said struct {
	Role     string
	Text     string
	Citation string // messages.jsonl#L45
}

// Said returns the messages of the session in their order.
func (s *Session) Said(ctx context.Context) ([]Said, error) {
	units, _, err := s.units(ctx, SourceMessages, "")
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(units, func(a, b *unit) int { return cmp.Compare(a.newer, b.newer) })
	all := make([]Said, len(units))
	for i, u := range units {
		all[i] = Said{u.speaker, u.text, fmt.Sprintf("%s#L%d", u.path, u.line)}
	}
	return all, nil
}

// shownAround is how much of a text, in bytes to each side of the best line, is looked through for secrets before a part of it is shown.
const shownAround = 8 << 10

func (m match) recalled(q question) Recalled {
	index, at := q.bestLine(m.text)
	line := m.line
	if m.source == SourceDetail {
		line += index
	}
	start, end := max(0, at-shownAround), min(len(m.text), at+shownAround)
	shown, found := secret.Redact(strings.ToValidUTF8(m.text[start:end], ""))
	at = min(at-start, len(shown))
	if len(found) > 0 {
		_, at = q.bestLine(shown)
	}
	raw := around(shown, at)
	return Recalled{Session: m.session.ID, Source: m.source, Path: m.path, File: m.file, Line: line, Text: snippet(raw), raw: raw, Citation: fmt.Sprintf("%s#L%d", m.path, line), Score: m.Score}
}

// bestLine is the line of a text that has most words of the query, from 0, and where in the text the first of those words stands.
func (q question) bestLine(text string) (index, at int) {
	most, offset := 0, 0
	terms := keyword.NewTerms()
	for i, line := range strings.SplitAfter(text, "\n") {
		having := map[string]bool{}
		for _, term := range terms.Of(line) {
			if q.spelled[term] {
				having[term] = true
			}
		}
		if len(having) > most {
			most, index, at = len(having), i, offset+firstOf(line, having)
		}
		offset += len(line)
	}
	return index, at
}

// firstOf is about where in a line the first of some terms stands.
func firstOf(line string, having map[string]bool) int {
	first := len(line)
	for w := range having {
		if at := strings.Index(strings.ToLower(line), w); at >= 0 && at < first {
			first = at
		}
	}
	if first >= len(line) {
		return 0
	}
	for first > 0 && !utf8.RuneStart(line[first]) {
		first--
	}
	return first
}

// around is a part of a text around a place.
func around(text string, at int) string {
	runesBefore := utf8.RuneCountInString(text[:at])
	runes := []rune(text)
	if len(runes) > snippetLength {
		start := max(0, min(runesBefore-snippetLength/2, len(runes)-snippetLength))
		cut := runes[start:min(len(runes), start+snippetLength)]
		if start > 0 {
			cut[0] = '…'
		}
		if start+snippetLength < len(runes) {
			cut[len(cut)-1] = '…'
		}
		runes = cut
	}
	return string(runes)
}

// snippet is a text on one line, made safe to be shown to a model.
func snippet(text string) string {
	safe, _ := sanitize.Text(text)
	return strings.Join(strings.Fields(safe), " ")
}

// shownName is a name on one line, made safe as a snippet is.
func shownName(name string) string {
	safe, _ := sanitize.Text(name)
	return strings.ReplaceAll(safe, "\n", " ")
}

// RecallAnswer is what recall_memory says to the model.
func RecallAnswer(query string, found Recollection) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Found %d result(s) for: %q\n", len(found.Results), query)
	for i, r := range found.Results {
		fmt.Fprintf(&b, "\n[%d] Source: %s\n", i+1, r.Source)
		if r.Source == SourceDetail {
			fmt.Fprintf(&b, "    File: %s:%d\n", r.Path, r.Line)
		} else {
			fmt.Fprintf(&b, "    Line: %d\n", r.Line)
		}
		fmt.Fprintf(&b, "    Content: %s\n    Citation: %s\n", r.Text, r.Citation)
	}
	if found.Withheld > 0 {
		fmt.Fprintf(&b, "\nNote: %d more withheld: what reads like instructions to a model.\n", found.Withheld)
	}
	return b.String()
}

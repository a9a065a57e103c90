package formatter

import (
	"fmt"
	"strings"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/internal/text/injection"
	"github.com/memcore/memcore/internal/text/sanitize"
)

// Kinds of a Recollection.
const (
	RecalledNote    = "detail"   // a note in the folder of a session
	RecalledMessage = "messages" // what was said
)

// A Recollection is a message of a session or a part of its notes, safe for a model.
type Recollection struct {
	Session  string    `json:"session,omitempty"`
	Source   string    `json:"source"` // RecalledNote or RecalledMessage
	Path     string    `json:"path"`   // of the document, as in citations
	Line     int       `json:"line"`   // of the match
	Time     time.Time `json:"time,omitzero"`
	Request  string    `json:"request,omitempty"` // that an agent's message answers or follows
	Text     string    `json:"text"`              // around the match, one line, at most about 300 characters
	Citation string    `json:"citation"`
	Score    float64   `json:"score"`
	Exact    bool      `json:"exact,omitempty"` // it holds the query as written
	Gone     bool      `json:"gone,omitempty"`  // the log of Citation is deleted
	// Injection says why Text is marked; else nil.
	Injection *core.Injection `json:"injection,omitempty"`
}

// Recalled is the answer to a search of sessions.
type Recalled struct {
	Results []Recollection `json:"results"` // best first
	// Withheld counts results left out as injections.
	Withheld int `json:"withheld,omitempty"`
	// Note says why the answer may be incomplete; "" if it is not.
	Note string `json:"note,omitempty"`
}

// recalledLength is in characters.
const recalledLength = 300

// Recall makes the result of a search of sessions safe for a model, and short.
func Recall(query string, result core.Result) Recalled {
	found := Recalled{Results: []Recollection{}, Withheld: len(result.Withheld), Note: caveat(result)}
	for _, hit := range result.Hits {
		text, above := excerpt.Around(hit.Text, query, recalledLength)
		r := Recollection{Session: sanitize.Name(hit.Session), Source: RecalledMessage, Path: cite(hit.Path), Line: hit.StartLine,
			Time: hit.Time, Citation: cite(hit.Source), Score: hit.Score, Exact: hit.Exact, Gone: hit.Gone, Request: requestOf(hit)}
		if hit.Kind != "conversation" { // its lines are those of the file
			r.Source, r.Line = RecalledNote, min(hit.StartLine+above, hit.EndLine)
		}
		text, _ = Sanitize(text)
		r.Text = strings.Join(strings.Fields(text), " ")
		if IsFlagged(hit) {
			verdict := hit.Injection.WithoutExcerpts()
			r.Injection, r.Text = &verdict, injection.Mark+" "+injection.Quote(r.Text)
		}
		found.Results = append(found.Results, r)
	}
	return found
}

// Answer returns the text that recall_memory gives the model.
func (found Recalled) Answer(query string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Found %d result(s) for: %q\n", len(found.Results), query)
	for i, r := range found.Results {
		fmt.Fprintf(&b, "\n[%d] Source: %s\n", i+1, r.Source)
		if r.Source == RecalledNote {
			fmt.Fprintf(&b, "    File: %s:%d\n", r.Path, r.Line)
		} else {
			fmt.Fprintf(&b, "    Line: %d\n", r.Line)
		}
		if !r.Time.IsZero() {
			fmt.Fprintf(&b, "    Date: %s\n", r.Time.Format(time.DateOnly))
		}
		if r.Request != "" {
			fmt.Fprintf(&b, "    Said %s\n", r.Request)
		}
		content := r.Text
		if r.Injection == nil { // else it is quoted already
			content = injection.Quote(content)
		}
		fmt.Fprintf(&b, "    Content: %s\n    Citation: %s%s\n", content, r.Citation, gone(r.Gone))
	}
	if found.Withheld > 0 {
		fmt.Fprintf(&b, "\nNote: %d more withheld, because they read like instructions to a model.\n", found.Withheld)
	}
	if found.Note != "" {
		b.WriteString("\n" + found.Note + "\n")
	}
	return b.String()
}

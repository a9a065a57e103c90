package journal

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/internal/text/sanitize"
	"github.com/memcore/memcore/internal/text/secret"
)

// Kinds of events that mean something here. They are kinds of package inject/agents, which has
// more.
const (
	PromptEvent = "prompt"
	StartEvent  = "session start"
	OtherEvent  = "other" // one that could not be read
)

// An Entry is what the journal knows of one event. Each of its lines has the Head and some of the
// other fields; what a later line says replaces what an earlier one said.
type Entry struct {
	// Of has the ID again in the line of a result. It is first, so that readers who do not want
	// results recognise the line by its beginning.
	Of string `json:"of,omitempty"`
	// Result has the candidates of a prompt, cut by Trim, in a line of its own. Only Explain reads
	// it.
	Result *core.Result `json:"result,omitempty"`
	Head
	Event
	Answer
	// Undelivered says why the agent did not get the answer, "" if it did.
	Undelivered string `json:"undelivered,omitempty"`
	// Instead is the ID of the entry of another process that answered the event after all.
	Instead string `json:"instead,omitempty"`
	// Opened has the keys of what the agent opened. Readers find it in Given.
	Opened []string `json:"opened,omitempty"`
}

// A Head names an event and whose it is.
type Head struct {
	ID      string `json:"id"`
	Agent   string `json:"agent,omitempty"`
	Session string `json:"session,omitempty"`
	// Sub is the subagent, which has a history of its own.
	Sub string `json:"sub,omitempty"`
}

// An Event is what happened, known before anything is looked up.
type Event struct {
	At   time.Time `json:"at,omitzero"`
	Kind string    `json:"event,omitempty"` // what it means
	Name string    `json:"name,omitempty"`  // the agent's own
	// Key hashes a prompt, to find it in the agent's log.
	Key string `json:"key,omitempty"`
	// Prompt is without secrets, and empty if prompts are not kept.
	Prompt  string   `json:"prompt,omitempty"`
	Cut     string   `json:"cut,omitempty"` // what a long event lost
	Tool    string   `json:"tool,omitempty"`
	Touched []string `json:"touched,omitempty"` // files of the tool call
	// Resets means that the agent's history is empty from here on, and Dropped is when the agent
	// last had one that it dropped. What was before need not be read.
	Resets  bool      `json:"resets,omitempty"`
	Dropped time.Time `json:"dropped,omitzero"`
	// Until is set if this event is to give what the session begins with, and says by when. Until
	// then no other event gives it.
	Until time.Time `json:"until,omitzero"`
}

// An Answer is what an event got, and why not more.
type Answer struct {
	Given []Given `json:"given,omitempty"`
	// Added counts the characters of the text that was given.
	Added int `json:"added,omitempty"`
	// Reason says why nothing was given, or not all.
	Reason   string   `json:"reason,omitempty"`
	Rules    []Rule   `json:"rules,omitempty"` // files that apply at the event
	Began    string   `json:"began,omitempty"` // the folder that the session begins in here
	Spent    int      `json:"spent,omitempty"` // bytes of curated memory and rules
	Problems []string `json:"problems,omitempty"`
	Notes    []string `json:"notes,omitempty"` // what else a person should know
	Took     string   `json:"took,omitempty"`  // set in every answer
}

// A Rule says why a file of rules was given or not.
type Rule struct {
	Path  string `json:"path"`
	Given bool   `json:"given,omitempty"`
	Why   string `json:"why"`
}

// A Kind is what kind of thing was given.
type Kind string

// Kinds of what is given.
const (
	Passage   Kind = "passage"
	Line      Kind = "line"      // of a list
	Statement Kind = "statement" // of the user
	Failure   Kind = "failure"   // of a command, with what worked
	Overview  Kind = "overview"  // of the session
	Rules     Kind = "rules"     // a file of rules
	Document  Kind = "document"  // a file of memory that was given whole
	Beginning Kind = "beginning" // what a session begins with, even if that is empty
)

// A Given is one thing that an event got.
type Given struct {
	Kind Kind `json:"kind"`
	// Key changes with what was given. That of a passage is the ID of its chunk.
	Key    string  `json:"key,omitempty"`
	Source string  `json:"source,omitempty"` // its citation
	Path   string  `json:"path,omitempty"`   // the document
	Title  string  `json:"title,omitempty"`  // the innermost heading, the request, the statement, or what worked
	Score  float64 `json:"score,omitempty"`
	Tokens int     `json:"tokens,omitempty"`
	// States are the keys of the user's statements in a passage, which gives them, too.
	States []string `json:"states,omitempty"`
	Opened bool     `json:"opened,omitempty"` // by the agent
}

// AtStart reports whether a session began with it, so that no prompt found it.
func (g Given) AtStart() bool {
	_, is := core.FromStart(g.Key)
	return g.Kind == Statement && is
}

// GivenOf returns how the journal records what a result gave: hits, statements of the user, then
// lines. The key of a hit changes with its text.
func GivenOf(r core.Result) (all []Given) {
	for _, hit := range r.Hits {
		g := Given{Kind: Passage, Key: hit.ID, Source: hit.Source, Path: hit.Path, Score: hit.Score, Tokens: hit.TokenEstimate, Title: hit.Request, States: hit.States}
		if n := len(hit.Headings); n > 0 {
			g.Title = hit.Headings[n-1]
		}
		all = append(all, g)
	}
	for _, s := range r.Said {
		all = append(all, Given{Kind: Statement, Key: s.Key, Source: s.Source, Path: s.Path, Score: s.Score, Title: Excerpt(s.Text)})
	}
	for _, l := range r.Lines {
		all = append(all, Given{Kind: Line, Key: l.Name, Source: l.Source, Path: l.Path, Title: l.Request})
	}
	return all
}

// NewID names an entry.
func NewID() string {
	id := make([]byte, 8)
	rand.Read(id) // never fails
	return hex.EncodeToString(id)
}

// maxPrompt is how many bytes of a prompt are kept.
const maxPrompt = 2000

// SetPrompt keeps the hash of a prompt, and if keep is set its text without secrets.
func (e *Entry) SetPrompt(prompt string, keep bool) {
	if strings.TrimSpace(prompt) == "" {
		return
	}
	if e.Key = KeyOf(prompt); keep {
		e.Prompt = Clean(prompt, maxPrompt)
	}
}

// KeyOf hashes a text, ignoring its white space.
func KeyOf(text string) string {
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(text), " ")))
	return hex.EncodeToString(sum[:8])
}

// Clean returns the beginning of a text without secrets. It looks for them in more than it keeps,
// since a secret that was cut is not recognised.
func Clean(text string, max int) string {
	text = strings.ToValidUTF8(strings.TrimSpace(text[:min(len(text), 8*max)]), "")
	text, _ = secret.Redact(text)
	return excerpt.Of(text, max)
}

// Passages returns the passages that were given.
func (a Answer) Passages() []Given { return a.of(Passage) }

// Shown returns what a prompt found and got: passages, lines, statements and failures.
func (a Answer) Shown() []Given { return a.of(found...) }

// found are the kinds of what is searched for.
var found = []Kind{Passage, Line, Statement, Failure}

func (a Answer) of(kinds ...Kind) (some []Given) {
	for _, g := range a.Given {
		if slices.Contains(kinds, g.Kind) {
			some = append(some, g)
		}
	}
	return some
}

const (
	// maxCandidates is how many candidates of a prompt are kept.
	maxCandidates = 20
	// ExcerptLength is how much of a candidate's text is kept, in characters.
	ExcerptLength = 80
)

// Trim returns what is kept of a result: the best candidates with the beginnings of their texts.
func Trim(r core.Result) *core.Result {
	room := maxCandidates
	for _, hits := range []*[]core.MemoryHit{&r.Hits, &r.Withheld, &r.Rejected} {
		all := *hits
		*hits = make([]core.MemoryHit, 0, min(len(all), room))
		for _, h := range all[:cap(*hits)] {
			*hits = append(*hits, trimmed(h))
		}
		room -= len(*hits)
	}
	r.Took, r.Said, r.Lines = nil, nil, nil // Given has them
	return &r
}

// trimmed keeps of a candidate what explains the decision on it.
func trimmed(h core.MemoryHit) core.MemoryHit {
	kept := core.MemoryHit{ID: h.ID, Source: h.Source, Path: h.Path, StartLine: h.StartLine, EndLine: h.EndLine,
		Score: rounded(h.Score), TokenEstimate: h.TokenEstimate, Text: Excerpt(h.Text), Injection: h.Injection}
	if e := h.Explain; e != nil {
		kept.Explain = &core.Explanation{Cosine: e.Cosine, BM25: rounded(e.BM25), Why: e.Why, Verdict: e.Verdict}
	}
	return kept
}

// HeldBack names the candidate that was nearest to being given and says what it missed; "" if
// nothing was found. An empty answer must not read as if nothing were known.
func HeldBack(r core.Result) string {
	if len(r.Rejected) == 0 || r.Rejected[0].Explain == nil {
		return ""
	}
	best := r.Rejected[0]
	return fmt.Sprintf("the best that was found is %s: %s", best.Source, Decision(best, r.Threshold))
}

// Decision says why an explained candidate was given or not, and by how much it missed the
// threshold.
func Decision(h core.MemoryHit, threshold float64) string {
	e := h.Explain
	switch short := threshold - h.Score; {
	case e.Why != "":
		return e.Verdict + ": " + e.Why
	case e.Verdict == core.VerdictThreshold && short > 0:
		return fmt.Sprintf("%s: %.3f short of %.3f", e.Verdict, short, threshold)
	}
	return e.Verdict
}

func rounded(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// Excerpt returns the beginning of a text behind its headings, on one line, safe to show.
func Excerpt(text string) string {
	rest := strings.TrimSpace(text)
	for strings.HasPrefix(rest, "#") {
		_, after, more := strings.Cut(rest, "\n")
		if after = strings.TrimSpace(after); !more || after == "" {
			break
		}
		rest = after
	}
	rest = Clean(rest, 4*ExcerptLength) // a character has at most four bytes
	line := []rune(sanitize.Line(strings.Join(strings.Fields(rest), " ")))
	if len(line) > ExcerptLength {
		return string(line[:ExcerptLength-1]) + "…"
	}
	return string(line)
}

// A Place is lines of a document, or without a first line all of it.
type Place struct {
	Path        string
	First, Last int
}

// Has reports whether lines of a document are in the place.
func (p Place) Has(path string, first, last int) bool {
	return p.Path != "" && path == p.Path && (p.First == 0 || first <= p.Last && last >= p.First)
}

// cited returns the lines of the citation.
func (g Given) cited() (first, last int) {
	_, first, last, ok := paths.ParseCitation(g.Source)
	if !ok {
		return 1, math.MaxInt
	}
	return first, last
}

// reasonForgotten is the reason of an entry if what it got is forgotten.
const reasonForgotten = "what it got is forgotten"

// A forgetting takes places and texts out of lines, the oldest first. Lines of documents may have
// moved since, so that candidates, which have texts, go with their whole document.
type forgetting struct {
	places []Place
	texts  []string        // plain
	asked  map[string]bool // keys of prompts that are forgotten, and IDs of their entries
}

func newForgetting(places []Place, texts []string) forgetting {
	f := forgetting{places: places, asked: map[string]bool{}}
	for _, text := range texts {
		f.asked[KeyOf(text)] = true
		if text = plain(text); text != "" {
			f.texts = append(f.texts, text)
		}
	}
	return f
}

// Repeats reports whether a text has one of some others, or a line of it is part of one.
func Repeats(text string, others ...string) bool {
	f := newForgetting(nil, others)
	return f.isSaid(text) || slices.ContainsFunc(strings.Split(text, "\n"), f.quotes)
}

func (f forgetting) from(e *Entry) {
	if f.asked[e.Key] || f.isSaid(e.Prompt) || f.quotes(e.Prompt) {
		e.Key, e.Prompt = "", ""
		f.asked[e.ID] = true
	}
	before := len(e.Given)
	e.Given = slices.DeleteFunc(e.Given, func(g Given) bool {
		first, last := g.cited()
		return g.Source != "" && slices.ContainsFunc(f.places, func(p Place) bool { return p.Has(g.Path, first, last) })
	})
	named := slices.ContainsFunc(f.places, func(p Place) bool { return p.Path != "" && strings.Contains(e.Reason, p.Path) })
	if len(e.Given) < before || named || f.isSaid(e.Reason) {
		e.Reason = reasonForgotten
	}
	for i, g := range e.Given {
		if f.isSaid(g.Title) || f.quotes(g.Title) {
			e.Given[i].Title = ""
		}
	}
	e.Problems, e.Notes = slices.DeleteFunc(e.Problems, f.isSaid), slices.DeleteFunc(e.Notes, f.isSaid)
	if r := e.Result; r != nil {
		gone := func(h core.MemoryHit) bool {
			return f.isSaid(h.Text) || f.quotes(h.Text) || slices.ContainsFunc(f.places, func(p Place) bool { return p.Path != "" && h.Path == p.Path })
		}
		r.Hits, r.Rejected, r.Withheld = slices.DeleteFunc(r.Hits, gone), slices.DeleteFunc(r.Rejected, gone), slices.DeleteFunc(r.Withheld, gone)
		if f.asked[e.Of] || f.isSaid(r.Why+" "+r.Silence) { // they name words of the prompt
			r.Why, r.Silence = "", reasonForgotten
		}
	}
}

// plain ignores white space and case.
func plain(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// isSaid reports whether a text has one of those that are forgotten.
func (f forgetting) isSaid(text string) bool {
	text = plain(text)
	return text != "" && slices.ContainsFunc(f.texts, func(gone string) bool { return strings.Contains(text, gone) })
}

// minQuoted is how long a title or such is at least, in bytes, that is taken for part of a text:
// headings and names are in many texts.
const minQuoted = 24

// quotes reports whether a title, prompt or quotation, which may be cut, is part of a text that is
// forgotten, such as the request that a passage answers.
func (f forgetting) quotes(title string) bool {
	title = strings.TrimSuffix(title, "…")
	return len(title) >= minQuoted && slices.ContainsFunc(f.texts, func(gone string) bool { return strings.Contains(gone, plain(title)) })
}

// maxTitle is how many bytes of a title are kept.
const maxTitle = 200

// lines encodes an entry. Titles come from texts that may have secrets.
func (e Entry) lines() ([]byte, error) {
	e.Given = slices.Clone(e.Given)
	for i, g := range e.Given {
		e.Given[i].Title = Clean(g.Title, maxTitle)
	}
	parts := []Entry{e}
	if e.Result != nil {
		parts[0].Result = nil
		parts = append(parts, Entry{Of: e.ID, Result: e.Result, Head: e.Head})
	}
	var all []byte
	for _, part := range parts {
		line, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		all = append(append(all, line...), '\n')
	}
	return all, nil
}

// take adds what another line says of the event.
func (e *Entry) take(line Entry) {
	if e.Kind == "" {
		e.Event = line.Event
	}
	if line.Took != "" {
		e.Answer = line.Answer
	} else { // of a process that did not answer
		e.Reason = cmp.Or(e.Reason, line.Reason)
		e.Problems, e.Notes = append(e.Problems, line.Problems...), append(e.Notes, line.Notes...)
	}
	e.Undelivered, e.Instead = cmp.Or(e.Undelivered, line.Undelivered), cmp.Or(e.Instead, line.Instead)
	if line.Result != nil {
		e.Result = line.Result
	}
	for i, g := range e.Given {
		e.Given[i].Opened = g.Opened || slices.Contains(line.Opened, g.Key)
	}
}

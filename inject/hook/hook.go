package hook

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/turn"
)

// A Memory is the memory of a workspace.
type Memory interface {
	// RetrieveRelevant is core.Manager's.
	RetrieveRelevant(ctx context.Context, request string, options core.RetrieveOptions) (core.Result, error)
	// Beginning returns what the session begins with, in room characters.
	Beginning(ctx context.Context, e Event, room int) (Beginning, error)
	// Overview returns the session's overview, framed, and its stamp; "" without one, or if its
	// stamp is known.
	Overview(ctx context.Context, e Event, known string) (text, stamp string, err error)
	// Unchanged returns the paths whose stamp still holds.
	Unchanged(stamps map[string]string) []string
	// Now returns what applies at a moment. began is the folder where the session began.
	Now(ctx context.Context, began string, at curated.Moment) (Applied, error)
	// Note adds a message to the session.
	Note(ctx context.Context, e Event, role, text string) error
	// Ended says that a session has ended.
	Ended(ctx context.Context, e Event) error
	// Used judges whether the session used its hits.
	Used(ctx context.Context, e Event) error
	// Notice returns what the user should know once, if anything.
	Notice(ctx context.Context, e Event) string
}

// A Beginning is what a session begins with.
type Beginning struct {
	// Curated excludes files that the agent loads itself.
	Curated string
	// Reference is the index of memory files and the overview.
	Reference string
	// Stamps, by path, are of documents in Curated. They change with the file.
	Stamps map[string]string
	// Overview is the stamp of that in Reference, if any.
	Overview string
}

// Text begins with what changes less often: prompt caches hold up to the first change.
func (b Beginning) Text() string { return formatter.Join(b.Curated, b.Reference) }

// Options say how hooks are answered.
type Options struct {
	// Retrieve narrows what is retrieved for a prompt.
	Retrieve core.RetrieveOptions
	// Records say what each session was given.
	Records Records
	// Within is the time for an answer; with 0, a prompt beside the session's start may repeat what
	// that gives.
	Within time.Duration
	// BeginWithin bounds what a session gets with a prompt because its start was missed; 0 does
	// not. Without that in time the prompt still gets its hits.
	BeginWithin time.Duration
	// NoLog keeps messages out of the session.
	NoLog bool
}

// A Trace tells a person what a hook did.
type Trace struct {
	Event    Event       `json:"event"`
	At       time.Time   `json:"at"`
	Result   core.Result `json:"result"`             // with explanations
	Reason   string      `json:"reason,omitempty"`   // why nothing was added
	Added    string      `json:"added,omitempty"`    // the text that was written
	Repeated int         `json:"repeated,omitempty"` // hits that the session had before
	Rules    []Rule      `json:"rules,omitempty"`    // files that apply at the event
	Later    []Trace     `json:"later,omitempty"`    // later events of the turn that added something or failed
	Turn     string      `json:"turn,omitempty"`     // ID in the record of use
	Problems []string    `json:"problems,omitempty"`
	Notes    []string    `json:"notes,omitempty"` // what else a person should know
	Took     string      `json:"took,omitempty"`
}

// Unwritten returns the trace of a reply that was not written.
func (t Trace) Unwritten(err error) Trace {
	if t.Added != "" {
		t.Reason = fmt.Sprintf("it could not be written: %v", err)
	}
	t.Added, t.Turn = "", ""
	return t
}

// A Receipt says what a session gets with the reply.
type Receipt struct {
	Agent    string            `json:"agent,omitempty"`
	Session  string            `json:"session,omitempty"`
	Sub      string            `json:"sub,omitempty"`
	Dir      string            `json:"dir,omitempty"` // the folder that the session begins in with this reply
	Begun    bool              `json:"begun,omitempty"`
	Stamps   map[string]string `json:"stamps,omitempty"`
	Overview string            `json:"overview,omitempty"`
	Rules    map[string]string `json:"rules,omitempty"`
	Spent    int               `json:"spent,omitempty"`
	Hits     []string          `json:"hits,omitempty"` // their keys
	Prompt   bool              `json:"prompt,omitempty"`
	Empty    bool              `json:"empty,omitempty"` // nothing was given
	// Turn is for the record of use, or nil.
	Turn *use.Turn `json:"turn,omitempty"`
}

// Reasons for no hits, beside those of package turn.
const (
	ReasonLong    = "agents take no more text"
	ReasonGiven   = "the session already has all that is relevant"
	ReasonNoIndex = "this workspace has no index yet"
)

// Handle does what an event asks for and returns the agent's reply.
//
// The caller writes that, then adds receipt to Records and its turn to the record of use. Errors
// are in Trace.Problems.
func Handle(ctx context.Context, e Event, m Memory, o Options) (reply []byte, receipt Receipt, trace Trace) {
	a := &answer{event: e, memory: m, options: o, trace: Trace{Event: e, At: time.Now()}}
	a.agent, _ = agents.Named(e.Agent)
	switch e.Kind {
	case SessionStart:
		a.startSession(ctx)
	case Prompt:
		a.answerPrompt(ctx)
	case Tool:
		a.answerTool(ctx)
	case TurnEnd:
		a.note(ctx, "assistant", e.Answer)
		a.judge(ctx)
	case Compact:
		a.problem(o.Records.Forget(ctx, e))
	case SessionEnd:
		a.problem(m.Ended(ctx, e))
		a.judge(ctx) // the last turn may have been interrupted
	}
	if ctx.Err() != nil {
		a.trace.Reason = turn.ReasonLate
		return nil, Receipt{}, a.trace
	}
	return a.finish()
}

// An answer to an event in the making.
type answer struct {
	event   Event
	agent   agents.Agent
	memory  Memory
	options Options
	record  Record // of the session, before the event
	trace   Trace

	text    string
	begins  bool // the session gets what it begins with
	start   Beginning
	applied Applied
	hits    []core.MemoryHit
	dir     string // the folder that the session begins in; "" if it does not
}

func (a *answer) problem(err error) {
	if err != nil {
		a.trace.Problems = append(a.trace.Problems, err.Error())
	}
}

// load reads the session's record. Without it, things may be given twice.
func (a *answer) load() error {
	var err error
	a.record, err = a.options.Records.Load(a.event)
	a.problem(err)
	return err
}

func (a *answer) startSession(ctx context.Context) {
	if a.event.Source == "resume" {
		if _ = a.load(); a.record.Begun {
			return // the history has everything
		}
	}
	a.dir = a.event.Dir
	if a.agent.BeginsAtPrompt {
		a.problem(a.options.Records.Forget(ctx, a.event))
		return
	}
	begins, err := a.options.Records.start(ctx, a.event, a.options.Within)
	a.problem(err)
	if !begins {
		return
	}
	notice := a.memory.Notice(ctx, a.event)
	a.begin(ctx, roomBeside(notice))
	a.text = formatter.Join(a.start.Text(), notice)
}

func (a *answer) answerPrompt(ctx context.Context) {
	kept := a.load() == nil && a.options.Records.keeps(a.event)
	notice := ""
	// Without a record, every prompt would begin the session.
	if !a.record.Begun && (kept || a.agent.BeginsAtPrompt) {
		begins, err := a.options.Records.prompt(ctx, a.event, a.options.Within)
		a.problem(err)
		if begins {
			notice = a.memory.Notice(ctx, a.event)
			a.beginAtPrompt(ctx)
		} else {
			_ = a.load() // a start has changed it
		}
	} else { // the overview, if it has changed
		var err error
		a.start.Reference, a.start.Overview, err = a.memory.Overview(ctx, a.event, a.record.Overview)
		a.problem(err)
	}
	a.apply(ctx)
	a.retrieve(ctx, roomBeside(formatter.Join(notice, a.applied.Text)))
	block, _ := formatter.BlockBeside(a.hits, a.trace.Result.Withheld)
	tail := formatter.Join(notice, a.applied.Text, block)
	if tail != "" && runes(a.start.Text()) > roomBeside(tail) {
		a.shortenStart(ctx, roomBeside(tail))
	}
	a.text = formatter.Join(a.start.Text(), tail)
	a.note(ctx, "user", a.event.Prompt)
}

// beginAtPrompt leaves a prompt time for its hits if the session's start was missed.
func (a *answer) beginAtPrompt(ctx context.Context) {
	if limit := a.options.BeginWithin; limit > 0 && !a.agent.BeginsAtPrompt {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, limit)
		defer stop()
	}
	a.begin(ctx, longestContext)
	a.begins = ctx.Err() == nil || a.start.Text() != "" // else the next prompt tries again
}

func (a *answer) answerTool(ctx context.Context) {
	if a.event.Session == "" || len(a.event.Touched) == 0 || a.load() != nil {
		return // without a record, each call would be given the same
	}
	a.apply(ctx)
	a.text = a.applied.Text
}

// begin gets what the session begins with.
func (a *answer) begin(ctx context.Context, room int) {
	var err error
	a.start, err = a.memory.Beginning(ctx, a.event, room)
	a.problem(err)
	a.begins = true
}

// shortenStart makes room for the rest. Without any, the session begins with its next prompt.
func (a *answer) shortenStart(ctx context.Context, room int) {
	begins := a.begins
	a.start, a.begins = Beginning{}, false
	if begins && room > 0 {
		a.begin(ctx, room)
		a.begins = a.start.Text() != ""
	}
}

func (a *answer) note(ctx context.Context, role, text string) {
	if !a.options.NoLog && strings.TrimSpace(text) != "" {
		a.problem(a.memory.Note(ctx, a.event, role, text))
	}
}

func (a *answer) judge(ctx context.Context) {
	if a.event.Session != "" {
		a.problem(a.memory.Used(ctx, a.event))
	}
}

// retrieve finds hits that are new to the session.
func (a *answer) retrieve(ctx context.Context, room int) {
	query := turn.Query(a.event.Prompt)
	if query == "" {
		a.trace.Reason = turn.ReasonBlank
		return
	}
	o := a.options.Retrieve
	o.Explain, o.Session, o.SessionFrom, o.Earlier = true, a.event.Session, a.record.Dropped, a.record.Prompts
	// Skip unchanged documents that the session has.
	for _, stamps := range []map[string]string{a.record.Stamps, a.start.Stamps, a.applied.Stamps} {
		o.Not = append(slices.Clip(o.Not), a.memory.Unchanged(stamps)...)
	}
	result, err := a.memory.RetrieveRelevant(ctx, query, o)
	a.trace.Result = result
	if err != nil {
		a.problem(err)
		a.trace.Reason = turn.ReasonFailed
		return
	}
	fresh := a.record.fresh(result.Hits)
	a.trace.Repeated = len(result.Hits) - len(fresh)
	a.markRepeated()
	switch {
	case len(result.Hits) == 0 && len(result.Withheld) > 0:
		a.trace.Reason = turn.ReasonWithheld
	case result.State == core.StateMissing && len(result.Hits) == 0:
		a.trace.Reason = ReasonNoIndex
	case len(result.Hits) == 0:
		a.trace.Reason = turn.ReasonNothing
	case len(fresh) == 0:
		a.trace.Reason = ReasonGiven
	}
	fitting := sort.Search(len(fresh), func(n int) bool {
		block, _ := formatter.BlockBeside(fresh[:n+1], result.Withheld)
		return runes(block) > room
	})
	if fitting < len(fresh) {
		a.trace.Reason = ReasonLong
	}
	a.hits = fresh[:fitting]
}

// markRepeated marks, in the trace, hits that the session had.
func (a *answer) markRepeated() {
	for i, hit := range a.trace.Result.Hits {
		if hit.Explain != nil && a.record.Hits[hitKey(hit)] {
			explained := *hit.Explain
			explained.Verdict = "given before"
			a.trace.Result.Hits[i].Explain = &explained
		}
	}
}

func (a *answer) finish() (reply []byte, receipt Receipt, trace Trace) {
	e := a.event
	a.trace.Added, a.trace.Rules = a.text, a.applied.Rules
	reply = e.Reply(a.text)
	var given []use.Hit
	if a.begins { // also with nothing
		a.dir, receipt.Begun = e.Dir, true
	}
	if reply != nil {
		receipt = Receipt{Begun: a.begins, Overview: a.start.Overview,
			Stamps: merged(a.start.Stamps, a.applied.Stamps), Rules: a.applied.Versions,
			Spent: len(a.start.Curated) + len(a.applied.Text)}
		for _, hit := range a.hits {
			receipt.Hits = append(receipt.Hits, hitKey(hit))
			given = append(given, use.Hit{ID: hit.ID, Source: hit.Source, Path: hit.Path, Score: hit.Score, Tokens: hit.TokenEstimate})
		}
	}
	receipt.Prompt, receipt.Empty = e.Kind == Prompt && strings.TrimSpace(e.Prompt) != "", reply == nil
	if reply != nil || a.begins || a.dir != "" || receipt.Prompt {
		receipt.Agent, receipt.Session, receipt.Sub, receipt.Dir = e.Agent, e.Session, e.Sub, a.dir
	}
	if e.Kind == Prompt && e.Session != "" && strings.TrimSpace(e.Prompt) != "" {
		t := use.NewTurn(a.trace.At, e.Agent, e.Session, e.Prompt, !a.options.NoLog, given)
		if len(given) == 0 {
			t.Silence = a.silence()
		}
		receipt.Turn, a.trace.Turn = &t, t.ID
	}
	a.trace.Took = time.Since(a.trace.At).Round(time.Microsecond).String()
	return reply, receipt, a.trace
}

// mostNamed bounds the passages that a silence names.
const mostNamed = 3

// silence says why a prompt got no hits.
func (a *answer) silence() string {
	reason, result := a.trace.Reason, a.trace.Result
	switch reason {
	case ReasonGiven:
		var had []string
		for _, h := range result.Hits[:min(len(result.Hits), mostNamed)] {
			had = append(had, h.Source)
		}
		return reason + ": " + strings.Join(had, ", ")
	case turn.ReasonNothing:
		return cmp.Or(result.Silence, reason)
	}
	return cmp.Or(reason, result.Silence)
}

// roomBeside returns how many characters fit.
func roomBeside(text string) int {
	if text == "" {
		return longestContext
	}
	return longestContext - runes(text) - len("\n\n")
}

func runes(text string) int { return utf8.RuneCountInString(text) }

package hook

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/turn"
	"github.com/memcore/memcore/internal/text/prompt"
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
	// FailedBefore returns how what failed now failed in earlier sessions, and what worked then.
	FailedBefore(ctx context.Context, e Event) (before core.Failing, ok bool, err error)
	// Note adds a message to the session, unless the agent keeps a log that memcore reads.
	Note(ctx context.Context, e Event, role, text string) error
	// Compacted keeps the summary that the agent's log has of a history that was dropped.
	Compacted(ctx context.Context, e Event) error
	// CompactedAt returns when the agent last dropped its history, as its log has it; zero if it
	// did not.
	CompactedAt(ctx context.Context, e Event) (time.Time, error)
	// Ended says that a session has ended.
	Ended(ctx context.Context, e Event) error
	// Notice does what the user's prompt asks of memory itself, and returns what they should know
	// once, if anything. begins says that the session does.
	Notice(ctx context.Context, e Event, begins bool) string
	// Shown returns what the agent should show the person once, if anything.
	Shown(ctx context.Context, e Event) string
}

// A Beginning is what a session begins with.
type Beginning struct {
	// Curated excludes files that the agent loads itself.
	Curated string
	// Reference is the index of memory files and the overview.
	Reference string
	// Stamps, by path, are of documents in Curated. They change with the file.
	Stamps map[string]string
	// Versions, by path, are of all files in Curated, also of those that were cut.
	Versions map[string]string
	// Overview is the stamp of that in Reference, if any.
	Overview string
	// Standing is what the user said, in Reference.
	Standing []core.Statement
}

// Text begins with what changes less often: prompt caches hold up to the first change.
func (b Beginning) Text() string { return formatter.Join(b.Curated, b.Reference) }

// Options say how hooks are answered.
type Options struct {
	// Retrieve narrows what is retrieved for a prompt.
	Retrieve core.RetrieveOptions
	// Open says how the agent opens a line of a list (turn.Options.Open).
	Open string
	// Journal records what each session was given.
	Journal journal.Journal
	// Within is the time for an answer; with 0, a prompt beside the session's start may repeat what
	// that gives.
	Within time.Duration
	// BeginWithin bounds what a session gets with a prompt because its start was missed; 0 does
	// not. Without that in time the prompt still gets its hits.
	BeginWithin time.Duration
	// NoLog keeps messages out of the session, and prompts out of the journal.
	NoLog bool
	// Notes returns what else a person should know, for the journal; may be nil.
	Notes func() []string
}

// Reasons for no hits, beside those of package turn.
const (
	ReasonLong    = "agents take no more text"
	ReasonNoIndex = "this workspace has no index yet"
)

// Entry returns what the journal says of the event. Without keep that is not the prompt.
func (e Event) Entry(at time.Time, keep bool) journal.Entry {
	entry := journal.Entry{Head: e.head(), Event: journal.Event{At: at.UTC().Truncate(time.Millisecond),
		Kind: string(e.Kind), Name: e.Name, Cut: e.Cut, Tool: e.Tool, Touched: e.Touched}}
	if e.Kind == Prompt {
		entry.SetPrompt(e.Prompt, keep)
	}
	return entry
}

func (e Event) head() journal.Head {
	return journal.Head{ID: cmp.Or(e.ID, journal.NewID()), Agent: e.Agent, Session: e.Session, Sub: e.Sub}
}

// Handle does what an event asks for and returns the agent's reply. The journal has the event
// before anything is looked up, and what it got once the reply is made. If the reply does not reach
// the agent, the caller appends that it is Undelivered. recorded is false for events that are not
// worth a line.
func Handle(ctx context.Context, e Event, m Memory, o Options) (reply []byte, entry journal.Entry, recorded bool) {
	began := time.Now()
	a := &answer{event: e, memory: m, options: o, entry: e.Entry(began, !o.NoLog)}
	a.agent, _ = agents.Named(e.Agent)
	switch e.Kind {
	case SessionStart:
		a.startSession(ctx)
	case Prompt:
		if prompt.ByMachine(e.Prompt) {
			// Nobody asked. What the session begins with waits for the user.
			a.entry.Reason = core.SilenceMachine
			break
		}
		a.lookForCompaction(ctx)
		a.answerPrompt(ctx)
	case Tool:
		a.answerTool(ctx)
	case TurnEnd:
		a.note(ctx, "assistant", e.Answer)
	case Compact:
		a.entry.Resets = true
	case SessionEnd:
		var err error
		a.record, err = o.Journal.Session(a.entry.Head)
		a.problem(err)
		a.keepSummary(ctx)
		a.problem(m.Ended(ctx, e))
	}
	if ctx.Err() != nil {
		a.entry.Undelivered = turn.ReasonLate
	} else {
		reply = a.finish()
	}
	a.entry.Took = time.Since(began).Round(time.Microsecond).String()
	if !a.begun && !a.worthKeeping() {
		return reply, a.entry, false
	}
	line := a.entry
	if a.begun {
		line.Event = journal.Event{} // the journal has it
	}
	a.problem(o.Journal.Append(context.WithoutCancel(ctx), line))
	return reply, a.entry, true
}

// worthKeeping reports whether an event that is not in the journal yet should be.
func (a *answer) worthKeeping() bool {
	switch a.event.Kind {
	case TurnEnd:
		return len(a.entry.Problems) > 0
	case Tool:
		return a.entry.Added > 0 || len(a.entry.Problems) > 0 || len(a.entry.Notes) > 0 || a.entry.Undelivered != ""
	}
	return true
}

// An answer to an event in the making.
type answer struct {
	event   Event
	agent   agents.Agent
	memory  Memory
	options Options
	record  journal.Session // before the event
	entry   journal.Entry
	begun   bool // the journal has the event

	text    string
	shown   string // to the person
	begins  bool   // the session gets what it begins with
	start   Beginning
	applied Applied
	result  core.Result // of the prompt, with explanations
	fits    core.Result // as much of it as the agent takes
	failed  []journal.Given
	dir     string // the folder that the session begins in; "" if it does not
}

func (a *answer) problem(err error) {
	if err != nil {
		a.entry.Problems = append(a.entry.Problems, err.Error())
	}
}

// open puts the event into the journal. Before that, decide sees what the session has, and no other
// process can decide. Without the journal, things may be given twice.
func (a *answer) open(ctx context.Context, decide func(now time.Time)) error {
	err := a.options.Journal.Begin(ctx, &a.entry, func(s journal.Session) {
		a.record = s
		decide(time.Now().UTC())
	})
	a.begun = err == nil
	a.problem(err)
	return err
}

func (a *answer) startSession(ctx context.Context) {
	resumed, begins := false, a.agent.BeginsAtPrompt
	err := a.open(ctx, func(now time.Time) {
		resumed = a.event.Source == "resume" && a.record.Begun // the history has everything
		// Agents may send the first prompt meanwhile, which then gives it.
		begins = !resumed && (begins || a.record.Prompts > 1 || !now.Before(a.record.Prompting))
		if a.entry.Resets = a.entry.Resets || begins; begins && !a.agent.BeginsAtPrompt {
			a.entry.Until = now.Add(a.options.Within)
		}
	})
	if resumed {
		return
	}
	if a.event.Shows() && a.event.Source != "compact" {
		a.shown = a.memory.Shown(ctx, a.event)
	}
	a.dir = a.event.Dir
	if a.agent.BeginsAtPrompt || !begins && err == nil {
		return
	}
	notice := a.memory.Notice(ctx, a.event, true)
	a.begin(ctx, roomBeside(notice))
	a.text = formatter.Join(a.start.Text(), notice)
}

// lookForCompaction adds the event to the journal that an agent does not tell of: its history was
// dropped since it last began.
func (a *answer) lookForCompaction(ctx context.Context) {
	if !a.agent.CompactsUnseen || !a.options.Journal.Keeps(a.event.Session) {
		return
	}
	at, err := a.memory.CompactedAt(ctx, a.event)
	a.problem(err)
	if at.IsZero() {
		return
	}
	event := a.event
	event.Kind, event.ID, event.Name = Compact, "", ""
	entry := event.Entry(time.Now(), false)
	if before, err := a.options.Journal.Session(entry.Head); err != nil || !before.Begun || !at.After(before.Dropped) {
		a.problem(err)
		return
	}
	entry.Resets = true
	a.problem(a.options.Journal.Append(ctx, entry))
}

func (a *answer) answerPrompt(ctx context.Context) {
	kept := a.options.Journal.Keeps(a.event.Session)
	begins := false
	err := a.open(ctx, func(now time.Time) {
		// Without a journal, every prompt would begin the session.
		begins = !a.record.Begun && !now.Before(a.record.Starting) && (kept || a.agent.BeginsAtPrompt)
		if begins {
			a.entry.Until = now.Add(a.options.Within)
		}
	})
	begins = begins || err != nil && a.agent.BeginsAtPrompt
	notice := a.memory.Notice(ctx, a.event, begins)
	switch {
	case begins:
		a.beginAtPrompt(ctx)
	case a.record.Begun || !kept: // the overview, if it has changed
		a.start.Reference, a.start.Overview, err = a.memory.Overview(ctx, a.event, a.record.Overview)
		a.problem(err)
	}
	a.apply(ctx)
	a.retrieve(ctx, roomBeside(formatter.Join(notice, a.applied.Text)))
	block, _ := formatter.Turn(a.fits, a.options.Open)
	tail := formatter.Join(notice, a.applied.Text, block)
	if tail != "" && runes(a.start.Text()) > roomBeside(tail) {
		a.shortenStart(ctx, roomBeside(tail))
	}
	a.text = formatter.Join(a.start.Text(), tail)
	a.note(ctx, "user", a.event.Prompt)
	if a.record.Prompts == 0 {
		a.keepSummary(ctx)
	}
}

// keepSummary keeps the summary of the history that the agent has dropped, if it has.
func (a *answer) keepSummary(ctx context.Context) {
	if !a.record.Dropped.IsZero() && !a.options.NoLog {
		a.problem(a.memory.Compacted(ctx, a.event))
	}
}

// beginAtPrompt leaves a prompt time for its hits if the session's start was missed.
func (a *answer) beginAtPrompt(ctx context.Context) {
	if limit := a.options.BeginWithin; limit > 0 && !a.agent.BeginsAtPrompt {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, limit)
		defer stop()
	}
	a.begin(ctx, maxContext)
	a.begins = ctx.Err() == nil || a.start.Text() != "" // else the next prompt tries again
}

func (a *answer) answerTool(ctx context.Context) {
	if a.event.Session == "" || a.event.IsQuiet() {
		return
	}
	var err error
	if a.record, err = a.options.Journal.Session(a.entry.Head); err != nil {
		a.problem(err)
		return // without the journal, each call would be given the same
	}
	if len(a.event.Touched) > 0 {
		a.apply(ctx)
	}
	if a.event.Failed != nil {
		a.text = a.cure(ctx)
	}
	if text := formatter.Join(a.applied.Text, a.text); runes(text) <= maxContext {
		a.text = text
	} else {
		a.text, a.failed = a.applied.Text, nil
	}
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

// retrieve finds hits that are new to the session.
func (a *answer) retrieve(ctx context.Context, room int) {
	query := turn.Query(a.event.Prompt)
	if query == "" {
		a.entry.Reason = turn.ReasonBlank
		return
	}
	o := a.options.Retrieve
	o.Explain, o.Session, o.SessionFrom, o.Given = true, a.event.Session, a.record.Dropped, a.hasBeenGiven()
	for _, stamps := range []map[string]string{a.record.Keys(journal.Document), a.start.Stamps, a.applied.Stamps} {
		o.Has = append(slices.Clip(o.Has), a.memory.Unchanged(stamps)...)
	}
	result, err := a.memory.RetrieveRelevant(ctx, query, o)
	a.result = result
	if err != nil {
		a.problem(err)
		a.entry.Reason = turn.ReasonFailed
		return
	}
	switch {
	case len(result.Hits)+len(result.Said)+len(result.Lines) > 0:
	case len(result.Withheld) > 0:
		a.entry.Reason = turn.ReasonWithheld
	case result.State == core.StateMissing:
		a.entry.Reason = ReasonNoIndex
	default:
		a.entry.Reason = cmp.Or(result.Silence, turn.ReasonNothing)
		if held := journal.HeldBack(result); held != "" && !strings.Contains(a.entry.Reason, result.Rejected[0].Source) {
			a.entry.Reason += "; " + held
		}
	}
	a.fits = fitting(result, a.options.Open, room)
	if len(a.fits.Hits) < len(result.Hits) {
		a.entry.Reason = ReasonLong
	}
}

// hasBeenGiven returns the keys of what the session was given. What it began with just before the
// prompt, or begins with beside it, is not repeated at its moment yet.
func (a *answer) hasBeenGiven() []string {
	keys := a.record.Given()
	if a.record.Prompts == 0 {
		for _, key := range keys {
			if statement, ok := core.FromStart(key); ok {
				keys = append(keys, statement)
			}
		}
	}
	for _, s := range a.start.Standing {
		keys = append(keys, s.AtStart(), s.Key)
	}
	return keys
}

// fitting returns what of a result fits into room, in characters: lines are left out first, from
// the end, then hits.
func fitting(r core.Result, open string, room int) core.Result {
	fits := func() bool {
		text, _ := formatter.Turn(r, open)
		return runes(text) <= room
	}
	for len(r.Lines) > 0 && !fits() {
		r.Lines = r.Lines[:len(r.Lines)-1]
	}
	all := r.Hits
	n := sort.Search(len(all), func(n int) bool {
		r.Hits = all[:n+1]
		return !fits()
	})
	r.Hits = all[:n]
	for len(r.Said) > 0 && !fits() {
		r.Said = r.Said[:len(r.Said)-1]
	}
	return r
}

// finish returns the reply, and completes the entry.
func (a *answer) finish() (reply []byte) {
	e := a.event
	reply = e.Reply(a.text, a.shown)
	if a.begins { // also with nothing
		a.dir = e.Dir
		a.entry.Given = append(a.entry.Given, journal.Given{Kind: journal.Beginning})
	}
	if a.entry.Began = a.dir; reply != nil {
		a.entry.Added, a.entry.Spent = runes(a.text), len(a.start.Curated)+len(a.applied.Text)
		a.given()
	}
	a.entry.Rules = a.applied.Rules
	if a.result.State != "" { // memory was asked
		a.entry.Result = journal.Trim(a.result)
	}
	if e.Kind == Prompt && len(a.entry.Passages()) == 0 {
		a.entry.Reason = cmp.Or(a.entry.Reason, a.result.Silence)
	}
	if a.options.Notes != nil && (e.Kind == SessionStart || e.Kind == Prompt || e.Kind == Tool || len(a.entry.Problems) > 0) {
		a.entry.Notes = a.options.Notes()
	}
	return reply
}

// given lists what the reply has.
func (a *answer) given() {
	files := func(kind journal.Kind, keys map[string]string) {
		for _, path := range slices.Sorted(maps.Keys(keys)) {
			a.entry.Given = append(a.entry.Given, journal.Given{Kind: kind, Path: path, Key: keys[path]})
		}
	}
	files(journal.Document, a.start.Stamps)
	files(journal.Document, a.applied.Stamps)
	files(journal.Rules, a.start.Versions)
	files(journal.Rules, a.applied.Versions)
	if a.start.Overview != "" {
		a.entry.Given = append(a.entry.Given, journal.Given{Kind: journal.Overview, Key: a.start.Overview})
	}
	for _, s := range a.start.Standing {
		s.Key = s.AtStart()
		a.entry.Given = append(a.entry.Given, journal.GivenOf(core.Result{Said: []core.Statement{s}})...)
	}
	a.entry.Given = append(append(a.entry.Given, journal.GivenOf(a.fits)...), a.failed...)
}

// roomBeside returns how many characters fit.
func roomBeside(text string) int {
	if text == "" {
		return maxContext
	}
	return maxContext - runes(text) - len("\n\n")
}

func runes(text string) int { return utf8.RuneCountInString(text) }

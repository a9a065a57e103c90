package hook

import (
	"context"
	"slices"
	"sort"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/turn"
)

// A Memory is what a hook needs of the memory of a workspace.
type Memory interface {
	// RetrieveRelevant is core.Manager's.
	RetrieveRelevant(ctx context.Context, request string, options core.RetrieveOptions) (core.Result, error)
	// Curated returns the curated memory for the start of a session, without files of the names that the agent loads itself, and a stamp of each document whose
	// whole text it has given, by path: the same as long as the file is.
	Curated(ctx context.Context, not []string) (text string, stamps map[string]string, err error)
	// Unchanged returns the paths of those documents whose stamp is the same now.
	Unchanged(stamps map[string]string) []string
	// Note keeps what was said in a session.
	Note(ctx context.Context, e Event, role, text string) error
	// Ended is told that a session has come to its end.
	Ended(ctx context.Context, e Event) error
	// Used judges whether what the session was given before was used, now or soon after.
	Used(ctx context.Context, e Event) error
}

// ownFiles are the names of memory files that agents load themselves.
var ownFiles = map[string][]string{
	ClaudeCode: {"CLAUDE.md", "CLAUDE.local.md"},
	GeminiCLI:  {"GEMINI.md", "GEMINI.local.md"},
	Codex:      {"AGENTS.md", "AGENTS.override.md"},
	Cursor:     {"AGENTS.md"},
}

// OwnFiles are the names of memory files that an agent loads itself.
func OwnFiles(agent string) []string { return ownFiles[agent] }

// Options say how hooks are answered.
type Options struct {
	// Retrieve narrows what is retrieved for a prompt.
	Retrieve core.RetrieveOptions
	// Given keeps what each session was given. The zero Given keeps nothing.
	Given Given
	// NoLog notes nothing of what is said.
	NoLog bool
	// NoUse keeps no record of what was given and used.
	NoUse bool
}

// A Trace says what a hook has done, for a person who asks why.
type Trace struct {
	Event    Event       `json:"event"`
	At       time.Time   `json:"at"`
	Result   core.Result `json:"result"`             // with explanations
	Reason   string      `json:"reason,omitempty"`   // why nothing was added
	Added    string      `json:"added,omitempty"`    // what was
	Repeated int         `json:"repeated,omitempty"` // hits that the session was given before
	Turn     string      `json:"turn,omitempty"`     // its ID in the record of use
	Problems []string    `json:"problems,omitempty"`
	Took     string      `json:"took,omitempty"`
}

// A Receipt says what a session has with a reply, once the agent was given it.
type Receipt struct {
	Agent   string   `json:"agent,omitempty"`
	Session string   `json:"session,omitempty"`
	Hits    []string `json:"hits,omitempty"`  // keys, no text
	Begun   bool     `json:"begun,omitempty"` // curated memory was given
	// Stamps are of the documents that curated memory was made of, by path.
	Stamps map[string]string `json:"stamps,omitempty"`
	// Turn is for the record of use; nil is none.
	Turn *use.Turn `json:"turn,omitempty"`
}

// Handle does what an event asks for and returns what the agent is to read. Whoever writes it gives the receipt to Given.Note, and its turn to the record of use,
// afterwards: what came too late was not given. It fails in nothing: what goes wrong is in Trace.Problems.
func Handle(ctx context.Context, e Event, m Memory, o Options) (reply []byte, receipt Receipt, trace Trace) {
	trace = Trace{Event: e, At: time.Now()}
	problem := func(err error) {
		if err != nil {
			trace.Problems = append(trace.Problems, err.Error())
		}
	}
	text := ""
	var given []core.MemoryHit
	var stamps map[string]string
	begun := false
	curate := func() {
		var err error
		text, stamps, err = m.Curated(ctx, ownFiles[e.Agent])
		problem(err)
		begun = true
	}
	judge := func() {
		if !o.NoUse && e.Session != "" {
			problem(m.Used(ctx, e))
		}
	}
	switch e.Kind {
	case SessionStart:
		if e.Source == "resume" && o.Given.Begun(e) {
			break // it is all in the history
		}
		problem(o.Given.Forget(ctx, e)) // a session that begins, or goes on after a compaction, has nothing of it
		if e.Agent != GeminiCLI {       // it would take what is added for a part of the first prompt
			curate()
			text = fit(text, "")
		}
	case Prompt:
		if e.Agent == GeminiCLI && !o.Given.Begun(e) {
			curate()
		} else {
			stamps = o.Given.Stamps(e)
		}
		// What the session has of it already, as it is now, is not retrieved again.
		o.Retrieve.Not = append(slices.Clone(o.Retrieve.Not), m.Unchanged(stamps)...)
		o.Retrieve.Session, o.Retrieve.SessionFrom = e.Session, o.Given.Dropped(e)
		given = relevant(ctx, e, m, o, &trace, problem)
		block, _ := formatter.BlockBeside(given, trace.Result.Withheld)
		text = fit(text, block)
		if !o.NoLog && strings.TrimSpace(e.Prompt) != "" {
			problem(m.Note(ctx, e, "user", e.Prompt))
		}
	case TurnEnd:
		if !o.NoLog && strings.TrimSpace(e.Answer) != "" {
			problem(m.Note(ctx, e, "assistant", e.Answer))
		}
		judge()
	case Compact:
		problem(o.Given.Forget(ctx, e))
	case SessionEnd:
		problem(m.Ended(ctx, e))
		judge() // the last turn may have been interrupted
	}
	if ctx.Err() != nil {
		trace.Reason = turn.ReasonLate
		return nil, Receipt{}, trace
	}
	trace.Added = text
	reply = e.Reply(trace.Added)
	if reply != nil {
		receipt = Receipt{Agent: e.Agent, Session: e.Session, Begun: begun}
		if begun {
			receipt.Stamps = stamps
		}
		for _, hit := range given {
			receipt.Hits = append(receipt.Hits, hitKey(hit))
		}
	}
	if e.Kind == Prompt && !o.NoUse && e.Session != "" && strings.TrimSpace(e.Prompt) != "" {
		t := use.NewTurn(trace.At, e.Agent, e.Session, e.Prompt, !o.NoLog, usable(given, reply))
		receipt.Turn, trace.Turn = &t, t.ID
	}
	trace.Took = time.Since(trace.At).Round(time.Microsecond).String()
	return reply, receipt, trace
}

// usable is what the record of use has of the hits that a reply gives.
func usable(given []core.MemoryHit, reply []byte) (hits []use.Hit) {
	if reply == nil {
		return nil
	}
	for _, hit := range given {
		hits = append(hits, use.Hit{ID: hit.ID, Source: hit.Source, Path: hit.Path, Score: hit.Score, Tokens: hit.TokenEstimate})
	}
	return hits
}

// relevant is what is worth knowing for a prompt and was not given to the session before.
func relevant(ctx context.Context, e Event, m Memory, o Options, trace *Trace, problem func(error)) []core.MemoryHit {
	query := turn.Query(e.Prompt)
	if query == "" {
		trace.Reason = turn.ReasonBlank
		return nil
	}
	o.Retrieve.Explain = true
	result, err := m.RetrieveRelevant(ctx, query, o.Retrieve)
	trace.Result = result
	if err != nil {
		problem(err)
		trace.Reason = turn.ReasonFailed
		return nil
	}
	fresh, repeated, err := o.Given.Fresh(e, result.Hits)
	problem(err)
	trace.Repeated = repeated
	for i, hit := range trace.Result.Hits {
		if hit.Explain != nil && !slices.ContainsFunc(fresh, func(f core.MemoryHit) bool { return hitKey(f) == hitKey(hit) }) {
			said := *hit.Explain
			said.Verdict = "given before"
			trace.Result.Hits[i].Explain = &said
		}
	}
	switch {
	case len(result.Hits) == 0 && len(result.Withheld) > 0:
		trace.Reason = turn.ReasonWithheld
	case len(result.Hits) == 0:
		trace.Reason = turn.ReasonNothing
	case len(fresh) == 0:
		trace.Reason = ReasonGiven
	}
	// What an agent would cut is not given at all.
	if fitting := sort.Search(len(fresh), func(n int) bool {
		block, _ := formatter.BlockBeside(fresh[:n+1], result.Withheld)
		return utf8.RuneCountInString(block) > longestContext
	}); fitting < len(fresh) {
		fresh, trace.Reason = fresh[:fitting], ReasonLong
	}
	return fresh
}

// ReasonLong is why some of it was not added.
const ReasonLong = "agents take no more text"

// ReasonGiven is why nothing was added: the session was given all of it before.
const ReasonGiven = "the session was given all that is relevant before"

// cutNote says that curated memory was too long for a hook.
const cutNote = "\n\n(More curated memory does not fit here; it is in the memory files of the project.)"

// fit puts a block behind curated memory and shortens that, at the end of a line, to what agents take. The block stays whole.
func fit(text, block string) string {
	tail := block
	if text != "" && block != "" {
		tail = "\n\n" + block
	}
	if utf8.RuneCountInString(text)+utf8.RuneCountInString(tail) <= longestContext {
		return text + tail
	}
	room := longestContext - utf8.RuneCountInString(tail) - utf8.RuneCountInString(cutNote)
	cut, runes := 0, 0
	for at := range text {
		if runes++; runes > room {
			break
		}
		if text[at] == '\n' {
			cut = at
		}
	}
	if cut == 0 {
		return block
	}
	return strings.TrimRight(text[:cut], "\n") + cutNote + tail
}

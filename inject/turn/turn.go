// Package turn injects memory into one request to a model.
//
// Memory is a message before the last user message, or for Anthropic's API a block in it. It never
// enters the history. Text of all turns, such as curated memory, goes to the end of the system
// message if Options ask for it.
//
// Nothing fails a turn: if something goes wrong, messages come back unchanged, and the Report says
// why.
package turn

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/formatter"
)

// A Retriever finds what is relevant; *core.Manager is one.
type Retriever interface {
	RetrieveRelevant(ctx context.Context, request string, options core.RetrieveOptions) (core.Result, error)
}

// A ruler knows the rules for a request; *core.Manager is one.
type ruler interface {
	RulesFor(ctx context.Context, request string) (curated.Memory, error)
}

// Options say how to inject memory. The zero value is what an agent wants.
type Options struct {
	// Retrieve narrows what is retrieved.
	Retrieve core.RetrieveOptions
	// Open says how the model opens one of Retrieve.Lines, such as "memory_read NAME". If it is "",
	// requests in JSON show it by their tools, and others get no lines.
	Open string
	// Timeout bounds the wait for memory; 0 is 1 s, negative no limit.
	Timeout time.Duration
	// System, if not nil, returns text for the end of the system message, even with an error or for
	// a request with a pending tool call. Text is not added twice. It should change only when
	// memory does, since providers cache prompts by their beginning.
	System func(ctx context.Context) (System, error)
	// NoRules leaves out rules.
	NoRules bool
	// Record, if not nil, is told what each request got for which memory was asked. Requests of one
	// turn, such as those after its tool calls, ask again. It runs before the request goes on.
	Record func(Outcome)
	// Logger gets what goes wrong; nil means slog.Default().
	Logger *slog.Logger

	began []core.Statement // the system message has it
}

const defaultTimeout = time.Second

// errLate is the cause of a context whose Timeout has passed.
var errLate = errors.New("memory took too long")

// within returns a context that ends with the turn's time.
func (o Options) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if o.Timeout < 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, cmp.Or(o.Timeout, defaultTimeout), errLate)
}

// cancelled reports whether the turn itself has ended.
func cancelled(ctx context.Context) bool {
	return ctx.Err() != nil && !errors.Is(context.Cause(ctx), errLate)
}

// without returns options that do not retrieve some documents.
func (o Options) without(documents []string) Options {
	o.Retrieve.Not = slices.Concat(o.Retrieve.Not, documents)
	return o
}

// Reasons why nothing was injected, as in Report.Reason.
const (
	ReasonNoUser    = "no user message"
	ReasonBlank     = "the user message has no text"
	ReasonPending   = "a tool call waits for its result"
	ReasonPresent   = "memory is there already"
	ReasonCancelled = "the turn was cancelled"
	ReasonLate      = "memory took too long"
	ReasonFailed    = "memory failed"
	ReasonNothing   = "nothing relevant is known"
	ReasonWithheld  = "what is relevant was withheld as suspicious"
	ReasonKept      = "the server keeps the conversation"
)

// A Report says what was injected, or why nothing was.
type Report struct {
	Injected int                 `json:"injected"`           // hits
	Said     int                 `json:"said,omitempty"`     // statements of the user
	Lines    int                 `json:"lines,omitempty"`    // of a list
	Tokens   int                 `json:"tokens"`             // about what they cost
	Sources  []string            `json:"sources,omitempty"`  // their citations, best first
	System   int                 `json:"system,omitempty"`   // characters that the system message was given
	Rules    []string            `json:"rules,omitempty"`    // files of the rules that apply to the turn
	Reason   string              `json:"reason,omitempty"`   // why nothing was injected
	Findings []formatter.Finding `json:"findings,omitempty"` // what the sanitiser changed
	// Flagged hits have a warning; Withheld hits were left out.
	Flagged  int             `json:"flagged,omitempty"`
	Withheld int             `json:"withheld,omitempty"`
	State    core.State      `json:"state,omitempty"` // of the index, if it was asked
	Degraded []string        `json:"degraded,omitempty"`
	Stale    *core.Staleness `json:"stale,omitempty"`
}

// An Outcome is what a request got.
type Outcome struct {
	Query  string
	Result core.Result // what memory answered
	Text   string      // what was injected before the user's message; "" for nothing
	Report Report
	Took   time.Duration
}

// A Shape says how to read and write messages of some type.
type Shape[M any] struct {
	Role    func(M) string
	Text    func(M) string
	Calls   func(M) []string // IDs of the tool calls of an assistant message
	Answers func(M) []string // IDs of the calls that a message has results of

	System func(text string) M // makes a system message
	User   func(text string) M // makes a user message
	Extend func(M, string) M   // returns a system message with more text

	held func(M) bool // whether a user message has memory in it; nil if it never does
}

// functionID stands in for IDs, which calls of the older API lack. The prefix keeps them apart.
func functionID(name string) string { return "function:" + name }

// Inject returns a copy with memory before the last user message, or messages itself. Messages and
// package goopenai have the common types.
func Inject[M any](ctx context.Context, r Retriever, messages []M, is Shape[M], options Options) ([]M, Report) {
	ctx, stop := options.within(ctx)
	defer stop()
	messages, added, options := withSystem(ctx, messages, is, options)
	last, block, report := choose(ctx, r, messages, is, options)
	report.System = added
	if block == "" {
		return messages, report
	}
	return slices.Insert(slices.Clone(messages), last, is.User(block)), report
}

// choose returns the last user message's index and its block, if any.
//
// It ignores tool calls behind that message: all requests of a turn get memory at the same place,
// so that prompt caches hold.
func choose[M any](ctx context.Context, r Retriever, messages []M, is Shape[M], options Options) (last int, block string, report Report) {
	last = lastUser(messages, is)
	switch {
	case cancelled(ctx):
		return last, "", Report{Reason: ReasonCancelled}
	case last < 0:
		return last, "", Report{Reason: ReasonNoUser}
	case pending(messages, is):
		return last, "", Report{Reason: ReasonPending}
	case last > 0 && formatter.IsBlock(is.Text(messages[last-1])), is.held != nil && is.held(messages[last]):
		return last, "", Report{Reason: ReasonPresent}
	}
	query := Query(is.Text(messages[last]))
	if query == "" {
		return last, "", Report{Reason: ReasonBlank}
	}
	options.Retrieve.Given = slices.Concat(options.Retrieve.Given, begun(options.began, messages[:last], is))
	began := time.Now()
	rules := rulesFor(ctx, r, query, options)
	result, block, report := retrieve(ctx, r, query, options.without(rules.whole))
	block = rules.before(block, &report)
	if options.Record != nil {
		options.Record(Outcome{Query: query, Result: result, Text: block, Report: report, Took: time.Since(began)})
	}
	return last, block, report
}

// begun returns the keys of what the conversation begins with. It is not given again, but at its
// moment (core.Statement.AtStart), and there not with the first message of the user.
func begun[M any](all []core.Statement, before []M, is Shape[M]) (keys []string) {
	isFirst := !slices.ContainsFunc(before, func(m M) bool { return is.Role(m) == "user" && strings.TrimSpace(is.Text(m)) != "" })
	for _, s := range all {
		if keys = append(keys, s.AtStart()); isFirst {
			keys = append(keys, s.Key)
		}
	}
	return keys
}

func lastUser[M any](messages []M, is Shape[M]) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if is.Role(messages[i]) == "user" {
			return i
		}
	}
	return -1
}

// pending reports whether a tool call has no result yet. No message may come between the two.
func pending[M any](messages []M, is Shape[M]) bool {
	open := map[string]bool{}
	for _, message := range messages {
		for _, id := range is.Calls(message) {
			open[id] = true
		}
		for _, id := range is.Answers(message) {
			delete(open, id)
		}
	}
	return len(open) > 0
}

// rules are the rules that apply to a request.
type rules struct {
	text   string
	files  []string
	whole  []string // the files whose whole text it is, which need not be retrieved
	tokens int
}

// rulesFor returns the rules that apply to a request.
func rulesFor(ctx context.Context, r Retriever, request string, options Options) rules {
	knows, ok := r.(ruler)
	if !ok || options.NoRules {
		return rules{}
	}
	memory, err := knows.RulesFor(ctx, request)
	if err != nil {
		logger(options).Warn("rules are not injected", "error", err)
		return rules{}
	}
	found := rules{text: formatter.Now(memory), tokens: memory.Usage.Tokens}
	for _, f := range memory.Files {
		if f.Applies == "" {
			continue
		}
		found.files = append(found.files, f.Path)
		if f.IsWhole() {
			found.whole = append(found.whole, f.Path)
		}
	}
	return found
}

// before puts the rules before the block: all that apply, since a request knows nothing of earlier
// ones.
func (r rules) before(block string, report *Report) string {
	if r.text == "" || report.Reason == ReasonCancelled {
		return block
	}
	report.Rules, report.Reason = r.files, ""
	report.Tokens += r.tokens
	return formatter.Join(r.text, block)
}

// retrieve returns what memory answers to a query and its block, or a reason for none.
func retrieve(ctx context.Context, r Retriever, query string, options Options) (core.Result, string, Report) {
	if options.Open == "" {
		options.Retrieve.Lines = 0
	}
	result, err := r.RetrieveRelevant(ctx, query, options.Retrieve)
	report := Report{State: result.State, Degraded: result.Degraded, Stale: result.Stale, Withheld: len(result.Withheld)}
	switch {
	case cancelled(ctx):
		report.Reason = ReasonCancelled
	case ctx.Err() != nil:
		report.Reason = ReasonLate
	case err != nil:
		report.Reason = ReasonFailed
		logger(options).Warn("memory is not injected", "error", err)
	case len(result.Hits)+len(result.Said)+len(result.Lines) > 0:
	case report.Withheld > 0:
		report.Reason = ReasonWithheld
	default:
		report.Reason = ReasonNothing
	}
	if report.Reason != "" {
		return result, "", report
	}
	block, findings := formatter.Turn(result, options.Open)
	report.Injected, report.Said, report.Lines, report.Findings = len(result.Hits), len(result.Said), len(result.Lines), findings
	for _, hit := range result.Hits {
		report.Tokens += hit.TokenEstimate
		if formatter.IsFlagged(hit) {
			report.Flagged++
		}
		report.Sources = append(report.Sources, hit.Source)
	}
	return result, block, report
}

func logger(options Options) *slog.Logger {
	if options.Logger == nil {
		return slog.Default()
	}
	return options.Logger
}

// maxQuery bounds the query, in bytes. Long messages begin or end with what people want.
const maxQuery = 4096

// Query returns the text of a user's message, or the first and last half of maxQuery bytes of it.
func Query(text string) string {
	text = strings.TrimSpace(text)
	if len(text) <= maxQuery {
		return text
	}
	head, tail := maxQuery/2, len(text)-maxQuery/2
	for n := 1; n < utf8.UTFMax && !utf8.RuneStart(text[head]); n++ { // bounded: text may be no UTF-8
		head--
	}
	for n := 1; n < utf8.UTFMax && !utf8.RuneStart(text[tail]); n++ {
		tail++
	}
	return text[:head] + "\n" + text[tail:]
}

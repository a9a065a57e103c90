// Package turn injects memory into one request to a model.
//
// The memory is a message of its own before the last user message, in a copy of the messages (for Anthropic's API a block in that
// message): it lives for this request only and never enters the history. Nothing here fails a turn: whatever goes
// wrong, the messages come back as they were, and the Report says why.
package turn

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/formatter"
)

// A retriever finds what is worth knowing; *core.Manager is one.
type retriever interface {
	RetrieveRelevant(ctx context.Context, request string, options core.RetrieveOptions) (core.Result, error)
}

// Options say how memory is injected. The zero value is what an agent wants.
type Options struct {
	// Retrieve narrows what is retrieved.
	Retrieve core.RetrieveOptions
	// Timeout is how long the turn may wait for its memory; what comes later is not injected. 0 means
	// 1 s, negative means to wait as long as the context does.
	Timeout time.Duration
	// Logger gets what goes wrong; nil means slog.Default().
	Logger *slog.Logger
}

const defaultTimeout = time.Second

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
	Tokens   int                 `json:"tokens"`             // about what they cost
	Sources  []string            `json:"sources,omitempty"`  // their citations, best first
	Reason   string              `json:"reason,omitempty"`   // why nothing was injected
	Findings []formatter.Finding `json:"findings,omitempty"` // what the sanitiser changed
	// Suspicious of the injected hits were marked as not to be followed, and Withheld more left out.
	Suspicious int             `json:"suspicious,omitempty"`
	Withheld   int             `json:"withheld,omitempty"`
	State      core.State      `json:"state,omitempty"` // of the index, if it was asked
	Degraded   []string        `json:"degraded,omitempty"`
	Stale      *core.Staleness `json:"stale,omitempty"`
}

// A shape is how messages of some type are read.
type shape[M any] struct {
	role    func(M) string
	text    func(M) string
	calls   func(M) []string // IDs of the tool calls of an assistant message
	answers func(M) []string // IDs of the calls that a message has results of
	held    func(M) bool     // whether memory is in a user message; nil if it never is
}

// functionID stands in for the ID that a function call of the older API has not: its answer bears the
// function's name. The prefix keeps it apart from real IDs.
func functionID(name string) string { return "function:" + name }

// inject returns messages with memory before the last user message, in a new slice, or messages
// itself.
func inject[M any](ctx context.Context, r retriever, messages []M, is shape[M], memory func(text string) M, options Options) ([]M, Report) {
	last, block, report := choose(ctx, r, messages, is, options)
	if block == "" {
		return messages, report
	}
	return slices.Insert(slices.Clone(messages), last, memory(block)), report
}

// choose returns the block and the last user message, which it is for; "" if nothing is to be injected.
//
// Messages behind the last user message, such as tool calls with their results, do not matter: each
// request of a turn's loop gets the memory at the same place, so that the model's prompt cache holds.
func choose[M any](ctx context.Context, r retriever, messages []M, is shape[M], options Options) (last int, block string, report Report) {
	last = lastUser(messages, is)
	switch {
	case ctx.Err() != nil:
		return last, "", Report{Reason: ReasonCancelled}
	case last < 0:
		return last, "", Report{Reason: ReasonNoUser}
	case pending(messages, is):
		return last, "", Report{Reason: ReasonPending}
	case last > 0 && formatter.IsBlock(is.text(messages[last-1])), is.held != nil && is.held(messages[last]):
		return last, "", Report{Reason: ReasonPresent}
	}
	query := Query(is.text(messages[last]))
	if query == "" {
		return last, "", Report{Reason: ReasonBlank}
	}
	block, report = retrieve(ctx, r, query, options)
	return last, block, report
}

func lastUser[M any](messages []M, is shape[M]) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if is.role(messages[i]) == "user" {
			return i
		}
	}
	return -1
}

// pending tells whether a tool call has no answer yet: between a call and its result no message may
// stand, and the model is not asked anything new.
func pending[M any](messages []M, is shape[M]) bool {
	open := map[string]bool{}
	for _, message := range messages {
		for _, id := range is.calls(message) {
			open[id] = true
		}
		for _, id := range is.answers(message) {
			delete(open, id)
		}
	}
	return len(open) > 0
}

// retrieve returns the block for a query, or why there is none.
func retrieve(ctx context.Context, r retriever, query string, options Options) (string, Report) {
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	inTime := ctx
	if options.Timeout > 0 {
		var stop context.CancelFunc
		inTime, stop = context.WithTimeout(ctx, options.Timeout)
		defer stop()
	}
	result, err := r.RetrieveRelevant(inTime, query, options.Retrieve)
	report := Report{State: result.State, Degraded: result.Degraded, Stale: result.Stale, Withheld: len(result.Withheld)}
	switch {
	case ctx.Err() != nil:
		report.Reason = ReasonCancelled
	case inTime.Err() != nil:
		report.Reason = ReasonLate
	case err != nil:
		report.Reason = ReasonFailed
		logger(options).Warn("memory is not injected", "error", err)
	case len(result.Hits) == 0 && report.Withheld > 0:
		report.Reason = ReasonWithheld
	case len(result.Hits) == 0:
		report.Reason = ReasonNothing
	}
	if report.Reason != "" {
		return "", report
	}
	block, findings := formatter.BlockBeside(result.Hits, result.Withheld)
	report.Injected, report.Findings = len(result.Hits), findings
	for _, hit := range result.Hits {
		report.Tokens += hit.TokenEstimate
		if formatter.IsSuspicious(hit) {
			report.Suspicious++
		}
		report.Sources = append(report.Sources, hit.Source)
	}
	return block, report
}

func logger(options Options) *slog.Logger {
	if options.Logger == nil {
		return slog.Default()
	}
	return options.Logger
}

// maxQuery is how much of a user message makes the query, in bytes. Of a longer one the beginning and
// the end count: that is where people say what they want with the text they paste between.
const maxQuery = 4096

// Query is what memory is asked for a user's message: all of it, or of a long one the first and the last half of maxQuery, cut at rune borders; "" if it
// has no text.
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

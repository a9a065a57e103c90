package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/httpapi"
)

// A recallRequest holds the arguments of recall_memory.
type recallRequest struct {
	Query   string `json:"query" jsonschema:"Search query"`
	Scope   string `json:"scope,omitempty" jsonschema:"Which sources to search"`
	Session string `json:"session,omitempty" jsonschema:"Only this session, by its ID"`
	Limit   int    `json:"limit,omitempty" jsonschema:"Maximum results"`
	Exact   bool   `json:"exact,omitempty" jsonschema:"Only entries that hold the query as it is written, any characters"`
}

const (
	recallToolName = "recall_memory"
	// maxRecall limits the results, and maxRecallQuery the query, in bytes.
	maxRecall      = 100
	maxRecallQuery = 16 << 10
)

// noneSaid is the note of an answer if memory knows no conversation.
const noneSaid = "Note: memory knows no conversation: no session was noted in this workspace, and no log of an agent is indexed."

// Recall searches what was said and noted in sessions, as recall_memory does. Errors wrap
// core.ErrNoConversation if there is no session of the name that is asked for.
func Recall(ctx context.Context, m Memory, r httpapi.SearchRequest) (formatter.Recalled, error) {
	r.Sessions, r.Query = true, r.Query[:min(len(r.Query), maxRecallQuery)]
	result, err := m.Search(ctx, r)
	if errors.Is(err, core.ErrNoConversation) && r.Session == "" {
		return formatter.Recalled{Results: []formatter.Recollection{}, Note: noneSaid}, nil
	}
	if err != nil {
		return formatter.Recalled{}, err
	}
	return formatter.Recall(r.Query, result), nil
}

// scopeAll is the scope of all that a tool searches.
const scopeAll = "all"

// recallScopes are what can be searched of sessions.
var recallScopes = []any{scopeAll, formatter.RecalledNote, formatter.RecalledMessage}

// recall answers a tool's search of sessions, or of a part of them.
func (t toolbox) recall(ctx context.Context, m Memory, scope string, r httpapi.SearchRequest) (tools.Answer, error) {
	switch scope {
	case formatter.RecalledNote:
		r.Kind = source.KindMarkdown
	case formatter.RecalledMessage:
		r.Kind = source.KindConversation
	}
	r.Limit = min(cmp.Or(max(r.Limit, 0), t.w.Settings.DefaultLimit), maxRecall)
	found, err := Recall(ctx, m, r)
	return tools.Answer{Text: found.Answer(r.Query), Data: found}, err
}

// recallTool returns recall_memory.
func (t toolbox) recallTool(m Memory) tools.Tool {
	return tools.New(recallToolName, "Search the messages and notes of working sessions, also what was said a moment ago. Returns matching entries with citations.",
		func(ctx context.Context, r recallRequest) (tools.Answer, error) {
			return t.recall(ctx, m, r.Scope, httpapi.SearchRequest{Query: r.Query, Session: r.Session, Limit: r.Limit, Exact: r.Exact})
		}, tools.ReadOnly, tools.Choices("scope", recallScopes...), tools.Default("scope", scopeAll), tools.Default("limit", t.w.Settings.DefaultLimit))
}

// A logRequest holds the arguments of log_message.
type logRequest struct {
	Content string `json:"content" jsonschema:"what was said"`
	Role    string `json:"role,omitempty" jsonschema:"who said it"`
	Session string `json:"session,omitempty" jsonschema:"ID of the session, which is made if need be; default the last one that no agent's hooks keep"`
}

// logTool returns log_message, for clients that have no hooks.
func (t toolbox) logTool() tools.Tool {
	return tools.New("log_message", "Append a message of this conversation to the log of its session, where recall_memory finds it.",
		func(ctx context.Context, r logRequest) (tools.Answer, error) {
			if strings.TrimSpace(r.Content) == "" {
				return tools.Answer{}, fmt.Errorf("%w: content is empty", tools.ErrArguments)
			}
			current, err := t.w.Sessions().toLog(ctx, r.Session)
			if err != nil {
				return tools.Answer{}, err
			}
			_, err = current.Append(ctx, session.Message{Role: cmp.Or(r.Role, "user"), Content: r.Content}, session.AppendOptions{})
			return tools.Answer{Text: "Logged in session " + current.ID + ".", Data: map[string]any{"session": current.ID}}, err
		}, tools.Choices("role", "user", "assistant", "system", "tool"), tools.Default("role", "user"))
}

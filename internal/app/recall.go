package app

import (
	"cmp"
	"context"
	"errors"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/httpapi"
)

// A recallRequest holds the arguments of recall_memory.
type recallRequest struct {
	Query   string `json:"query" jsonschema:"Search query"`
	Scope   string `json:"scope,omitempty" jsonschema:"Which sources to search: all (default), detail or messages"`
	Session string `json:"session,omitempty" jsonschema:"Only this session, by its ID"`
	Limit   int    `json:"limit,omitempty" jsonschema:"Maximum results; default 5"`
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

// recall answers a tool's search of sessions.
func (t toolbox) recall(ctx context.Context, m Memory, r httpapi.SearchRequest) (tools.Answer, error) {
	r.Limit = min(cmp.Or(max(r.Limit, 0), t.w.Settings.DefaultLimit), maxRecall)
	found, err := Recall(ctx, m, r)
	return tools.Answer{Text: found.Answer(r.Query), Data: found}, err
}

// recallTool returns recall_memory.
func (t toolbox) recallTool(m Memory) tools.Tool {
	kinds := map[string]string{formatter.RecalledNote: source.KindMarkdown, formatter.RecalledMessage: source.KindConversation}
	return tools.New(recallToolName, "Search the messages and notes of working sessions, also what was said a moment ago. Returns matching entries with citations.",
		func(ctx context.Context, r recallRequest) (tools.Answer, error) {
			return t.recall(ctx, m, httpapi.SearchRequest{Query: r.Query, Session: r.Session, Kind: kinds[r.Scope], Limit: r.Limit, Exact: r.Exact})
		}, tools.ReadOnly, tools.Choices("scope", "all", formatter.RecalledNote, formatter.RecalledMessage))
}

// Package httpapi serves the memories of workspaces as JSON over HTTP, for memcore's daemon.
//
// Each request names its workspace, which is opened, and closed when unused for a while. Workspaces
// share nothing. Bodies and requests are bounded.
//
// Memory leaves as data: only "block", answers of tools and a hook's "reply" are fit for a model.
package httpapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/formatter"
)

// A Target names a workspace.
type Target struct {
	Workspace string `json:"workspace" jsonschema:"absolute path of a folder in the workspace"`
}

func (t Target) workspace() string { return t.Workspace }

// Times are RFC 3339, a date such as 2026-11-17, "7d" or "last week".
type Times struct {
	Since string `json:"since,omitempty" jsonschema:"only what is not older: RFC 3339, a date, 7d, or words such as last week; the time of a turn, or of a file's last modification"`
	Until string `json:"until,omitempty" jsonschema:"only what is not newer, in the same forms; a day is included"`
	Now   string `json:"now,omitempty" jsonschema:"what words such as last week count from, RFC 3339; the present if it is empty"`
}

// A RetrieveRequest asks what is relevant for a turn.
type RetrieveRequest struct {
	Target
	Query         string  `json:"query" jsonschema:"the text of the user's turn"`
	Scope         string  `json:"scope,omitempty" jsonschema:"project or global; both if it is empty"`
	Path          string  `json:"path,omitempty" jsonschema:"a document, or a folder of documents"`
	Kind          string  `json:"kind,omitempty" jsonschema:"markdown, conversation or document; all if it is empty"`
	Limit         int     `json:"limit,omitempty" jsonschema:"hits at most; 0 is as configured"`
	TokenBudget   int     `json:"tokenBudget,omitempty" jsonschema:"tokens of all hits at most; 0 is as configured"`
	MinSimilarity float64 `json:"minSimilarity,omitempty" jsonschema:"least score, up to 1; 0 is as configured"`
	Explain       bool    `json:"explain,omitempty" jsonschema:"true to say of each candidate why it is relevant for the turn or not"`
	// Given is as in core.RetrieveOptions.
	Given []string `json:"given,omitempty" jsonschema:"what the conversation was given before, which is not given again: id of hits, key of said, name of lines"`
	Times
}

// Retrieved is what is relevant, and a block for a model.
type Retrieved struct {
	core.Result
	Block    string              `json:"block"` // "" for nothing
	Findings []formatter.Finding `json:"findings,omitempty"`
	// Limit and TokenBudget bound the hits, if each candidate is explained.
	Limit       int `json:"limit,omitempty"`
	TokenBudget int `json:"tokenBudget,omitempty"`
}

// A SearchRequest searches, also for weak hits.
type SearchRequest struct {
	Target
	Query         string  `json:"query" jsonschema:"what to look for"`
	Scope         string  `json:"scope,omitempty" jsonschema:"project or global; both if it is empty"`
	Path          string  `json:"path,omitempty" jsonschema:"a document, or a folder of documents"`
	Kind          string  `json:"kind,omitempty" jsonschema:"markdown, conversation or document; all if it is empty"`
	Limit         int     `json:"limit,omitempty" jsonschema:"hits at most; 0 is 10"`
	MinSimilarity float64 `json:"minSimilarity,omitempty" jsonschema:"least score, up to 1"`
	Explain       bool    `json:"explain,omitempty" jsonschema:"true to explain scores"`
	Sessions      bool    `json:"sessions,omitempty" jsonschema:"true to search only conversations and the notes of sessions"`
	Session       string  `json:"session,omitempty" jsonschema:"the ID of the only session to search"`
	Exact         bool    `json:"exact,omitempty" jsonschema:"true for only what holds the query as it is written"`
	Times
}

// A ContextRequest asks for what a session begins with, or what applies to a request or paths.
type ContextRequest struct {
	Target
	Session string   `json:"session,omitempty" jsonschema:"ID of the session whose overview is wanted; empty is the one used last that is no agent's"`
	Request string   `json:"request,omitempty" jsonschema:"text of the user's turn, for rules with triggers"`
	Paths   []string `json:"paths,omitempty" jsonschema:"paths that the agent touches"`
}

// A TextReply is text for a model.
type TextReply struct {
	Text string `json:"text"`
}

// An IndexRequest updates the index.
type IndexRequest struct {
	Target
	Rebuild bool `json:"rebuild,omitempty" jsonschema:"true to rebuild it"`
}

// A ToolRequest calls a tool.
type ToolRequest struct {
	Target
	Arguments json.RawMessage `json:"arguments,omitempty" jsonschema:"an object"`
}

// A ToolsReply lists the tools.
type ToolsReply struct {
	Tools []map[string]any `json:"tools" jsonschema:"as chat APIs want them"`
}

// A HookRequest is an event of a coding agent.
type HookRequest struct {
	Target
	Agent string          `json:"agent" jsonschema:"such as claude-code"`
	Event json.RawMessage `json:"event" jsonschema:"what the agent has sent: an object, or a string for the agent text"`
	// ID lets a caller note in the journal that the reply did not reach the agent.
	ID  string `json:"id,omitempty" jsonschema:"names the event in the journal; without it, it gets a name"`
	Cut string `json:"cut,omitempty" jsonschema:"what a long event lost"`
	// Within lets a slow part, such as a memory service, be left out in time.
	Within int `json:"within,omitempty" jsonschema:"how long the caller waits, in milliseconds; 0 is not known"`
}

// A HookReply is what the agent reads.
type HookReply struct {
	Reply string `json:"reply"`
	// Entry is the ID of the event in the journal, "" if it is not there.
	Entry string `json:"entry,omitempty"`
	// Index is the folder that the hook should have indexed in the background, or "".
	Index string `json:"index,omitempty"`
	// Told are the events whose deeds the reply tells. Once it has reached the agent, the caller
	// that named the event ends their wait.
	Told []string `json:"told,omitempty"`
}

// A ViewReply is a link that opens the pages of a workspace, once and within two minutes.
type ViewReply struct {
	URL     string    `json:"url"`
	Expires time.Time `json:"expires"`
}

// A Workspace is safe for concurrent use, and returns soon after ctx ends.
type Workspace interface {
	Retrieve(ctx context.Context, r RetrieveRequest) (Retrieved, error)
	Search(ctx context.Context, r SearchRequest) (core.Result, error)
	Context(ctx context.Context, r ContextRequest) (TextReply, error)
	Reindex(ctx context.Context, r IndexRequest) (core.IndexReport, error)
	Status(ctx context.Context) (core.Status, error)
	Hook(ctx context.Context, r HookRequest) (HookReply, error)
	Tools() []tools.Tool
	// Watch keeps the index fresh until ctx ends. It calls indexed after each run, and problem when
	// it may miss changes, with nil when that is over.
	Watch(ctx context.Context, indexed func(core.IndexReport, error), problem func(error)) error
	// Outdated reports whether the workspace must be opened again.
	Outdated() bool
	Close() error
}

// Opened describes an open workspace.
type Opened struct {
	Workspace string    `json:"workspace"` // its folder
	Since     time.Time `json:"since"`
	Used      time.Time `json:"used"`
	Requests  int64     `json:"requests"`
	Watching  bool      `json:"watching"`
	Problem   string    `json:"problem,omitempty"` // of the watch
}

// Health describes the daemon.
type Health struct {
	Version    string    `json:"version"`
	PID        int       `json:"pid"`
	Started    time.Time `json:"started"`
	Requests   int64     `json:"requests"`
	Memory     int64     `json:"memory"`      // bytes that the process holds
	MemoryMost int64     `json:"memoryLimit"` // bytes that it tries to stay below
	Heap       int64     `json:"heap"`        // bytes that the last garbage collection has left, about
	Goroutines int       `json:"goroutines"`
	Open       []Opened  `json:"open"`
}

// An Event is something that happened to a workspace.
type Event struct {
	Workspace string            `json:"workspace"`
	Kind      string            `json:"kind"` // "indexed", "turn", "opened", "closed", "problem"
	At        time.Time         `json:"at"`
	Index     *core.IndexReport `json:"index,omitempty"`
	Text      string            `json:"text,omitempty"`
}

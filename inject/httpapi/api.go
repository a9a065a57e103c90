// Package httpapi serves the memories of workspaces as HTTP with JSON: the interface of memcore's daemon.
//
// Each request names its workspace, whose memory is opened when it is first asked for, kept open, and closed when nobody has asked for a while. Workspaces
// know nothing of each other. What the service takes is bounded: bodies, requests at a time, requests a second; beyond that it refuses with a
// status, soon. GET /v1/openapi.json describes all of it. The one rule: text of memory leaves it as data; only "block", what a tool answers and "reply" of a
// hook are fit for a model.
package httpapi

import (
	"context"
	"encoding/json"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/hook"
)

// A Target names a workspace.
type Target struct {
	Workspace string `json:"workspace" jsonschema:"absolute path of a folder in the workspace"`
}

func (t Target) workspace() string { return t.Workspace }

// Times bound the time of what is found. Each is RFC 3339, a date such as 2026-11-17, "7d" or words such as "last week".
type Times struct {
	Since string `json:"since,omitempty" jsonschema:"only what is not older: RFC 3339, a date, 7d, or words such as last week; the time of a turn, or of a file's last modification"`
	Until string `json:"until,omitempty" jsonschema:"only what is not newer, in the same forms; a day is included"`
	Now   string `json:"now,omitempty" jsonschema:"what words such as last week count from, RFC 3339; the present if it is empty"`
}

// A RetrieveRequest asks what is worth knowing for a turn.
type RetrieveRequest struct {
	Target
	Query         string  `json:"query" jsonschema:"the text of the user's turn"`
	Scope         string  `json:"scope,omitempty" jsonschema:"project or global; both if it is empty"`
	Path          string  `json:"path,omitempty" jsonschema:"a document, or a folder of documents"`
	Kind          string  `json:"kind,omitempty" jsonschema:"markdown or conversation; both if it is empty"`
	Limit         int     `json:"limit,omitempty" jsonschema:"hits at most; 0 is as configured"`
	TokenBudget   int     `json:"tokenBudget,omitempty" jsonschema:"tokens of all hits at most; 0 is as configured"`
	MinSimilarity float64 `json:"minSimilarity,omitempty" jsonschema:"least score, up to 1; 0 is as configured"`
	Explain       bool    `json:"explain,omitempty" jsonschema:"true to be told why each candidate is given or not"`
	Times
}

// Retrieved is what is worth knowing, and the block that a model may read.
type Retrieved struct {
	core.Result
	Block    string              `json:"block"` // "" for nothing
	Findings []formatter.Finding `json:"findings,omitempty"`
}

// A SearchRequest searches, weak hits too.
type SearchRequest struct {
	Target
	Query         string  `json:"query" jsonschema:"what to look for"`
	Scope         string  `json:"scope,omitempty" jsonschema:"project or global; both if it is empty"`
	Path          string  `json:"path,omitempty" jsonschema:"a document, or a folder of documents"`
	Kind          string  `json:"kind,omitempty" jsonschema:"markdown or conversation; both if it is empty"`
	Limit         int     `json:"limit,omitempty" jsonschema:"hits at most; 0 is 10"`
	MinSimilarity float64 `json:"minSimilarity,omitempty" jsonschema:"least score, up to 1"`
	Explain       bool    `json:"explain,omitempty" jsonschema:"true to be told where scores come from"`
	Times
}

// A ContextRequest asks for curated memory: that of the start of a session, or what applies to a request and paths in addition.
type ContextRequest struct {
	Target
	Request string   `json:"request,omitempty" jsonschema:"text of the user's turn, for rules with triggers"`
	Paths   []string `json:"paths,omitempty" jsonschema:"paths that the agent touches"`
}

// A TextReply is text for a model.
type TextReply struct {
	Text string `json:"text"`
}

// An IndexRequest brings the index in step with the files.
type IndexRequest struct {
	Target
	Rebuild bool `json:"rebuild,omitempty" jsonschema:"true to make it anew"`
}

// A ToolRequest calls a tool, whose arguments are as its schema says.
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
}

// A HookReply is what the agent is to read on standard output.
type HookReply struct {
	Reply string `json:"reply"`
	// Receipt is for the folder Given (package hook) once the agent has the reply.
	Receipt hook.Receipt `json:"receipt"`
	Given   string       `json:"given"`
}

// A Workspace is the memory of one workspace. Its methods are safe for concurrent use, and return soon after ctx ends.
type Workspace interface {
	Retrieve(ctx context.Context, r RetrieveRequest) (Retrieved, error)
	Find(ctx context.Context, r SearchRequest) (core.Result, error)
	Context(ctx context.Context, r ContextRequest) (TextReply, error)
	Reindex(ctx context.Context, r IndexRequest) (core.IndexReport, error)
	Report(ctx context.Context) (core.Status, error)
	Hook(ctx context.Context, r HookRequest) (HookReply, error)
	Tools() []notes.Tool
	// Watch keeps the index fresh until ctx ends, and says what it does, and why changes may go unheard (nil when they do not any more).
	Watch(ctx context.Context, indexed func(core.IndexReport, error), problem func(error)) error
	// Outdated tells that the workspace has to be opened anew, such as after a change of its configuration.
	Outdated() bool
	Close() error
}

// Opened says of an open workspace how it is used.
type Opened struct {
	Workspace string    `json:"workspace"` // its folder
	Since     time.Time `json:"since"`
	Used      time.Time `json:"used"`
	Requests  int64     `json:"requests"`
	Watching  bool      `json:"watching"`
	Problem   string    `json:"problem,omitempty"` // of the watch
}

// Health says that a daemon is alive, and which.
type Health struct {
	Version    string    `json:"version"`
	PID        int       `json:"pid"`
	Started    time.Time `json:"started"`
	Requests   int64     `json:"requests"`
	Memory     int64     `json:"memory"`      // bytes that the process holds
	MemoryMost int64     `json:"memoryLimit"` // bytes that it tries to stay below
	Goroutines int       `json:"goroutines"`
	Open       []Opened  `json:"open"`
}

// An Event is something that happened to a workspace.
type Event struct {
	Workspace string            `json:"workspace"`
	Kind      string            `json:"kind"` // "indexed", "opened", "closed", "problem"
	At        time.Time         `json:"at"`
	Index     *core.IndexReport `json:"index,omitempty"`
	Text      string            `json:"text,omitempty"`
}

// An Error is the body of an answer that is not OK.
type Error struct {
	Status  int    `json:"status"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

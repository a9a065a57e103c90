package httpapi

import (
	"context"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/use"
)

// An Overview describes a memory for a person. It does not grow with the memory.
type Overview struct {
	Workspace string      `json:"workspace"`
	Enabled   bool        `json:"enabled"`
	Status    core.Status `json:"status"`
	// Sums.Days are those of the last 53 weeks; Earlier counts the documents before.
	Sums    core.Sums `json:"sums"`
	Earlier int       `json:"earlier"`
	// AboutUser are passages that say who the user is, as a question for them gets them.
	AboutUser []core.MemoryHit `json:"aboutUser"`
	// Languages count chunks by ISO 639-1. "en" also has those of no known language.
	Languages map[string]int `json:"languages"`
	Models    []Model        `json:"models"`
	// Use sums up the last weeks. Its documents are those most used.
	Use   use.Summary    `json:"use"`
	Days  []use.Day      `json:"days"`  // the last 30, today last
	Noise []use.Document `json:"noise"` // given often and never used
	// Checks are what is wrong, the worst first. Only quick checks are made.
	Checks []Check `json:"checks"`
	// Proposals are waiting for a decision.
	Proposals int `json:"proposals"`
}

// A Model is a model that memory uses, or could.
type Model struct {
	Role string `json:"role"` // "embedder", "reranker" or "reflection"
	Name string `json:"name"` // "" for none
	// At is its server; "" within memcore.
	At string `json:"at,omitempty"`
}

// A Check is something that a diagnosis found.
type Check struct {
	Name  string `json:"name"`
	State string `json:"state"` // "problem" or "warning"
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"` // what helps
}

// A DocumentsRequest asks for documents, the last changed first. Empty fields do not narrow.
type DocumentsRequest struct {
	Target
	Find   string `json:"find,omitempty" jsonschema:"a part of the path, in any case"`
	Kind   string `json:"kind,omitempty" jsonschema:"markdown, conversation or document"`
	Source string `json:"source,omitempty" jsonschema:"a source, as the overview names it"`
	Day    string `json:"day,omitempty" jsonschema:"day of the last change, such as 2026-11-17"`
	Skip   int    `json:"skip,omitempty" jsonschema:"how many of the documents found to leave out"`
	Limit  int    `json:"limit,omitempty" jsonschema:"documents at most; 0 is 100, more than 1000 is 1000"`
}

// Documents are some of the documents found.
type Documents struct {
	Documents []core.DocumentInfo `json:"documents"`
	Found     int                 `json:"found"` // in all
}

// overviewOperations returns the routes of the first page and the list of documents.
func (s *Server) overviewOperations() []operation {
	return []operation{
		post(s, "/v1/overview", "Describe the memory of a workspace for a person", func(ctx context.Context, ws Workspace, _ Target) (Overview, error) {
			return ws.Overview(ctx)
		}),
		post(s, "/v1/documents", "List documents, the last changed first", func(ctx context.Context, ws Workspace, r DocumentsRequest) (Documents, error) {
			return ws.Documents(ctx, r)
		}),
	}
}

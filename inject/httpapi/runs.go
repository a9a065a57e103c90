package httpapi

import (
	"context"
	"time"

	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/eval/runs"
)

// A RunKeeper measures a workspace's own cases and keeps the last runs.
type RunKeeper interface {
	Runs(ctx context.Context) (Runs, error)
	Run(ctx context.Context, r RunRequest) (Run, error)
	CompareRuns(ctx context.Context, r CompareRequest) (runs.Comparison, error)
	// Evaluate starts a run and returns at once.
	Evaluate(ctx context.Context) (Running, error)
}

// Runs are the last measurements of a workspace's own cases.
type Runs struct {
	Runs []runs.Run `json:"runs"` // the latest first
	// File has the cases; Cases counts them, 0 if it has none or has a Problem.
	File    string   `json:"file"`
	Cases   int      `json:"cases"`
	Problem string   `json:"problem,omitempty"`
	Running *Running `json:"running,omitempty"`
	Failed  string   `json:"failed,omitempty"` // why the last run that was started here was not kept
}

// Running is how far a run is.
type Running struct {
	Since time.Time `json:"since"`
	Done  int       `json:"done"`
	Total int       `json:"total"`
}

// A RunRequest names a run.
type RunRequest struct {
	Target
	ID string `json:"id" jsonschema:"a run, as /v1/runs names it"`
}

// A Run is one run with its questions.
type Run struct {
	runs.Run
	Report eval.Report `json:"report"`
}

// A CompareRequest names two runs.
type CompareRequest struct {
	Target
	Before string `json:"before" jsonschema:"a run, as /v1/runs names it"`
	After  string `json:"after" jsonschema:"another run"`
}

// runOperations returns the routes of the health of retrieval.
func (s *Server) runOperations() []operation {
	return []operation{
		post(s, "/v1/runs", "List the last measurements of the workspace's own cases", func(ctx context.Context, ws Workspace, _ Target) (Runs, error) {
			return ws.Runs(ctx)
		}),
		post(s, "/v1/run", "Get a measurement with its questions", func(ctx context.Context, ws Workspace, r RunRequest) (Run, error) {
			return ws.Run(ctx, r)
		}),
		post(s, "/v1/runs/compare", "Compare two measurements: figures, and questions that got better or worse", func(ctx context.Context, ws Workspace, r CompareRequest) (runs.Comparison, error) {
			return ws.CompareRuns(ctx, r)
		}),
		personal(post(s, "/v1/eval", "Start to measure the workspace's own cases; /v1/runs says how far it is", func(ctx context.Context, ws Workspace, _ Target) (Running, error) {
			return ws.Evaluate(ctx)
		})),
	}
}

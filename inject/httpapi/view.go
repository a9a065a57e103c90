package httpapi

import (
	"context"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
)

// A Layer is the curated memory of a workspace.
type Layer struct {
	curated.Memory
	Text string `json:"text"` // as a system prompt has it
	// Limits are the most of it; what is more is cut.
	Limits LayerLimits `json:"limits"`
	// Folders are those that need trust, the project first.
	Folders []TrustFolder `json:"folders"`
}

// LayerLimits bound a curated memory; negative is no limit.
type LayerLimits struct {
	Lines  int `json:"lines"`
	Bytes  int `json:"bytes"`
	Tokens int `json:"tokens"`
}

// A DocumentRequest asks for the chunks of a document.
type DocumentRequest struct {
	Target
	Path string `json:"path" jsonschema:"a document, as hits name it"`
	Line int    `json:"line,omitempty" jsonschema:"only chunks that begin at this line; 0 is all"`
}

// A Document is an indexed document.
type Document struct {
	Path   string           `json:"path"`
	Chunks []core.MemoryHit `json:"chunks"`
}

// A ViewReply is a link that opens the pages of a workspace, once and within two minutes.
type ViewReply struct {
	URL     string    `json:"url"`
	Expires time.Time `json:"expires"`
}

// viewOperations returns the routes of what memcore view shows.
func (s *Server) viewOperations() []operation {
	return []operation{
		post(s, "/v1/turns", "List prompts of agents and what they got, the latest first", func(ctx context.Context, ws Workspace, r TurnsRequest) (Turns, error) {
			return ws.Turns(ctx, r)
		}),
		post(s, "/v1/layer", "Describe the curated memory: files, budget, what was cut", func(ctx context.Context, ws Workspace, _ Target) (Layer, error) {
			return ws.Layer(ctx)
		}),
		post(s, "/v1/document", "Get the chunks of a document", func(ctx context.Context, ws Workspace, r DocumentRequest) (Document, error) {
			return ws.Document(ctx, r)
		}),
		personal(post(s, "/v1/view", "Make a link that opens the pages of a workspace in a browser", func(_ context.Context, _ Workspace, r Target) (ViewReply, error) {
			if s.o.View == nil {
				return ViewReply{}, &Error{404, "this service has no pages"}
			}
			workspace, err := s.o.WorkspaceOf(r.Workspace)
			if err != nil {
				return ViewReply{}, err
			}
			return s.o.View(workspace)
		})),
	}
}

package mcp

import (
	"context"
	"errors"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// contextURI is no memory file's, which end in .md.
const contextURI = Scheme + "context"

// instructions returns text for a client's system prompt: about the tools, the index and the
// overview.
func (s *Server) instructions(ctx context.Context) string {
	const gap = "\n\n"
	text, err := s.memory.Reference(ctx, maxInstructions-utf8.RuneCountInString(instructions+gap))
	if err != nil {
		s.log.Warn("instructions lack some of the memory", "error", err)
	}
	if text == "" {
		return instructions
	}
	return instructions + gap + text
}

// addBeginning adds a resource, which clients may load unasked.
func (s *Server) addBeginning(to *mcp.Server) {
	to.AddResource(&mcp.Resource{URI: contextURI, Name: "context", Title: "What a session begins with", MIMEType: markdown,
		Description: "Curated memory of this project and its user, the index of memory files, and the overview of the session's work.",
		Annotations: &mcp.Annotations{Audience: []mcp.Role{"assistant"}, Priority: 1}},
		func(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			text, err := s.memory.Beginning(ctx)
			return contentsOf(contextURI, text), err
		})
}

// beginningChanged notifies clients of changes of the beginning.
func (s *Server) beginningChanged(ctx context.Context) {
	for _, server := range []*mcp.Server{s.sessions, s.sessionless} {
		if err := server.ResourceUpdated(ctx, &mcp.ResourceUpdatedNotificationParams{URI: contextURI}); err != nil && !errors.Is(err, context.Canceled) {
			s.log.Debug("clients were not notified of a change", "error", err)
		}
	}
}

// contentsOf returns a text as a resource.
func contentsOf(uri, text string) *mcp.ReadResourceResult {
	contents := &mcp.ResourceContents{URI: uri, MIMEType: markdown, Text: text}
	if text == "" { // an empty text is left out, and clients refuse empty contents
		contents.Blob = []byte{}
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}
}

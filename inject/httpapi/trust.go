package httpapi

import (
	"context"
	"time"
)

// Decisions that a TrustRequest makes.
const (
	DoTrust    = "trust"
	DoDistrust = "distrust"
)

// A TrustRequest decides whether a folder may instruct agents, or shows what that would change.
type TrustRequest struct {
	Target
	Folder string `json:"folder" jsonschema:"a folder that the curated memory names, absolute"`
	Do     string `json:"do" jsonschema:"trust or distrust"`
	// Shown is the Version of a TrustReply; without it nothing is decided.
	Shown string `json:"shown,omitempty" jsonschema:"version of the change that a person has seen; without it nothing is decided"`
}

// A TrustReply shows what a decision changes.
type TrustReply struct {
	Folder  string `json:"folder"`
	Do      string `json:"do"`
	Decided bool   `json:"decided"`
	// Version names this change. It is another one once a file or a decision differs.
	Version string `json:"version"`
	// Added and Removed are files that are given then, or no longer.
	Added   []TrustedFile `json:"added"`
	Removed []TrustedFile `json:"removed"`
	// Also are settings of the folder that count then, its MCP servers, and warnings.
	Settings []string `json:"settings"`
	Servers  []string `json:"servers"`
	Warnings []string `json:"warnings"`
	Text     string   `json:"text"` // of the system prompt then
}

// A TrustedFile is a file that trust adds.
type TrustedFile struct {
	Path   string `json:"path"`
	Tokens int    `json:"tokens"`
}

// A TrustFolder is a folder with curated memory that needs trust.
type TrustFolder struct {
	Folder  string `json:"folder"` // absolute
	Shown   string `json:"shown"`  // as paths of files begin; "." for the project
	Trusted bool   `json:"trusted"`
	// By is the folder that the decision is about, perhaps one above; "" without a decision.
	By string `json:"by,omitempty"`
	// At is when that was decided; zero if the configuration says so.
	At time.Time `json:"at,omitzero"`
	// Configured means that the configuration decides.
	Configured bool `json:"configured,omitempty"`
	// Waiting are files that trust would add.
	Waiting int `json:"waiting"`
}

// trustOperation returns the route that decides about trust.
func (s *Server) trustOperation() operation {
	return personal(post(s, "/v1/trust", "Show what trust in a folder changes, and decide about it", func(ctx context.Context, ws Workspace, r TrustRequest) (TrustReply, error) {
		if r.Do != DoTrust && r.Do != DoDistrust {
			return TrustReply{}, &Error{400, "do is neither " + DoTrust + " nor " + DoDistrust}
		}
		return ws.DecideTrust(ctx, r)
	}))
}

package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/memcore/memcore/core/notes"
)

// A Question is whether a subject may be changed. The user may allow that for the session.
type Question struct {
	Subject, Text string
	// Offer is what the user may also say yes to; "" for nothing.
	Offer string
}

// Ask asks the user by elicitation, at the client of ctx's call, and returns whether they say yes,
// and whether to the offer, too. Without an answer the error wraps notes.ErrUnasked; the tool must
// return others unchanged.
func Ask(ctx context.Context, q Question) (yes, also bool, err error) {
	a, ok := ctx.Value(askKey{}).(*asking)
	if !ok {
		return false, false, notes.ErrUnasked
	}
	return a.ask(ctx, q)
}

// Client returns the name that the client of ctx's call gives itself, or "".
func Client(ctx context.Context) string {
	if a, ok := ctx.Value(askKey{}).(*asking); ok {
		if about := a.request.Session.InitializeParams(); about != nil && about.ClientInfo != nil {
			return about.ClientInfo.Name
		}
	}
	return ""
}

type askKey struct{}

// asking asks for one call of a tool.
type asking struct {
	server  *Server
	request *mcp.CallToolRequest
	// needs is the open question, state its subject.
	needs *mcp.ElicitParams
	state string
	// meta is for the result.
	meta mcp.Meta
}

// errNeeds ends a call before the client asks (protocol 2026-07-28).
var errNeeds = errors.New("the person has to be asked first")

// confirmation names the question, and a field of its form.
const (
	confirmation = "confirmation"
	always       = "always"
	offer        = "offer"
)

func (a *asking) ask(ctx context.Context, q Question) (yes, also bool, err error) {
	if a.server.allowed.has(a.request.Session, q.Subject) {
		return true, false, nil
	}
	client := a.request.Session.InitializeParams()
	if client == nil || client.Capabilities == nil || client.Capabilities.Elicitation == nil {
		return false, false, notes.ErrUnasked
	}
	between := client.ProtocolVersion >= sessionlessFrom
	form := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	if !between || a.request.Extra == nil || a.request.Extra.Header == nil { // else there is no session
		form.Properties[always] = &jsonschema.Schema{Type: "boolean", Title: "Always allow in this session", Description: "Do not ask again before this file is changed.", Default: json.RawMessage("false")}
	}
	if q.Offer != "" {
		form.Properties[offer] = &jsonschema.Schema{Type: "boolean", Title: q.Offer, Default: json.RawMessage("false")}
	}
	params := &mcp.ElicitParams{Message: q.Text, RequestedSchema: form}
	var result *mcp.ElicitResult
	if between {
		sum := sha256.Sum256([]byte(q.Subject + "\x00" + q.Text))
		state := hex.EncodeToString(sum[:])
		answered, ok := a.request.Params.InputResponses[confirmation].(*mcp.ElicitResult)
		if !ok || a.request.Params.RequestState != state { // the question was about another change
			a.needs, a.state = params, state
			return false, false, errNeeds
		}
		result = answered
	} else {
		if result, err = a.request.Session.Elicit(ctx, params); err != nil {
			if ctx.Err() != nil {
				return false, false, ctx.Err()
			}
			a.server.log.Warn("the client could not ask", "error", err)
			return false, false, notes.ErrUnasked
		}
	}
	switch result.Action {
	case "accept":
		if result.Content[always] == true && form.Properties[always] != nil {
			a.server.allowed.add(a.server, a.request.Session, q.Subject)
		}
		return true, q.Offer != "" && result.Content[offer] == true, nil
	case "decline":
		return false, false, nil
	}
	return false, false, notes.ErrUnasked
}

// allowed holds allowed subjects by session.
type allowed struct {
	mu  sync.Mutex
	all map[*mcp.ServerSession]map[string]bool
}

func (a *allowed) has(session *mcp.ServerSession, subject string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all[session][subject]
}

// add also forgets ended sessions.
func (a *allowed) add(s *Server, session *mcp.ServerSession, subject string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := map[*mcp.ServerSession]map[string]bool{session: a.all[session]}
	for _, server := range []*mcp.Server{s.sessions, s.sessionless} {
		for open := range server.Sessions() {
			if subjects, ok := a.all[open]; ok {
				kept[open] = subjects
			}
		}
	}
	if kept[session] == nil {
		kept[session] = map[string]bool{}
	}
	kept[session][subject] = true
	a.all = kept
}

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

// Ask asks the user by elicitation, at the client of ctx's call. The user may allow all changes of
// the subject in the session. Without an answer the error wraps notes.ErrUnasked; the tool must
// return others unchanged.
func Ask(ctx context.Context, subject, question string) (bool, error) {
	a, ok := ctx.Value(askKey{}).(*asking)
	if !ok {
		return false, notes.ErrUnasked
	}
	return a.ask(ctx, subject, question)
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
)

func (a *asking) ask(ctx context.Context, subject, question string) (bool, error) {
	if a.server.allowed.has(a.request.Session, subject) {
		return true, nil
	}
	client := a.request.Session.InitializeParams()
	if client == nil || client.Capabilities == nil || client.Capabilities.Elicitation == nil {
		return false, notes.ErrUnasked
	}
	between := client.ProtocolVersion >= sessionlessFrom
	form := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}}
	if !between || a.request.Extra == nil || a.request.Extra.Header == nil { // else there is no session
		form.Properties[always] = &jsonschema.Schema{Type: "boolean", Title: "Always allow in this session", Description: "Do not ask again before this file is changed.", Default: json.RawMessage("false")}
	}
	params := &mcp.ElicitParams{Message: question, RequestedSchema: form}
	var result *mcp.ElicitResult
	if between {
		sum := sha256.Sum256([]byte(subject + "\x00" + question))
		state := hex.EncodeToString(sum[:])
		answered, ok := a.request.Params.InputResponses[confirmation].(*mcp.ElicitResult)
		if !ok || a.request.Params.RequestState != state { // the question was about another change
			a.needs, a.state = params, state
			return false, errNeeds
		}
		result = answered
	} else {
		var err error
		if result, err = a.request.Session.Elicit(ctx, params); err != nil {
			if ctx.Err() != nil {
				return false, ctx.Err()
			}
			a.server.log.Warn("the client could not ask", "error", err)
			return false, notes.ErrUnasked
		}
	}
	switch result.Action {
	case "accept":
		if result.Content[always] == true && form.Properties[always] != nil {
			a.server.allowed.add(a.server, a.request.Session, subject)
		}
		return true, nil
	case "decline":
		return false, nil
	}
	return false, notes.ErrUnasked
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

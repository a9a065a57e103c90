package tenants

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/mcp"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/service"
)

// An agent is an MCP server for one principal. With another right or other teams, the same user has
// another agent.
type agent struct {
	tenant  int64
	memory  *agentMemory
	handler http.Handler
	end     func()
	used    time.Time // guarded by agents
}

// agentOf names the agent of a principal. None of the parts has a space.
func agentOf(p service.Principal) string {
	return strings.Join(append([]string{p.Tenant, p.Key, p.User, string(p.Right)}, p.Teams...), " ")
}

// maxAgents bounds the agents of a tenant; the longest unused one ends.
const maxAgents = 256

// agents are those of a node.
type agents struct {
	mu    sync.Mutex
	known map[string]*agent
}

// find returns an agent, and lets it ask as the principal of now, who may see what was made since.
func (a *agents) find(p service.Principal) *agent {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.findLocked(p)
}

func (a *agents) findLocked(p service.Principal) *agent {
	known := a.known[agentOf(p)]
	if known == nil || known.tenant != p.Of.Tenant.ID {
		return nil
	}
	known.used = time.Now()
	known.memory.principal.Store(&p)
	return known
}

// keep adds an agent, unless another request was faster, and returns the one that is kept.
func (a *agents) keep(p service.Principal, made *agent) *agent {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.findLocked(p); known != nil {
		made.end()
		return known
	}
	if a.known == nil {
		a.known = map[string]*agent{}
	}
	if former := a.known[agentOf(p)]; former != nil { // of a removed tenant
		former.end()
	}
	made.used = time.Now()
	a.known[agentOf(p)] = made
	n, oldest := 0, ""
	for name, other := range a.known {
		if other.tenant != made.tenant {
			continue
		}
		if n++; oldest == "" || other.used.Before(a.known[oldest].used) {
			oldest = name
		}
	}
	if n > maxAgents {
		a.known[oldest].end()
		delete(a.known, oldest)
	}
	return made
}

// end ends all agents.
func (a *agents) end() { a.endIf(func(*agent) bool { return true }) }

// forget ends the agents that nobody uses, such as those of a deleted tenant or a revoked key.
func (a *agents) forget() {
	a.endIf(func(one *agent) bool { return time.Since(one.used) > idleAfter })
}

func (a *agents) endIf(ends func(*agent) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name, one := range a.known {
		if ends(one) {
			one.end()
			delete(a.known, name)
		}
	}
}

// MCP implements service.Node.
func (n *Node) MCP(ctx context.Context, p service.Principal) (http.Handler, error) {
	if a := n.agents.find(p); a != nil {
		return a.handler, nil
	}
	m := &agentMemory{node: n}
	m.principal.Store(&p)
	var err error
	if m.tools, err = n.Tools(ctx, p); err != nil {
		return nil, err
	}
	server := mcp.New(m, mcp.Options{Version: n.o.Workspace.Version, Poll: -1, Logger: n.o.Logger})
	return n.agents.keep(p, &agent{tenant: p.Of.Tenant.ID, memory: m, handler: server.Handler(""), end: server.Close}).handler, nil
}

// An agentMemory is a principal's memory for MCP clients. Between calls it is closed.
type agentMemory struct {
	node      *Node
	principal atomic.Pointer[service.Principal]
	tools     []tools.Tool
}

// audited logs the answer of do, since the log of HTTP requests does not say what MCP gave. For a
// service.MemoryOperation it also makes a span.
func audited[Out any](ctx context.Context, m *agentMemory, operation, onMemory string, do func(context.Context) (Out, error)) (out Out, err error) {
	o, p := m.node.o, m.principal.Load()
	if o.Audit == nil && o.Traces == nil {
		return do(ctx)
	}
	a := service.Access{Time: time.Now().UTC(), Tenant: p.Tenant, User: p.User, Key: p.Key, Operation: "MCP " + operation, Status: http.StatusOK}
	err = service.NewSpans(o.Traces).Memory(traced(ctx), onMemory, p.Tenant, func(ctx context.Context) (int, error) {
		if out, err = do(ctx); err != nil {
			a.Status = httpapi.StatusOf(err)
		} else {
			a.AddAnswer(out)
		}
		return a.Hits, err
	})
	o.Audit.Add(a)
	return out, err
}

// ask calls do with the memory for MCP clients.
func ask[Out any](ctx context.Context, m *agentMemory, do func(mcp.Memory) (Out, error)) (out Out, err error) {
	p := *m.principal.Load()
	if err := m.node.Await(ctx, p, atLeast(ctx)); err != nil {
		return out, err
	}
	err = m.node.AskWithFiles(ctx, p, func(s *app.Service) error {
		inner, err := s.MCP()
		if err == nil {
			out, err = do(inner)
		}
		return err
	})
	return out, err
}

// Tools implements mcp.Memory.
func (m *agentMemory) Tools() []tools.Tool {
	var all []tools.Tool
	for _, described := range m.tools {
		all = append(all, described.Calling(func(ctx context.Context, arguments []byte) (tools.Answer, error) {
			return audited(ctx, m, described.Name, service.MemoryOperation(described.Name), func(ctx context.Context) (tools.Answer, error) {
				return m.call(ctx, described, arguments)
			})
		}))
	}
	return all
}

// call calls a tool. A change of curated memory needs a person: it is made only once they have
// allowed it.
func (m *agentMemory) call(ctx context.Context, described tools.Tool, arguments []byte) (answer tools.Answer, err error) {
	p := *m.principal.Load()
	if err := m.node.Await(ctx, p, atLeast(ctx)); err != nil {
		return answer, err
	}
	answer, version, err := m.node.callAsking(ctx, p, described.Name, arguments, nil)
	var needed *app.ConsentError
	if errors.As(err, &needed) {
		switch yes, failed := app.AskClient(ctx, needed.Change); {
		case errors.Is(failed, notes.ErrUnasked):
			return unchanged(needed.Error() + ", and this client cannot ask one. Tell them, or save it as a fact, with a path"), nil
		case failed != nil:
			return answer, failed
		case !yes:
			return unchanged("it was not confirmed"), nil
		}
		answer, version, err = m.node.callAsking(ctx, p, described.Name, arguments, &needed.Change)
		if errors.As(err, &needed) {
			return unchanged("the file has changed meanwhile. Try again"), nil
		}
	}
	if err != nil || version == 0 {
		return answer, err
	}
	mcp.SetMeta(ctx, versionField, version)
	return withVersion(answer, version), nil
}

func unchanged(why string) tools.Answer {
	return tools.Answer{Text: "Nothing was changed: " + why + ".", Data: map[string]any{"success": false, "written": false, "reason": why}}
}

// withVersion adds the version of a change to the data of its answer.
func withVersion(answer tools.Answer, version int64) tools.Answer {
	fields, ok := fieldsOf(answer)
	if ok {
		fields["version"] = version
		answer.Data = fields
	}
	return answer
}

// withoutFile hides the path on this node from the data of an answer.
func withoutFile(answer tools.Answer) tools.Answer {
	if fields, ok := fieldsOf(answer); ok && fields["file"] != nil {
		delete(fields, "file")
		answer.Data = fields
	}
	return answer
}

// fieldsOf returns the data of an answer if it is a JSON object, or empty.
func fieldsOf(answer tools.Answer) (fields map[string]any, ok bool) {
	data, err := json.Marshal(answer.Data)
	if err != nil || json.Unmarshal(data, &fields) != nil {
		return nil, false
	}
	if fields == nil {
		fields = map[string]any{}
	}
	return fields, true
}

// Files implements mcp.Memory.
func (m *agentMemory) Files(ctx context.Context) ([]mcp.File, error) {
	return ask(ctx, m, func(inner mcp.Memory) ([]mcp.File, error) { return inner.Files(ctx) })
}

// Read implements mcp.Memory.
func (m *agentMemory) Read(ctx context.Context, uri string) (string, error) {
	return audited(ctx, m, "resources/read "+uri, "", func(ctx context.Context) (string, error) {
		return ask(ctx, m, func(inner mcp.Memory) (string, error) { return inner.Read(ctx, uri) })
	})
}

// Curated implements mcp.Memory.
func (m *agentMemory) Curated(ctx context.Context) (string, error) {
	return audited(ctx, m, "curated memory", "", func(ctx context.Context) (string, error) {
		return ask(ctx, m, func(inner mcp.Memory) (string, error) { return inner.Curated(ctx) })
	})
}

// Beginning implements mcp.Memory.
func (m *agentMemory) Beginning(ctx context.Context) (string, error) {
	return audited(ctx, m, "beginning", "", func(ctx context.Context) (string, error) {
		return ask(ctx, m, func(inner mcp.Memory) (string, error) { return inner.Beginning(ctx) })
	})
}

// Reference implements mcp.Memory.
func (m *agentMemory) Reference(ctx context.Context, room int) (string, error) {
	return audited(ctx, m, "reference", "", func(ctx context.Context) (string, error) {
		return ask(ctx, m, func(inner mcp.Memory) (string, error) { return inner.Reference(ctx, room) })
	})
}

package tenants

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/mcp"
	"github.com/memcore/memcore/inject/turn"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
)

// An agent is an MCP server for one principal. With another right or other teams, the same user has
// another agent.
type agent struct {
	handler http.Handler
	end     func()
	used    time.Time
}

// agentOf names the agent of a principal. None of the parts has a space.
func agentOf(p service.Principal) string {
	return strings.Join(append([]string{p.Key, p.User, string(p.Right)}, p.Teams...), " ")
}

// mostAgents bounds the agents of a tenant; the longest unused one ends.
const mostAgents = 256

// MCP implements service.Node.
func (n *Node) MCP(ctx context.Context, p service.Principal) (handler http.Handler, err error) {
	err = n.with(ctx, p.TenantID, func(t *tenant) error {
		t.mu.Lock()
		a := t.agents[agentOf(p)]
		t.mu.Unlock()
		if a == nil {
			if a, err = n.newAgent(ctx, p); err != nil {
				return err
			}
		}
		handler = t.keep(agentOf(p), a).handler
		return nil
	})
	return handler, err
}

// keep returns the agent with a name: a, unless another request was faster.
func (t *tenant) keep(name string, a *agent) *agent {
	t.mu.Lock()
	defer t.mu.Unlock()
	if known := t.agents[name]; known != nil {
		a = known
	}
	a.used = time.Now()
	t.agents[name] = a
	if len(t.agents) > mostAgents {
		oldest := name
		for other, a := range t.agents {
			if a.used.Before(t.agents[oldest].used) {
				oldest = other
			}
		}
		t.agents[oldest].end()
		delete(t.agents, oldest)
	}
	return a
}

func (n *Node) newAgent(ctx context.Context, p service.Principal) (a *agent, err error) {
	m := &agentMemory{node: n, principal: p}
	err = n.useMCP(ctx, p, func(inner mcp.Memory) error {
		m.tools = withoutFiles(inner.Tools())
		server := mcp.New(m, mcp.Options{Version: n.o.Workspace.Version, Poll: -1, Logger: n.o.Logger})
		a = &agent{handler: server.Handler(""), end: server.Close}
		return nil
	})
	return a, err
}

// use lets do ask the principal's memory.
func (n *Node) use(ctx context.Context, p service.Principal, do func(*memory) error) error {
	folder, err := n.Folder(ctx, p)
	if err != nil {
		return err
	}
	return n.memories.Use(ctx, folder, func(ws httpapi.Workspace) error { return do(ws.(*memory)) })
}

// useMCP is use for MCP clients.
func (n *Node) useMCP(ctx context.Context, p service.Principal, do func(mcp.Memory) error) error {
	return n.use(ctx, p, func(m *memory) error {
		inner, err := m.MCP()
		if err != nil {
			return err
		}
		return do(inner)
	})
}

// Retriever implements service.Node.
func (n *Node) Retriever(ctx context.Context, p service.Principal, do func(turn.Retriever, func(context.Context) (turn.System, error)) error) error {
	return n.use(ctx, p, func(m *memory) error {
		system, err := m.System(app.SystemFlags{When: app.SystemOn})
		if err != nil {
			return err
		}
		return do(m.Manager, func(ctx context.Context) (turn.System, error) {
			m.mirror.allowed.RLock()
			defer m.mirror.allowed.RUnlock()
			return system(ctx)
		})
	})
}

// An agentMemory is a principal's memory for MCP clients. Between calls it is closed.
type agentMemory struct {
	node      *Node
	principal service.Principal
	tools     []tools.Tool
}

// audited logs the answer of do, since the log of HTTP requests does not say what MCP gave. For a
// service.MemoryOperation it also makes a span.
func audited[Out any](ctx context.Context, m *agentMemory, operation, onMemory string, do func(context.Context) (Out, error)) (out Out, err error) {
	o, p := m.node.o, m.principal
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

// ask calls do with a fresh memory.
func ask[Out any](ctx context.Context, m *agentMemory, do func(mcp.Memory) (Out, error)) (out Out, err error) {
	if _, err := m.node.Fresh(ctx, m.principal, atLeast(ctx)); err != nil {
		return out, err
	}
	err = m.node.use(ctx, m.principal, func(opened *memory) error {
		inner, err := opened.MCP()
		if err != nil {
			return err
		}
		opened.mirror.allowed.RLock()
		defer opened.mirror.allowed.RUnlock()
		out, err = do(inner)
		return err
	})
	return out, err
}

var errReadOnly = kind.As(kind.Forbidden, errors.New("you may only read"))

// Tools implements mcp.Memory. Changes of tools go into the log.
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

// call calls a tool.
func (m *agentMemory) call(ctx context.Context, described tools.Tool, arguments []byte) (answer tools.Answer, err error) {
	call := func(ctx context.Context, inner mcp.Memory) (tools.Answer, error) {
		t, _ := tools.Find(withoutFiles(inner.Tools()), described.Name)
		return t.Call(ctx, arguments)
	}
	if described.ReadOnly {
		return ask(ctx, m, func(inner mcp.Memory) (tools.Answer, error) { return call(ctx, inner) })
	}
	if !m.principal.Right.Includes(service.Write) {
		return answer, errReadOnly
	}
	if _, err = m.node.Fresh(ctx, m.principal, atLeast(ctx)); err != nil {
		return answer, err
	}
	if described.Name == notes.SaveToolName {
		arguments = service.SaveArguments(m.principal, arguments)
	}
	answer, version, err := m.change(ctx, call, nil)
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
		answer, version, err = m.change(ctx, call, &needed.Change)
		if errors.As(err, &needed) {
			return unchanged("the file has changed meanwhile. Try again"), nil
		}
	}
	if err != nil {
		return answer, err
	}
	if version > 0 {
		mcp.SetMeta(ctx, versionField, version)
	}
	return withVersion(answer, version), nil
}

// change calls a tool that may change something. A change of curated memory needs a person, for
// whom the tenant does not wait: it is made only if they have allowed it.
func (m *agentMemory) change(ctx context.Context, call func(context.Context, mcp.Memory) (tools.Answer, error), allowed *notes.Change) (answer tools.Answer, version int64, err error) {
	var given tools.Answer
	version, err = m.node.Write(ctx, m.principal, func() error {
		return m.node.useMCP(ctx, m.principal, func(inner mcp.Memory) (err error) {
			given, err = call(app.NeedingConsent(ctx, allowed), inner)
			return err
		})
	})
	if err != nil { // the tool may still run, for a client that no longer waits
		return answer, 0, err
	}
	return given, version, nil
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

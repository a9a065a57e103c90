package tenants

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/turn"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/postgres"
)

// openOn opens a principal's memory in a workspace.
func (n *Node) openOn(ctx context.Context, p service.Principal, m *model, w *app.Workspace) (*app.Service, error) {
	manager, err := w.Index().Elsewhere(ctx, m.embedder, func(ctx context.Context) (core.Contents, error) {
		return n.o.DB.Contents(ctx, p.Of, n.embedderOf(ctx, m))
	})
	if err != nil {
		return nil, err
	}
	return w.Over(manager)
}

// embedderOf names the embedder whose vectors are asked; none if its scale is not known.
func (n *Node) embedderOf(ctx context.Context, m *model) (e postgres.Embedder) {
	if m.embedder == nil {
		return e
	}
	scale, err := m.scaleOf(ctx)
	if err != nil {
		n.o.Logger.Warn("questions are answered by words alone", "error", err)
		return e
	}
	return postgres.Embedder{Fingerprint: m.fingerprint(), Dimension: m.embedder.Dimension(), Scale: scale}
}

// Ask implements service.Node.
func (n *Node) Ask(ctx context.Context, p service.Principal, do func(*app.Service) error) error {
	m, err := n.modelOf(p.Settings)
	if err != nil {
		return hide(n.o.Logger, err)
	}
	s, err := n.openOn(ctx, p, m, m.w)
	if err != nil {
		return hide(n.o.Logger, err)
	}
	defer s.Close()
	return hide(n.o.Logger, do(s))
}

// Tools implements service.Node. They are the same without files.
func (n *Node) Tools(ctx context.Context, p service.Principal) (all []tools.Tool, err error) {
	d, err := n.newDesk(0)
	defer d.remove()
	if err != nil {
		return nil, hide(n.o.Logger, err)
	}
	m, err := n.modelOf(p.Settings)
	if err != nil {
		return nil, hide(n.o.Logger, err)
	}
	s, err := n.openDeskAs(ctx, d, p, m)
	if err != nil {
		return nil, hide(n.o.Logger, err)
	}
	defer s.Close()
	return s.Tools(), nil
}

// AskWithFiles implements service.Node.
func (n *Node) AskWithFiles(ctx context.Context, p service.Principal, do func(*app.Service) error) error {
	d, s, err := n.openDesk(ctx, p)
	if err != nil {
		return hide(n.o.Logger, err)
	}
	defer d.remove()
	defer s.Close()
	return hide(n.o.Logger, do(s))
}

// Call implements service.Node.
func (n *Node) Call(ctx context.Context, p service.Principal, tool string, arguments []byte) (tools.Answer, int64, error) {
	return n.call(ctx, p, tool, arguments, func(ctx context.Context, _ *desk) context.Context { return ctx })
}

// callAsking is Call for a model: what instructs agents changes only as a person has allowed it,
// who is told of it by files of the desk. allowed may be nil.
func (n *Node) callAsking(ctx context.Context, p service.Principal, tool string, arguments []byte, allowed *notes.Change) (tools.Answer, int64, error) {
	return n.call(ctx, p, tool, arguments, func(ctx context.Context, d *desk) context.Context {
		if allowed == nil {
			return app.NeedingConsent(ctx, nil)
		}
		there := *allowed
		there.File = d.at(allowed.File)
		return app.NeedingConsent(ctx, &there)
	})
}

// call calls a tool on a desk, again if others have changed meanwhile what it changed.
func (n *Node) call(ctx context.Context, p service.Principal, tool string, arguments []byte, consent func(context.Context, *desk) context.Context) (answer tools.Answer, version int64, err error) {
	for range maxTries {
		answer, version, err = n.callOnce(ctx, p, tool, arguments, consent)
		if kind.Of(err) != kind.Conflict {
			break
		}
	}
	return answer, version, hide(n.o.Logger, err)
}

func (n *Node) callOnce(ctx context.Context, p service.Principal, tool string, arguments []byte, consent func(context.Context, *desk) context.Context) (answer tools.Answer, version int64, err error) {
	d, s, err := n.openDesk(ctx, p, documentsIn(arguments)...)
	if err != nil {
		return answer, 0, err
	}
	defer d.remove()
	defer s.Close()
	t, known := tools.Find(s.Tools(), tool)
	if !known {
		return answer, 0, &httpapi.Error{Status: http.StatusNotFound, Message: fmt.Sprintf("there is no tool %.80q; POST /tools lists them", tool)}
	}
	if !t.ReadOnly && !p.Right.Includes(service.Write) {
		return answer, 0, kind.As(kind.Forbidden, fmt.Errorf("the key has the right %s; the tool %s needs %s", p.Right, tool, service.Write))
	}
	if tool == notes.SaveToolName && !p.Right.Includes(service.Admin) {
		arguments = sharedArguments(arguments)
	}
	answer, err = t.Call(consent(ctx, d), arguments)
	var needed *app.ConsentError
	if errors.As(err, &needed) { // the next call has another desk
		there := needed.Change
		there.File = d.rel(there.File)
		err = &app.ConsentError{Change: there}
	}
	if err != nil || t.ReadOnly {
		return withoutFile(answer), 0, err
	}
	edits, err := d.edits()
	if err != nil || len(edits) == 0 {
		return withoutFile(answer), 0, err
	}
	for i := range edits {
		edits[i].forget = tool == forgetTool
	}
	version, err = n.changeAll(ctx, p, edits)
	return withoutFile(answer), version, err
}

// forgetTool is the name of the tool after which no earlier text is kept, either.
const forgetTool = "forget"

// Retriever implements service.Node.
func (n *Node) Retriever(ctx context.Context, p service.Principal, do func(turn.Retriever, func(context.Context) (turn.System, error)) error) error {
	return n.Ask(ctx, p, func(s *app.Service) error {
		return do(s.Manager, func(ctx context.Context) (text turn.System, err error) {
			err = n.AskWithFiles(ctx, p, func(s *app.Service) error {
				system, err := s.System(app.SystemFlags{When: app.SystemOn})
				if err == nil {
					text, err = system(ctx)
				}
				return err
			})
			return text, err
		})
	})
}

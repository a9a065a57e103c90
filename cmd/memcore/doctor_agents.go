package main

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/memcore/memcore/inject/daemon"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/jsonfile"
)

// agents checks whether the agents on this machine are given memory, and what came of the last prompt.
func (d *doctor) agents(at place) {
	binary, err := setup.Binary(os.Args[0])
	if err != nil {
		d.warn("agents", "", "%v", err)
		return
	}
	installed := false
	for _, agent := range setup.Find(d.app.setupOptions()) {
		if !agent.Installed() {
			continue
		}
		installed = true
		d.agent(agent, binary)
	}
	if !installed {
		d.ok("agents", "none is installed whose hooks are known; any MCP client can run 'memcore mcp'")
		return
	}
	trace, err := jsonfile.Load[hook.Trace](at.last())
	switch {
	case err != nil:
		d.warn("last hook", "", "%v", err)
	case trace.At.IsZero():
		d.ok("last hook", "none has run in this workspace yet")
	case len(trace.Problems) > 0:
		d.warn("last hook", "memcore explain --last", "%s, %s: %s", trace.Event.Agent, trace.At.Local().Format(time.DateTime), oneLine(strings.Join(trace.Problems, "; ")))
	default:
		d.ok("last hook", "%s of %s, %s", trace.Event.Kind, trace.Event.Agent, trace.At.Local().Format(time.DateTime))
	}
}

// agent checks whether an agent has memory's entries, in the user's files or the project's.
func (d *doctor) agent(agent setup.Agent, binary string) {
	name := "agent " + agent.Title
	for _, scope := range []setup.Scope{setup.User, setup.Project} {
		changes, _, err := agent.Plan(scope, binary, setup.Want{Hooks: true, MCP: true})
		if err != nil {
			d.problem(name, "mend the file", "%v", err)
			return
		}
		if len(changes) == 0 {
			d.ok(name, "hooks and MCP server are entered in %s", map[setup.Scope]string{setup.User: "your files", setup.Project: "the project's files"}[scope])
			return
		}
	}
	entered := false
	for _, scope := range []setup.Scope{setup.User, setup.Project} {
		changes, _, err := agent.Removal(scope, binary)
		entered = entered || err == nil && len(changes) > 0
	}
	if entered {
		d.warn(name, "memcore init --agent "+agent.Name, "some of memcore's entries are missing, or another path")
		return
	}
	d.warn(name, "memcore init --agent "+agent.Name, "memcore is not entered")
}

// daemon checks the daemon, if one runs.
func (d *doctor) daemon(ctx context.Context) {
	at, err := d.app.daemonPlace()
	if err != nil {
		return // there is no home folder, which is said elsewhere
	}
	ctx, stop := context.WithTimeout(ctx, daemonWait)
	defer stop()
	var h httpapi.Health
	_, err = at.Call(ctx, http.MethodGet, "/v1/health", nil, &h)
	switch {
	case errors.Is(err, daemon.ErrAway):
		d.ok("daemon", "none runs; hooks start one, and everything works without it")
	case errors.Is(err, context.DeadlineExceeded):
		d.problem("daemon", "end it: memcore serve --stop, or its process", "it does not answer; hooks and queries do without it, more slowly")
	case err != nil:
		d.problem("daemon", "end it: memcore serve --stop", "%v", err)
	case daemon.IsNewer(version(), h.Version):
		d.warn("daemon", "the next hook replaces it, or memcore serve --stop", "it is of an older release, %s", h.Version)
	default:
		d.ok("daemon", "%s, process %d, %d of %d MB, %s open", h.Version, h.PID, h.Memory>>20, h.MemoryMost>>20, count(len(h.Open), "workspace"))
		for _, w := range h.Open {
			if w.Problem != "" {
				d.warn("daemon", "", "%s is not watched, so that queries look at its files: %s", w.Workspace, oneLine(w.Problem))
			}
		}
	}
}

package doctor

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/inject/daemon"
	"github.com/memcore/memcore/inject/daemon/address"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/text/plain"
)

// agents checks installed agents, and the last hook.
func (d *doctor) agents(at config.Folders) {
	binary, err := setup.Binary(os.Args[0])
	if err != nil {
		d.warn("agents", "", "%v", err)
		return
	}
	installed := false
	for _, agent := range setup.Find(d.w.SetupOptions()) {
		if !agent.Installed() {
			continue
		}
		installed = true
		d.agent(agent, binary)
	}
	if !installed {
		d.ok("agents", "no agent with known hooks is installed; any MCP client can run 'memcore mcp'")
		return
	}
	entries, err := at.Journal().Entries()
	turn, _ := journal.Last(entries)
	last := turn.Entry
	for _, later := range turn.Later {
		if later.Kind == journal.OtherEvent { // it may be the agent's that no longer can be read
			last = later
		}
	}
	switch {
	case err != nil:
		d.warn("last hook", "", "%v", err)
	case last.At.IsZero():
		d.ok("last hook", "none has run in this workspace yet")
	case len(last.Problems) > 0:
		d.warn("last hook", "memcore explain --last", "%s, %s: %s", last.Agent, last.At.Local().Format(time.DateTime), plain.OneLine(strings.Join(last.Problems, "; ")))
	case last.Undelivered != "":
		d.warn("last hook", "memcore explain --last", "%s, %s: %s", last.Agent, last.At.Local().Format(time.DateTime), plain.OneLine(last.Undelivered))
	default:
		d.ok("last hook", "%s of %s, %s", last.Kind, last.Agent, last.At.Local().Format(time.DateTime))
	}
}

// agent checks whether an agent's files have memcore's entries.
func (d *doctor) agent(agent setup.Agent, binary string) {
	name := "agent " + agent.Title
	entered := false
	for _, scope := range []setup.Scope{setup.User, setup.Project} {
		changes, _, err := agent.Removal(scope, binary)
		entered = entered || err == nil && len(changes) > 0
	}
	if plugin := agent.Plugin(); plugin != "" && entered {
		d.warn(name, "memcore uninstall --agent "+agent.Name, "memcore's plugin is installed (%s), and its files have memcore's entries as well: hooks run twice", plugin)
		return
	} else if plugin != "" {
		d.ok(name, "hooks and MCP server are in memcore's plugin (%s)", plugin)
		return
	}
	for _, scope := range []setup.Scope{setup.User, setup.Project} {
		changes, _, err := agent.Plan(scope, binary, setup.Want{Hooks: true, MCP: true})
		if err != nil {
			d.problem(name, "correct the file", "%v", err)
			return
		}
		if len(changes) == 0 {
			d.ok(name, "hooks and MCP server are in %s", map[setup.Scope]string{setup.User: "your files", setup.Project: "the project's files"}[scope])
			return
		}
	}
	if entered {
		d.warn(name, "memcore init --agent "+agent.Name, "some of memcore's entries are missing or name another path")
		return
	}
	d.warn(name, "memcore init --agent "+agent.Name, "memcore is not set up")
}

// daemon checks the daemon, if one runs.
func (d *doctor) daemon(ctx context.Context) {
	at, err := app.DaemonPlace()
	if err != nil {
		return // without a home folder, which another check reports
	}
	ctx, stop := context.WithTimeout(ctx, app.DaemonWait)
	defer stop()
	var h httpapi.Health
	_, err = at.Call(ctx, http.MethodGet, "/v1/health", nil, &h)
	switch {
	case errors.Is(err, address.ErrFolder):
		d.warn("daemon", "", "hooks do without one, more slowly: %v", err)
	case errors.Is(err, daemon.ErrAway):
		d.ok("daemon", "not running; hooks start it, and everything works without it")
	case errors.Is(err, context.DeadlineExceeded):
		d.problem("daemon", "end it: memcore serve --stop, or its process", "it does not answer; hooks and queries do without it, more slowly")
	case err != nil:
		d.problem("daemon", "end it: memcore serve --stop", "%v", err)
	case daemon.IsNewer(d.version, h.Version):
		d.warn("daemon", "the next hook replaces it, or memcore serve --stop", "it is of an older release, %s", h.Version)
	default:
		d.ok("daemon", "%s, process %d, %d of %d MB, %s open", h.Version, h.PID, h.Memory>>20, h.MemoryMost>>20, plain.Count(len(h.Open), "workspace"))
		for _, w := range h.Open {
			if w.Problem != "" {
				d.warn("daemon", "", "%s is not watched, so that queries look at its files: %s", w.Workspace, plain.OneLine(w.Problem))
			}
		}
	}
}

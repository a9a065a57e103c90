package setup

import (
	"os"
	"path/filepath"

	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/internal/agenthome"
	"github.com/memcore/memcore/internal/text/lazy"
)

// serverName names our MCP server in all agents.
const serverName = "memcore"

// home returns the folder of settings; "" if unknown.
func (a Agent) home() string {
	if chosen := a.options.Homes[a.Name]; chosen != "" {
		return chosen
	}
	if a.options.Home == "" {
		return ""
	}
	return filepath.Join(a.options.Home, agenthome.Default(a.Name))
}

func (a Agent) hooksFile(s Scope) string   { return a.file(s, a.row.Hooks) }
func (a Agent) serversFile(s Scope) string { return a.file(s, a.row.Servers) }

// file returns the path of settings; "" if unknown.
func (a Agent) file(s Scope, at agents.Files) string {
	name := at.User
	switch {
	case s == Project:
		return filepath.Join(a.options.Project, filepath.FromSlash(at.Project))
	case a.home() == "":
		return ""
	case at.Chosen != "" && a.options.Homes[a.Name] != "":
		name = at.Chosen
	}
	return filepath.Join(a.home(), filepath.FromSlash(name))
}

// enabledPlugin finds memcore's plugin, of any marketplace, in settings in JSON or TOML.
var enabledPlugin = lazy.Regexp(`"memcore@[^"]*"(?:\s*:|\]\s*enabled\s*=)\s*true\b`)

// Plugin returns the file or folder, as shown, by which the agent has memcore's plugin; "" if it
// has none. The plugin has the same hooks and server that Plan adds.
func (a Agent) Plugin() string {
	if a.row.Plugin == "" || a.home() == "" {
		return ""
	}
	path := filepath.Join(a.home(), filepath.FromSlash(a.row.Plugin))
	if !isFolder(path) {
		text, err := os.ReadFile(path)
		if err != nil || !enabledPlugin().Match(text) {
			return ""
		}
	}
	return a.options.shown(path)
}

// hookEntry returns an event's hook, as in the file.
func hookEntry(a agents.Agent, e agents.Event, binary string) object {
	run := object{{"command", hookCommand(binary, a.Name)}, {"timeout", e.Timeout}}
	if a.FlatHooks {
		if e.Matcher != "" {
			run = append(run, member{"matcher", e.Matcher})
		}
		return run
	}
	entry := append(object{{"type", "command"}}, run...)
	if a.HookName != "" {
		entry = append(object{{"name", a.HookName}}, entry...)
	}
	group := object{{"hooks", []any{entry}}}
	if e.Matcher != "" {
		group = append(object{{"matcher", e.Matcher}}, group...)
	}
	return group
}

// serverEntry returns the MCP server, as in the file.
func serverEntry(a agents.Agent, binary string, trust bool) object {
	entry := object{{"command", binary}, {"args", []any{"mcp"}}}
	if a.TypedServers {
		entry = append(object{{"type", "stdio"}}, entry...)
	}
	if trust && a.TrustsServers {
		entry = append(entry, member{"trust", true})
	}
	return entry
}

package app

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/text/plain"
)

// Contents are what a trusted folder would change for agents.
type Contents struct {
	MemoryFiles []string `json:"memoryFiles"`
	Tokens      int      `json:"tokens"`
	Settings    []string `json:"settings,omitempty"`
	MCPServers  []string `json:"mcpServers,omitempty"`
	Warnings    []string `json:"warnings,omitempty"`
}

// maxWarnings limits the warnings in the dialog.
const maxWarnings = 8

func (c Contents) String() string {
	var b strings.Builder
	b.WriteString("This folder contains project-specific configuration:\n\n")
	list := func(name string, all []string) {
		if len(all) > 0 {
			shown := plain.OneLine(strings.Join(all[:min(len(all), 12)], ", "))
			if len(all) > 12 {
				shown += ", …"
			}
			fmt.Fprintf(&b, "  %s: %d (%s)\n", name, len(all), shown)
		}
	}
	list("Memory files", c.MemoryFiles)
	list("Settings", c.Settings)
	list("MCP servers", c.MCPServers)
	if len(c.MemoryFiles)+len(c.Settings)+len(c.MCPServers) == 0 {
		b.WriteString("  none that memcore knows of\n")
	}
	for i, w := range c.Warnings {
		if i == 0 {
			b.WriteByte('\n')
		}
		if i == maxWarnings {
			fmt.Fprintf(&b, "  ! and %d more\n", len(c.Warnings)-i)
			break
		}
		fmt.Fprintf(&b, "  ! Warning: %s\n", plain.OneLine(w))
	}
	return b.String()
}

// onlyTrust trusts one folder and those below it.
type onlyTrust string

func (o onlyTrust) Covering(folder string) (string, error) {
	if _, inside := paths.Within(string(o), folder); inside {
		return string(o), nil
	}
	return "", nil
}

// agentSettings are settings of agents that matter for trust.
type agentSettings struct {
	MCPServers  map[string]any `json:"mcpServers"`
	AutoAccept  bool           `json:"autoAccept"` // Gemini CLI
	Permissions struct {       // Claude Code
		Allow       []string `json:"allow"`
		DefaultMode string   `json:"defaultMode"`
	} `json:"permissions"`
}

// anyCommand are the permissions of Claude Code that cover any command.
var anyCommand = []string{"Bash", "Bash(*)", "Bash(*:*)", "*"}

// otherAgents reads agents' servers, and whether they run commands unasked.
func (c *Contents) otherAgents(root string) {
	servers := map[string]bool{}
	for _, name := range []string{".mcp.json", ".claude/settings.json", ".claude/settings.local.json", ".gemini/settings.json", ".cursor/mcp.json"} {
		data, _, err := safefile.ReadFile(root, filepath.FromSlash(name), 1<<20)
		var s agentSettings
		if err != nil || json.Unmarshal(data, &s) != nil {
			continue
		}
		for server := range s.MCPServers {
			servers[server] = true
		}
		if s.AutoAccept || s.Permissions.DefaultMode == "bypassPermissions" || slices.ContainsFunc(s.Permissions.Allow, func(p string) bool { return slices.Contains(anyCommand, p) }) {
			c.Warnings = append(c.Warnings, "auto-approve is enabled for shell commands ("+name+")")
		}
	}
	c.MCPServers = slices.Sorted(maps.Keys(servers))
}

package setup

import "path/filepath"

// A kind is what is known of an agent. Docs/integrations has where it was measured.
type kind struct {
	name, title string
	folder      string // of its configuration, in the home folder and in projects
	executables []string
	// flat is Cursor's form of hooks: entries stand in the event's list themselves, not in groups.
	flat   bool
	label  string // "name" of an entry; "" is none
	events []agentEvent
	// files, below home for the user and below the project for a project
	userHooks, projectHooks     string
	userServers, projectServers string
	typed                       bool // an MCP server has "type": "stdio"
}

// An agentEvent is a moment at which an agent runs hooks.
type agentEvent struct {
	name    string
	timeout int // in the agent's own unit
}

// Timeouts are in seconds but for Gemini CLI, which counts milliseconds. At the end of a session Codex allows no more than 3 s. Gemini's
// PreCompress is left out: it comes every turn, also when nothing is compressed.
var kinds = []kind{
	{
		name: ClaudeCode, title: "Claude Code", folder: ".claude", executables: []string{"claude"},
		events:    []agentEvent{{"SessionStart", 5}, {"UserPromptSubmit", 5}, {"Stop", 5}, {"PreCompact", 5}, {"SessionEnd", 3}},
		userHooks: "settings.json", projectHooks: ".claude/settings.json",
		userServers: "../.claude.json", projectServers: ".mcp.json", typed: true,
	},
	{
		name: GeminiCLI, title: "Gemini CLI", folder: ".gemini", executables: []string{"gemini"}, label: serverName,
		events:    []agentEvent{{"SessionStart", 5000}, {"BeforeAgent", 5000}, {"AfterAgent", 5000}, {"SessionEnd", 5000}},
		userHooks: "settings.json", projectHooks: ".gemini/settings.json",
		userServers: "settings.json", projectServers: ".gemini/settings.json",
	},
	{
		name: Codex, title: "Codex", folder: ".codex", executables: []string{"codex"},
		events:    []agentEvent{{"SessionStart", 5}, {"UserPromptSubmit", 5}, {"Stop", 5}, {"PreCompact", 5}, {"SessionEnd", 3}},
		userHooks: "hooks.json", projectHooks: ".codex/hooks.json",
		userServers: "config.toml", projectServers: ".codex/config.toml",
	},
	{
		name: Cursor, title: "Cursor", folder: ".cursor", executables: []string{"cursor", "cursor-agent"}, flat: true,
		events:    []agentEvent{{"sessionStart", 5}, {"beforeSubmitPrompt", 5}, {"afterAgentResponse", 5}, {"preCompact", 5}, {"sessionEnd", 5}},
		userHooks: "hooks.json", projectHooks: ".cursor/hooks.json",
		userServers: "mcp.json", projectServers: ".cursor/mcp.json",
	},
}

// serverName is that of our MCP server in all agents.
const serverName = "memcore"

// home is the folder of the user's configuration; "" if there is no home folder.
func (k *kind) home(o Options) string {
	switch {
	case k.name == Codex && o.CodexHome != "":
		return o.CodexHome
	case k.name == ClaudeCode && o.ClaudeHome != "":
		return o.ClaudeHome
	case o.Home == "":
		return ""
	}
	return filepath.Join(o.Home, k.folder)
}

func (k *kind) hooksFile(o Options, s Scope) string {
	return k.file(o, s, k.userHooks, k.projectHooks)
}

func (k *kind) serversFile(o Options, s Scope) string {
	user := k.userServers
	if k.name == ClaudeCode && o.ClaudeHome != "" {
		user = ".claude.json" // beside the folder by default, but inside one that was chosen
	}
	return k.file(o, s, user, k.projectServers)
}

func (k *kind) file(o Options, s Scope, user, project string) string {
	if s == Project {
		return filepath.Join(o.Project, filepath.FromSlash(project))
	}
	if k.home(o) == "" {
		return ""
	}
	return filepath.Join(k.home(o), filepath.FromSlash(user))
}

// hookEntry is how a hook is written for an event.
func (k *kind) hookEntry(e agentEvent, binary string) object {
	run := object{{"command", hookCommand(binary, k.name)}, {"timeout", e.timeout}}
	if k.flat {
		return run
	}
	entry := append(object{{"type", "command"}}, run...)
	if k.label != "" {
		entry = append(object{{"name", k.label}}, entry...)
	}
	return object{{"hooks", []any{entry}}}
}

// serverEntry is how the MCP server is written.
func (k *kind) serverEntry(binary string, trust bool) object {
	entry := object{{"command", binary}, {"args", []any{"mcp"}}}
	if k.typed {
		entry = append(object{{"type", "stdio"}}, entry...)
	}
	if trust && k.name == GeminiCLI {
		entry = append(entry, member{"trust", true})
	}
	return entry
}

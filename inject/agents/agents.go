// Package agents is the table of coding agents: their hook events, settings files and differences.
//
// A new agent is a new row. Packages hook and setup name no agent.
// docs/integrations says where each row was measured.
package agents

// Names of agents, as in "memcore hook NAME".
const (
	ClaudeCode = "claude-code"
	GeminiCLI  = "gemini-cli"
	Codex      = "codex"
	Cursor     = "cursor"
	// Text is for scripts, which read plain text.
	Text = "text"
)

// An Agent is one row of the table.
type Agent struct {
	Name  string
	Title string

	// Hooks.

	Events []Event
	Reply  Reply
	// BeginsAtPrompt: the first prompt gets what a session begins with. Earlier, the agent would
	// join it to the prompt.
	BeginsAtPrompt bool
	// EscapesAngles: the model gets "&lt;" and "&gt;" for angle brackets in what hooks add.
	EscapesAngles bool
	// KeepsLog: the log of the session that the agent names in its events is one that memcore
	// reads.
	KeepsLog bool
	// CompactsUnseen: no hook runs just when the agent compacts its history, but its log has the
	// summary.
	CompactsUnseen bool
	// Variable is set for the agent's hooks (see RunByOther).
	Variable string
	// OwnFiles are memory files, or manifests of some, that the agent loads itself. Folders end in
	// a slash.
	OwnFiles []string
	// ReadsSubfolders: the agent also loads OwnFiles of subfolders.
	ReadsSubfolders bool
	// FollowsImports: the agent also loads what a line "@PATH" in OwnFiles names.
	FollowsImports bool

	// Installation, in the folder of settings that package agenthome has. Agents without one have
	// nothing to install.

	Executables []string
	Hooks       Files
	Servers     Files
	Recall      Recall
	// Plugin shows, below that folder, that memcore's plugin is installed: a file that enables it,
	// or a folder. "" if there is no plugin.
	Plugin string
	// FlatHooks: an event's list holds hooks, not groups.
	FlatHooks bool
	// HookName is the "name" of a hook, if any.
	HookName string
	// TypedServers: a server entry has "type": "stdio".
	TypedServers bool
	// TOML: Servers are TOML files.
	TOML bool
	// TrustsServers: "trust": true lets a server run without confirmation.
	TrustsServers bool
	// StatusLine: the hooks file may have a status line.
	StatusLine bool
	Notes      Notes
}

// An Event is a moment when hooks run.
type Event struct {
	Name    string
	Kind    Kind
	Timeout int    // in the agent's own unit; 0 if memcore does not ask for the event
	Matcher string // the tools it is for; "" for all
}

// A Kind is what an event means.
type Kind string

// Kinds of events.
const (
	SessionStart Kind = "session start"
	Prompt       Kind = "prompt"
	Tool         Kind = "tool call"
	TurnEnd      Kind = "turn end"
	Compact      Kind = "compaction"
	SessionEnd   Kind = "session end"
	Other        Kind = "other" // memcore ignores it
)

// A Reply is the form of a hook's answer.
type Reply int

// Forms of replies.
const (
	ReplyOutput Reply = iota // an object with "hookSpecificOutput"
	ReplyFlat                // an object with "additional_context"
	ReplyText                // the text itself
)

// Files are the places of a settings file.
type Files struct {
	User    string // below the folder of the agent's settings
	Chosen  string // the same, if a variable names that folder; "" if it makes no difference
	Project string // below the workspace
}

// Recall is a skill, or a subagent, that answers from memory. In agents that can do so it has a
// context of its own, which keeps what it reads out of the conversation.
type Recall struct {
	Files
	Head string // further lines of its frontmatter
	Task string // what it is told first
}

// Notes are texts for a person; "" for none.
type Notes struct {
	Hooks, ProjectHooks string // after hooks were added; to a project, both
	ProjectServers      string // after a server was added to a project
	UntrustedServers    string // after a server was added without trust
}

// All agents, in order. Timeouts are in seconds, Gemini CLI's in milliseconds. Codex allows 3 s at
// the end of a session.
//
// Left out: Gemini's PreCompress, which comes before each turn, and BeforeTool, which takes no
// context. The model reads answers of other hooks before a tool no sooner.
var All = []Agent{
	{
		Name: ClaudeCode, Title: "Claude Code", Executables: []string{"claude"},
		Hooks: Files{User: "settings.json", Project: ".claude/settings.json"}, Plugin: "settings.json",
		// Beside the default folder, but inside a chosen one.
		Servers:      Files{User: "../.claude.json", Chosen: ".claude.json", Project: ".mcp.json"},
		TypedServers: true, StatusLine: true,
		KeepsLog: true,
		Recall: Recall{
			Files: Files{User: "skills/recall/SKILL.md", Project: ".claude/skills/recall/SKILL.md"},
			// With allowed-tools, Claude Code would ask the user before the model may use the
			// skill.
			Head: "argument-hint: \"[question]\"\ncontext: fork\n",
			Task: "Answer this from memory. You see nothing else of the conversation.\n\n$ARGUMENTS",
		},
		Events: []Event{
			{"SessionStart", SessionStart, 5, ""},
			{"UserPromptSubmit", Prompt, 5, ""},
			{"PreToolUse", Tool, 0, ""},
			{"PostToolUse", Tool, 5, "Bash|Edit|MultiEdit|NotebookEdit|Read|Write"},
			{"PostToolUseFailure", Tool, 5, "Bash"}, // instead of PostToolUse, of calls that failed
			{"Stop", TurnEnd, 5, ""},
			{"PreCompact", Compact, 5, ""},
			{"SessionEnd", SessionEnd, 3, ""},
		},
		OwnFiles:        []string{"CLAUDE.md", "CLAUDE.local.md", ".claude/CLAUDE.md", ".claude/rules/"},
		ReadsSubfolders: true,
		FollowsImports:  true,
		Notes:           Notes{ProjectServers: "Claude Code asks for your approval of .mcp.json: start claude in the project"},
	},
	{
		Name: GeminiCLI, Title: "Gemini CLI", Executables: []string{"gemini"},
		Hooks:         Files{User: "settings.json", Project: ".gemini/settings.json"},
		Servers:       Files{User: "settings.json", Project: ".gemini/settings.json"},
		TrustsServers: true, HookName: "memcore", BeginsAtPrompt: true, Plugin: "extensions/memcore",
		KeepsLog: true, EscapesAngles: true, CompactsUnseen: true,
		Recall: Recall{
			Files: Files{User: "agents/recall.md", Project: ".gemini/agents/recall.md"},
			Head:  "tools: [mcp_memcore_search_memory, mcp_memcore_memory_read]\n",
			Task:  "You answer one question from memory. You see nothing else of the conversation.",
		},
		Events: []Event{
			{"SessionStart", SessionStart, 5000, ""},
			{"BeforeAgent", Prompt, 5000, ""},
			{"AfterTool", Tool, 5000, "^(read_file|read_many_files|write_file|replace|run_shell_command)$"},
			{"AfterAgent", TurnEnd, 5000, ""},
			{"SessionEnd", SessionEnd, 5000, ""},
		},
		OwnFiles:        []string{"GEMINI.md", "GEMINI.local.md", "gemini-extension.json"},
		ReadsSubfolders: true,
		FollowsImports:  true,
		Notes: Notes{
			ProjectHooks:     "Gemini CLI reads .gemini/settings.json only in a folder that it trusts",
			UntrustedServers: "without trust, gemini asks before it uses memcore's tools, and gemini -p does not show them to the model; --trust-mcp trusts them",
		},
	},
	{
		Name: Codex, Title: "Codex", Executables: []string{"codex"},
		Hooks:   Files{User: "hooks.json", Project: ".codex/hooks.json"},
		Servers: Files{User: "config.toml", Project: ".codex/config.toml"},
		TOML:    true, Plugin: "config.toml",
		KeepsLog: true,
		Recall: Recall{
			Files: Files{User: "skills/recall/SKILL.md", Project: ".agents/skills/recall/SKILL.md"},
			Task:  "Answer the question from memory.",
		},
		Events: []Event{
			{"SessionStart", SessionStart, 5, ""},
			{"UserPromptSubmit", Prompt, 5, ""},
			{"PreToolUse", Tool, 0, ""},
			{"PostToolUse", Tool, 5, "Bash|apply_patch"},
			{"Stop", TurnEnd, 5, ""},
			{"PreCompact", Compact, 5, ""},
			{"SessionEnd", SessionEnd, 3, ""},
		},
		OwnFiles: []string{"AGENTS.md", "AGENTS.override.md"},
		Notes: Notes{
			Hooks:        "Codex runs new hooks only after you have trusted them: start codex and type /hooks",
			ProjectHooks: "Codex reads .codex only in a project that it trusts",
		},
	},
	{
		Name: Cursor, Title: "Cursor", Executables: []string{"cursor", "cursor-agent"},
		Hooks:     Files{User: "hooks.json", Project: ".cursor/hooks.json"},
		Servers:   Files{User: "mcp.json", Project: ".cursor/mcp.json"},
		FlatHooks: true, Reply: ReplyFlat, Variable: "CURSOR_VERSION",
		Recall: Recall{
			Files: Files{User: "agents/recall.md", Project: ".cursor/agents/recall.md"},
			Task:  "You answer one question from memory. You see nothing else of the conversation.",
		},
		Events: []Event{
			{"sessionStart", SessionStart, 5, ""},
			{"beforeSubmitPrompt", Prompt, 5, ""},
			{"preToolUse", Tool, 0, ""},
			{"postToolUse", Tool, 5, "Read|Write|Delete|Shell"},
			{"afterAgentResponse", TurnEnd, 5, ""},
			{"preCompact", Compact, 5, ""},
			{"sessionEnd", SessionEnd, 5, ""},
		},
		OwnFiles:        []string{"AGENTS.md", ".cursorrules", ".cursor/rules/"},
		ReadsSubfolders: true,
		Notes:           Notes{Hooks: "Cursor's files are written after its documentation; this was not tried with Cursor itself"},
	},
	{Name: Text, Reply: ReplyText},
}

// Names returns the names of all agents.
func Names() (names []string) {
	for _, a := range All {
		names = append(names, a.Name)
	}
	return names
}

// Named returns the agent of a name.
func Named(name string) (a Agent, ok bool) {
	for _, a := range All {
		if a.Name == name {
			return a, true
		}
	}
	return Agent{}, false
}

// KindOf returns what an event means, in any agent.
func KindOf(event string) Kind {
	for _, a := range All {
		for _, e := range a.Events {
			if e.Name == event {
				return e.Kind
			}
		}
	}
	return Other
}

// Requested returns the events that memcore asks for.
func (a Agent) Requested() (events []Event) {
	for _, e := range a.Events {
		if e.Timeout > 0 {
			events = append(events, e)
		}
	}
	return events
}

// RunByOther returns the title of another agent that runs the hook, or "": Cursor also runs Claude
// Code's, so each would be answered twice.
func RunByOther(name string, environment func(string) string) string {
	for _, a := range All {
		if a.Name != name && a.Variable != "" && environment(a.Variable) != "" {
			return a.Title
		}
	}
	return ""
}

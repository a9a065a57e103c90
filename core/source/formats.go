package source

import (
	"context"
	"fmt"
	"hash/crc32"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/memcore/memcore/internal/paths"
)

// A format is one kind of conversation log. To add one, write a file format_NAME.go, enter it
// below, and put a log into testdata.
//
// Formats keep nothing between records: the conversation does, so that reading can go on anywhere.
type format struct {
	name string // Document.Format of its logs
	// owns, if set, reports whether a file's name is this format's: a file with such a name is of
	// this format or of none. Under another name its beginning must have one of the marks, as must
	// that of an export whose first conversation is broken.
	owns  func(path string) bool
	marks []string
	// sniff reports whether a record is of this format. Markdown has only owns and marks.
	sniff func(f fields) bool
	// parse adds a record, or says why it cannot.
	parse func(c *conversation, r record) (skipped string)
	// read, if set, reads a log as a whole, instead of parse.
	read func(ctx context.Context, c *conversation, file logBytes, size int64, path string) error
	// copyOf, if set, returns the session of another agent of which a log is a copy, by its
	// beginning.
	copyOf func(head []byte) string
	// beside, if set, reads what other files beside a log say of it.
	beside func(path string) beside
	// folders returns where the agent keeps logs of a project. SessionsOf is set for those that may
	// hold others' logs.
	folders func(known) []FolderOptions
	// agent means that all logs are of agents at work.
	agent bool
	// homeless means that no record names the folder in which the session ran: that of the log, or
	// a file beside it, says it.
	homeless bool
	// export means that a log holds all conversations of a person: it is read only if it is named.
	export bool
}

// formats are tried in order, the least specific last.
var formats = []format{
	{name: "qwen-code", sniff: sniffQwen, parse: parseQwen, folders: qwenFolders, agent: true},
	{name: "claude-stream", sniff: sniffClaudeStream, parse: parseClaudeStream, agent: true},
	{name: "claude-code", sniff: sniffClaude, parse: parseClaude, folders: claudeFolders, agent: true},
	{name: "codex", sniff: sniffCodex, parse: parseCodex, folders: codexFolders, agent: true},
	{name: "gemini-cli", sniff: sniffGemini, parse: parseGemini, folders: geminiFolders, agent: true, homeless: true},
	{name: "cline", owns: ownsClineTask, marks: clineMarks, sniff: sniffClineTask, parse: parseClineTask, beside: besideClineTask, folders: clineFolders, agent: true, homeless: true},
	{name: "cline-session", sniff: sniffClineSession, parse: parseClineSession, beside: besideClineSession, folders: clineSessionFolders, agent: true, homeless: true},
	{name: "copilot-cli", sniff: sniffCopilot, parse: parseCopilot, beside: besideCopilot, folders: copilotFolders, agent: true},
	{name: "copilot-chat", sniff: sniffCopilotChat, read: readCopilotChat, folders: copilotChatFolders, agent: true, homeless: true},
	{name: "specstory", owns: ownsSpecstory, marks: specstoryMarks, copyOf: copiedBySpecstory, read: readSpecstory, folders: specstoryFolders},
	{name: "aider", owns: ownsAider, marks: aiderMarks, read: readAider, folders: aiderFolders},
	{name: "chatgpt", marks: chatGPTExport.marks[:1], sniff: sniffChatGPT, read: readExport(chatGPTExport), export: true},
	{name: "claude-ai", marks: claudeAIExport.marks[:1], sniff: sniffClaudeAI, read: readExport(claudeAIExport), export: true},
	{name: "cursor-transcript", sniff: sniffCursorTranscript, parse: parseCursorTranscript, agent: true, homeless: true},
	{name: "opencode", sniff: sniffOpencode, parse: parseOpencode, agent: true},
	{name: "mcp-memory", sniff: sniffMCPMemory, parse: parseMCPMemory},
	{name: "pi", sniff: sniffPi, parse: parsePi, folders: piFolders, agent: true},
	{name: "openai", sniff: sniffOpenAI, parse: parseOpenAI},
}

// beside is what other files say of a log. Zero values are unknown.
type beside struct {
	session, cwd string
	time         time.Time       // when the session began
	times        []time.Time     // of messages, by their index in the log
	said         map[string]bool // what the user said
	subagent     bool            // the user did not ask for it
}

// timeOf returns the time of a message: its own, or that of the last one before it that is known.
func (b beside) timeOf(index int) time.Time {
	for i := min(index, len(b.times)-1); i >= 0; i-- {
		if !b.times[i].IsZero() {
			return b.times[i]
		}
	}
	return time.Time{}
}

func formatNamed(name string) (format, bool) {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		return format{}, false
	}
	return formats[i], true
}

// A Project says which sessions are of a project. It is safe for concurrent use.
type Project interface {
	// Folders returns the working directories of the project, absolute, also those that are gone.
	Folders() []string
	// Holder returns a function that reports whether a session that began in a folder, which may be
	// gone, and last said something at a time is of the project as it is now. With the zero time it
	// reports whether any session there is. It is not safe for concurrent use.
	Holder() func(folder string, last time.Time) bool
}

// KnownOptions say where Known looks.
type KnownOptions struct {
	// Workspace and Home are as in FolderOptions.
	Workspace, Home string
	// Homes returns the folders, absolute, of settings and logs of the agent that writes a format.
	Homes func(format string) []string
	// Facts is a folder in which the next process finds what this one learns about logs, to read
	// none of them again while they are unchanged; "" keeps nothing. It is not made if it is
	// missing.
	Facts string
}

// known is what tells a format where logs of a project are.
type known struct {
	project Project
	homes   []string // of the agent, as KnownOptions.Homes returns them
	home    string   // of the user
}

// in returns a folder below each home of the agent, with the sessions of many projects.
func (k known) in(elements ...string) (all []FolderOptions) {
	for _, home := range k.homes {
		all = append(all, FolderOptions{Path: filepath.Join(home, filepath.Join(elements...)), SessionsOf: k.project})
	}
	return all
}

// Known returns the folders in which known agents keep the logs of a project. Index them only if
// the user asks for it. A missing folder is an empty source.
func Known(project Project, o KnownOptions) []Source {
	var all []Source
	seen := map[string]bool{} // two homes may be the same by a link
	for _, f := range formats {
		if f.folders == nil {
			continue
		}
		for _, folder := range f.folders(known{project, o.Homes(f.name), o.Home}) {
			if real := paths.Resolve(folder.Path); !seen[real] {
				seen[real] = true
				if o.Facts != "" {
					folder.facts = factsFile(filepath.Join(o.Facts, fmt.Sprintf("logs-%x", crc32.ChecksumIEEE([]byte(folder.Path)))))
				}
				folder.Scope, folder.Workspace, folder.Home, folder.Optional, folder.Rotated = ScopeProject, o.Workspace, o.Home, true, true
				all = append(all, NewFolder(folder))
			}
		}
	}
	return append(all, databases(project, o)...)
}

// A belonging says whose a folder in an agent's folder may be, by its name.
type belonging int

const (
	elsewhere belonging = iota
	perhaps             // its logs decide
	named               // after a working directory of the project, unless another has the same name
)

// groups returns, for a project, a function that says to whom a folder belongs, and after which
// working directory it is named, if that is known: records of homeless formats do not say it.
type groups func(Project) func(name string) (_ belonging, cwd string)

// namedAfter returns how the names of folders tell their working directories, if an agent derives
// them by a function that loses characters and keeps the beginning. Names are compared without case
// and in the normal forms of Unicode, as some systems compare paths.
func namedAfter(name func(cwd string) (begin, end string)) groups {
	return func(p Project) func(string) (belonging, string) {
		var whole, begins []string
		for _, folder := range p.Folders() {
			for _, form := range []string{folder, norm.NFC.String(folder), norm.NFD.String(folder)} {
				begin, end := name(form)
				whole = append(whole, strings.ToLower(begin+end))
				begins = append(begins, strings.ToLower(strings.TrimSuffix(begin, "-")+"-"))
			}
		}
		return func(in string) (belonging, string) {
			in = strings.ToLower(in)
			switch {
			case slices.Contains(whole, in):
				return named, ""
			case slices.ContainsFunc(begins, func(begin string) bool { return strings.HasPrefix(in, begin) }):
				return perhaps, ""
			}
			return elsewhere, ""
		}
	}
}

// Package hook answers the lifecycle hooks of coding agents: it reads the event that an agent sends, gives memory for a prompt and curated memory for a
// session, and notes what was said.
//
// Agents keep what a hook adds in their own history and send it again on each later turn, whatever their documentation says. So a memory is given
// once a session, until the agent has compacted its history. The one rule: a hook is never in the way. What cannot be done in time is not done, an agent
// reads nothing that it would misread, and no exit code stops it.
package hook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Agents whose hooks are known. Text is for scripts: its answer is the memory itself.
const (
	ClaudeCode = "claude-code"
	GeminiCLI  = "gemini-cli"
	Codex      = "codex"
	Cursor     = "cursor"
	Text       = "text"
)

// Agents are all of them.
var Agents = []string{ClaudeCode, GeminiCLI, Codex, Cursor, Text}

// A Kind is what an event means, whatever the agent calls it.
type Kind string

// Kinds of events.
const (
	SessionStart Kind = "session start"
	Prompt       Kind = "prompt"
	TurnEnd      Kind = "turn end"
	Compact      Kind = "compaction"
	SessionEnd   Kind = "session end"
	Other        Kind = "other" // one that nothing is to be done for
)

// kinds of the events by the names that agents give them. Names that two agents share mean the same.
var kinds = map[string]Kind{
	"SessionStart": SessionStart, "sessionStart": SessionStart,
	"UserPromptSubmit": Prompt, "BeforeAgent": Prompt, "beforeSubmitPrompt": Prompt,
	"Stop": TurnEnd, "AfterAgent": TurnEnd, "afterAgentResponse": TurnEnd,
	"PreCompact": Compact, "preCompact": Compact,
	"SessionEnd": SessionEnd, "sessionEnd": SessionEnd,
	// Gemini's PreCompress comes before each turn, whether anything is compressed or not, so it says nothing.
}

// An Event is one that an agent has sent.
type Event struct {
	Agent   string `json:"agent"`
	Name    string `json:"name"` // that the agent gives it
	Kind    Kind   `json:"kind"`
	Session string `json:"session,omitempty"`
	Dir     string `json:"dir,omitempty"` // that the agent works in
	Source  string `json:"source,omitempty"`
	Prompt  string `json:"prompt,omitempty"` // of the person
	Answer  string `json:"answer,omitempty"` // of the model, at the end of a turn
	// Transcript is the file that the agent keeps the session in; some name none.
	Transcript string `json:"transcript,omitempty"`
}

// Errors of Parse.
var (
	// ErrAgent means that an agent has no such name.
	ErrAgent = errors.New("there is no such agent")
	// ErrEvent means that what was read is no event of the agent.
	ErrEvent = errors.New("this is no event of a hook")
)

// Parse reads an event as the agent sends it on standard input. For Text it may also be the prompt itself. It takes what other releases of an agent may
// add. Errors wrap ErrAgent or ErrEvent.
func Parse(agent string, data []byte) (Event, error) {
	if !slices.Contains(Agents, agent) {
		return Event{}, fmt.Errorf("%w: %.50q, want one of %s", ErrAgent, agent, strings.Join(Agents, ", "))
	}
	text := strings.TrimSpace(string(data))
	if agent == Text && !strings.HasPrefix(text, "{") {
		return Event{Agent: agent, Name: "prompt", Kind: Prompt, Prompt: text}, nil
	}
	var sent struct {
		Name           string   `json:"hook_event_name"`
		Session        string   `json:"session_id"`
		Conversation   string   `json:"conversation_id"`
		Transcript     string   `json:"transcript_path"`
		Dir            string   `json:"cwd"`
		Roots          []string `json:"workspace_roots"`
		Source         string   `json:"source"`
		Prompt         string   `json:"prompt"`
		PromptResponse string   `json:"prompt_response"`
		LastMessage    string   `json:"last_assistant_message"`
		Text           string   `json:"text"`
	}
	if err := json.Unmarshal([]byte(text), &sent); err != nil {
		return Event{}, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	e := Event{Agent: agent, Name: sent.Name, Kind: kinds[sent.Name], Session: cmp.Or(sent.Session, sent.Conversation), Dir: sent.Dir, Source: sent.Source,
		Prompt: sent.Prompt, Answer: cmp.Or(sent.LastMessage, sent.PromptResponse, sent.Text), Transcript: sent.Transcript}
	if e.Dir == "" && len(sent.Roots) > 0 {
		e.Dir = sent.Roots[0]
	}
	if e.Name == "" && agent == Text && e.Prompt != "" {
		e.Name, e.Kind = "prompt", Prompt
	}
	if e.Name == "" {
		return Event{}, fmt.Errorf("%w: it has no hook_event_name", ErrEvent)
	}
	if e.Kind == "" {
		e.Kind = Other
	}
	e.Prompt = withoutContext(e.Prompt)
	return e, nil
}

// withoutContext is a prompt without what a hook at the start of the session has added: Gemini CLI puts that before the first prompt when it runs
// without a terminal.
func withoutContext(prompt string) string {
	for {
		rest, ok := strings.CutPrefix(prompt, "<hook_context>")
		if !ok {
			return prompt
		}
		_, rest, ok = strings.Cut(rest, "</hook_context>")
		if !ok {
			return prompt
		}
		prompt = strings.TrimLeft(rest, " \r\n")
	}
}

// longestContext is how much an answer adds at most, in characters: of more, Claude Code and Codex show the model the beginning only.
const longestContext = 9_800

// Reply is what is to be written to standard output so that the agent adds a text to its conversation: nothing for "", and nothing at events at which an
// agent would take it for something else.
func (e Event) Reply(text string) []byte {
	if text == "" || e.Kind != Prompt && e.Kind != SessionStart {
		return nil
	}
	var reply any
	switch e.Agent {
	case Text:
		return []byte(text + "\n")
	case Cursor:
		cursor := map[string]any{"additional_context": text}
		if e.Kind == Prompt {
			cursor["continue"] = true
		}
		reply = cursor
	default: // Codex refuses any other key, Claude Code and Codex an event that is not named
		reply = map[string]any{"hookSpecificOutput": map[string]any{"hookEventName": e.Name, "additionalContext": text}}
	}
	data, err := json.Marshal(reply)
	if err != nil {
		return nil // strings always encode
	}
	return append(data, '\n')
}

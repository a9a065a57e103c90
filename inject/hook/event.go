// Package hook answers the lifecycle hooks of coding agents. It adds memory to prompts, sessions
// and tool calls, and notes the messages.
//
// Agents keep what a hook adds in their history. So a session gets each memory once, until the
// agent compacts that.
//
// A hook never blocks the agent: it leaves out what takes too long, and its exit code stops
// nothing.
package hook

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/memcore/memcore/core/digest"
	"github.com/memcore/memcore/inject/agents"
)

// A Kind is what an event means.
type Kind = agents.Kind

// Kinds of events.
const (
	SessionStart = agents.SessionStart
	Prompt       = agents.Prompt
	Tool         = agents.Tool
	TurnEnd      = agents.TurnEnd
	Compact      = agents.Compact
	SessionEnd   = agents.SessionEnd
	Other        = agents.Other
)

// An Event is one that an agent has sent.
type Event struct {
	// ID names the event in the journal; "" is a new one.
	ID      string `json:"id,omitempty"`
	Agent   string `json:"agent"`
	Name    string `json:"name"` // the agent's own
	Kind    Kind   `json:"kind"`
	Session string `json:"session,omitempty"`
	// Sub is the subagent that called the tool, if any.
	Sub    string `json:"sub,omitempty"`
	Dir    string `json:"dir,omitempty"` // the folder that the agent works in
	Source string `json:"source,omitempty"`
	Prompt string `json:"prompt,omitempty"` // of the user
	Answer string `json:"answer,omitempty"` // of the model, at the end of a turn
	// Tool was called with the files and folders Touched.
	Tool    string   `json:"tool,omitempty"`
	Touched []string `json:"touched,omitempty"`
	// Failed is what a shell's command failed with; nil if it worked, or if nothing can be known of
	// it.
	Failed *digest.Failure `json:"failed,omitempty"`
	// Transcript is the session's file, if known.
	Transcript string `json:"transcript,omitempty"`
	// Cut says what a long event lost.
	Cut string `json:"cut,omitempty"`
}

// IsQuiet reports whether the event is a tool's call that nothing can be said of.
func (e Event) IsQuiet() bool { return e.Kind == Tool && len(e.Touched) == 0 && e.Failed == nil }

// Errors of Parse.
var (
	// ErrAgent means that no agent has the name.
	ErrAgent = errors.New("there is no such agent")
	// ErrEvent means that the input is no event.
	ErrEvent = errors.New("this is no event of a hook")
)

// Parse reads what an agent or script sends. Errors wrap ErrAgent or ErrEvent.
func Parse(agent string, data []byte) (Event, error) {
	row, known := agents.Named(agent)
	if !known {
		return Event{}, fmt.Errorf("%w: %.50q, want one of %s", ErrAgent, agent, strings.Join(agents.Names(), ", "))
	}
	text, script := strings.TrimSpace(string(data)), row.Reply == agents.ReplyText
	if script && !strings.HasPrefix(text, "{") {
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

		Sub   string          `json:"agent_id"`
		Tool  string          `json:"tool_name"`
		Input json.RawMessage `json:"tool_input"`
		outcome
	}
	if err := json.Unmarshal([]byte(text), &sent); err != nil {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) { // its text has a Go type
			return Event{}, fmt.Errorf("%w: %s is a JSON %s", ErrEvent, cmp.Or(wrong.Field, "all of it"), wrong.Value)
		}
		return Event{}, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	e := Event{Agent: agent, Name: sent.Name, Kind: agents.KindOf(sent.Name),
		Session: cmp.Or(sent.Session, sent.Conversation), Dir: sent.Dir, Source: sent.Source,
		Prompt: withoutContext(sent.Prompt), Answer: cmp.Or(sent.LastMessage, sent.PromptResponse, sent.Text),
		Transcript: sent.Transcript}
	if e.Dir == "" && len(sent.Roots) > 0 {
		e.Dir = sent.Roots[0]
	}
	if e.Kind == Tool {
		e.Sub, e.Tool, e.Touched = sent.Sub, sent.Tool, touchedBy(sent.Input, e.Dir)
		e.Failed = sent.failure(sent.Tool, sent.Input)
	}
	if e.Name == "" && script && e.Prompt != "" {
		e.Name, e.Kind = "prompt", Prompt
	}
	if e.Name == "" {
		return Event{}, fmt.Errorf("%w: it has no hook_event_name", ErrEvent)
	}
	return e, nil
}

// withoutContext removes what hooks added at the beginning: without a terminal, Gemini CLI puts it
// before the first prompt.
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

// maxContext is in characters: Claude Code and Codex cut longer answers.
const maxContext = 9_800

// Reply adds a text to the agent's conversation, and shows another one to the person; nil without
// both, or if the agent would misread it.
func (e Event) Reply(text, shown string) []byte {
	if !e.Shows() {
		shown = ""
	}
	if text+shown == "" || e.Kind != Prompt && e.Kind != SessionStart && e.Kind != Tool {
		return nil
	}
	agent, _ := agents.Named(e.Agent)
	if agent.EscapesAngles {
		text = withoutAngles(text)
	}
	reply := map[string]any{}
	switch agent.Reply {
	case agents.ReplyText:
		return []byte(text + "\n")
	case agents.ReplyFlat:
		reply["additional_context"] = text
		if e.Kind == Prompt {
			reply["continue"] = true
		}
		return line(reply)
	}
	// Codex refuses other keys. It and Claude Code need the event's name.
	if text != "" {
		reply["hookSpecificOutput"] = map[string]any{"hookEventName": e.Name, "additionalContext": text}
	}
	if shown != "" {
		reply["systemMessage"] = shown
	}
	return line(reply)
}

// withoutAngles returns a text whose frames and the marks of quoted lines in them need no angle
// brackets. A line of memory keeps its mark, so that none can end the frame.
func withoutAngles(text string) string {
	lines, framed := strings.Split(text, "\n"), false
	for i, l := range lines {
		switch {
		case l == "<memory>":
			lines[i], framed = "[memory]", true
		case l == "</memory>":
			lines[i], framed = "[/memory]", false
		case framed && (l == ">" || strings.HasPrefix(l, "> ")):
			lines[i] = "|" + l[1:]
		}
	}
	return strings.Join(lines, "\n")
}

// Shows reports whether a reply can show a text to the person: agents do at the start of a session,
// if at all.
func (e Event) Shows() bool {
	agent, _ := agents.Named(e.Agent)
	return e.Kind == SessionStart && agent.Reply == agents.ReplyOutput
}

func line(reply map[string]any) []byte {
	data, err := json.Marshal(reply)
	if err != nil {
		return nil // strings always encode
	}
	return append(data, '\n')
}

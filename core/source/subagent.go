package source

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/internal/text/lazy"
)

// A report is what a subagent found. It stands in the log of the session that asked, as the result
// of a call, in a notification, or in a message; and at the end of a log of the subagent's own.
//
// Of a subagent's own log only the report counts, and only if the log of the session that asked is
// gone: it has the report already, and most logs of a project are subagents'. What they say on the
// way tells their next step, to nobody; what came of it is the report.
type report struct {
	name  string // of the subagent; "" if it has none
	asked string // its task; may be empty
	text  string
}

// agentTools return the report of a subagent: Agent, Task and TaskOutput of Claude Code,
// invoke_agent of Gemini CLI, and what others call theirs. stateTools of Codex return states of
// subagents, which may hold a report.
var (
	agentTools = []string{"Agent", "Task", "TaskOutput", "AgentOutput", "AgentOutputTool", "invoke_agent", "subagent", "task"}
	stateTools = []string{"wait_agent", "wait", "close_agent", "resume_agent"}
)

// agentAsked keeps of a subagent's call what its report is shown with.
func agentAsked(input string) string {
	var args struct {
		Type        string `json:"subagent_type"`
		AgentType   string `json:"agent_type"`
		AgentName   string `json:"agent_name"`
		Agent       string `json:"agent"`
		Description string `json:"description"`
		Prompt      string `json:"prompt"`
		Message     string `json:"message"`
	}
	_ = json.Unmarshal([]byte(input), &args) // other types are no names
	kept, _ := json.Marshal(map[string]string{
		"name":  agentName(cmp.Or(args.Type, args.AgentType, args.AgentName, args.Agent)),
		"asked": excerpt.Of(strings.Join(strings.Fields(cmp.Or(args.Description, args.Prompt, args.Message)), " "), maxAbout),
	})
	return string(kept)
}

var (
	properName = lazy.Regexp(`^[A-Za-z][A-Za-z0-9_.:-]{0,39}$`)
	onlyID     = lazy.Regexp(`^[0-9a-f-]{7,}$`)
)

// agentName returns the name of a subagent, which a model chose, or "" for what is none.
func agentName(name string) string {
	name = strings.TrimSpace(name)
	name = name[strings.LastIndexByte(name, '/')+1:]
	if !properName().MatchString(name) || onlyID().MatchString(name) || name == "root" {
		return ""
	}
	return name
}

// subagentSpeaker is the speaker of a report.
func subagentSpeaker(name string) string { return strings.TrimSpace("subagent " + name) }

// reportsOf returns what the subagents of a call found. about is agentAsked's.
func reportsOf(name, about, output string) []report {
	var call struct{ Name, Asked string }
	switch {
	case strings.HasPrefix(output, geminiReport):
		return geminiReports(output)
	case slices.Contains(stateTools, name):
		return completed(output)
	case !slices.Contains(agentTools, name):
		return nil
	}
	_ = json.Unmarshal([]byte(about), &call)
	if kind, ok := tagged(output, "task_type"); ok { // of TaskOutput
		if text, found := tagged(output, "output"); found && strings.Contains(kind, "agent") {
			return withText(report{asked: call.Asked}, text)
		}
		return nil
	}
	if text, ok := tagged(output, "task_result"); ok {
		output = text
	}
	return withText(report{name: call.Name, asked: call.Asked}, output)
}

var (
	// launched matches results that tell only that a subagent began, or where its report is.
	launched = lazy.Regexp(`(?i)^\W*(?:async agent launched|remote agent launched|spawned|agent (?:launched|spawned|started|resumed)|message (?:sent|queued)|this agent's report was delivered|(?:\()?subagent completed but returned no output|no response requested)`)
	// handedBack matches the frame that Claude Code puts before a report.
	handedBack = lazy.Regexp(`(?s)^\[Subagent hand-back\].*?The report follows:\n`)
	// addressed matches what Claude Code appends to a report.
	addressed = lazy.Regexp(`(?s)\s*(?:\n|^)agentId: \S+[^\n]*(?:\s*<usage>.*?</usage>)?\s*$|\s*<usage>.*?</usage>\s*$`)
)

// withText returns a report with its text, or none if there is nothing in it.
func withText(r report, text string) []report {
	text = strings.TrimSpace(text)
	if frame := handedBack().FindString(text); frame != "" {
		lines := strings.Split(text[len(frame):], "\n")
		for i, line := range lines {
			lines[i] = strings.TrimPrefix(line, "  ")
		}
		text = strings.Join(lines, "\n")
	}
	text = strings.TrimSpace(addressed().ReplaceAllString(text, ""))
	if text == "" || launched().MatchString(text) {
		return nil
	}
	r.text = text
	return []report{r}
}

// completed returns the final messages that Codex's tools and notifications hold: {"status": {id:
// {"completed": text}}}, {"agent_path": name, "status": {"completed": text}}, {"previous_status":
// …}.
func completed(output string) (all []report) {
	var top map[string]json.RawMessage
	if first(json.RawMessage(output)) != '{' || json.Unmarshal([]byte(output), &top) != nil {
		return nil
	}
	name := agentName(cmp.Or(jsonText(top["agent_path"]), jsonText(top["nickname"])))
	for _, key := range []string{"status", "previous_status"} {
		var status map[string]json.RawMessage
		if json.Unmarshal(top[key], &status) != nil {
			continue
		}
		if first(status["completed"]) == '"' {
			all = append(all, withText(report{name: name}, unquote(status["completed"]))...)
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(status)) {
			var one struct {
				Completed *string `json:"completed"`
			}
			if json.Unmarshal(status[id], &one) == nil && one.Completed != nil {
				all = append(all, withText(report{name: agentName(id)}, *one.Completed)...)
			}
		}
	}
	return all
}

// geminiReport begins the result of a subagent of Gemini CLI.
const geminiReport = "Subagent '"

// geminiReports reads "Subagent 'name' finished.\nTermination Reason: GOAL\nResult:\n…". A result
// is text, or JSON as the subagent's schema wants it.
func geminiReports(output string) []report {
	head, result, ok := strings.Cut(output, "\nResult:\n")
	if !ok || strings.Contains(head, "Termination Reason: ERROR") {
		return nil
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(head, geminiReport), "'")
	result = strings.TrimSpace(result)
	if json.Valid([]byte(result)) && first(json.RawMessage(result)) == '{' {
		result = strings.Join(textsIn(json.RawMessage(result), nil), "\n\n")
	}
	return withText(report{name: agentName(name)}, result)
}

// textsIn adds the texts of a JSON value, by the order of keys.
func textsIn(raw json.RawMessage, texts []string) []string {
	var object map[string]json.RawMessage
	var array []json.RawMessage
	switch {
	case first(raw) == '"':
		if text := strings.TrimSpace(unquote(raw)); text != "" {
			texts = append(texts, text)
		}
	case json.Unmarshal(raw, &object) == nil:
		for _, key := range slices.Sorted(maps.Keys(object)) {
			texts = textsIn(object[key], texts)
		}
	case json.Unmarshal(raw, &array) == nil:
		for _, one := range array {
			texts = textsIn(one, texts)
		}
	}
	return texts
}

var (
	agentMessage = lazy.Regexp(`(?s)<(?:agent|teammate)-message\b([^>\n]*)>\s*(.*?)\s*</(?:agent|teammate)-message>`)
	senderOf     = lazy.Regexp(`\b(?:from|teammate_id|name)="([^"]*)"`)
	agentSummary = lazy.Regexp(`Agent "([^"\n]+)"`)
)

// reportsIn returns the reports in a text that a program wrote in the user's place: a notification
// of a background task, messages of subagents and teammates.
func reportsIn(text string) (all []report) {
	text = strings.TrimSpace(text)
	switch {
	case strings.Contains(text, "<task-notification"):
		_, rest, ok := strings.Cut(text, "<result>")
		end := strings.LastIndex(rest, "</result>")
		if !ok || end < 0 {
			return nil
		}
		r := report{}
		if found := agentSummary().FindStringSubmatch(text); found != nil {
			r.asked = excerpt.Of(found[1], maxAbout)
		}
		return withText(r, rest[:end])
	case strings.HasPrefix(strings.ToLower(text), "<subagent_notification>"):
		_, rest, _ := strings.Cut(text, ">")
		end := strings.LastIndex(rest, "</")
		if end < 0 {
			return nil
		}
		return completed(strings.TrimSpace(rest[:end]))
	case strings.HasPrefix(text, "[Subagent hand-back]"):
		return withText(report{}, text)
	}
	for _, m := range agentMessage().FindAllStringSubmatch(text, -1) {
		r := report{}
		if found := senderOf().FindStringSubmatch(m[1]); found != nil {
			r.name = agentName(found[1])
		}
		if first(json.RawMessage(m[2])) != '{' { // a teammate's state
			all = append(all, withText(r, m[2])...)
		}
	}
	return all
}

// toldBefore reports whether a report was told before in the log, and notes it: a notification
// repeats what waiting for the subagent returned.
func (p *progress) toldBefore(r report) bool {
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(r.text), " ")))
	key := hex.EncodeToString(sum[:6])
	if slices.Contains(p.told, key) {
		return true
	}
	p.told = append(slices.Clone(p.told[max(0, len(p.told)-maxTold+1):]), key) // marks keep the old one
	return false
}

// maxTold is how many reports are remembered.
const maxTold = 32

// A subagent is the one whose log a conversation is.
type subagent struct {
	parent string // session that asked
	name   string // may be ""
}

// task notes what a subagent was asked, by the first message of its log.
func (c *conversation) task(text string) {
	if text = strings.Join(strings.Fields(text), " "); c.subtask == "" {
		c.subtask = excerpt.Of(text, maxAbout)
	}
}

// conclude makes a text the only turn of a subagent's log: what it said last is its report.
func (c *conversation) conclude(r record, at time.Time, name, text string) {
	found := withText(report{}, text)
	if len(found) == 0 {
		return
	}
	c.turns, c.marks = nil, [2]mark{}
	c.append(r, chunker.Turn{Role: "subagent", Speaker: subagentSpeaker(name), Time: at, Text: found[0].text, Asked: c.subtask})
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

package source

import (
	"encoding/json"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/internal/text/lazy"
)

// Agents record what a user says in a dialog as the result of a call. These are the dialogs, by the
// names of their tools:
//
//   - questions: AskUserQuestion of Claude Code, request_user_input of Codex, ask_user of Gemini CLI,
//     ask_followup_question of Cline, question of opencode;
//   - plans: ExitPlanMode of Claude Code, exit_plan_mode of Gemini CLI;
//   - every call that a user rejects with a reason.
//
// The answers follow (2026-11) github.com/anthropics/claude-code as its logs show it,
// github.com/openai/codex (codex-rs/protocol/src/request_user_input.rs) and
// github.com/google-gemini/gemini-cli (packages/core/src/tools/ask-user.ts, exit-plan-mode.ts).
// Only these tools' results are the user's: the output of any other may look like them.
var (
	questionTools = []string{"AskUserQuestion", "AskUser", "ask_user", "ask_user_question", "request_user_input", "ask_followup_question", "question"}
	planTools     = []string{"ExitPlanMode", "exit_plan_mode"}
)

// A reply is what a user said in a dialog.
type reply struct {
	dialog      chunker.Dialog
	asked, text string
	file        string // of a plan whose text stands in an earlier call
}

// A heard is what the result of a call says beside the tool's output.
type heard struct {
	refused bool // a person did not allow the call
	replies []reply
	reports []report
}

const (
	maxAbout = 160      // bytes of a call's input that a rejection quotes
	maxAsked = 32 << 10 // bytes of a dialog's input
	// maxBriefed is how long, in bytes, the input of another call may be.
	maxBriefed = 16 << 10
	maxReply   = 64 << 10 // bytes of an output that is searched for replies
)

// aboutCall returns what the result of a call needs to know of its input.
func aboutCall(name, input string) string {
	switch {
	case slices.Contains(questionTools, name), slices.Contains(planTools, name):
		if len(input) <= maxAsked {
			return input
		}
		return ""
	case slices.Contains(agentTools, name):
		return agentAsked(input)
	}
	return inBrief(input)
}

// inBrief returns the argument of a call that says what it does, on one line.
func inBrief(input string) string {
	if len(input) > maxBriefed {
		return "" // it holds a file, and is not worth the time
	}
	var args map[string]json.RawMessage
	if json.Unmarshal([]byte(input), &args) != nil {
		args = map[string]json.RawMessage{"command": json.RawMessage(strconv.Quote(input))}
	}
	for _, key := range []string{"command", "cmd", "file_path", "path", "notebook_path", "absolute_path", "url", "query", "pattern", "description", "prompt"} {
		var text string
		var words []string
		if json.Unmarshal(args[key], &words) == nil {
			text = strings.Join(words, " ")
		} else {
			text = jsonText(args[key])
		}
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			return excerpt.Of(text, maxAbout)
		}
	}
	return ""
}

// hear returns what a result says of the user and of subagents. about is aboutCall's.
func hear(name, about string, got result) (h heard) {
	output := got.output[:min(len(got.output), maxReply)]
	isPlan, isQuestion := slices.Contains(planTools, name), slices.Contains(questionTools, name)
	switch {
	case output == "":
	case refused().MatchString(output):
		h.refused = true
		h.replies = rejection(name, about, output, got)
	case isQuestion && !got.failed:
		h.replies = answersTo(about, output)
	case isPlan && !got.failed && approved().MatchString(output):
		h.replies = approval(about, output)
	case !got.failed:
		h.reports = reportsOf(name, about, got.output)
	}
	return h
}

var (
	// refused matches what agents write for a call that a person did not allow.
	refused = lazy.Regexp(`(?i)^\W*(?:text\s+)?(?:` + strings.Join([]string{
		`the user doesn't want to (?:proceed with this tool use|take this action)`,
		`the user denied|user (?:denied|rejected|cancelled|declined)`,
		`(?:exec )?(?:command|patch|tool call|edit) (?:was )?(?:rejected|denied|declined) by (?:the )?user`,
		`rejected by (?:the )?user|plan rejected|the agent proposed a plan that was rejected`,
		`tool execution (?:was )?(?:denied|cancelled|rejected)`,
		`permission to use \w+ (?:has been|was) denied`,
		`\[?(?:operation cancelled|request interrupted by user)|exit code 137\s+\[request interrupted`,
	}, "|") + `)`)
	reason = lazy.Regexp(`(?is)\b(?:the user said|provided the following (?:reason(?: for the rejection)?|feedback)|user feedback|feedback):[ \t]*\n?(.+)$`)
	// appended follows the user's reason.
	appended = lazy.Regexp(`(?s)\n+(?:Note: The user's next message|The plan is stored at:|Revise the plan\b|` + "```" + `).*$`)
	// clarifying is what Claude Code writes for a user who wants to talk about its questions.
	clarifying = "The user wants to clarify these questions"
)

// rejection returns why the user rejected a call. What a program or a server prints could claim
// one, in any words: it counts of a dialog, or if the log or the agent itself says that the call
// was rejected.
func rejection(name, about, output string, got result) []reply {
	isDialog := slices.Contains(planTools, name) || slices.Contains(questionTools, name)
	switch {
	case isDialog, got.denied == denialMarked:
	case got.denied != denialSaid || !got.failed || strings.HasPrefix(name, "mcp__"):
		return nil
	}
	found := reason().FindStringSubmatch(output)
	if found == nil {
		return nil
	}
	said := strings.Trim(strings.TrimSpace(appended().ReplaceAllString(found[1], "")), `"`)
	switch {
	case strings.HasPrefix(said, clarifying):
		return answersTo(about, said)
	case said == "":
		return nil
	case slices.Contains(planTools, name):
		name, about = "this plan", ""
	case slices.Contains(questionTools, name):
		name, about = "the questions", ""
	}
	asked := userRejected + name
	if about != "" {
		asked += " (" + about + ")"
	}
	return []reply{{dialog: chunker.DialogRejection, asked: asked, text: said}}
}

// approved matches what agents write for a plan that the user approved.
var approved = lazy.Regexp(`(?i)^\W*(?:the )?(?:user has approved|plan (?:was )?approved)`)

var (
	planBelow = lazy.Regexp(`(?m)^## Approved Plan( \(edited by user\))?:\s*\n`)
	planTitle = lazy.Regexp(`(?i)^#+ (?:the )?(?:implementation )?plan:?[ \t]*\n+`) // says nothing
	planEnd   = lazy.Regexp(`\n+(?:You can now use |If this plan can be broken down )[^\n]*\s*$`)
	planFile  = lazy.Regexp(`(?m)\b(?:plan is stored at|plan has been saved to): (\S+)`)
)

// What stands before what the user said in a dialog that is no question.
const (
	approvedPlan = "The user approved this plan:" // as it was proposed
	editedPlan   = "The user edited this plan and approved it:"
	userRejected = "The user rejected "
)

// NamesUser reports whether what a user said in a dialog begins with that.
func NamesUser(said string) bool {
	return slices.ContainsFunc([]string{approvedPlan, editedPlan, userRejected}, func(begin string) bool { return strings.HasPrefix(said, begin) })
}

// approval returns a plan as the user approved it: as the result has it, else as it was proposed.
func approval(about, output string) []reply {
	asked := approvedPlan
	var proposed struct {
		Plan string `json:"plan"`
		File string `json:"plan_path"`
		Name string `json:"plan_filename"`
	}
	_ = json.Unmarshal([]byte(about), &proposed)
	plan := proposed.Plan
	if at := planBelow().FindStringSubmatchIndex(output); at != nil {
		plan = planEnd().ReplaceAllString(output[at[1]:], "")
		if at[2] >= 0 {
			asked = editedPlan
		}
	}
	if plan = strings.TrimSpace(planTitle().ReplaceAllString(strings.TrimSpace(plan), "")); plan != "" {
		return []reply{{dialog: chunker.DialogPlan, asked: asked, text: plan}}
	}
	file := proposed.File + proposed.Name
	if found := planFile().FindStringSubmatch(output); found != nil {
		file = found[1]
	}
	if file == "" {
		return nil
	}
	return []reply{{dialog: chunker.DialogPlan, asked: asked, file: file}}
}

// A question of a dialog, as one of the agents writes it.
type question struct {
	ID       string `json:"id"`
	Header   string `json:"header"`
	Question string `json:"question"`
	Title    string `json:"title"`
	IsSecret bool   `json:"isSecret"`
	Options  []any  `json:"options"`
}

func (q question) text() string {
	for _, text := range []string{q.Question, q.Title, q.Header} {
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			return text
		}
	}
	return ""
}

// isOption reports whether an answer consists of the agent's own options.
func (q question) isOption(answer string) bool {
	var labels []string
	for _, o := range q.Options {
		switch o := o.(type) {
		case string:
			labels = append(labels, o)
		case map[string]any:
			if label, ok := o["label"].(string); ok {
				labels = append(labels, label)
			}
		}
	}
	return joins(labels, answer)
}

// joins reports whether a text is labels with ", " between them. A label may hold that, too.
func joins(labels []string, text string) bool {
	const between = ", "
	reached := map[int]bool{0: true} // where a label may begin
	for at := range len(text) {
		if !reached[at] {
			continue
		}
		for _, label := range labels {
			rest, is := strings.CutPrefix(text[at:], label)
			if is && label != "" && rest == "" {
				return true
			}
			if is && label != "" && strings.HasPrefix(rest, between) {
				reached[at+len(label)+len(between)] = true
			}
		}
	}
	return false
}

// unanswered are what agents write for a question that the user left out.
var unanswered = []string{"", "(no option selected)", "(no answer provided)", "unanswered", "(no answer)", "none of the above"}

// reply returns nil for what is no answer, and for secrets.
func (q question) reply(answer, note string) []reply {
	answer, note = strings.TrimSpace(answer), strings.TrimSpace(note)
	if slices.Contains(unanswered, strings.ToLower(answer)) {
		answer = ""
	}
	kind := chunker.DialogAnswer
	switch {
	case q.IsSecret || answer == "" && note == "":
		return nil
	case note == "" && q.isOption(answer):
		kind = chunker.DialogChoice
	case note != "" && answer != "":
		answer += ": " + note
	case note != "":
		answer = note
	}
	return []reply{{dialog: kind, asked: q.text(), text: answer}}
}

// answersTo returns the answers to the questions of a call.
func answersTo(about, output string) (all []reply) {
	var call struct {
		question
		Questions []question `json:"questions"`
	}
	_ = json.Unmarshal([]byte(about), &call)
	asked := call.Questions
	if len(asked) == 0 && call.text() != "" {
		asked = []question{call.question}
	}
	if answers, ok := answersInJSON(output); ok {
		return pairedAnswers(asked, answers)
	}
	if all = quotedAnswers(asked, output); len(all) > 0 {
		return all
	}
	for _, form := range []func() *lazy.Expression{exportedAnswer, listedAnswer} {
		for _, m := range form().FindAllStringSubmatch(output, maxAnswers) {
			all = append(all, questionNamed(asked, m[1]).reply(m[2], "")...)
		}
		if len(all) > 0 {
			return all
		}
	}
	if answer, ok := tagged(output, "answer"); ok && len(asked) == 1 {
		return asked[0].reply(answer, "")
	}
	return nil
}

const maxAnswers = 16

var (
	exportedAnswer = lazy.Regexp(`(?s)^\*\*([^\n]{3,300}?)\*\*[^\n]*\n.*\n\*\*Answer:\*\* ([^\n]{1,600})`) // as an exporter writes it
	listedAnswer   = lazy.Regexp(`(?m)^- "([^"\n]{3,300})"\n\s+Answer: ([^\n]{1,600})`)                    // of a dialog that was left
)

// questionNamed returns the question with a text, or one that has only that.
func questionNamed(asked []question, text string) question {
	for _, q := range asked {
		if q.Question == text || q.text() == strings.Join(strings.Fields(text), " ") {
			return q
		}
	}
	return question{Question: text, Options: []any{}}
}

// An answer is what was said to one question.
type answer struct {
	texts []string
	byID  bool // as Codex names it: without its question it may be a secret
}

// answersInJSON reads an object with answers by a question's ID, text or number. An answer is a
// text, some, or an object with some; "user_note: " begins the user's own words.
func answersInJSON(output string) (answers map[string]answer, ok bool) {
	var found struct {
		Answers map[string]json.RawMessage `json:"answers"`
	}
	if first(json.RawMessage(output)) != '{' || json.Unmarshal([]byte(output), &found) != nil || found.Answers == nil {
		return nil, false
	}
	answers = map[string]answer{}
	for key, raw := range found.Answers {
		var inner struct {
			Answers []string `json:"answers"`
		}
		var one answer
		switch {
		case first(raw) == '"':
			one.texts = []string{unquote(raw)}
		case json.Unmarshal(raw, &one.texts) == nil:
		case json.Unmarshal(raw, &inner) == nil:
			one = answer{texts: inner.Answers, byID: true}
		}
		answers[key] = one
	}
	return answers, true
}

func pairedAnswers(asked []question, answers map[string]answer) (all []reply) {
	add := func(q question, texts []string) {
		var chosen, notes []string
		for _, text := range texts {
			if note, is := strings.CutPrefix(text, "user_note: "); is {
				notes = append(notes, note)
			} else if !slices.Contains(unanswered, strings.ToLower(text)) {
				chosen = append(chosen, text)
			}
		}
		all = append(all, q.reply(strings.Join(chosen, ", "), strings.Join(notes, " "))...)
	}
	left := maps.Clone(answers)
	for i, q := range asked {
		for _, key := range []string{q.ID, q.Question, q.Header, q.Title, strconv.Itoa(i)} {
			if said, ok := left[key]; ok && key != "" {
				delete(left, key)
				add(q, said.texts)
				break
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(left)) {
		if said := left[key]; !said.byID {
			add(question{Question: key}, said.texts)
		}
	}
	return all
}

var (
	quotedPair = lazy.Regexp(`"((?:[^"\\]|\\.){3,300})"="((?:[^"\\]|\\.){1,600})"`)
	answerEnd  = lazy.Regexp(`(?:"\.? You can now continue|"\.?\s*$)`)
	noted      = lazy.Regexp(`(?s)^(.*?)"(?: selected preview:\n.*?)?(?: user notes: (.*))?$`)
)

// quotedAnswers reads `"question"="answer", "question"="answer"`. Quotes inside are not escaped, so
// that the questions that were asked show where an answer ends.
func quotedAnswers(asked []question, output string) (all []reply) {
	type place struct{ from, to, question int }
	var found []place
	for i, q := range asked {
		mark := `"` + q.Question + `"="`
		if at := strings.Index(output, mark); at >= 0 && q.Question != "" {
			found = append(found, place{at, at + len(mark), i})
		}
	}
	slices.SortFunc(found, func(a, b place) int { return a.from - b.from })
	for i, p := range found {
		rest := output[p.to:]
		if i+1 < len(found) {
			rest = strings.TrimRight(output[p.to:max(p.to, found[i+1].from)], ", ")
			rest = strings.TrimSuffix(rest, `"`)
		} else if end := answerEnd().FindStringIndex(rest); end != nil {
			rest = rest[:end[0]]
		}
		answer, note := rest, ""
		if m := noted().FindStringSubmatch(rest); m != nil && (m[2] != "" || strings.Contains(rest, `" selected preview:`)) {
			answer, note = m[1], m[2]
		}
		all = append(all, asked[p.question].reply(answer, note)...)
	}
	if len(found) > 0 {
		return all
	}
	for _, m := range quotedPair().FindAllStringSubmatch(output, maxAnswers) {
		unescaped := strings.NewReplacer(`\"`, `"`)
		all = append(all, questionNamed(asked, unescaped.Replace(m[1])).reply(unescaped.Replace(m[2]), "")...)
	}
	return all
}

// A plan is what an agent wrote into a file and has not shown the user yet.
type plan struct{ file, text string } // the file's name without folders

// maxPlan is in bytes.
const maxPlan = 16 << 10

// planOf returns the plan that a call writes, else the one before.
func planOf(call call, before plan) plan {
	var wrote struct {
		File    string `json:"file_path"`
		Content string `json:"content"`
	}
	if !strings.Contains(call.input, "plans") || json.Unmarshal([]byte(call.input), &wrote) != nil || wrote.Content == "" || path.Base(path.Dir(filepath.ToSlash(wrote.File))) != "plans" || len(wrote.Content) > maxPlan {
		return before
	}
	return plan{path.Base(filepath.ToSlash(wrote.File)), wrote.Content}
}

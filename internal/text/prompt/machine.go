package prompt

import "strings"

// ByMachine reports whether a program wrote a prompt in its user's place: a notification, a hook's
// feedback, a scheduled task, a message of another agent or session, output of the agent's own
// commands, a summary of what was said before. It goes by how the prompt begins, since a person who
// quotes such a text mostly writes something before it. A log often also says who wrote.
//
// What an agent puts around a prompt, such as a reminder, is no prompt: what follows it decides.
func ByMachine(text string) bool {
	text = strings.TrimSpace(text)
	for i := 0; i < len(around); i++ {
		if !strings.HasPrefix(text, "<"+around[i]) {
			continue
		}
		_, rest, closed := strings.Cut(text, "</"+around[i]+">")
		if !closed {
			return false // a text that was cut
		}
		if text = strings.TrimSpace(rest); text == "" {
			return true
		}
		i = -1
	}
	head := text[:min(len(text), maxShape)]
	return written.MatchString(head) || isBanner(head) || isTag(text)
}

// around are the tags of what agents put around a prompt.
var around = []string{"system-reminder", "environment_context", "additional_context", "session_context", "hook_context", "user-prompt-submit-hook"}

// maxShape is how many bytes at the beginning of a prompt show who wrote it.
const maxShape = 400

// What programs write begins with a banner in brackets, a tag, or a sentence. These are those of
// Claude Code, Codex and Gemini CLI (2026-11), and others of their kind. People begin with such
// words, too: "[automated tests] …" names an area of the product, "[system message](log.md) …" is a
// link, and "<task-status> …" a component.
var (
	written = lazily(`(?i)^(?:` + strings.Join([]string{
		`# agents\.md instructions(?: for [^\n]+)?\s*(?:\n|$)`,
		`another (?:claude|codex|gemini|agent)(?: code| cli)? session sent a message:`,
		`(?:[\w:.*|-]+ )?hook (?:(?:feedback|additional context)|blocking error(?: from command)?):`,
		`a session-scoped \w+ hook is now active`,
		`caveat: the messages below were generated`,
		`this session is being continued from a previous conversation that ran out of`,
		`\[image: source:[^\n]*\]\s*$`,
		`automation: [^\n]+\n+automation id:`,
	}, "|") + `)`)
	banner = lazily(`^\[([^\]\n]{1,160})\](?:[ \t\r]*(\n|$)|[^(])`)
	// fromMachine matches what a banner says whatever follows, inCapitals if it is written so, and
	// both this and aloneOnLine if nothing follows on its line.
	fromMachine = lazily(`(?i)^(?:` + strings.Join([]string{
		`.*\bnot (?:a )?(?:(?:message |input )?from (?:the |a )?user|user(?:[ -](?:input|message|prompt))?)\s*(?:$|[^\w\s-])`,
		`(?:automated|scheduled|scheduler)[ -](?:\w+ )?` + reported,
		`(?:cron|heartbeat|scheduler)\s*[:#]`,
		`(?:system|automatic|cross-session|sub-?agent)[ -](?:\w+[ -]){0,2}?` + reported,
		`(?:background|monitor|task|hook|agent)[ -](?:\w+[ -]){0,2}?(?:notification|feedback|reminder|hand-?back)` + phraseEnd,
	}, "|") + `)`)
	inCapitals  = lazily(`(?i)^(?:background|monitor|task|hook|agent|cron|heartbeat)[ -](?:\w+[ -]){0,2}?` + reported)
	aloneOnLine = lazily(`(?i)^(?:automated|automatic|scheduled|scheduler|cron|heartbeat)` + phraseEnd)
	tag         = lazily(`(?i)^<(` + strings.Join([]string{
		`(?:task|system|sub-?agent|agent|teammate|cross-session|peer|coordinator|background|monitor|scheduled|cron|hook|(?:github[-_])?webhook|channel|remote|automation|user-prompt-submit|local-command|bash|pre-tool|post-tool|session)` +
			`[-_](?:notifications?|messages?|reminder|event|task|feedback|activity|update|status|wakeup|hook|stdout|stderr|caveat|aborted|prompt|context)\b[\w-]*`,
		`(?:environment|goal|additional|internal_model|codex_internal)_context|(?:user|apps|plugins|skills)_instructions|permissions(?: instructions)|(?:collaboration|multi_agent)_mode|model_switch|personality_spec` +
			`|(?:token|rollout)_budget|context_window|realtime_conversation|recommended_plugins|turn_aborted|user_action|heartbeat|channel(?: source=)`,
	}, "|") + `)[^>\n]*>[ \t\r]*(.?)`)
)

const (
	// reported is what programs tell in a banner.
	reported = `(?:notification|message|event|reminder|update|feedback|task|job|run|prompt|trigger|wake-?up|check|hand-?back|notice)` + phraseEnd
	// phraseEnd is where a phrase ends: words that go on make another noun of it.
	phraseEnd = `\s*(?:$|[:,;.|(#"]|[-–—]\s|\b(?:of|for|from|by)\b)`
)

// isBanner reports whether a text begins with a program's banner.
func isBanner(text string) bool {
	found := banner().FindStringSubmatchIndex(text)
	if found == nil {
		return false
	}
	says, alone := text[found[2]:found[3]], found[4] >= 0
	return fromMachine.MatchString(says) || (alone || says == strings.ToUpper(says)) && inCapitals.MatchString(says) || alone && aloneOnLine.MatchString(says)
}

// isTag reports whether a text begins with a program's tag, that is, with an element: what opens it
// stands on its line, or is closed. A person who writes about a tag goes on after it.
func isTag(text string) bool {
	found := tag().FindStringSubmatch(text[:min(len(text), maxShape)])
	if found == nil {
		return false
	}
	name, _, _ := strings.Cut(found[1], " ")
	return found[2] == "" || found[2] == "<" || strings.Contains(text, "</"+name)
}

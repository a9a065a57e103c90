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
	return written.MatchString(text[:min(len(text), maxShape)])
}

// around are the tags of what agents put around a prompt.
var around = []string{"system-reminder", "environment_context", "additional_context", "session_context", "hook_context", "user-prompt-submit-hook"}

// maxShape is how many bytes at the beginning of a prompt show who wrote it.
const maxShape = 400

// written matches the beginning of what programs write: a banner in brackets, a tag, or a sentence.
// They are those of Claude Code, Codex and Gemini CLI (2026-11), and others of their kind.
var written = lazily(`(?i)^(?:` + strings.Join([]string{
	`\[(?:automated|scheduled|scheduler|cron|heartbeat)\b[^\]\n]{0,120}\]`,
	`\[(?:system|automatic|background|monitor|task|hook|agent|subagent|cross-session)\b[^\]\n]{0,60}\b(?:notification|not user input|message|event|reminder|update|feedback|job|run|hand-?back|notice)\b[^\]\n]{0,80}\]`,
	`\[[^\]\n]{0,80}\bnot (?:a )?(?:message from the )?user(?: input| message)?\b[^\]\n]{0,40}\]`,
	`<(?:task|system|sub-?agent|agent|teammate|cross-session|peer|coordinator|background|monitor|scheduled|cron|hook|(?:github[-_])?webhook|channel|remote|automation|user-prompt-submit|local-command|bash|pre-tool|post-tool|session)` +
		`[-_](?:notifications?|messages?|reminder|event|task|feedback|activity|update|status|wakeup|hook|stdout|stderr|caveat|aborted|prompt|context)\b`,
	`<(?:(?:environment|goal|additional|internal_model|codex_internal)_context|(?:user|apps|plugins|skills)_instructions|permissions instructions|(?:collaboration|multi_agent)_mode|model_switch|personality_spec` +
		`|(?:token|rollout)_budget|context_window|realtime_conversation|recommended_plugins|turn_aborted|user_action|heartbeat|channel source=)`,
	`# agents\.md instructions\b`,
	`another (?:claude|codex|gemini|agent)(?: code| cli)? session sent a message:`,
	`(?:\w+ )?hook (?:feedback|blocking error|additional context)\b[^\n]{0,80}:`,
	`a session-scoped \w+ hook is now active`,
	`caveat: the messages below were generated`,
	`this session is being continued from a previous conversation`,
	`\[image: source:`,
	`automation: [^\n]+\n+automation id:`,
}, "|") + `)`)

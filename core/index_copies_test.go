package core

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/source"
)

// A copy is needless if a log named after its session is there, and can be read. If it is indexed
// already, it stays until the log is.
func TestNeedless(t *testing.T) {
	const id, short = "5c7d5c23-0691-4467-b98e-0fb865b4a639", "5c7d5c23"
	for name, tt := range map[string]struct {
		path  string
		known entry // without a session it is not known
		unread,
		want bool
	}{
		"Claude Code":              {path: "~/.claude/projects/-p/" + id + ".jsonl", want: true},
		"Codex":                    {path: "~/.codex/sessions/2026/05/01/rollout-2026-05-01T09-00-00-" + id + ".jsonl.zst", want: true},
		"Cursor":                   {path: "~/.config/Cursor/User/globalStorage/state.vscdb/" + id, want: true},
		"Gemini CLI, not read yet": {path: "~/.gemini/tmp/h/chats/session-2026-05-01T09-00-" + short + ".json"},
		"Gemini CLI":               {path: "~/.gemini/tmp/h/chats/session-2026-05-01T09-00-" + short + ".json", known: entry{Session: id, Chunks: 1}, want: true},
		"another session":          {path: "~/.claude/projects/-p/6c7d5c23-0691-4467-b98e-0fb865b4a639.jsonl"},
		"only a subagent's log":    {path: "~/.claude/projects/-p/" + id + "/subagents/agent-a1.jsonl", known: entry{Session: id, Chunks: 1}},
		"a log of no turns":        {path: "~/.claude/projects/-p/" + id + ".jsonl", known: entry{Session: id}},
		"a log that fails":         {path: "~/.claude/projects/-p/" + id + ".jsonl", unread: true},
		"a name without a session": {path: "logs/chat.jsonl", known: entry{Session: "chat", Chunks: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &manifest{Documents: map[string]entry{}, Unread: map[string]unread{}}
			if tt.known.Session != "" {
				m.Documents[tt.path] = tt.known
			}
			if tt.unread {
				m.Unread[tt.path] = unread{}
			}
			copied := source.Document{Path: ".specstory/history/a.md", Kind: source.KindConversation, CopyOf: id}
			log := source.Document{Path: tt.path, Kind: source.KindConversation}
			all := []listedSource{{documents: []source.Document{copied}}, {documents: []source.Document{log}}}
			require.Equal(t, tt.want, needless(all, m, nil)[copied.Path])

			m.Documents[copied.Path] = entry{Kind: source.KindConversation, Chunks: 1}
			isRead := tt.want && tt.known.Chunks > 0
			require.Equal(t, isRead, needless(all, m, nil)[copied.Path], "the copy is indexed")

			// A source that cannot be listed now still has its logs.
			read := entry{Kind: source.KindConversation, Source: "logs", Session: tt.known.Session, Chunks: 1}
			if m.Documents[tt.path] = read; !tt.unread && name != "a log of no turns" {
				require.Equal(t, tt.want, needless(all[:1], m, map[string]bool{"logs": true})[copied.Path])
			}
			require.False(t, needless(all[:1], m, nil)[copied.Path])
		})
	}
}

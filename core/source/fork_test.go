package source

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What a fork copied counts in the log that it copied, or, if that is gone, in the fork.
func TestFork(t *testing.T) {
	for format, tt := range map[string]struct{ parent, log string }{
		"claude-code": {"p.jsonl", `{"type":"user","sessionId":"c","uuid":"1","forkedFrom":{"sessionId":"p","messageUuid":"1"},"message":{"role":"user","content":"copied"}}
{"type":"user","sessionId":"c","uuid":"2","message":{"role":"user","content":"new"}}
`},
		"codex": {"rollout-2026-09-01-p1.jsonl", `{"timestamp":"2026-09-01T10:00:00Z","ordinal":0,"type":"session_meta","payload":{"id":"c1","forked_from_id":"p1","history_base":{"end_ordinal_exclusive":2},"timestamp":"2026-09-01T10:00:00Z","source":"cli"}}
{"timestamp":"2026-09-01T10:00:01Z","ordinal":1,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"copied"}]}}
{"timestamp":"2026-09-01T10:00:02Z","ordinal":2,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"new"}]}}
`},
		"pi": {"2026_p1.jsonl", `{"type":"session","id":"c1","version":3,"cwd":"/w","timestamp":"2026-09-01T10:00:00Z","parentSession":"p1"}
{"type":"message","id":"1","timestamp":"2026-09-01T09:00:00Z","message":{"role":"user","content":"copied"}}
{"type":"message","id":"2","timestamp":"2026-09-01T10:00:01Z","message":{"role":"user","content":"new"}}
`},
	} {
		t.Run(format, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "fork.jsonl")
			write(t, path, tt.log)
			require.Equal(t, "copied new", strings.Join(saidIn(readLog(t, path, format, Position{}).Turns), " "))
			write(t, filepath.Join(filepath.Dir(path), tt.parent), "{}\n")
			require.Equal(t, "new", strings.Join(saidIn(readLog(t, path, format, Position{}).Turns), " "))
		})
	}
}

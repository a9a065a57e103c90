package source

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Records of an unknown kind are counted once by the agent's version, however a log is read.
func TestUnknownRecords(t *testing.T) {
	const claude = `{"type":"teleport","sessionId":"s","version":"2.1.9"}
{"type":"user","sessionId":"s","version":"2.1.9","uuid":"1","message":{"role":"user","content":"Where is the ferry?"}}
{"type":"assistant","sessionId":"s","version":"2.1.9","uuid":"2","message":{"id":"m","role":"assistant","content":"At the quay."}}
{"type":"teleport","sessionId":"s","version":"2.2.0"}
{"type":"hologram","sessionId":"s"}
{"type":"user","sessionId":"s","version":"2.2.0","uuid":"3","message":{"role":"user","content":"And the bus?"}}
{"type":"teleport","sessionId":"s","version":"2.2.0"}
{"type":"assistant","sessionId":"s","version":"2.2.0","uuid":"4","message":{"id":"n","role":"assistant","content":"At the station."}}
{"type":"user","sessionId":"s","version":"2.2.0","uuid":"5","promptSource":"moon","message":{"role":"user","content":"Tick."}}
`
	for name, tt := range map[string]struct {
		format, log string
		want        []UnknownRecords
	}{
		"claude": {"claude-code", claude, []UnknownRecords{
			{"2.1.9", `type "teleport"`, 1, 1}, {"2.2.0", `type "teleport"`, 2, 4}, {"2.2.0", `type "hologram"`, 1, 5}, {"2.2.0", `prompt source "moon"`, 1, 9}}},
		"codex": {"codex", `{"type":"session_meta","payload":{"id":"s","cli_version":"0.171.0"}}
{"type":"holograms","payload":{"type":"message","role":"user","content":[]}}
{"type":"response_item","payload":{"type":"beam"}}
{"type":"response_item","payload":{"type":"message","role":"ghost","content":[]}}
`, []UnknownRecords{{"0.171.0", `type "holograms"`, 1, 2}, {"0.171.0", `type "beam"`, 1, 3}, {"0.171.0", `role "ghost"`, 1, 4}}},
		"copilot-cli": {"copilot-cli", `{"type":"session.start","data":{"sessionId":"s","copilotVersion":"1.0.87"}}
{"type":"teleport.begin","data":{}}
`, []UnknownRecords{{"1.0.87", `type "teleport.begin"`, 1, 2}}},
		"qwen": {"qwen-code", `{"type":"teleport","sessionId":"s","version":"0.9.1"}` + "\n", []UnknownRecords{{"0.9.1", `type "teleport"`, 1, 1}}},
		"long": {"qwen-code", `{"type":"` + strings.Repeat("x", 100) + `"}` + "\n", []UnknownRecords{{"", `type "` + strings.Repeat("x", 37) + `…"`, 1, 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log.jsonl")
			write(t, path, tt.log)
			whole := readLog(t, path, tt.format, Position{})
			require.Equal(t, tt.want, whole.Unknown)
			require.Empty(t, whole.Skipped)
			for cut := range strings.Count(tt.log, "\n") {
				write(t, path, strings.Join(strings.SplitAfter(tt.log, "\n")[:cut], ""))
				begun := readLog(t, path, tt.format, Position{})
				write(t, path, tt.log)
				require.Equal(t, tt.want, readLog(t, path, tt.format, begun.Resume).Unknown, "after %d lines", cut)
			}
		})
	}
}

// A log of something else fills nothing.
func TestManyUnknownRecords(t *testing.T) {
	var log strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&log, `{"type":"type %d","sessionId":"s"}`+"\n", i)
	}
	path := filepath.Join(t.TempDir(), "log.jsonl")
	write(t, path, log.String())
	unknown := readLog(t, path, "claude-code", Position{}).Unknown
	require.Len(t, unknown, maxUnknown+1)
	require.Equal(t, UnknownRecords{"", otherKinds, 1000 - maxUnknown, maxUnknown + 1}, unknown[maxUnknown])
}

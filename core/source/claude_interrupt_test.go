package source

import (
	"encoding/json"
	"testing"
)

// Where the user stopped the agent stands a result, and no text of the user.
func TestClaudeInterrupt(t *testing.T) {
	var got message
	claudeUser(&got, parseContent(json.RawMessage(`[{"type":"text","text":"[Request interrupted by user for tool use]"}]`)), false)
	if got.text != "" || len(got.results) != 1 || got.results[0].output != "[Request interrupted by user for tool use]" {
		t.Errorf("an interrupt is %+v", got)
	}
}

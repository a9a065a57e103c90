package hook

import (
	"cmp"
	"encoding/json"
	"fmt"
)

// A Status is for an agent's status line.
type Status struct {
	Session string
	Dir     string // the folder that the agent works in
	Tokens  int    // of the session in the context window; 0 if unknown
}

// ParseStatus reads what Claude Code sends. Errors wrap ErrEvent.
func ParseStatus(data []byte) (Status, error) {
	var sent struct {
		Session   string `json:"session_id"`
		Dir       string `json:"cwd"`
		Workspace struct {
			Current string `json:"current_dir"`
		} `json:"workspace"`
		Window struct {
			Input  float64 `json:"total_input_tokens"`
			Output float64 `json:"total_output_tokens"`
			Usage  *struct {
				Input   float64 `json:"input_tokens"`
				Output  float64 `json:"output_tokens"`
				Written float64 `json:"cache_creation_input_tokens"`
				Read    float64 `json:"cache_read_input_tokens"`
			} `json:"current_usage"`
		} `json:"context_window"`
	}
	if err := json.Unmarshal(data, &sent); err != nil {
		return Status{}, fmt.Errorf("%w: %w", ErrEvent, err)
	}
	tokens := sent.Window.Input + sent.Window.Output
	if u := sent.Window.Usage; u != nil {
		tokens = u.Input + u.Output + u.Written + u.Read
	}
	const most = 1 << 40 // keeps the line short
	return Status{Session: sent.Session, Dir: cmp.Or(sent.Workspace.Current, sent.Dir), Tokens: int(min(max(tokens, 0), most))}, nil
}

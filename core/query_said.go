package core

import (
	"time"

	"github.com/memcore/memcore/core/digest"
)

// A Statement is what the user once said and what governs a prompt.
type Statement struct {
	// Key is for RetrieveOptions.Given.
	Key string `json:"key"`
	// Text is as the user said it, in one line: data, not yet made safe.
	Text string `json:"text"`
	// Source is the citation.
	Source   string      `json:"source"`
	Path     string      `json:"path"`
	Line     int         `json:"line"`
	Kind     digest.Kind `json:"kind"`
	Standing bool        `json:"standing,omitempty"` // it holds for all work, not for one order
	Session  string      `json:"session,omitempty"`
	Score    float64     `json:"score,omitempty"` // how sure it governs the prompt, in [0, 1]; 1 for a moment's standing statements
	Time     time.Time   `json:"time,omitzero"`
}

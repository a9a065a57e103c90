package httpapi

import (
	"time"

	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/inject/hook"
)

// A TurnsRequest asks for prompts and what they got, the latest first.
type TurnsRequest struct {
	Target
	Limit   int    `json:"limit,omitempty" jsonschema:"turns at most; 0 is 100"`
	Turn    string `json:"turn,omitempty" jsonschema:"only the turn with this ID"`
	Agent   string `json:"agent,omitempty" jsonschema:"only turns of this agent"`
	Session string `json:"session,omitempty" jsonschema:"only turns of this session"`
	Find    string `json:"find,omitempty" jsonschema:"words that are all in the prompt, or in what it got"`
	Times
}

// Turns are prompts of agents, the latest first.
type Turns struct {
	Turns []use.Turn `json:"turns"`
	// More counts those over the limit.
	More int `json:"more"`
	// Last is the last prompt of each recent session, with all candidates.
	Last []hook.Trace `json:"last"`
	// Sessions are all that the record has, the latest first.
	Sessions []TurnSession `json:"sessions"`
	// Unkept means that a setting keeps prompts without their text.
	Unkept bool `json:"unkept,omitempty"`
}

// A TurnSession is a session with turns.
type TurnSession struct {
	Agent   string    `json:"agent"`
	Session string    `json:"session"`
	Turns   int       `json:"turns"`
	Last    time.Time `json:"last"`
}

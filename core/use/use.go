// Package use keeps whether agents used what the memory of a workspace gave them.
//
// A Log is a file of one workspace: which hits each prompt was given, and later what became of them.
// A Judge decides that from what the agent said and did. The one rule: it claims no more than the
// words show. What the agent may know from elsewhere (the prompt, the session before, a file it has
// read) is no sign of use, and without an answer nothing is concluded.
package use

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/secret"
)

// A Verdict says whether a hit was used.
type Verdict string

// Verdicts. Unknown is also the verdict of a hit that was not judged.
const (
	Yes     Verdict = "yes"
	No      Verdict = "no"
	Unknown Verdict = "unknown"
)

// A Turn is a prompt and what memory gave for it.
type Turn struct {
	ID      string    `json:"turn"`
	At      time.Time `json:"at"`
	Agent   string    `json:"agent"`
	Session string    `json:"session"`
	// Key is a hash of the prompt, which finds it in the agent's log.
	Key string `json:"key"`
	// Prompt is empty if nothing was given, or if prompts are not to be kept. It has no secrets.
	Prompt string `json:"prompt,omitempty"`
	// Hits are empty if nothing was given.
	Hits []Hit `json:"hits,omitempty"`
}

// A Hit is one thing that was given.
type Hit struct {
	ID     string  `json:"id"`
	Source string  `json:"source,omitempty"` // citation
	Path   string  `json:"path,omitempty"`   // of the document
	Score  float64 `json:"score,omitempty"`
	Tokens int     `json:"tokens,omitempty"`
	Used   Verdict `json:"used,omitempty"`
	// Why says what shows that it was used, or why that is unknown. It has no secrets.
	Why string `json:"why,omitempty"`
}

// Judged reports whether the turn's hits have verdicts.
func (t Turn) Judged() bool {
	return slices.ContainsFunc(t.Hits, func(h Hit) bool { return h.Used != Unknown || h.Why != "" })
}

// AllUsed reports whether nothing that was given was left unused, or is unknown.
func (t Turn) AllUsed() bool {
	return !slices.ContainsFunc(t.Hits, func(h Hit) bool { return h.Used != Yes })
}

// longestPrompt is how much of a prompt is kept, in bytes.
const longestPrompt = 2000

// NewTurn returns the turn of a prompt, its secrets taken out. Only if keep is set the text of the
// prompt is in it.
func NewTurn(at time.Time, agent, session, prompt string, keep bool, hits []Hit) Turn {
	id := make([]byte, 8)
	rand.Read(id) // never fails
	t := Turn{ID: hex.EncodeToString(id), At: at.UTC().Truncate(time.Millisecond), Agent: agent, Session: session, Key: keyOf(prompt), Hits: hits}
	if keep && len(hits) > 0 {
		// Of a pasted file the beginning is enough, and a secret that the end of it cuts is not kept.
		t.Prompt = clean(strings.ToValidUTF8(prompt[:min(len(prompt), 8*longestPrompt)], ""), longestPrompt)
	}
	return t
}

// keyOf is the same for a prompt however its white space is kept.
func keyOf(prompt string) string {
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(prompt), " ")))
	return hex.EncodeToString(sum[:8])
}

// clean is a text without secrets, cut to a number of bytes. Secrets go first: what is left of one
// that is cut would not be known as one.
func clean(text string, most int) string {
	text, _ = secret.Redact(strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD"))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

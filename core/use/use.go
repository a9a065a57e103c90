// Package use records whether agents used what memory gave them.
//
// A Log holds the hits that prompts got. A Judge makes verdicts from the agent's words and actions.
// It does not count knowledge from the prompt, the session before or a file.
package use

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/memcore/memcore/internal/text/secret"
)

// A Verdict says whether a hit was used.
type Verdict string

// A hit that was not judged is Unknown.
const (
	Yes     Verdict = "yes"
	No      Verdict = "no"
	Unknown Verdict = "unknown"
)

// A Turn is a prompt and the hits it got.
type Turn struct {
	ID      string    `json:"turn"`
	At      time.Time `json:"at"`
	Agent   string    `json:"agent"`
	Session string    `json:"session"`
	// Key hashes the prompt, to find it in the log.
	Key string `json:"key"`
	// Prompt is without secrets; empty without hits or consent.
	Prompt string `json:"prompt,omitempty"`
	Hits   []Hit  `json:"hits,omitempty"`
	// Silence is the reason for no hits.
	Silence string `json:"silence,omitempty"`
}

// A Hit is a chunk that a prompt got.
type Hit struct {
	ID     string  `json:"id"`
	Source string  `json:"source,omitempty"` // citation
	Path   string  `json:"path,omitempty"`   // of the document
	Score  float64 `json:"score,omitempty"`
	Tokens int     `json:"tokens,omitempty"`
	Used   Verdict `json:"used,omitempty"`
	// Why says what shows the use, without secrets.
	Why string `json:"why,omitempty"`
}

// A Place is lines of a document, or without a first line all of it.
type Place struct {
	Path        string
	First, Last int
}

// Has reports whether lines of a document are in the place.
func (p Place) Has(path string, first, last int) bool {
	return p.Path != "" && path == p.Path && (p.First == 0 || first <= p.Last && last >= p.First)
}

// cited returns the lines of the hit's citation.
func (h Hit) cited() (first, last int) {
	at := strings.LastIndex(h.Source, "#L")
	if at < 0 {
		return 1, math.MaxInt
	}
	if n, _ := fmt.Sscanf(h.Source[at:], "#L%d-L%d", &first, &last); n < 2 {
		last = first
	}
	return first, last
}

// Judged reports whether the turn's hits have verdicts.
func (t Turn) Judged() bool {
	return slices.ContainsFunc(t.Hits, func(h Hit) bool { return h.Used != Unknown || h.Why != "" })
}

// AllUsed reports whether every hit was used.
func (t Turn) AllUsed() bool {
	return !slices.ContainsFunc(t.Hits, func(h Hit) bool { return h.Used != Yes })
}

// maxPrompt is how many bytes of a prompt are kept.
const maxPrompt = 2000

// NewTurn keeps the prompt without secrets if keep is set.
func NewTurn(at time.Time, agent, session, prompt string, keep bool, hits []Hit) Turn {
	id := make([]byte, 8)
	rand.Read(id) // never fails
	t := Turn{ID: hex.EncodeToString(id), At: at.UTC().Truncate(time.Millisecond), Agent: agent, Session: session, Key: keyOf(prompt), Hits: hits}
	if keep && len(hits) > 0 {
		// Redact more than is kept: a cut secret is not recognised.
		t.Prompt = clean(strings.ToValidUTF8(prompt[:min(len(prompt), 8*maxPrompt)], ""), maxPrompt)
	}
	return t
}

// keyOf hashes a prompt, ignoring white space.
func keyOf(prompt string) string {
	sum := sha256.Sum256([]byte(strings.Join(strings.Fields(prompt), " ")))
	return hex.EncodeToString(sum[:8])
}

// clean removes secrets before it cuts.
func clean(text string, most int) string {
	text, _ = secret.Redact(strings.ToValidUTF8(strings.TrimSpace(text), "\uFFFD"))
	return excerpt.Of(text, most)
}

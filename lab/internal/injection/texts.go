// Package injection fits and measures the detector of internal/text/injection.
//
// It reports by cross-validation how many attacks are caught and how many benign texts are flagged.
// Near duplicates are on one side of each split.
package injection

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

// Kinds of texts.
const (
	Attack = "attack" // has to be flagged
	Note   = "note"   // what memory is full of; must not be flagged
	Hard   = "hard"   // benign, but in the words of attacks; reported apart
	Buried = "buried" // an attack inside a benign document
)

// A Text is a labelled text.
type Text struct {
	Text   string `json:"text"`
	Kind   string `json:"kind"`
	Source string `json:"source"`
	Lang   string `json:"lang,omitempty"`
	// Held keeps the text and its near duplicates out of the fit.
	Held bool `json:"held,omitempty"`
	// Spans are the attacks in a Buried text, in bytes.
	Spans [][2]int `json:"spans,omitempty"`
	// Weight is relative to sources of the same size; 0 is 1.
	Weight float64 `json:"weight,omitempty"`
	group  int     // shared by near duplicates
}

// isAttack reports whether the text must be flagged.
func (t *Text) isAttack() bool { return t.Kind == Attack || t.Kind == Buried }

func (t *Text) weight() float64 {
	if t.Weight == 0 {
		return 1
	}
	return t.Weight
}

// Load reads a file with one Text as JSON a line.
func Load(name string) ([]*Text, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []*Text
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		t := &Text{}
		err := json.Unmarshal(lines.Bytes(), t)
		if err == nil {
			err = t.check()
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, len(all)+1, err)
		}
		all = append(all, t)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no labelled texts", name)
	}
	return all, nil
}

func (t *Text) check() error {
	switch t.Kind {
	case Attack, Note, Hard:
	case Buried:
		for _, s := range t.Spans {
			if s[0] < 0 || s[1] < s[0] || s[1] > len(t.Text) {
				return fmt.Errorf("span %v is outside of a text of %d bytes", s, len(t.Text))
			}
		}
	default:
		return fmt.Errorf("kind is %q, want %q, %q, %q or %q", t.Kind, Attack, Note, Hard, Buried)
	}
	if t.Text == "" || t.Weight < 0 {
		return fmt.Errorf("text is empty or weight %g is below 0", t.Weight)
	}
	return nil
}

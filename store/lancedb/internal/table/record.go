//go:build lancedb

package table

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/memcore/memcore/store"
)

// A packed is a record's form in its column: without vector and empty fields.
type packed struct {
	ID        string   `json:"id"`
	Scope     string   `json:"scope,omitempty"`
	Kind      string   `json:"kind,omitempty"`
	Path      string   `json:"path,omitempty"`
	StartLine int      `json:"start,omitempty"`
	EndLine   int      `json:"end,omitempty"`
	Headings  []string `json:"headings,omitempty"`
	Session   string   `json:"session,omitempty"`
	Speaker   string   `json:"speaker,omitempty"`
	Time      *int64   `json:"time,omitempty"` // seconds since 1970
	Text      string   `json:"text,omitempty"`
	Before    string   `json:"before,omitempty"`
	After     string   `json:"after,omitempty"`
	Hash      string   `json:"hash,omitempty"`
	Tokens    int      `json:"tokens,omitempty"`
}

func (p *packed) texts() []*string {
	texts := []*string{&p.Scope, &p.Kind, &p.Path, &p.Session, &p.Speaker, &p.Text, &p.Before, &p.After, &p.Hash}
	for i := range p.Headings {
		texts = append(texts, &p.Headings[i])
	}
	return texts
}

func marshal(r *store.Record) string {
	p := packed{ID: r.ID, Scope: r.Scope, Kind: r.Kind, Path: r.Path, StartLine: r.StartLine, EndLine: r.EndLine,
		Headings: append([]string(nil), r.Headings...), Session: r.Session, Speaker: r.Speaker,
		Text: r.Text, Before: r.Before, After: r.After, Hash: r.Hash, Tokens: r.Tokens}
	if !r.Time.IsZero() {
		seconds := r.Time.Unix()
		p.Time = &seconds
	}
	for _, text := range p.texts() {
		*text = characters(*text)
	}
	data, _ := json.Marshal(p) // texts and numbers cannot fail
	return string(data)
}

func unmarshal(value any, r *store.Record) error {
	text, ok := value.(string)
	if !ok {
		return fmt.Errorf("value is %T, want text", value)
	}
	var p packed
	if err := json.Unmarshal([]byte(bytesOf(text)), &p); err != nil {
		return fmt.Errorf("%.60q is not a record: %w", text, err)
	}
	for _, text := range p.texts() {
		*text = bytesOf(*text)
	}
	vector := r.Vector
	*r = store.Record{ID: p.ID, Scope: p.Scope, Kind: p.Kind, Path: p.Path, StartLine: p.StartLine, EndLine: p.EndLine,
		Headings: p.Headings, Session: p.Session, Speaker: p.Speaker, Text: p.Text, Before: p.Before, After: p.After,
		Hash: p.Hash, Tokens: p.Tokens, Vector: vector}
	if p.Time != nil {
		r.Time = time.Unix(*p.Time, 0).UTC()
	}
	return nil
}

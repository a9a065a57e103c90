package tools

import (
	"context"
	"errors"
	"testing"
)

// Arguments are refused, or the tool gets what its schema allows.
func FuzzToolArguments(f *testing.F) {
	for _, seed := range []string{`{"query":"x","limit":5,"scope":"all"}`, `{"scope":"none"}`, `{"query":5}`, `{}`, `null`, `[]`, `{"query":"x","other":1}`, `{"Query":"x"}`, `{"query":"x"}{}`, `{"query":"x","limit":1e99}`, `{"query":null}`, "{\"query\":\"\xff\"}", ``} {
		f.Add(seed)
	}
	type parameters struct {
		Query string   `json:"query" jsonschema:"what"`
		Scope string   `json:"scope,omitempty"`
		Limit int      `json:"limit,omitempty"`
		Paths []string `json:"paths,omitempty"`
	}
	var got *parameters
	tool := New("search", "Search.", func(_ context.Context, p parameters) (Answer, error) {
		got = &p
		return Answer{Text: "found"}, nil
	}, Choices("scope", "all", "detail"), ReadOnly)
	f.Fuzz(func(t *testing.T, arguments string) {
		got = nil
		answer, err := tool.Call(t.Context(), []byte(arguments))
		switch {
		case err != nil:
			if !errors.Is(err, ErrArguments) || got != nil || answer.Text != "" {
				t.Errorf("Call(%q) = %v", arguments, err)
			}
		case got == nil || got.Scope != "" && got.Scope != "all" && got.Scope != "detail":
			t.Errorf("Call(%q) was let through: %+v", arguments, got)
		}
	})
}

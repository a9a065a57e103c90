package tools

import (
	"context"
	"errors"
	"testing"
)

// A model that gives a value of another type reads which, and what is wanted.
func TestWrongTypesAreNamed(t *testing.T) {
	type item struct {
		Old string `json:"old"`
	}
	type parameters struct {
		Query string `json:"query"`
		Limit int    `json:"limit,omitempty"`
		Exact bool   `json:"exact,omitempty"`
		Items []item `json:"items,omitempty"`
	}
	tool := New("search", "Search.", func(context.Context, parameters) (Answer, error) { return Answer{}, nil }, Default("limit", 8))
	if got := string(tool.Schema.Properties["limit"].Default); got != "8" {
		t.Errorf("the schema's default is %s, want 8", got)
	}
	for arguments, want := range map[string]string{
		`{"limit": 2.5}`:          "limit is a number 2.5, want a whole number",
		`{"query": 7}`:            "query is a number, want a string",
		`{"exact": "yes"}`:        "exact is a string, want a boolean",
		`{"items": "x"}`:          "items is a string, want a list",
		`{"items": [{"old": 1}]}`: "items.old is a number, want a string",
	} {
		if _, err := tool.Call(t.Context(), []byte(arguments)); err == nil || err.Error() != "search: the arguments do not fit: "+want {
			t.Errorf("Call(%s): %v, want %s", arguments, err, want)
		}
	}
}

// A tool that stands before another names itself once in errors.
func TestCallingNamesTheToolOnce(t *testing.T) {
	tool := New("search", "Search.", func(context.Context, struct{}) (Answer, error) { return Answer{}, errors.New("no luck") })
	_, err := tool.Calling(tool.Do).Call(t.Context(), nil)
	if err == nil || err.Error() != "search: no luck" {
		t.Errorf("error %v, want search: no luck", err)
	}
}

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

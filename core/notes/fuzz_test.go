package notes

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// Arguments of a tool are refused as such, or the tool is called with what its schema allows.
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
	tool := NewTool("search", "Search.", func(_ context.Context, p parameters) (Answer, error) {
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

// An ID that is taken is the name of one folder below that of the sessions, and of no other.
func FuzzSessionID(f *testing.F) {
	for _, seed := range []string{"2026-11-21T22-38-01Z-ioi7lxfb", "..", "a/b", `a\b`, "C:", "a\x00", "a.", "…", "a\u202e", strings.Repeat("a", 201), "-", "CON"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if checkID(id) != nil {
			return
		}
		dir := t.TempDir()
		if got := filepath.Join(dir, id); filepath.Dir(got) != dir || filepath.Base(got) != id || strings.ContainsFunc(id, unicode.IsControl) {
			t.Errorf("ID %q is %q", id, got)
		}
		s, err := NewSession(dir, id)
		require.NoError(t, err)
		require.Equal(t, id, s.ID)
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, entries, 1)
		all, err := ListSessions(dir)
		require.NoError(t, err)
		require.Equal(t, []string{id}, all)
	})
}

package core

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/source"
)

func TestSaysMore(t *testing.T) {
	for _, tt := range []struct {
		text, target string
		want         bool
	}{
		{"the retry budget", "backoff", true},
		{"Budget!", "calls/backoff", true},
		{"重试预算", "backoff", true},
		{"here", "backoff", false},
		{"this page", "backoff", false},
		{"siehe hier", "backoff", false},
		{"→", "backoff", false},
		{"42", "backoff", false},
		{"R", "backoff", false},
		{"Retry budget", "calls/retry-budget", false},
		{"budget", "calls/retry_budget", false},
		{"calls/retry-budget.md", "calls/retry-budget", false},
		{"https://example.com/budget", "backoff", false},
		{"www.example.com", "backoff", false},
		{strings.Repeat("gnu ", 9), "backoff", false},
		{strings.Repeat("gnu", 30), "backoff", false},
	} {
		if got := saysMore(tt.text, tt.target); got != tt.want {
			t.Errorf("saysMore(%q, %q) = %v, want %v", tt.text, tt.target, got, tt.want)
		}
	}
}

// What an agent's log says at each prompt changes no link, nor does a note that says something
// else.
func TestNoteLinks(t *testing.T) {
	note := entry{Kind: source.KindMarkdown, Source: "notes", Links: []noteLink{{"backoff", "the retry budget"}}}
	log := entry{Kind: source.KindConversation, Source: "logs"}
	grown, longer, unlinked := log, note, note
	grown.Size, longer.Size, unlinked.Links = 9, 9, nil
	for _, tt := range []struct {
		name     string
		old, now entry
		want     bool
	}{
		{"a log comes", entry{}, log, false},
		{"a log grows", log, grown, false},
		{"a log goes", log, entry{}, false},
		{"a note comes", entry{}, unlinked, true},
		{"a note changes", note, longer, false},
		{"a link goes", note, unlinked, true},
		{"a note goes", unlinked, entry{}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := &writer{manifest: &manifest{Documents: map[string]entry{"a": tt.old}}}
			w.noteLinks("a", tt.now)
			require.Equal(t, tt.want, w.manifest.LinksChanged)
		})
	}
}

// Without a change of links nothing is compared, or even opened.
func TestAliasesOfUnchangedLinks(t *testing.T) {
	w := &writer{manifest: &manifest{Documents: map[string]entry{"a.md": {Kind: source.KindMarkdown, Aliases: []string{"gnu"}}}}}
	require.NoError(t, w.updateAliases(t.Context(), time.Time{}))
}

package session

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed/minilm"
)

// Recall finds any characters as written, and parts of words.
func TestRecallOfWhatIsWritten(t *testing.T) {
	d := newFixture(t)
	s := d.session()
	d.detail("auth.md", "# Login / SSO\n\n<!--\nMETA:\ncreated: 2024-01-15T10:30:00Z\n-->\n\n## Why (and why not)\n\nThe authentication flow goes\nthrough `retry(() -> call())`.\n\n## Last ##\n<!-- the end -->\n")
	d.say("user", "please write map(() -> 1) again")        // 1
	d.say("assistant", "it returns what Auth returned")     // 2
	d.say("user", "C++ and c, -v and --verbose, 100% wide") // 3
	d.say("user", "the author of max_retry_count")          // 4
	for _, tt := range []struct {
		r    RecallRequest
		want []string
	}{
		{RecallRequest{Query: "uthenti"}, []string{"detail/auth.md#L10"}},
		{RecallRequest{Query: "() ->"}, []string{"messages.jsonl#L1", "detail/auth.md#L11"}},
		{RecallRequest{Query: "auth"}, []string{"messages.jsonl#L2", "messages.jsonl#L4", "detail/auth.md#L10"}},
		{RecallRequest{Query: "retur"}, []string{"messages.jsonl#L2"}},
		{RecallRequest{Query: "C++"}, []string{"messages.jsonl#L3"}},
		{RecallRequest{Query: "100%"}, []string{"messages.jsonl#L3"}},
		{RecallRequest{Query: "x_retry"}, []string{"messages.jsonl#L4"}},
		{RecallRequest{Query: "O / SS"}, nil},
		{RecallRequest{Query: "n / SS"}, []string{"detail/auth.md#L1"}},
		{RecallRequest{Query: "# Why (and"}, []string{"detail/auth.md#L10"}}, // what stands below says more,
		{RecallRequest{Query: "# why (and", Exact: true}, []string{"detail/auth.md#L8"}},
		{RecallRequest{Query: "2024-01-15T10"}, []string{"detail/auth.md#L5"}},
		{RecallRequest{Query: "the end -->"}, []string{"detail/auth.md#L14"}},
		{RecallRequest{Query: "-v", Scope: SourceDetail}, nil},

		{RecallRequest{Query: "AUTH", Exact: true}, []string{"messages.jsonl#L2", "messages.jsonl#L4", "detail/auth.md#L10"}},
		{RecallRequest{Query: "returns what", Exact: true}, []string{"messages.jsonl#L2"}},
		{RecallRequest{Query: "what returns", Exact: true}, nil},
		{RecallRequest{Query: " c", Exact: true}, []string{"messages.jsonl#L3", "detail/auth.md#L11"}},
		{RecallRequest{Query: "retry", Exact: true, Scope: SourceMessages}, []string{"messages.jsonl#L4"}},
		{RecallRequest{Query: " ", Exact: true}, nil},
	} {
		t.Run(tt.r.Query, func(t *testing.T) {
			found, err := Recall(t.Context(), []*Session{s}, tt.r, RecallOptions{})
			require.NoError(t, err)
			var got []string
			for _, f := range found.Results {
				if f.Exact {
					got = append(got, f.Citation)
				}
			}
			require.ElementsMatch(t, tt.want, got)
			if tt.r.Exact {
				require.Len(t, found.Results, len(got))
			}
		})
	}
}

// Texts with the whole query come first, then those with its words, with parts of words, and with a
// near meaning.
func TestOrderOfWhatIsWritten(t *testing.T) {
	d := newFixture(t)
	s := d.session()
	for _, text := range []string{
		"the retry of the call",                                // 1
		"call the retry, then retry the call once more",        // 2
		"in the log: retry call 3 of 5",                        // 3
		strings.Repeat("retry and call and ", 30) + "no more.", // 4
		"a recall is something else",                           // 5
		"phone the harbour office before noon",                 // 6
	} {
		d.say("user", text)
	}
	require.Equal(t, "messages.jsonl#L3", recall(t, RecallRequest{Query: "Retry call"}, s)[0])
	found, err := Recall(t.Context(), []*Session{s}, RecallRequest{Query: "call", Limit: 6}, RecallOptions{Embedder: minilm.New(), EmbedFor: -1})
	require.NoError(t, err)
	require.Equal(t, "messages.jsonl#L5", found.Results[4].Citation, "after four with the word")
	require.True(t, found.Results[4].Exact)
}

// A request without a limit gets the configured one.
func TestRecallLimit(t *testing.T) {
	d := newFixture(t)
	s := d.session()
	for range 12 {
		d.say("user", "zebra")
	}
	for _, tt := range []struct{ asked, configured, want int }{{0, 0, 5}, {0, 7, 7}, {3, 7, 3}, {-1, 7, 7}, {0, -1, 5}} {
		found, err := Recall(t.Context(), []*Session{s}, RecallRequest{Query: "zebra", Limit: tt.asked}, RecallOptions{Limit: tt.configured})
		require.NoError(t, err)
		require.Len(t, found.Results, tt.want)
	}
}

// The beginning of a secret does not find the secret.
func TestExactRecallShowsNoSecret(t *testing.T) {
	d := newFixture(t)
	d.detail("n.md", "# Access\n\nthe password is c0rrect-horse-battery\n")
	found, err := Recall(t.Context(), []*Session{d.session()}, RecallRequest{Query: "c0rrect-h", Exact: true}, RecallOptions{})
	require.NoError(t, err)
	for _, f := range found.Results {
		require.NotContains(t, f.Text, "c0rrect")
	}
}

func BenchmarkRecallExact(b *testing.B) {
	s := longSession(b)
	for _, query := range []string{"t5 fill", "essage 77", "() ->", "e"} {
		b.Run(query, func(b *testing.B) {
			for b.Loop() {
				if _, err := Recall(b.Context(), []*Session{s}, RecallRequest{Query: query}, RecallOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

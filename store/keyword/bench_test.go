package keyword

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

// A vocabulary like a language's: a few frequent words, most are rare.
type vocabulary struct {
	random *rand.Rand
	zipf   *rand.Zipf
}

func newVocabulary(seed uint64) *vocabulary {
	random := rand.New(rand.NewPCG(seed, 1))
	return &vocabulary{random, rand.NewZipf(random, 1.1, 4, 40_000)}
}

func (v *vocabulary) word() string {
	common := []string{"the", "of", "and", "to", "a", "in", "is", "that", "we", "it", "for", "was", "on"}
	n := int(v.zipf.Uint64())
	if n < len(common) {
		return common[n]
	}
	return fmt.Sprintf("w%cord%c%c", 'a'+n%26, 'a'+n/26%26, 'a'+n/676%26) + strings.Repeat("x", n/17576)
}

func (v *vocabulary) text(words int) string {
	all := make([]string, words)
	for i := range all {
		all[i] = v.word()
	}
	return strings.Join(all, " ")
}

func (v *vocabulary) records(n int) []store.Record {
	recs := make([]store.Record, n)
	for i := range recs {
		recs[i] = store.Record{
			ID: fmt.Sprintf("%032x", v.random.Uint64()), Scope: "project", Kind: kindConversation,
			Path: fmt.Sprintf("sessions/%03d.jsonl", i/50), StartLine: i%50 + 1, EndLine: i%50 + 1,
			Session: fmt.Sprint(i / 50), Speaker: []string{"user", "assistant"}[i%2],
			Time: time.Date(2026, 1, 1, 0, i, 0, 0, time.UTC), Text: v.text(60 + v.random.IntN(80)),
			Before: v.text(40), After: v.text(40), Hash: fmt.Sprintf("%064x", i), Tokens: 120,
		}
	}
	return recs
}

func filled(b *testing.B, n int) *Index {
	b.Helper()
	ix, err := Open(b.Context(), b.TempDir())
	require.NoError(b, err)
	b.Cleanup(func() { ix.Close() })
	require.NoError(b, ix.Put(b.Context(), newVocabulary(1).records(n)))
	require.NoError(b, ix.Commit(b.Context()))
	return ix
}

func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			ix := filled(b, n)
			words := newVocabulary(2)
			for b.Loop() {
				_, err := ix.Match(context.Background(), words.text(10), 50, store.Filter{Scope: "project"})
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkMatchLongQuery(b *testing.B) {
	ix := filled(b, 10_000)
	query := newVocabulary(2).text(3_000)
	for b.Loop() {
		_, err := ix.Match(context.Background(), query, 50, store.Filter{})
		require.NoError(b, err)
	}
}

func BenchmarkCommitOneAt10k(b *testing.B) {
	ix := filled(b, 10_000)
	more := newVocabulary(3)
	for b.Loop() {
		require.NoError(b, ix.Put(context.Background(), more.records(1)))
		require.NoError(b, ix.Commit(context.Background()))
	}
	stats, err := ix.Stats(b.Context())
	require.NoError(b, err)
	b.ReportMetric(float64(stats.Fragments), "segments")
}

func BenchmarkCommit2000(b *testing.B) {
	recs := newVocabulary(4).records(2_000)
	for b.Loop() {
		ix, err := Open(b.Context(), b.TempDir())
		require.NoError(b, err)
		require.NoError(b, ix.Put(b.Context(), recs))
		require.NoError(b, ix.Commit(b.Context()))
		require.NoError(b, ix.Close())
	}
}

// As in a command that searches once: open, search, close.
func BenchmarkOpenAt10k(b *testing.B) {
	dir := filled(b, 10_000).Folder()
	query := newVocabulary(2).text(10)
	for b.Loop() {
		ix, err := Open(b.Context(), dir)
		require.NoError(b, err)
		_, err = ix.Match(b.Context(), query, 50, store.Filter{})
		require.NoError(b, err)
		require.NoError(b, ix.Close())
	}
}

package keyword

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
)

// Eighty copies of a session give the scores of one, in whichever commits they came. When the
// original goes, the next one counts.
func TestCopiesCountOnce(t *testing.T) {
	record := func(path string, line int, text string) store.Record {
		return store.Record{ID: fmt.Sprintf("%x%02x", []byte(path), line), Scope: "project", Kind: "conversation", Path: path, StartLine: line, EndLine: line,
			Time: time.Date(2026, 5, 1, 9, line, 0, 0, time.UTC), Text: text}
	}
	session := func(path string) []store.Record {
		return []store.Record{
			record(path, 1, "sessions live in Redis, because the table of the database was locked each night"),
			record(path, 2, "the key of a session has a prefix"),
		}
	}
	fork := append(session("c.jsonl"), record("c.jsonl", 3, "the fork adds that a month has a table"))
	notes := []store.Record{
		record("a.md", 1, "sessions live in Valkey on cache-2, Redis is gone"),
		record("a.md", 2, "the database has a table for each month, and the prefix of a month"),
	}
	match := func(ix *Index) store.Matches {
		found, err := ix.Match(t.Context(), "where do sessions live, in Redis or in the database?", 500, store.Filter{})
		require.NoError(t, err)
		return found
	}
	// Of the fork, only what it adds counts.
	one := match(indexOf(t, append(append(session("b1.jsonl"), fork[2]), notes...)...))
	ix := indexOf(t, append(session("b1.jsonl"), notes...)...)
	require.NoError(t, ix.Put(t.Context(), fork))
	require.NoError(t, ix.Commit(t.Context()))
	for n := 2; n <= 79; n++ {
		require.NoError(t, ix.Put(t.Context(), session(fmt.Sprintf("b%d.jsonl", n))))
		if n%9 == 0 {
			require.NoError(t, ix.Commit(t.Context()))
		}
	}
	require.NoError(t, ix.Commit(t.Context()))
	same := func(many store.Matches) {
		t.Helper()
		require.Equal(t, one.Terms, many.Terms)
		require.Equal(t, one.Ceiling, many.Ceiling)
		require.Equal(t, one.BestDocument, many.BestDocument)
		scores := map[string]store.Hit{}
		for _, hit := range many.Hits {
			if hit.Record.Path == "c.jsonl" { // a document of its own
				require.Contains(t, scores, hit.Record.Text)
				require.Equal(t, scores[hit.Record.Text].Score, hit.Score)
				continue
			}
			if known, ok := scores[hit.Record.Text]; ok {
				require.Equal(t, known.Score, hit.Score)
				require.Equal(t, known.Document, hit.Document)
			}
			scores[hit.Record.Text] = hit
		}
		require.Len(t, scores, len(one.Hits))
		for _, hit := range one.Hits {
			require.Equal(t, hit.Score, scores[hit.Record.Text].Score, hit.Record.Text)
			require.Equal(t, hit.Document, scores[hit.Record.Text].Document, hit.Record.Text)
		}
	}
	many := match(ix)
	same(many)
	require.Equal(t, len(one.Hits)+2*79, len(many.Hits))
	require.Equal(t, 2*79, many.Copies)
	require.Zero(t, one.Copies)

	only, err := ix.Match(t.Context(), "Redis", 10, store.Filter{Path: "b7.jsonl"})
	require.NoError(t, err)
	require.Len(t, only.Hits, 1, "a copy is found where only it is looked for")

	require.NoError(t, ix.Delete(t.Context(), []string{session("b1.jsonl")[0].ID, session("b1.jsonl")[1].ID}))
	require.NoError(t, ix.Commit(t.Context()))
	left := match(ix)
	require.Equal(t, one.Terms, left.Terms)
	require.Equal(t, 2*78, left.Copies)
	require.NoError(t, ix.Check(t.Context()))
}

// Copies are found in a part that was merged of others, and between parts.
func TestCopiesInAnyPart(t *testing.T) {
	for name, commits := range map[string][]int{"one": {9}, "merged": {4, 1, 1, 3}, "a large and small ones": {6, 1, 1, 1}} {
		t.Run(name, func(t *testing.T) {
			ix := indexOf(t)
			number := 0
			for _, records := range commits {
				for range records {
					text := fmt.Sprintf("note %d names a harbour", number)
					if number >= 4 && number%2 == 0 {
						text = "the same answer names a harbour"
					}
					require.NoError(t, ix.Put(t.Context(), []store.Record{{ID: fmt.Sprintf("%02x", number), Scope: "project", Kind: "markdown",
						Path: fmt.Sprintf("%d.md", number), StartLine: 1, EndLine: 1, Text: text}}))
					number++
				}
				require.NoError(t, ix.Commit(t.Context()))
			}
			found, err := ix.Match(t.Context(), "harbour", 20, store.Filter{})
			require.NoError(t, err)
			require.Len(t, found.Hits, 9)
			require.Equal(t, 2, found.Copies)
			require.Equal(t, 7, found.Terms[0].Records)
		})
	}
}

func BenchmarkLayout(b *testing.B) {
	for name, copied := range map[string]int{"distinct": 0, "a tenth copied": 10} {
		b.Run(name, func(b *testing.B) {
			ix, err := Open(b.Context(), b.TempDir())
			require.NoError(b, err)
			b.Cleanup(func() { ix.Close() })
			records := newVocabulary(1).records(20_000)
			for i := range records {
				if copied > 0 && i%copied == 0 {
					records[i].Text = records[i/2].Text
				}
			}
			require.NoError(b, ix.Put(b.Context(), records))
			require.NoError(b, ix.Commit(b.Context()))
			_, err = disk.Read(b.Context(), ix.Index, "layout", func(s *snapshot) (l *layout, err error) {
				for b.Loop() {
					if l, err = readLayout(s); err != nil {
						break
					}
				}
				return l, err
			})
			require.NoError(b, err)
		})
	}
}

package keyword

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

// A mixture makes records of all kinds, in several languages, some of them copies.
type mixture struct {
	*vocabulary
	texts        []string
	hits, copies int // that were compared
}

func newMixture(seed uint64) *mixture { return &mixture{vocabulary: newVocabulary(seed)} }

var sentences = []string{
	"the cache of the service is warm, and getCacheStats tells how warm", "die Datenbank lauscht auf dem Port 5433, weil der alte vergeben ist",
	"la base de données écoute sur le port 5433 et les sauvegardes sont dans le coffre", "los servidores de la caché están en la sala", "вчера серверы были перезапущены",
	"東京のサーバーは再起動されました", "thể thao và thế giới là hai mục của tờ báo", "see internal/store/cache.go and v1.26.8 of c++", "", "?!",
}

func (m *mixture) text() string {
	switch n := m.random.IntN(10); {
	case n < 2 && len(m.texts) > 0:
		return m.texts[m.random.IntN(len(m.texts))] + strings.Repeat(" ", m.random.IntN(2))
	case n < 5:
		return sentences[m.random.IntN(len(sentences))]
	}
	text := m.vocabulary.text(m.random.IntN(60))
	m.texts = append(m.texts, text)
	return text
}

// record returns the record number n, always of the same document, which is of one of three parts.
func (m *mixture) record(n int) store.Record {
	rec := store.Record{
		ID: fmt.Sprintf("%04x", n*7919%65536), Scope: []string{"project", "global"}[n%2], Kind: []string{"markdown", kindConversation, store.KindStatement}[n/3%3],
		Path: fmt.Sprintf("part%d/folder%d/doc%d.md", n%3, n/3%4, n%30), StartLine: n + 1, EndLine: n + 1, Text: m.text(),
		Headings: []string{m.word(), m.word()}, Aliases: []string{m.word()}, Speaker: []string{"", "user", "ada"}[m.random.IntN(3)],
		Before: m.text(), After: m.text(), Hash: fmt.Sprint(n),
	}
	if n%5 > 0 {
		rec.Time = time.Date(2026, 3, 30, m.random.IntN(100), 0, 0, 0, time.UTC)
	}
	return rec
}

func (m *mixture) query() string {
	switch m.random.IntN(6) {
	case 0:
		return m.vocabulary.text(300) // more terms than count
	case 1:
		return sentences[m.random.IntN(len(sentences))]
	}
	return m.word() + " " + sentences[m.random.IntN(len(sentences))] + " " + m.vocabulary.text(m.random.IntN(6))
}

func (m *mixture) filter() store.Filter {
	var f store.Filter
	if m.random.IntN(3) == 0 {
		f.Scope = "global"
	}
	switch m.random.IntN(5) {
	case 0:
		f.Kind = kindConversation
	case 1:
		f.NotKind = store.KindStatement
	}
	switch m.random.IntN(5) {
	case 0:
		f.Path = "part1/folder1/"
	case 1:
		f.Path = "part2"
	case 2:
		f.Path = "part0/folder0/doc0.md"
	case 3:
		f.Not = []string{"part0/folder0/doc0.md", "part1/folder1/doc4.md", "unknown.md"}
	}
	if day := time.Date(2026, 3, 31, 0, 0, 0, 0, time.UTC); m.random.IntN(3) == 0 {
		f.Since, f.Until = day.Add(time.Duration(m.random.IntN(20))*time.Hour), day.Add(40*time.Hour)
	}
	return f
}

func members(records ...store.Record) []Member {
	all := make([]Member, len(records))
	for i, words := range Analyse(records) {
		r := records[i]
		all[i] = Member{ID: r.ID, Path: r.Path, Kind: r.Kind, Scope: r.Scope, Time: r.Time, Words: words}
	}
	return all
}

// inMemory returns a Reader that has records from a map.
func inMemory(records map[string]store.Record, parts ...*Part) *Reader {
	return Over(parts, func(_ context.Context, ids []string) (all []store.Record, err error) {
		for _, id := range ids {
			all = append(all, records[id])
		}
		slices.Reverse(all) // any order
		return all, nil
	})
}

// Parts answer as an index with the same records does, also after any changes, in one part or in
// several.
func TestPartsAnswerAsAnIndex(t *testing.T) {
	for seed := range uint64(3) {
		m := newMixture(seed)
		ix := indexOf(t)
		kept := map[string]store.Record{}
		one, three := NewPart(nil), make([]*Part, 3)
		for step := range 40 {
			var change PartChange
			most := 40
			if step == 0 {
				most = 600
			}
			for range m.random.IntN(most) {
				change.IDs = append(change.IDs, m.record(m.random.IntN(900)).ID)
			}
			if m.random.IntN(3) == 0 {
				change.Paths = append(change.Paths, m.record(m.random.IntN(900)).Path, "unknown.md")
			}
			for id, rec := range kept {
				if slices.Contains(change.Paths, rec.Path) {
					change.IDs = append(change.IDs, id)
				}
			}
			require.NoError(t, ix.Delete(t.Context(), change.IDs))
			for _, id := range change.IDs {
				delete(kept, id)
			}
			var more []store.Record
			for range m.random.IntN(most) {
				more = append(more, m.record(m.random.IntN(900)))
			}
			require.NoError(t, ix.Put(t.Context(), more))
			require.NoError(t, ix.Commit(t.Context()))
			for _, rec := range more {
				kept[rec.ID] = rec
			}
			change.Members = members(more...)
			before, count := one, one.Count()
			one = one.With(change)
			require.Equal(t, count, before.Count())
			for i := range three {
				some := change
				some.Members = slices.DeleteFunc(slices.Clone(change.Members), func(m Member) bool { return !strings.HasPrefix(m.Path, fmt.Sprintf("part%d/", i)) })
				three[i] = three[i].With(some)
			}
			if step%4 == 0 {
				m.compare(t, ix, inMemory(kept, one), kept)
				m.compare(t, ix, inMemory(kept, three...), kept)
			}
		}
		require.Greater(t, m.hits, 500)
		require.Greater(t, m.copies, 500)
	}
}

func (m *mixture) compare(t *testing.T, ix *Index, r *Reader, kept map[string]store.Record) {
	t.Helper()
	count, err := r.Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, len(kept), count)
	want, err := ix.Languages(t.Context())
	require.NoError(t, err)
	got, err := r.Languages(t.Context())
	require.NoError(t, err)
	maps.DeleteFunc(want, func(_ string, records int) bool { return records == 0 })
	maps.DeleteFunc(got, func(_ string, records int) bool { return records == 0 })
	require.Equal(t, want, got)
	ids := append(slices.Sorted(maps.Keys(kept)), "ffffff", "not an ID")
	for range 12 {
		query, f, k := m.query(), m.filter(), 1+m.random.IntN(50)
		want, err := ix.Match(t.Context(), query, k, f)
		require.NoError(t, err)
		got, err := r.Match(t.Context(), query, k, f)
		require.NoError(t, err)
		require.Len(t, got.Hits, len(want.Hits), "%q %+v", query, f)
		for i := range got.Hits {
			require.Equal(t, kept[got.Hits[i].Record.ID], got.Hits[i].Record)
		}
		m.hits += len(got.Hits)
		m.copies += got.Copies
		require.Equal(t, want, got, "%q %+v", query, f)
		wantScores, err := ix.Scores(t.Context(), query, ids)
		require.NoError(t, err)
		gotScores, err := r.Scores(t.Context(), query, ids)
		require.NoError(t, err)
		require.Equal(t, wantScores, gotScores)
	}
}

// Blocks are built at the same time; documents have the numbers of their order all the same.
func TestALargePart(t *testing.T) {
	all := make([]store.Record, 2*maxInBlock+1)
	for i := range all {
		all[i] = store.Record{ID: fmt.Sprintf("%032x", i), Path: fmt.Sprintf("%d.md", i), Kind: "markdown", Scope: "project", Text: fmt.Sprintf("order z%d", i)}
	}
	p := NewPart(members(all...))
	require.Equal(t, len(all), p.Count())
	for i := range all {
		require.Equal(t, all[i].Path, p.paths[i])
	}
	for _, i := range []int{0, maxInBlock, 2 * maxInBlock} {
		got, err := Over([]*Part{p}, func(_ context.Context, ids []string) ([]store.Record, error) {
			require.Equal(t, []string{all[i].ID}, ids)
			return all[i : i+1], nil
		}).Match(t.Context(), fmt.Sprintf("z%d", i), 5, store.Filter{})
		require.NoError(t, err)
		require.Len(t, got.Hits, 1)
	}
}

// A part forgets the paths of documents that are gone: they come and go for as long as a service
// runs.
func TestAPartForgetsPaths(t *testing.T) {
	note := func(n int) Member {
		return members(store.Record{ID: fmt.Sprintf("%x", n), Scope: "project", Kind: "markdown", Path: fmt.Sprintf("note%d.md", n), Text: fmt.Sprintf("note %d", n)})[0]
	}
	part := NewPart([]Member{note(0), note(1)})
	for n := 2; n < 3_000; n++ {
		part = part.With(PartChange{Paths: []string{fmt.Sprintf("note%d.md", n-1)}, Members: []Member{note(n)}})
	}
	require.Equal(t, 2, part.Count())
	require.Less(t, len(part.paths), 1_100)
	got, err := inMemory(map[string]store.Record{"0": {ID: "0"}, "bb7": {ID: "bb7"}}, part).Match(t.Context(), "note 0 1 2998 2999", 9, store.Filter{Not: []string{"note0.md"}})
	require.NoError(t, err)
	require.Equal(t, []string{"bb7"}, hitIDs(got.Hits))
	require.Equal(t, 2, got.Terms[0].Records)
}

func hitIDs(hits []store.Hit) (ids []string) {
	for _, hit := range hits {
		ids = append(ids, hit.Record.ID)
	}
	return ids
}

// A record that went while a question was answered is no hit; an error is the answer.
func TestRecordsOfHitsAreGone(t *testing.T) {
	part := NewPart(members(store.Record{ID: "1", Path: "a.md", Text: "tea"}, store.Record{ID: "2", Path: "a.md", Text: "tea"}))
	got, err := inMemory(map[string]store.Record{"2": {ID: "2"}}, part, nil).Match(t.Context(), "tea", 9, store.Filter{})
	require.NoError(t, err)
	require.Equal(t, []string{"2"}, hitIDs(got.Hits))
	_, err = Over([]*Part{part}, func(context.Context, []string) ([]store.Record, error) { return nil, context.DeadlineExceeded }).
		Match(t.Context(), "tea", 9, store.Filter{})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = inMemory(nil, part).Match(ctx, "tea", 9, store.Filter{})
	require.ErrorIs(t, err, context.Canceled)
}

func TestNoParts(t *testing.T) {
	for _, r := range []*Reader{Over(nil, nil), Over([]*Part{nil, NewPart(nil), (*Part)(nil).With(PartChange{Paths: []string{"a.md"}, IDs: []string{"1"}})}, nil)} {
		got, err := r.Match(t.Context(), "tea", 9, store.Filter{})
		require.NoError(t, err)
		require.Empty(t, got.Hits)
		require.Positive(t, got.Ceiling)
		scores, err := r.Scores(t.Context(), "tea", []string{"1"})
		require.NoError(t, err)
		require.Empty(t, scores)
	}
}

// Parts are changed and searched at the same time.
func TestPartsAreShared(t *testing.T) {
	m := newMixture(8)
	kept := map[string]store.Record{}
	for n := range 200 {
		rec := m.record(n)
		kept[rec.ID] = rec
	}
	shared := NewPart(members(slices.Collect(maps.Values(kept))...))
	var group sync.WaitGroup
	for n := range 4 {
		own := store.Record{ID: "f" + strings.Repeat("f", n), Path: fmt.Sprintf("own%d.md", n), Text: "quokka"}
		more := members(own)
		group.Go(func() {
			part := shared.With(PartChange{Members: more})
			for _, p := range []*Part{part, shared} {
				r := Over([]*Part{p}, func(context.Context, []string) ([]store.Record, error) { return []store.Record{own}, nil })
				got, err := r.Match(t.Context(), "quokka", 9, store.Filter{Not: []string{"own7.md"}})
				assert.NoError(t, err)
				assert.Len(t, got.Hits, map[*Part]int{part: 1}[p])
			}
		})
	}
	group.Wait()
}

package keyword

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	index "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
)

var errFault = errors.New("offset leads nowhere")

// faults lets a number of segment reads succeed and fails the next one.
type faults struct{ left int }

func (f *faults) next() error {
	f.left--
	if f.left == -1 {
		return errFault
	}
	return nil
}

// The faulty types pass reads on to a segment until a fault.
type (
	faultySegment struct {
		reader
		*faults
	}
	faultyDictionary struct {
		segment.TermDictionary
		*faults
	}
	faultyTerms struct {
		segment.DictionaryIterator
		*faults
	}
	faultyPostings struct {
		segment.PostingsList
		*faults
	}
	faultyHits struct {
		segment.PostingsIterator
		*faults
	}
)

func (s faultySegment) Dictionary(field string) (segment.TermDictionary, error) {
	if err := s.next(); err != nil {
		return nil, err
	}
	dictionary, err := s.reader.Dictionary(field)
	return faultyDictionary{dictionary, s.faults}, err
}

func (s faultySegment) VisitStoredFields(row uint64, visit segment.StoredFieldValueVisitor) error {
	if err := s.next(); err != nil {
		return err
	}
	return s.reader.VisitStoredFields(row, visit)
}

func (s faultySegment) DocID(row uint64) ([]byte, error) {
	if err := s.next(); err != nil {
		return nil, err
	}
	return s.reader.DocID(row)
}

func (s faultySegment) DocNumbers(ids []string) (*roaring.Bitmap, error) {
	if err := s.next(); err != nil {
		return nil, err
	}
	return s.reader.DocNumbers(ids)
}

func (d faultyDictionary) PostingsList(term []byte, except *roaring.Bitmap, _ segment.PostingsList) (segment.PostingsList, error) {
	if err := d.next(); err != nil {
		return nil, err
	}
	postings, err := d.TermDictionary.PostingsList(term, except, nil)
	return faultyPostings{postings, d.faults}, err
}

func (d faultyDictionary) AutomatonIterator(a segment.Automaton, from, to []byte) segment.DictionaryIterator {
	return faultyTerms{d.TermDictionary.AutomatonIterator(a, from, to), d.faults}
}

func (t faultyTerms) Next() (*index.DictEntry, error) {
	if err := t.next(); err != nil {
		return nil, err
	}
	return t.DictionaryIterator.Next()
}

func (p faultyPostings) Iterator(frequencies, norms, locations bool, _ segment.PostingsIterator) segment.PostingsIterator {
	return faultyHits{p.PostingsList.Iterator(frequencies, norms, locations, nil), p.faults}
}

func (h faultyHits) Next() (segment.Posting, error) {
	if err := h.next(); err != nil {
		return nil, err
	}
	return h.PostingsIterator.Next()
}

// withFaults makes segment reads fail after a number of them, and drops the cached answer.
func withFaults(t *testing.T, ix *Index, after int) *faults {
	t.Helper()
	f := &faults{left: after}
	s := snap(t, ix)
	withoutFaults(s)
	s.laidOut, s.documents, s.documentsErr, s.answers.last = sync.Once{}, nil, nil, answer{}
	for _, p := range s.parts {
		p.reader = faultySegment{p.reader, f}
	}
	return f
}

func withoutFaults(s *snapshot) {
	for _, p := range s.parts {
		if faulty, ok := p.reader.(faultySegment); ok {
			p.reader = faulty.reader
		}
	}
}

// snap returns the current snapshot.
func snap(t *testing.T, ix *Index) *snapshot {
	t.Helper()
	s, err := disk.Read(t.Context(), ix.Index, "look", func(s *snapshot) (*snapshot, error) { return s, nil })
	require.NoError(t, err)
	return s
}

// manyWords exceed the terms that count in a query.
var manyWords = func() (text string) {
	for i := range store.MaxTerms + 8 {
		text += fmt.Sprintf(" word%c%c", 'a'+i/26, 'a'+i%26)
	}
	return text
}()

// If any segment read fails, there is no partial answer: the error is ErrCorrupt with its cause.
func TestWhicheverReadFails(t *testing.T) {
	at := func(day int) time.Time { return time.Date(2026, 3, day, 12, 0, 0, 0, time.UTC) }
	ix := indexOf(t,
		store.Record{ID: "1", Scope: "project", Kind: "markdown", Path: "notes/a.md", Time: at(1), Text: "alpha beta getCacheStats"},
		store.Record{ID: "2", Scope: "project", Kind: "markdown", Path: "notes/a.md", Time: at(2), Text: "alpha alpha"},
		store.Record{ID: "3", Scope: "project", Kind: "markdown", Path: "notes/b.md", Time: at(3), Text: "alpha gamma"},
	)
	timed := store.Filter{Scope: "project", Kind: "markdown", Path: "notes", Not: []string{"notes/b.md"}, Since: at(1), Until: at(3)}
	for _, tt := range []struct {
		name string
		do   func(context.Context) (answer any, err error)
		want any
		step int // reads between two faults
	}{
		{"match", func(ctx context.Context) (any, error) {
			matches, err := ix.Match(ctx, "alpha gamma", 2, timed)
			return len(matches.Hits), err
		}, 2, 1},
		{"match of more terms than count", func(ctx context.Context) (any, error) {
			matches, err := ix.Match(ctx, "alpha gamma getCacheStats"+manyWords, 2, store.Filter{})
			return len(matches.Hits), err
		}, 2, 19},
		{"scores", func(ctx context.Context) (any, error) {
			scores, err := ix.Scores(ctx, "alpha", []string{"1", "3"})
			return len(scores), err
		}, 2, 1},
		{"document", func(ctx context.Context) (any, error) {
			recs, err := ix.Document(ctx, "notes/a.md")
			return len(recs), err
		}, 2, 1},
		{"check", func(ctx context.Context) (any, error) { return 0, ix.Check(ctx) }, 0, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for after := 0; ; after += tt.step {
				f := withFaults(t, ix, after)
				got, err := tt.do(t.Context())
				if f.left >= 0 {
					require.NoError(t, err)
					require.Equal(t, tt.want, got)
					require.Greater(t, after, 2, "no fault had an effect")
					return
				}
				require.ErrorIs(t, err, store.ErrCorrupt, "read %d fails", after)
				require.ErrorIs(t, err, errFault, "read %d fails", after)
				require.Equal(t, 0, got, "read %d fails", after)
			}
		})
	}
}

// A commit with a read error leaves the index as it was.
func TestACommitThatCannotRead(t *testing.T) {
	ix := indexOf(t, store.Record{ID: "1", Text: "alpha"}, store.Record{ID: "2", Text: "alpha"})
	require.Equal(t, 2, count(t, ix))
	for after := range 3 { // the IDs, and both records
		withFaults(t, ix, after)
		require.NoError(t, ix.Put(t.Context(), []store.Record{{ID: "1", Text: "beta"}}))
		require.NoError(t, ix.Delete(t.Context(), []string{"2"}))
		require.ErrorIs(t, ix.Commit(t.Context()), errFault)
		withoutFaults(snap(t, ix))
		require.Equal(t, []string{"1", "2"}, matchedIDs(t, ix, "alpha"))
		require.NoError(t, ix.Check(t.Context()))
	}
}

// A commit with a write error leaves no half generation.
func TestACommitThatCannotWrite(t *testing.T) {
	ix := indexOf(t, newVocabulary(1).records(20)...)
	next := filepath.Join(ix.Folder(), "2")
	for name, write := range map[string]func(c *commit) error{
		"a segment": func(c *commit) error {
			_, err := persist(c.pieces[0], filepath.Join(next, "gone"), "2-0.zap")
			return err
		},
		"a merged segment": func(c *commit) error {
			_, err := c.merge(c.pieces, filepath.Join(next, "gone"), "2-0.zap")
			return err
		},
		"a segment that cannot be found again": func(*commit) error {
			_, err := entryOf(filepath.Join(next, "2-0.zap"))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &commit{ctx: t.Context()}
			recs := newVocabulary(2).records(2)
			require.NoError(t, c.addSegment([]*store.Record{&recs[0], &recs[1]}))
			var pathError *os.PathError
			require.ErrorAs(t, write(c), &pathError)
			require.Contains(t, pathError.Path, next)
		})
	}
	require.NoDirExists(t, next)
}

// A cancelled merge ends with the context's error, not Bleve's.
func TestACancelledMerge(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := &commit{ctx: ctx}
	for i := range 2 {
		rec := newVocabulary(uint64(i)).records(1)[0]
		require.NoError(t, c.addSegment([]*store.Record{&rec}))
	}
	cancel()
	require.ErrorIs(t, c.addSegment([]*store.Record{{ID: "1"}}), context.Canceled)
	_, err := c.merge(c.pieces, t.TempDir(), "2-0.zap")
	require.ErrorIs(t, err, context.Canceled)
}

// rewrite replaces the manifest of the first generation by another valid one.
func rewrite(t *testing.T, dir string, change func(*manifest)) {
	t.Helper()
	folder := filepath.Join(dir, "1")
	m, err := readManifest(folder)
	require.NoError(t, err)
	change(&m)
	writeManifest(t, folder, format, m)
}

func otherFormat(by int) store.ManifestFormat {
	return store.ManifestFormat{Kind: format.Kind, Number: format.Number + by}
}

func writeManifest(t *testing.T, folder string, format store.ManifestFormat, content any) {
	t.Helper()
	text, err := format.Encode(folder, content)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, store.ManifestFile), text, 0o600))
}

// A manifest with a right checksum may still not fit its segments.
func TestAManifestThatDoesNotFit(t *testing.T) {
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, dir string)
		want   string
	}{
		{"no manifest", func(t *testing.T, dir string) { writeManifest(t, filepath.Join(dir, "1"), format, "?") }, "cannot unmarshal"},
		{"deleted rows are nonsense", func(t *testing.T, dir string) {
			rewrite(t, dir, func(m *manifest) { m.Segments[0].Dead = []byte("?") })
		}, "dead records of"},
		{"another generation's", func(t *testing.T, dir string) {
			text, err := format.Encode("7", manifest{})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "1", store.ManifestFile), text, 0o600))
		}, `the manifest of folder "7"`},
		{"another segment's checksum", func(t *testing.T, dir string) {
			rewrite(t, dir, func(m *manifest) { m.Segments[0].CRC++ })
		}, "wrong checksum"},
		{"huge lengths in a segment, which Bleve would allocate", func(t *testing.T, dir string) {
			files, err := filepath.Glob(filepath.Join(dir, "1", "*.zap"))
			require.NoError(t, err)
			require.Len(t, files, 1)
			data, err := os.ReadFile(files[0])
			require.NoError(t, err)
			for i := len(data) / 2; i < len(data)-checksumSize; i++ {
				data[i] = 0x7f
			}
			require.NoError(t, os.WriteFile(files[0], data, 0o600))
		}, "wrong checksum"},
		{"another number of records", func(t *testing.T, dir string) {
			rewrite(t, dir, func(m *manifest) { m.Segments[0].Records++ })
		}, "another segment than the one recorded"},
		{"a segment twice", func(t *testing.T, dir string) {
			rewrite(t, dir, func(m *manifest) { m.Segments = append(m.Segments, m.Segments[0]) })
		}, "is there twice"},
		{"wrong lengths", func(t *testing.T, dir string) {
			rewrite(t, dir, func(m *manifest) { m.Lengths[fieldText]++ })
		}, "fields have"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			ix, err := Open(t.Context(), dir)
			require.NoError(t, err)
			require.NoError(t, ix.Put(t.Context(), []store.Record{{ID: "1", Text: "alpha"}}))
			require.NoError(t, ix.Commit(t.Context()))
			require.NoError(t, ix.Close())
			tt.damage(t, dir)
			ix, err = Open(t.Context(), dir)
			if err == nil {
				defer ix.Close()
				err = ix.Check(t.Context())
			}
			require.ErrorIs(t, err, store.ErrCorrupt)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

// An index with generations but without CURRENT is damaged, not empty.
func TestCurrentIsGoneUnderAReader(t *testing.T) {
	ix := indexOf(t, store.Record{ID: "1", Text: "alpha"})
	require.Equal(t, 1, count(t, ix))
	require.NoError(t, os.Remove(filepath.Join(ix.Folder(), "CURRENT")))
	_, err := ix.Match(t.Context(), "alpha", 1, store.Filter{})
	require.ErrorIs(t, err, store.ErrCorrupt)
	require.ErrorContains(t, err, "names the current generation is gone")
}

// Letters that some keyboards lack are found by either spelling.
func TestLettersAndTheirSpellings(t *testing.T) {
	for _, tt := range []struct{ text, query string }{
		{"hors d'œuvre", "oeuvre"}, {"Œdipe", "oedipe"}, {"Đorđe", "dorde"}, {"Ðakota", "dakota"},
		{"well‑known", "well-known"}, {"straße", "strasse"}, {"Łódź", "lodz"},
	} {
		ix := indexOf(t, store.Record{ID: "1", Text: tt.text})
		require.Equal(t, []string{"1"}, matchedIDs(t, ix, tt.query), "%q in %q", tt.query, tt.text)
	}
}

// Of a query with too many terms, the rarest count.
func TestMoreTermsThanCount(t *testing.T) {
	ix := indexOf(t, store.Record{ID: "1", Text: manyWords + " zebra"}, store.Record{ID: "2", Text: manyWords})
	matches, err := ix.Match(t.Context(), manyWords+" zebra", 1, store.Filter{})
	require.NoError(t, err)
	require.Len(t, matches.Hits, 1)
	require.Equal(t, "1", matches.Hits[0].Record.ID)
	require.Len(t, matches.Terms, store.MaxTerms)
	require.Equal(t, ^uint64(0), matches.Hits[0].Held.Itself)
}

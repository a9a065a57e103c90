package keyword

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

// Scores equal those computed by hand.
func TestScoreIsBM25(t *testing.T) {
	ix := indexOf(t,
		store.Record{ID: "1", Text: "alpha beta"},
		store.Record{ID: "2", Text: "alpha alpha gamma delta epsilon zeta"},
		store.Record{ID: "3", Text: "beta"},
	)
	idf := func(n float64) float64 { return math.Log(1 + (3-n+0.5)/(n+0.5)) }
	part := func(frequency, length float64) float64 {
		tf := frequency / (1 - 0.75 + 0.75*length/3)
		return tf * 2.2 / (tf + 1.2)
	}
	want := map[string]float64{
		"1": idf(2)*part(1, 2) + idf(2)*part(1, 2),
		"2": idf(2) * part(2, 6),
		"3": idf(2) * part(1, 1),
	}
	got, err := ix.Scores(t.Context(), "Alpha, beta unknown the alpha", []string{"1", "2", "3", "4"})
	require.NoError(t, err)
	require.Len(t, got, 3)
	for id := range want {
		if math.Abs(got[id].Record-want[id]) > 1e-12 {
			t.Errorf("score of %s = %v, want %v", id, got[id].Record, want[id])
		}
	}
	matches, err := ix.Match(t.Context(), "Alpha, beta unknown the alpha", 10, store.Filter{})
	require.NoError(t, err)
	if ceiling := 2.2 * (2*idf(2) + idf(1)); math.Abs(matches.Ceiling-ceiling) > 1e-12 {
		t.Errorf("ceiling = %v, want %v", matches.Ceiling, ceiling)
	}
}

// A compound that no record holds demands no more than its parts.
func TestTheCeilingOfNames(t *testing.T) {
	ix := indexOf(t, store.Record{ID: "1", Text: "cache stats"}, store.Record{ID: "2", Text: "a getCacheHits"})
	for _, tt := range []struct{ query, same string }{
		{"getCacheStats", "get cache stats"},
		{"getCacheHits", "get cache hits cachet"}, // held, so a term of its own, as rare as one that is held by none
	} {
		got, err := ix.Match(t.Context(), tt.query, 1, store.Filter{})
		require.NoError(t, err)
		want, err := ix.Match(t.Context(), tt.same, 1, store.Filter{})
		require.NoError(t, err)
		if math.Abs(got.Ceiling-want.Ceiling) > 1e-12 {
			t.Errorf("ceiling of %q = %v, want %v as of %q", tt.query, got.Ceiling, want.Ceiling, tt.same)
		}
	}
}

func TestEqualScoresAreOrderedByID(t *testing.T) {
	ix := indexOf(t, store.Record{ID: "5", Text: "same"}, store.Record{ID: "7", Text: "same"})
	require.NoError(t, ix.Put(t.Context(), []store.Record{{ID: "6", Text: "same"}, {ID: "1", Text: "same"}}))
	require.NoError(t, ix.Commit(t.Context()))
	matches, err := ix.Match(t.Context(), "same", 3, store.Filter{})
	require.NoError(t, err)
	var got []string
	for _, hit := range matches.Hits {
		got = append(got, hit.Record.ID)
	}
	if want := []string{"1", "5", "6"}; !slices.Equal(got, want) {
		t.Errorf("Match = %q, want %q", got, want)
	}
}

func TestFieldsCountByWeight(t *testing.T) {
	filler := "some other words of about this length"
	ix := indexOf(t,
		store.Record{ID: "a", Text: "quokka " + filler},
		store.Record{ID: "b", Text: filler, Headings: []string{"Animals", "Quokka"}, Path: "notes/x.md"},
		store.Record{ID: "c", Text: filler, Kind: kindConversation, Speaker: "Quokka"},
		store.Record{ID: "d", Text: filler, Kind: kindConversation, Before: "user: quokka it was"},
		store.Record{ID: "e", Text: filler, Path: "animals/quokka.md"},
		store.Record{ID: "f", Text: filler},
	)
	got := matchedIDs(t, ix, "quokka")
	slices.Sort(got)
	if want := []string{"a", "b", "c", "d", "e"}; !slices.Equal(got, want) {
		t.Errorf("Match(quokka) = %q, want %q", got, want)
	}
	if ids := matchedIDs(t, ix, "quokka"); ids[0] != "a" || ids[len(ids)-1] != "d" {
		t.Errorf("Match(quokka) = %q, want the text first and the neighbour last", ids)
	}
}

func TestDatesAreFound(t *testing.T) {
	day := time.Date(2023, 5, 7, 23, 59, 0, 0, time.UTC)
	ix := indexOf(t,
		store.Record{ID: "1", Kind: kindConversation, Time: day, Text: "hello"},
		store.Record{ID: "2", Kind: "markdown", Time: day, Text: "hello"},
		store.Record{ID: "3", Kind: kindConversation, Text: "hello"},
	)
	for _, query := range []string{"7 May 2023", "2023-05-07", "What happened in May 2023?"} {
		if got := matchedIDs(t, ix, query); !slices.Equal(got, []string{"1"}) {
			t.Errorf("Match(%q) = %q, want the turn of that day", query, got)
		}
	}
}

// Scores do not depend on the commits.
func TestScoresDoNotDependOnHistory(t *testing.T) {
	recs := newVocabulary(7).records(300)
	once := indexOf(t, recs...)
	slowly := indexOf(t, newVocabulary(8).records(50)...)
	for i := range 60 {
		require.NoError(t, slowly.Put(t.Context(), recs[i*5:i*5+5]))
		require.NoError(t, slowly.Put(t.Context(), newVocabulary(uint64(i+100)).records(3)))
		require.NoError(t, slowly.Commit(t.Context()))
		require.NoError(t, slowly.Delete(t.Context(), idsOf(newVocabulary(uint64(i+100)).records(3))))
		require.NoError(t, slowly.Commit(t.Context()))
	}
	require.NoError(t, slowly.Delete(t.Context(), idsOf(newVocabulary(8).records(50))))
	require.NoError(t, slowly.Commit(t.Context()))
	require.NoError(t, slowly.Check(t.Context()))
	for i := range 20 {
		query := newVocabulary(uint64(i)).text(8)
		want, err := once.Match(t.Context(), query, 30, store.Filter{})
		require.NoError(t, err)
		got, err := slowly.Match(t.Context(), query, 30, store.Filter{})
		require.NoError(t, err)
		require.Equal(t, want, got, query)
	}
}

func idsOf(recs []store.Record) []string {
	var ids []string
	for _, rec := range recs {
		ids = append(ids, rec.ID)
	}
	return ids
}

func TestSmallCommitsStayInFewSegments(t *testing.T) {
	ix := indexOf(t, newVocabulary(1).records(500)...)
	more := newVocabulary(2)
	for i := range 200 {
		require.NoError(t, ix.Put(t.Context(), more.records(1)))
		require.NoError(t, ix.Commit(t.Context()))
		stats, err := ix.Stats(t.Context())
		require.NoError(t, err)
		if stats.Fragments > 8 {
			t.Fatalf("after %d commits there are %d segments, want 8 at most", i+1, stats.Fragments)
		}
	}
	n, err := ix.Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 700, n)
	require.NoError(t, ix.Check(t.Context()))
	files, err := filepath.Glob(filepath.Join(ix.Folder(), "*", "*.zap"))
	require.NoError(t, err)
	if len(files) > 16 { // two generations
		t.Errorf("%d segment files are left over: %v", len(files), files)
	}
}

func TestDeadRowsAreCompacted(t *testing.T) {
	recs := newVocabulary(1).records(400)
	ix := indexOf(t, recs...)
	for _, rec := range recs[:390] {
		require.NoError(t, ix.Delete(t.Context(), []string{rec.ID}))
		require.NoError(t, ix.Commit(t.Context()))
	}
	stats, err := ix.Stats(t.Context())
	require.NoError(t, err)
	if stats.Records != 10 || stats.Deleted > 11 {
		t.Errorf("stats = %+v, want 10 records and no more dead ones than live", stats)
	}
	require.NoError(t, ix.Check(t.Context()))
}

func TestTheRarestTermsOfALongQueryCount(t *testing.T) {
	recs := newVocabulary(1).records(200)
	recs[17].Text += " quokka"
	ix := indexOf(t, recs...)
	query := "the"
	for i := range 2_000 {
		query += fmt.Sprintf(" unknown%d", i)
	}
	matches, err := ix.Match(t.Context(), query+" quokka", 1, store.Filter{})
	require.NoError(t, err)
	if len(matches.Hits) != 1 || matches.Hits[0].Record.ID != recs[17].ID {
		t.Errorf("Match of 2,000 unknown words and a rare one = %v, want the record that holds it", matches.Hits)
	}
	if ceiling := matches.Ceiling; ceiling > 64*2.2*math.Log(1+199.5/1.5)+1e-9 || ceiling < matches.Hits[0].Score {
		t.Errorf("ceiling = %v, want that of 64 terms", ceiling)
	}
}

func TestFilter(t *testing.T) {
	ix := indexOf(t,
		store.Record{ID: "1", Text: "word", Scope: "project", Kind: "markdown", Path: "notes/a.md"},
		store.Record{ID: "2", Text: "word", Scope: "project", Kind: "markdown", Path: "notes/deep/b.md"},
		store.Record{ID: "3", Text: "word", Scope: "global", Kind: "conversation", Path: "~/log.jsonl"},
		store.Record{ID: "4", Text: "word", Scope: "global", Kind: "markdown", Path: "/abs/notes/a.md"},
		store.Record{ID: "5", Text: "word", Scope: "global", Kind: "markdown", Path: "notes.md"},
	)
	for _, tt := range []struct {
		f    store.Filter
		want string
	}{
		{store.Filter{}, "1 2 3 4 5"},
		{store.Filter{Scope: "project"}, "1 2"},
		{store.Filter{Scope: "nowhere"}, ""},
		{store.Filter{Kind: "markdown"}, "1 2 4 5"},
		{store.Filter{Kind: "markdown", Scope: "global"}, "4 5"},
		{store.Filter{Path: "notes"}, "1 2"},
		{store.Filter{Path: "notes/"}, "1 2"},
		{store.Filter{Path: "note"}, ""},
		{store.Filter{Path: "notes/deep"}, "2"},
		{store.Filter{Path: "notes/a.md"}, "1"},
		{store.Filter{Path: "~"}, "3"},
		{store.Filter{Path: "/"}, "4"},
		{store.Filter{Path: "/abs"}, "4"},
		{store.Filter{Not: []string{"notes/a.md", "notes.md", "gone.md"}}, "2 3 4"},
		{store.Filter{Not: []string{"notes"}}, "1 2 3 4 5"},
	} {
		matches, err := ix.Match(t.Context(), "word", 10, tt.f)
		require.NoError(t, err)
		var ids []string
		for _, hit := range matches.Hits {
			ids = append(ids, hit.Record.ID)
		}
		slices.Sort(ids)
		if got := strings.Join(ids, " "); got != tt.want {
			t.Errorf("Match with %+v = %q, want %q", tt.f, got, tt.want)
		}
	}
}

func TestRecordsComeBackAsTheyWere(t *testing.T) {
	rec := store.Record{
		ID: "ab", Scope: "project", Kind: kindConversation, Path: "s/x.jsonl", StartLine: 3, EndLine: 9,
		Headings: []string{"A", "", "ü"}, Session: "s1", Speaker: "Ada", Text: "bytes \xff\x00 of\r\n text",
		Time: time.Date(2026, 2, 3, 4, 5, 6, 789, time.FixedZone("", 3600)), Before: "b", After: "a",
		Hash: "00ff", Tokens: 12, Vector: []float32{1},
	}
	ix := indexOf(t, rec)
	recs, err := ix.Document(t.Context(), "s/x.jsonl")
	require.NoError(t, err)
	rec.Vector, rec.Time = nil, time.Date(2026, 2, 3, 3, 5, 6, 0, time.UTC)
	require.Equal(t, []store.Record{rec}, recs)
}

func TestBadIDsAreRefused(t *testing.T) {
	ix := indexOf(t)
	for _, id := range []string{"", "A", "xyz", strings.Repeat("a", 65), "a\n"} {
		if err := ix.Put(t.Context(), []store.Record{{ID: id}}); err == nil {
			t.Errorf("Put of a record with ID %q: no error", id)
		}
	}
}

func TestDamageIsTold(t *testing.T) {
	build := func(t *testing.T) (dir, segment string) {
		dir = t.TempDir()
		ix, err := Open(t.Context(), dir)
		require.NoError(t, err)
		require.NoError(t, ix.Put(t.Context(), newVocabulary(1).records(100)))
		require.NoError(t, ix.Commit(t.Context()))
		require.NoError(t, ix.Close())
		return dir, filepath.Join(dir, "1", "1-0.zap")
	}
	for _, tt := range []struct {
		name   string
		damage func(t *testing.T, dir, segment string)
		want   error
	}{
		{"a segment is gone", func(t *testing.T, _, segment string) { require.NoError(t, os.Remove(segment)) }, store.ErrCorrupt},
		{"a segment is cut", func(t *testing.T, _, segment string) { require.NoError(t, os.Truncate(segment, 1000)) }, store.ErrCorrupt},
		{"a segment is empty", func(t *testing.T, _, segment string) { require.NoError(t, os.Truncate(segment, 0)) }, store.ErrCorrupt},
		{"the manifest is gone", func(t *testing.T, dir, _ string) {
			require.NoError(t, os.Remove(filepath.Join(dir, "1", store.ManifestFile)))
		}, store.ErrCorrupt},
		{"the manifest is cut", func(t *testing.T, dir, _ string) {
			require.NoError(t, os.Truncate(filepath.Join(dir, "1", store.ManifestFile), 100))
		}, store.ErrCorrupt},
		{"the manifest is nonsense", func(t *testing.T, dir, _ string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "1", store.ManifestFile), []byte("hello"), 0o600))
		}, store.ErrCorrupt},
		{"the generation is gone", func(t *testing.T, dir, _ string) {
			require.NoError(t, os.RemoveAll(filepath.Join(dir, "1")))
		}, store.ErrCorrupt},
		{"CURRENT is nonsense", func(t *testing.T, dir, _ string) {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "CURRENT"), []byte("x"), 0o600))
		}, store.ErrCorrupt},
		{"an earlier format", func(t *testing.T, dir, _ string) {
			writeManifest(t, filepath.Join(dir, "1"), otherFormat(-100), "?")
		}, store.ErrFormat},
		{"a later format", func(t *testing.T, dir, _ string) { writeManifest(t, filepath.Join(dir, "1"), otherFormat(100), "?") }, store.ErrNewer},
		{"segments of a later format", func(t *testing.T, dir, _ string) { writeManifest(t, filepath.Join(dir, "1"), otherFormat(1), "?") }, store.ErrNewer},
		{"the number of the format is damaged", func(t *testing.T, dir, _ string) {
			replaceInFile(t, filepath.Join(dir, "1", store.ManifestFile), fmt.Sprintf(`"format":%d`, format.Number), fmt.Sprintf(`"format":%d`, format.Number+100))
		}, store.ErrCorrupt},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, segment := build(t)
			tt.damage(t, dir, segment)
			_, err := Open(t.Context(), dir)
			if !errors.Is(err, tt.want) {
				t.Errorf("Open: error %v, want %v", err, tt.want)
			}
			var wrapped *store.Error
			if !errors.As(err, &wrapped) || wrapped.Op != "open" || wrapped.Path != dir {
				t.Errorf("Open: error %#v, want a store.Error for opening %s", err, dir)
			}
		})
	}
}

func replaceInFile(t *testing.T, path, old, new string) {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), old)
	require.NoError(t, os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o600))
}

// Any wrong byte of a segment leads to an error or a right answer, and Check reports it.
func TestDamagedBytesAreSurvived(t *testing.T) {
	dir := t.TempDir()
	ix, err := Open(t.Context(), dir)
	require.NoError(t, err)
	require.NoError(t, ix.Put(t.Context(), newVocabulary(1).records(50)))
	require.NoError(t, ix.Commit(t.Context()))
	require.NoError(t, ix.Close())
	segment := filepath.Join(dir, "1", "1-0.zap")
	whole, err := os.ReadFile(segment)
	require.NoError(t, err)
	for at := 0; at < len(whole); at += len(whole)/97 + 1 {
		damaged := slices.Clone(whole)
		for i := range min(16, len(whole)-at) {
			damaged[at+i] ^= 0xA5
		}
		require.NoError(t, os.WriteFile(segment, damaged, 0o600))
		if err := useAll(t, dir); !errors.Is(err, store.ErrCorrupt) && !errors.Is(err, store.ErrFormat) {
			t.Errorf("with 16 bytes wrong at %d of %d: error %v, want ErrCorrupt", at, len(whole), err)
		}
	}
}

// The next read notices changed bytes of an open index, and their repair.
func TestBytesDamagedWhileOpen(t *testing.T) {
	ix := indexOf(t, newVocabulary(1).records(50)...)
	want, err := ix.Match(t.Context(), newVocabulary(1).text(30), 50, store.Filter{})
	require.NoError(t, err)
	segment := filepath.Join(ix.Folder(), "1", "1-0.zap")
	whole, err := os.ReadFile(segment)
	require.NoError(t, err)
	f, err := os.OpenFile(segment, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	for at := 0; at < len(whole); at += len(whole)/50 + 1 {
		_, err = f.WriteAt([]byte{whole[at] ^ 4}, int64(at))
		require.NoError(t, err)
		_, err := ix.Match(t.Context(), newVocabulary(1).text(30), 50, store.Filter{})
		if !errors.Is(err, store.ErrCorrupt) {
			t.Errorf("Match with a bit flipped at %d: error %v, want ErrCorrupt", at, err)
		}
		_, err = f.WriteAt(whole[at:at+1], int64(at))
		require.NoError(t, err)
		got, err := ix.Match(t.Context(), newVocabulary(1).text(30), 50, store.Filter{})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func useAll(t *testing.T, dir string) error {
	ix, err := Open(t.Context(), dir)
	if err != nil {
		return err
	}
	defer ix.Close()
	var all []error
	_, err = ix.Match(t.Context(), newVocabulary(1).text(30), 50, store.Filter{Scope: "project"})
	all = append(all, err)
	_, err = ix.Document(t.Context(), "sessions/000.jsonl")
	return errors.Join(append(all, err, ix.Check(t.Context()))...)
}

func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 5 {
		ix := indexOf(t, newVocabulary(1).records(20)...)
		matchedIDs(t, ix, "word")
		require.NoError(t, ix.Close())
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, want the %d there were before", after, before)
	}
}

// Two open indexes are like two processes: one commits, the other reads.
func TestReadersFollowTheWriter(t *testing.T) {
	dir := t.TempDir()
	writer, err := Open(t.Context(), dir)
	require.NoError(t, err)
	defer writer.Close()
	reader, err := Open(t.Context(), dir)
	require.NoError(t, err)
	defer reader.Close()
	var wait sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		wait.Go(func() {
			last := 0
			for {
				select {
				case <-done:
					return
				default:
				}
				matches, err := reader.Match(t.Context(), "common", 1000, store.Filter{})
				if err != nil || len(matches.Hits) < last || len(matches.Hits)%3 != 0 {
					t.Errorf("%d hits after %d, error %v, want whole batches of 3", len(matches.Hits), last, err)
					return
				}
				last = len(matches.Hits)
			}
		})
	}
	for i := range 40 {
		for j := range 3 {
			require.NoError(t, writer.Put(t.Context(), []store.Record{{ID: fmt.Sprintf("%x", i*3+j), Text: "common"}}))
		}
		require.NoError(t, writer.Commit(t.Context()))
		n, err := reader.Count(t.Context())
		require.NoError(t, err)
		require.Equal(t, i*3+3, n)
	}
	close(done)
	wait.Wait()
}

// The index is deleted under an open reader and rebuilt up to the same number.
func TestAnIndexBuiltAnewIsSeen(t *testing.T) {
	dir := t.TempDir()
	build := func(text string) {
		ix, err := Open(t.Context(), dir)
		require.NoError(t, err)
		require.NoError(t, ix.Put(t.Context(), []store.Record{{ID: "1", Text: text}}))
		require.NoError(t, ix.Commit(t.Context()))
		require.NoError(t, ix.Close())
	}
	build("old")
	reader, err := Open(t.Context(), dir)
	require.NoError(t, err)
	defer reader.Close()
	require.Equal(t, []string{"1"}, matchedIDs(t, reader, "old"))
	// Moved, not removed, so that its inode is not reused.
	require.NoError(t, os.Rename(filepath.Join(dir, "1"), filepath.Join(t.TempDir(), "kept")))
	require.NoError(t, os.RemoveAll(dir))
	build("new")
	require.Equal(t, []string{"1"}, matchedIDs(t, reader, "new"))
	require.NoError(t, os.RemoveAll(dir))
	require.Equal(t, []string{"1"}, matchedIDs(t, reader, "new"))
	build("newest")
	require.Equal(t, []string{"1"}, matchedIDs(t, reader, "newest"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "CURRENT"), []byte("?"), 0o600))
	if _, err := reader.Count(t.Context()); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("Count of a damaged index: error %v, want ErrCorrupt", err)
	}
}

// A crash before Publish leaves an unused folder.
func TestWhatACrashLeavesIsPassedOver(t *testing.T) {
	ix := indexOf(t, store.Record{ID: "1", Text: "before"})
	remains := filepath.Join(ix.Folder(), "2")
	require.NoError(t, os.Mkdir(remains, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(remains, "2-0.zap"), []byte("half"), 0o600))
	require.Equal(t, []string{"1"}, matchedIDs(t, ix, "before"))
	require.NoError(t, ix.Put(t.Context(), []store.Record{{ID: "2", Text: "after"}}))
	require.NoError(t, ix.Commit(t.Context()))
	require.Equal(t, []string{"2"}, matchedIDs(t, ix, "after"))
	require.NoError(t, ix.Check(t.Context()))
}

// A commit that fails leaves the index and drops its batch; the next one succeeds.
func TestAFailedCommitChangesNothing(t *testing.T) {
	ix := indexOf(t, store.Record{ID: "1", Text: "kept"})
	inTheWay := filepath.Join(ix.Folder(), "CURRENT.new")
	require.NoError(t, os.Mkdir(inTheWay, 0o700))
	require.NoError(t, ix.Put(t.Context(), []store.Record{{ID: "2", Text: "lost"}}))
	require.Error(t, ix.Commit(t.Context()))
	require.NoError(t, os.Remove(inTheWay))
	require.NoError(t, ix.Commit(t.Context()))
	require.Empty(t, matchedIDs(t, ix, "lost"))
	require.NoError(t, ix.Put(t.Context(), []store.Record{{ID: "3", Text: "kept too"}}))
	require.NoError(t, ix.Commit(t.Context()))
	require.Equal(t, []string{"1", "3"}, matchedIDs(t, ix, "kept"))
	require.NoError(t, ix.Check(t.Context()))
}

func TestACancelledSearchEnds(t *testing.T) {
	ix := indexOf(t, newVocabulary(1).records(20)...)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := ix.Match(ctx, "the word", 10, store.Filter{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Match after cancel: error %v, want context.Canceled", err)
	}
	require.NoError(t, ix.Put(t.Context(), newVocabulary(2).records(20)))
	if err := ix.Commit(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Commit after cancel: error %v, want context.Canceled", err)
	}
	require.NoError(t, ix.Commit(t.Context()))
	require.Equal(t, 20, count(t, ix))
}

// Statements repeat what other records say. So they do not change how rare a word is or how long a
// document is; they only count for the average length of records.
func TestStatementsDoNotCount(t *testing.T) {
	record := func(n int, kind, path, text string) store.Record {
		return store.Record{ID: fmt.Sprintf("%02x", n), Scope: "project", Kind: kind, Path: path, StartLine: n, EndLine: n, Text: text}
	}
	ordinary := []store.Record{
		record(1, "conversation", "a.jsonl", "we use tofu for the network here"),
		record(2, "conversation", "a.jsonl", "the network has two rings and a bridge"),
		record(3, "markdown", "b.md", "the bridge is closed in winter, when ice comes"),
	}
	match := func(records []store.Record, f store.Filter) store.Matches {
		ix, err := Open(t.Context(), t.TempDir())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, ix.Close()) })
		require.NoError(t, ix.Put(t.Context(), records))
		require.NoError(t, ix.Commit(t.Context()))
		found, err := ix.Match(t.Context(), "tofu network bridge", 10, f)
		require.NoError(t, err)
		return found
	}
	without := match(ordinary, store.Filter{})
	all := append(slices.Clone(ordinary), record(4, store.KindStatement, "a.jsonl", "we use tofu for the network here"))
	with := match(all, store.Filter{NotKind: store.KindStatement})
	require.Equal(t, without.Terms, with.Terms)
	require.InDelta(t, without.Ceiling, with.Ceiling, 1e-9)
	require.InEpsilon(t, without.BestDocument, with.BestDocument, 0.05)
	require.Len(t, with.Hits, len(without.Hits))
	for i, hit := range with.Hits {
		require.Equal(t, without.Hits[i].Record.ID, hit.Record.ID)
		require.InEpsilon(t, without.Hits[i].Document, hit.Document, 0.05)
	}
	said := match(all, store.Filter{Kind: store.KindStatement})
	require.Len(t, said.Hits, 1)
	require.Positive(t, said.Hits[0].Score)
}

// A record is found by its aliases, and returned with them.
func TestAliases(t *testing.T) {
	rec := store.Record{ID: "1", Kind: "markdown", Path: "a.md", Text: "alpha", Aliases: []string{"retry budget", "quota; of 'zebras'"}}
	ix := indexOf(t, rec, store.Record{ID: "2", Kind: "markdown", Path: "b.md", Text: "beta"})
	matches, err := ix.Match(t.Context(), "the zebras", 10, store.Filter{})
	require.NoError(t, err)
	require.Len(t, matches.Hits, 1)
	require.Equal(t, rec.Aliases, matches.Hits[0].Record.Aliases)
	require.Equal(t, uint64(1), matches.Hits[0].Held.Itself)
	others, err := ix.Document(t.Context(), "b.md")
	require.NoError(t, err)
	require.Nil(t, others[0].Aliases)
}

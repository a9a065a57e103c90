package sets

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed/embedtest"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

func openWordy(ctx context.Context, sources []source.Source, folder string) (*core.Manager, error) {
	return core.Open(ctx, wordyOptions(sources, folder))
}

func wordyOptions(sources []source.Source, folder string) core.Options {
	return core.Options{
		Folder: folder, Sources: sources, Embedder: embedtest.BagOfWords{Dim: 64}, Freshness: -1,
		Engine: store.Engine{
			Name: "flat",
			Vectors: func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
				return flat.Open(ctx, dir, dimension)
			},
			Keywords: func(ctx context.Context, dir string) (store.KeywordIndex, error) { return keyword.Open(ctx, dir) },
		},
	}
}

func TestRun(t *testing.T) {
	collections, err := Collections("testdata/hou*")
	require.NoError(t, err)
	for _, level := range Levels {
		got, err := RunAll(t.Context(), openWordy, collections, Options{Options: eval.Options{K: []int{5, 1}}, Level: level})
		require.NoError(t, err)
		require.Equal(t, []int{1, 5, 10}, got.K)
		require.Len(t, got.Collections, 1)
		require.Equal(t, "house/diary", got.Collections[0].Name)
		require.Equal(t, 4, got.All.Queries, "those with a judgment")
		require.Equal(t, 1, got.All.Unanswerable)
		require.Equal(t, 6, got.All.Documents)
		for _, key := range []string{"recall@5", "any@5", "all@5"} {
			if got.All.Scores[key] != 1 {
				t.Errorf("level %s: %s = %v, want 1", level, key, got.All.Scores[key])
			}
		}
		if mrr := got.All.Scores["mrr"]; mrr < 0.8 {
			t.Errorf("level %s: mrr = %v, want most answers first", level, mrr)
		}
		if table := got.Table(); !strings.Contains(table, "house/diary") || !strings.Contains(table, "R@5") {
			t.Errorf("table lacks its rows or columns:\n%s", table)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	for want, o := range map[string]Options{
		`level is "page"`:  {Level: "page"},
		"recall at rank 0": {Options: eval.Options{K: []int{0, 5}}},
	} {
		if _, err := Run(t.Context(), openWordy, Collection{}, o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Run(%+v) = %v, want an error with %q", o, err, want)
		}
	}
}

func TestCorpus(t *testing.T) {
	c, err := ReadBEIR("testdata/house/diary")
	require.NoError(t, err)
	in := newCorpus(c.Documents)
	listing, err := in.List(t.Context())
	require.NoError(t, err)
	require.Len(t, listing.Documents, 4, "three sessions and a note")
	first, err := in.Read(t.Context(), listing.Documents[0], source.Position{})
	require.NoError(t, err)
	require.Len(t, first.Turns, 2)
	turn := first.Turns[1]
	if turn.Line != 2 || turn.Speaker != "Ben" || turn.Text != "I parked the bicycle in the cellar." {
		t.Errorf("second turn = %+v, want line 2, by Ben, without his name before it", turn)
	}
	if want := time.Date(2024, 3, 3, 9, 5, 0, 0, time.UTC); !turn.Time.Equal(want) {
		t.Errorf("time of the second turn = %v, want %v", turn.Time, want)
	}
	if id, ok := in.document(listing.Documents[0].Path, 2); id != "d2" || !ok {
		t.Errorf("document on line 2 = %q, %v, want d2", id, ok)
	}
	if id, ok := in.document(listing.Documents[0].Path, 9); ok {
		t.Errorf("document on line 9 = %q, want none", id)
	}
	note, err := in.Read(t.Context(), listing.Documents[3], source.Position{})
	require.NoError(t, err)
	if got, want := string(note.Markdown), "# Insurance\n\nThe insurance number is in the blue folder."; got != want {
		t.Errorf("note = %q, want %q", got, want)
	}
	if _, err := in.Read(t.Context(), source.Document{Path: "other"}, source.Position{}); err == nil {
		t.Error("Read of what is not in the collection gives no error")
	}
}

func TestTimeOf(t *testing.T) {
	for in, want := range map[string]time.Time{
		"1:56 pm on 8 May, 2023": time.Date(2023, 5, 8, 13, 56, 0, 0, time.UTC),
		"2023/05/30 (Tue) 16:40": time.Date(2023, 5, 30, 16, 40, 0, 0, time.UTC),
		"29.12.2023, 22:42:04":   time.Date(2023, 12, 29, 22, 42, 4, 0, time.UTC),
		"31.12.2023":             time.Date(2023, 12, 31, 0, 0, 0, 0, time.UTC),
		"March-15-2024":          time.Date(2024, 3, 15, 0, 0, 0, 0, time.UTC),
		"2024-02-29":             time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC),
		"some day":               {},
		"":                       {},
	} {
		if got := timeOf(in); !got.Equal(want) {
			t.Errorf("timeOf(%q) = %v, want %v", in, got, want)
		}
	}
}

func TestReadBEIRAsPublished(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "qrels"), 0o700))
	for name, text := range map[string]string{corpusFile: `{"_id":"d","title":"T","text":"x"}`, queriesFile: `{"_id":"q","text":"x"}`, "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq\td\t1\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	all, err := Collections(folder)
	require.NoError(t, err)
	require.Equal(t, map[string]map[string]int{"q": {"d": 1}}, all[0].Judgments)
	require.Equal(t, "d", all[0].Documents[0].ID)
}

func TestReadBEIRErrors(t *testing.T) {
	const corpus, queries, judgments = `{"id":"d","text":"x"}`, `{"id":"q","text":"x"}`, "q\td\t1"
	tests := []struct{ name, corpus, queries, judgments, want string }{
		{"cut corpus", corpus + "\n{\"id\":", queries, judgments, "corpus.jsonl:2:"},
		{"no id", `{"text":"x"}`, queries, judgments, "corpus.jsonl:1: document has no id"},
		{"document twice", corpus + "\n\n" + corpus, queries, judgments, `corpus.jsonl:3: document "d" occurs twice`},
		{"session is a list", `{"id":"d","session":[1]}`, queries, judgments, "corpus.jsonl:1:"},
		{"query twice", corpus, queries + "\n" + queries, judgments, `queries.jsonl:2: query "q" occurs twice`},
		{"answerable is text", corpus, `{"id":"q","meta":{"answerable":"no"}}`, judgments, "queries.jsonl:1:"},
		{"spaces for tabs", corpus, queries, "q d 1", "qrels.tsv:1: 1 fields, want 3"},
		{"relevance", corpus, queries, "q\td\thigh", `qrels.tsv:1: relevance "high"`},
		{"unknown query", corpus, queries, judgments + "\nz\td\t1", `qrels.tsv:2: query "z"`},
		{"unknown document", corpus, queries, "q\tz\t1", `qrels.tsv:1: document "z"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			folder := t.TempDir()
			for name, text := range map[string]string{corpusFile: test.corpus, queriesFile: test.queries, judgmentsFile: test.judgments} {
				require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
			}
			if _, err := ReadBEIR(folder); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("ReadBEIR = %v, want an error with %q", err, test.want)
			}
		})
	}
}

func TestCollectionsFindsNone(t *testing.T) {
	for _, pattern := range []string{t.TempDir(), "testdata/no*thing"} {
		if _, err := Collections(pattern); err == nil || !strings.Contains(err.Error(), "no collection") {
			t.Errorf("Collections(%q) = %v, want an error that there is none", pattern, err)
		}
	}
	if _, err := Collections("[a"); err == nil {
		t.Error(`Collections("[a") = nil, want an error that the pattern is bad`)
	}
}

// A question of a collection counts from the time at which it was asked, also in a fit.
func TestEvidenceOfTime(t *testing.T) {
	c := Collection{Name: "house/days", Queries: []Query{{ID: "q", Text: "What did we do yesterday?", Now: time.Date(2024, 3, 5, 18, 0, 0, 0, time.UTC)}}}
	for id, day := range map[string]string{"a": "2024-03-01", "b": "2024-03-04"} {
		c.Documents = append(c.Documents, Document{ID: id, Speaker: "Ann", Session: Label(id), Date: day, Text: "Ann: We painted the hall, part " + id + "."})
	}
	found, err := Evidence(t.Context(), openWordy, c, c.Queries)
	require.NoError(t, err)
	require.Len(t, found[0].Candidates, 2)
	for i, candidate := range found[0].Candidates {
		require.Equal(t, found[0].Units[i] == "b", candidate.Timely == 1, "%s: %v", found[0].Units[i], candidate.Timely)
	}
}

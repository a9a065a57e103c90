package sets

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/keyword"
)

// set returns a collection of documents with distinct subjects and a question for each.
func set(name string, documents int) Collection {
	c := Collection{Name: name, Judgments: map[string]map[string]int{}}
	no := false
	for i := range documents {
		id, subject := fmt.Sprint("d", i), strings.ReplaceAll(fmt.Sprintf("%s%c%c", name, 'a'+i/26, 'a'+i%26), "/", "x")
		c.Documents = append(c.Documents, Document{ID: id, Text: fmt.Sprintf("The %s stands in the hall behind the %sdoor.", subject, subject)})
		q := Query{ID: name + "/q" + fmt.Sprint(i), Text: fmt.Sprintf("Where does the %s stand?", subject)}
		c.Queries = append(c.Queries, q)
		c.Judgments[q.ID] = map[string]int{id: 1}
	}
	own := Query{ID: name + "/none", Text: "Who carved it?"}
	own.Meta.Answerable = &no
	c.Queries = append(c.Queries, own)
	return c
}

func sets() []Collection {
	return []Collection{set("halls/north", 40), set("halls/south", 40), set("barns/one", 40), set("mills/one", 40)}
}

func TestMixed(t *testing.T) {
	o := MixedOptions{Sizes: []int{5, 60}, Each: 4, Seed: 3}
	memories, err := Mixed(sets(), o)
	require.NoError(t, err)
	require.Len(t, memories, 8)
	again, err := Mixed(sets(), o)
	require.NoError(t, err)
	require.Equal(t, memories, again, "the same seed makes the same memories")
	o.Seed++
	other, err := Mixed(sets(), o)
	require.NoError(t, err)
	require.NotEqual(t, memories, other)
	kinds := map[string]int{}
	for _, m := range memories {
		require.True(t, IsMixed(m))
		in, from := map[string]bool{}, map[string]bool{}
		for _, d := range m.Documents {
			in[d.ID] = true
			from[strings.Join(strings.Split(d.ID, "/")[:2], "/")] = true
		}
		require.Greater(t, len(from), 1, "parts of several collections")
		if m.Name == "mixed-5/1" && len(m.Documents) > 10 || strings.HasPrefix(m.Name, "mixed-60/") && len(m.Documents) < 40 {
			t.Errorf("%s has %d documents", m.Name, len(m.Documents))
		}
		for _, q := range m.Queries {
			kind := MixedKind(q)
			kinds[kind]++
			require.Equal(t, kind != MixedAnswerable, q.Unanswerable(), q.ID)
			_, rest, _ := strings.Cut(q.ID, ":")
			asks := strings.Join(strings.Split(rest, "/")[:2], "/")
			require.Equal(t, kind == MixedAnswerable || kind == MixedOwn, from[asks], q.ID)
			for id := range m.Judgments[q.ID] {
				require.True(t, in[id], "%s: %s is in the memory", q.ID, id)
			}
		}
	}
	for _, kind := range []string{MixedAnswerable, MixedOwn, MixedSister, MixedForeign} {
		require.Positive(t, kinds[kind], kind)
	}
	_, err = Mixed(sets()[:1], o)
	require.ErrorContains(t, err, "mix 1 collections, want at least 2")
	_, err = Mixed(sets(), MixedOptions{Sizes: []int{0}})
	require.ErrorContains(t, err, "mix a memory of 0 chunks")
}

func TestRunMixed(t *testing.T) {
	memories, err := Mixed(sets(), MixedOptions{Sizes: []int{20}, Each: 3, Seed: 1})
	require.NoError(t, err)
	open := func(ctx context.Context, sources []source.Source, folder string) (*core.Manager, error) {
		return core.Open(ctx, core.Options{Folder: folder, Sources: sources, Freshness: -1, Engine: store.Engine{
			Vectors:  func(context.Context, string, int) (store.VectorIndex, error) { panic("no vectors were asked for") },
			Keywords: func(ctx context.Context, dir string) (store.KeywordIndex, error) { return keyword.Open(ctx, dir) },
		}})
	}
	done := 0
	report, err := RunMixed(t.Context(), open, memories, func(n, of int) { done = n; require.Equal(t, 3, of) })
	require.NoError(t, err)
	require.Equal(t, 3, done)
	require.Len(t, report.Sizes, 1)
	require.Equal(t, 3, report.All.Memories)
	require.Positive(t, report.All.Answerable)
	require.Positive(t, report.All.Strangers)
	require.Greater(t, report.All.Helped, 0.9, "each question names what it asks for")
	require.Greater(t, report.All.Precision, 0.9)
	require.Greater(t, report.All.Silent, 0.9, "no memory has another collection's names")
	require.InDelta(t, 1, report.All.Helped+report.All.Empty, 0.1)
	require.Regexp(t, `(?m)^mixed-20 +3 `, report.Table())
	require.Regexp(t, `(?m)^all +3 `, report.Table())
}

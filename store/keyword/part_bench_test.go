package keyword

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

const manyMembers = 100_000

// many are members of a large part: about 100 distinct terms each.
var many = sync.OnceValue(func() []Member { return members(newVocabulary(1).records(manyMembers)...) })

var manyPart = sync.OnceValue(func() *Part { return NewPart(many()) })

func BenchmarkNewPart100k(b *testing.B) {
	var packed, terms int
	for _, m := range many() {
		packed += len(m.Words.packed)
		words, err := m.Words.read()
		require.NoError(b, err)
		for more, _ := words.next(); more; more, _ = words.next() {
			terms++
		}
	}
	for b.Loop() {
		NewPart(many())
	}
	b.ReportMetric(float64(terms)/manyMembers, "terms/record")
	b.ReportMetric(float64(packed)/manyMembers, "packed-B/record")
	b.ReportMetric(float64(manyPart().Bytes())/manyMembers, "B/record")
}

func noRecords(_ context.Context, ids []string) ([]store.Record, error) {
	return make([]store.Record, len(ids)), nil
}

func BenchmarkMatchPart(b *testing.B) {
	parts := map[string][]*Part{
		"10000":           {NewPart(many()[:10_000])},
		"100000":          {manyPart()},
		"100000 in three": {NewPart(many()[:70_000]), NewPart(many()[70_000:99_000]), NewPart(many()[99_000:])},
	}
	for _, name := range []string{"10000", "100000", "100000 in three"} {
		b.Run(name, func(b *testing.B) {
			words := newVocabulary(2)
			for b.Loop() {
				_, err := Over(parts[name], noRecords).Match(b.Context(), words.text(10), 50, store.Filter{Scope: "project"})
				require.NoError(b, err)
			}
		})
	}
}

// One document of a large part is written, and searched for.
func BenchmarkPartWith(b *testing.B) {
	for _, n := range []int{1, 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			part := manyPart()
			some := members(newVocabulary(3).records(n * 200)...)
			at := 0
			for b.Loop() {
				if at += n; at+n > len(some) {
					at = 0
				}
				part = part.With(PartChange{Members: some[at : at+n]})
				part.layout()
			}
			b.ReportMetric(float64(len(part.blocks)), "blocks")
		})
	}
}

func BenchmarkAnalyse(b *testing.B) {
	records := newVocabulary(4).records(1_000)
	for b.Loop() {
		Analyse(records)
	}
}

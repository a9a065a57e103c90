package keyword

import (
	"context"
	"sync"

	"github.com/memcore/memcore/store"
)

// A Reader searches parts as if their records were in one index: the scores are those of an Index
// with all of them. It is safe for concurrent use.
//
// Its first search joins the parts, which takes about a millisecond for 100,000 records in several.
// It keeps its last answer, 24 bytes a record: make a Reader for each question.
type Reader struct {
	parts   []*Part
	firsts  []int // numbers of the first records of parts
	fetch   func(ctx context.Context, ids []string) ([]store.Record, error)
	answers answers

	laidOut   sync.Once
	documents *layout
}

var _ source = (*Reader)(nil)

// Over returns a Reader of parts. records returns the records with these IDs, in any order; one
// that it leaves out is left out of the hits.
func Over(parts []*Part, records func(ctx context.Context, ids []string) ([]store.Record, error)) *Reader {
	r := &Reader{fetch: records}
	r.answers.source = r
	first := 0
	for _, p := range parts {
		if p.Count() == 0 {
			continue
		}
		r.parts, r.firsts = append(r.parts, p), append(r.firsts, first)
		for _, b := range p.blocks {
			first += len(b.rows)
		}
	}
	return r
}

// Match is that of a store.KeywordIndex (see Index.Match).
func (r *Reader) Match(ctx context.Context, query string, k int, f store.Filter) (store.Matches, error) {
	if err := ctx.Err(); err != nil {
		return store.Matches{}, err
	}
	return r.answers.match(ctx, query, k, f)
}

// Scores is that of a store.KeywordIndex.
func (r *Reader) Scores(ctx context.Context, query string, ids []string) (map[string]store.Score, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r.answers.scoresByID(ctx, query, ids)
}

// Count is the number of records.
func (r *Reader) Count(context.Context) (n int, err error) {
	for _, p := range r.parts {
		n += p.count
	}
	return n, nil
}

// Languages counts records by the language of their text, as an Index does.
func (r *Reader) Languages(context.Context) (map[string]int, error) {
	records := map[string]int{}
	for _, p := range r.parts {
		for i, n := range p.byTraits() {
			if n > 0 {
				records[p.traits[i].language] += n
			}
		}
	}
	return records, nil
}

// LanguageOf is that of an Index.
func (r *Reader) LanguageOf(text string) string { return textLanguage(text) }

func (r *Reader) layout() (*layout, error) {
	r.laidOut.Do(func() {
		if len(r.parts) == 1 {
			r.documents = r.parts[0].layout()
		} else {
			r.documents = r.join()
		}
	})
	return r.documents, nil
}

// join makes one layout of those of the parts.
func (r *Reader) join() *layout {
	l := &layout{}
	var all []blockTexts
	for i, p := range r.parts {
		l.add(p.layout())
		for _, b := range p.blocks {
			all = append(all, blockTexts{p, b, r.firsts[i] + b.first, b.texts})
		}
	}
	l.uniteBetween(all)
	l.finish()
	return l
}

// add appends the documents and records of another layout.
func (l *layout) add(other *layout) {
	document, number := int32(len(l.sizes)), int32(len(l.of))
	if other.original != nil && l.original == nil {
		l.original = ownOriginals(len(l.of))
	}
	for i, of := range other.of {
		if of >= 0 {
			of += document
		}
		l.of = append(l.of, of)
		switch {
		case other.original != nil:
			l.original = append(l.original, number+other.original[i])
		case l.original != nil:
			l.original = append(l.original, number+int32(i))
		}
	}
	l.sizes = append(l.sizes, other.sizes...)
	l.originals = append(l.originals, other.originals...)
	l.records += other.records
	l.all += other.all
	l.number += other.number
	l.total.add(other.total)
	l.lengths.add(other.lengths)
	for _, spoken := range other.spoken {
		l.addSpoken(spoken)
	}
}

// row returns the part of a number, the block, and the row there.
func (r *Reader) row(number int) (part int, b *living, i int) {
	part = len(r.parts) - 1
	for r.firsts[part] > number {
		part--
	}
	b, i = blockOf(r.parts[part].blocks, number-r.firsts[part])
	return part, b, i
}

// eachBlock calls do with all blocks, and the numbers of their first records.
func (r *Reader) eachBlock(do func(b *living, first int)) {
	for i, p := range r.parts {
		for _, b := range p.blocks {
			do(b, r.firsts[i]+b.first)
		}
	}
}

// find implements source.
func (r *Reader) find(ids []string, do func(number int, id string)) error {
	r.eachBlock(func(b *living, first int) {
		for _, id := range ids {
			if i := b.find(id); i >= 0 && !b.dead.has(i) {
				do(first+i, id)
			}
		}
	})
	return nil
}

func (r *Reader) id(number int) (string, error) {
	_, b, i := r.row(number)
	return b.rows[i].id, nil
}

// records implements source.
func (r *Reader) records(ctx context.Context, numbers []int) ([]store.Record, error) {
	ids := make([]string, len(numbers))
	at := make(map[string]int, len(numbers))
	for i, number := range numbers {
		ids[i], _ = r.id(number)
		at[ids[i]] = i
	}
	found, err := r.fetch(ctx, ids)
	if err != nil {
		return nil, err
	}
	all := make([]store.Record, len(numbers))
	for _, rec := range found {
		if i, ok := at[rec.ID]; ok {
			all[i] = rec
		}
	}
	return all, nil
}

// filter implements source.
func (r *Reader) filter(f store.Filter) (func(number int) bool, error) {
	byTraits := store.Filter{Scope: f.Scope, Kind: f.Kind, NotKind: f.NotKind}
	byPath := store.Filter{Path: f.Path}
	const passes, fails = 1, -1 // 0 is not known yet
	verdict := func(known *int8, find func() bool) bool {
		if *known == 0 {
			if *known = fails; find() {
				*known = passes
			}
		}
		return *known == passes
	}
	type verdicts struct{ traits, documents []int8 }
	known := make([]verdicts, len(r.parts))
	for i, p := range r.parts {
		known[i] = verdicts{make([]int8, len(p.traits)), make([]int8, len(p.paths))}
		for _, path := range f.Not {
			if at := p.names.known(path); 0 <= at && int(at) < len(p.paths) {
				known[i].documents[at] = fails
			}
		}
	}
	timed := f.Timed()
	return func(number int) bool {
		part, b, i := r.row(number)
		p, at := r.parts[part], &b.rows[i]
		return verdict(&known[part].traits[at.traits], func() bool {
			t := p.traits[at.traits]
			return byTraits.Passes(t.scope, t.kind, "")
		}) && verdict(&known[part].documents[at.document], func() bool {
			return byPath.Passes("", "", p.paths[at.document])
		}) && (!timed || f.PassesAt(at.when()))
	}, nil
}

// postings implements source.
func (r *Reader) postings() (postings, error) { return r, nil }

func (r *Reader) count(field int, spelling []byte) (n uint64, err error) {
	r.eachBlock(func(b *living, _ int) {
		count, entries := b.postingsOf(spelling, field)
		if b.dead == nil {
			n += uint64(count)
			return
		}
		for entries.next() {
			if !b.dead.has(entries.row) {
				n++
			}
		}
	})
	return n, nil
}

func (r *Reader) collect(ctx context.Context, field int, spelling []byte, to weighted) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.eachBlock(func(b *living, first int) {
		_, entries := b.postingsOf(spelling, field)
		for entries.next() {
			if !b.dead.has(entries.row) {
				to.add(first+entries.row, entries.frequency, uint64(b.sizes[entries.row][field]))
			}
		}
	})
	return nil
}

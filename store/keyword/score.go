package keyword

import (
	"context"
	"math"

	"github.com/memcore/memcore/store"
)

// scores are the BM25 scores of a query. They are not changed once made.
type scores struct {
	of         []float64 // by number of the record in the snapshot; 0 if it does not match
	matched    []int     // numbers of the records that match
	ceiling    float64
	ofDocument []float64 // by number of the document; 0 if it does not match
	terms      []store.Term
	held       []store.Held // by number of the record
}

// score computes BM25F: the occurrences of a term in all fields of a record are first added up,
// each weighted by its field and held back by the field's length, and then saturate together. So a
// word that stands in text and heading counts more than in one of them, but never as two words, and
// no record can go above idf * (K1+1) for a term, which makes the ceiling exact.
//
// Documents are scored the same way, each as if it were one text: what a record does not say, those
// beside it may. Their length is counted in records.
func (x *search) score(ctx context.Context, terms []term, layout *layout) (*scores, error) {
	terms, err := x.rarest(terms, x.options.MaxTerms)
	if err != nil {
		return nil, err
	}
	result := &scores{of: make([]float64, x.rows), ofDocument: make([]float64, len(layout.sizes)), held: make([]store.Held, x.rows)}
	records, documents := newOccurrences(x.rows), newOccurrences(len(layout.sizes))
	for _, t := range terms {
		n, err := x.collect(ctx, t, records)
		if err != nil {
			return nil, err
		}
		most := idf(n, max(x.live, n)) * (x.options.K1 + 1)
		if len(records.in) > 0 || !t.whole {
			result.ceiling += most
		}
		result.note(t, n, records.in)
		for _, number := range records.in {
			if result.of[number] == 0 {
				result.matched = append(result.matched, number)
			}
			result.of[number] += x.saturated(most, records.of[number])
			if document := layout.of[number]; document >= 0 {
				documents.add(int(document), math.Round(records.of[number]*fine))
			}
		}
		x.scoreDocuments(layout, documents, result.ofDocument)
		records.clear()
		documents.clear()
	}
	return result, nil
}

// note keeps which records hold a term: the first n of in themselves, the others in their neighbours.
func (s *scores) note(t term, n int, in []int) {
	at := len(s.terms)
	s.terms = append(s.terms, store.Term{Word: t.word, Records: n, Compound: t.whole})
	if at >= store.MostTerms {
		return
	}
	for i, number := range in {
		if i < n {
			s.held[number].Itself |= 1 << at
		}
		s.held[number].Nearby |= 1 << at
	}
}

// fine is in how many parts occurrences are counted for documents: whole numbers have the same sum in
// any order, and the order of records depends on how they came into the index.
const fine = 1 << 20

func (x *search) scoreDocuments(l *layout, found *occurrences, scores []float64) {
	n := len(found.in)
	most := idf(n, max(l.live, n)) * (x.options.K1 + 1)
	for _, document := range found.in {
		size := float64(l.sizes[document]) / l.average
		scores[document] += x.saturated(most, found.of[document]/fine/(1-x.options.B+x.options.B*size))
	}
}

// saturated is what occurrences are worth: never more than most, however many they are.
func (x *search) saturated(most, occurrences float64) float64 {
	return most * occurrences / (x.options.K1 + occurrences)
}

// idf is how much a term says that is held by so many of all. One that is held by none counts as if
// by one.
func idf(holders, all int) float64 {
	n, of := float64(max(holders, 1)), float64(max(all, 1))
	return math.Log(1 + (of-n+0.5)/(n+0.5))
}

// occurrences are the weighted occurrences of one term, by number of a record or document.
type occurrences struct {
	of []float64
	in []int // the numbers that have any
}

func newOccurrences(n int) *occurrences { return &occurrences{of: make([]float64, n)} }

func (o *occurrences) add(number int, weighted float64) {
	if o.of[number] == 0 {
		o.in = append(o.in, number)
	}
	o.of[number] += weighted
}

func (o *occurrences) clear() {
	for _, number := range o.in {
		o.of[number] = 0
	}
	o.in = o.in[:0]
}

// collect adds up the occurrences of a term, and counts the records that hold it themselves, not
// only in their neighbours.
func (x *search) collect(ctx context.Context, t term, found *occurrences) (records int, err error) {
	for field, weight := range x.options.Weights.byField() {
		if field == fieldAround {
			records = len(found.in)
		}
		if weight <= 0 || x.averages[field] == 0 {
			continue
		}
		for at := range x.parts {
			if err := ctx.Err(); err != nil {
				return 0, err
			}
			for _, spelling := range t.spellings {
				if err := x.collectPart(field, at, weight, spelling, found); err != nil {
					return 0, err
				}
			}
		}
	}
	return records, nil
}

func (x *search) collectPart(field, at int, weight float64, spelling []byte, found *occurrences) error {
	if err := x.open(field, at, spelling); err != nil {
		return err
	}
	b, average := x.b(field), x.averages[field]
	x.hits = x.postings.Iterator(true, true, false, x.hits)
	for {
		hit, err := x.hits.Next()
		if err != nil {
			return damaged(err)
		}
		if hit == nil {
			return nil
		}
		length := float64(hit.(interface{ NormUint64() uint64 }).NormUint64())
		found.add(x.parts[at].first+int(hit.Number()), weight*float64(hit.Frequency())/(1-b+b*length/average))
	}
}

// b is how much the length of a field holds back. Names and dates say the same in any length.
func (x *search) b(field int) float64 {
	if field == fieldSpeaker || field == fieldDate {
		return 0
	}
	return x.options.B
}

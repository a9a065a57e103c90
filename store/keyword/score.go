package keyword

import (
	"context"
	"math"
)

// scores are the BM25 scores of a query.
type scores struct {
	of      []float64 // by number of the record in the snapshot; 0 if it does not match
	matched []int     // numbers of the records that match
	ceiling float64
}

// score computes BM25F: the occurrences of a term in all fields of a record are first added up,
// each weighted by its field and held back by the field's length, and then saturate together. So a
// word that stands in text and heading counts more than in one of them, but never as two words, and
// no record can go above idf * (K1+1) for a term, which makes the ceiling exact.
func (x *search) score(ctx context.Context, terms []term) (*scores, error) {
	terms, err := x.rarest(terms, x.options.MaxTerms)
	if err != nil {
		return nil, err
	}
	result := &scores{of: make([]float64, x.rows)}
	found := &occurrences{of: make([]float64, x.rows)}
	for _, t := range terms {
		records, err := x.collect(ctx, t, found)
		if err != nil {
			return nil, err
		}
		most := x.idf(records) * (x.options.K1 + 1)
		if len(found.in) > 0 || !t.whole {
			result.ceiling += most
		}
		for _, number := range found.in {
			result.add(number, most*found.of[number]/(x.options.K1+found.of[number]))
			found.of[number] = 0
		}
		found.in = found.in[:0]
	}
	return result, nil
}

func (r *scores) add(number int, score float64) {
	if r.of[number] == 0 {
		r.matched = append(r.matched, number)
	}
	r.of[number] += score
}

// idf is how much a term says that is held by so many records. One that is held by none counts as
// if by one.
func (x *search) idf(records int) float64 {
	n, all := float64(max(records, 1)), float64(max(x.live, records, 1))
	return math.Log(1 + (all-n+0.5)/(n+0.5))
}

// occurrences are the weighted occurrences of one term.
type occurrences struct {
	of []float64 // by number of the record
	in []int     // numbers of the records that have any
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
			if err := x.collectPart(field, at, weight, t, found); err != nil {
				return 0, err
			}
		}
	}
	return records, nil
}

func (x *search) collectPart(field, at int, weight float64, t term, found *occurrences) error {
	if err := x.open(field, at, t); err != nil {
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
		number := x.parts[at].first + int(hit.Number())
		length := float64(hit.(interface{ NormUint64() uint64 }).NormUint64())
		if found.of[number] == 0 {
			found.in = append(found.in, number)
		}
		found.of[number] += weight * float64(hit.Frequency()) / (1 - b + b*length/average)
	}
}

// b is how much the length of a field holds back. Names and dates say the same in any length.
func (x *search) b(field int) float64 {
	if field == fieldSpeaker || field == fieldDate {
		return 0
	}
	return x.options.B
}

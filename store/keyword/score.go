package keyword

import (
	"context"
	"math"

	"github.com/memcore/memcore/store"
)

// weights are factors of occurrences by field, measured on 2026-11-20 on chats, dialogues and
// documentation. Without fieldAround 9 of 100 answers fall out of the first ten, without
// fieldSpeaker 4, without fieldDate 2. No other fieldTitle, k1 or b was better on all.
var weights = [fieldCount]float64{fieldText: 1, fieldTitle: 0.5, fieldSpeaker: 0.5, fieldDate: 0.5, fieldAround: 0.3}

// scores are a query's BM25 scores. They never change.
type scores struct {
	of         []float64 // by number of the record in the snapshot; 0 if it does not match
	matched    []int     // numbers of the records that match
	ceiling    float64
	ofDocument []float64 // by number of the document; 0 if it does not match
	terms      []store.Term
	held       []store.Held // by number of the record
	layout     *layout
}

// documentScore returns the score of the record's document.
func (s *scores) documentScore(number int) float64 {
	if document := s.layout.of[number]; document >= 0 {
		return s.ofDocument[document]
	}
	return 0
}

// score computes BM25F: it adds a term's occurrences in a record, weighted and divided by the
// length norm of their field, and saturates the sum. A term gives at most idf * (k1+1): the ceiling
// is exact.
//
// Documents are scored like one text, as long as their number of records.
func (x *search) score(ctx context.Context, terms []term) (*scores, error) {
	layout, rows := x.layout, len(x.layout.of)
	terms, err := x.rarest(terms, store.MaxTerms)
	if err != nil {
		return nil, err
	}
	result := &scores{of: make([]float64, rows), ofDocument: make([]float64, len(layout.sizes)), held: make([]store.Held, rows), layout: layout}
	records, documents := newOccurrences(rows), newOccurrences(len(layout.sizes))
	texts := seenTexts{}
	holding := make([]int32, len(layout.sizes)) // the last term that a document holds in more than copies
	for _, t := range terms {
		texts.term++
		own, err := x.collectTerm(ctx, t, records)
		if err != nil {
			return nil, err
		}
		n := 0 // texts that hold it
		for _, number := range records.in[:own] {
			if layout.of[number] >= 0 && texts.isNew(layout, number) { // else a statement, or a copy
				n++
			}
		}
		most, holders := maxBM25(n, layout.records), 0
		if len(records.in) > 0 || !t.whole {
			result.ceiling += most
		}
		result.note(t, n, own, records.in)
		for _, number := range records.in {
			if result.of[number] == 0 {
				result.matched = append(result.matched, number)
			}
			result.of[number] += bm25(most, records.of[number])
			if document := layout.of[number]; document >= 0 {
				documents.add(int(document), math.Round(records.of[number]*fine))
				if !layout.isCopy(number) && holding[document] != texts.term {
					holding[document] = texts.term
					holders++
				}
			}
		}
		scoreDocuments(layout, documents, holders, result.ofDocument)
		records.clear()
		documents.clear()
	}
	return result, nil
}

// seenTexts are those of records that hold a term.
type seenTexts struct {
	term int32
	in   []int32 // by number of the original: the last term that it was seen with
}

// isNew reports whether no record with the text of this one was seen with the term.
func (s *seenTexts) isNew(l *layout, number int) bool {
	if l.original == nil {
		return true
	}
	if s.in == nil {
		s.in = make([]int32, len(l.original))
	}
	original := l.original[number]
	was := s.in[original]
	s.in[original] = s.term
	return was != s.term
}

// note stores how many records hold a term, and which: the first own of in themselves, the others
// nearby.
func (s *scores) note(t term, n, own int, in []int) {
	at := len(s.terms)
	s.terms = append(s.terms, store.Term{Word: t.word, Records: n, Compound: t.whole})
	for i, number := range in {
		if i < own {
			s.held[number].Itself |= 1 << at
		}
		s.held[number].Nearby |= 1 << at
	}
}

// fine makes occurrences whole numbers: their sum does not depend on the order of records.
const fine = 1 << 20

// scoreDocuments adds a term's share to the scores of documents. holders have it in more than
// copies.
func scoreDocuments(l *layout, found *occurrences, holders int, scores []float64) {
	most := maxBM25(holders, l.live)
	for _, document := range found.in {
		size := float64(l.sizes[document]) / l.average
		scores[document] += bm25(most, found.of[document]/fine/lengthNorm(lengthPenalty, size))
	}
}

// occurrences are a term's, weighted, by record or document.
type occurrences struct {
	of []float64
	in []int // the numbers with any
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

// collectTerm adds up a term's occurrences, and counts the records that hold it themselves.
func (x *search) collectTerm(ctx context.Context, t term, found *occurrences) (records int, err error) {
	for field, weight := range weights {
		if field == fieldAround {
			records = len(found.in)
		}
		if weight <= 0 || x.averages[field] == 0 {
			continue
		}
		to := weighted{weight, penaltyOf(field), x.averages[field], found}
		for _, spelling := range t.spellings {
			if err := x.collect(ctx, field, spelling, to); err != nil {
				return 0, err
			}
		}
	}
	return records, nil
}

// weighted are the occurrences of a field.
type weighted struct {
	weight, penalty, average float64
	found                    *occurrences
}

func (w *weighted) add(number int, frequency, length uint64) {
	w.found.add(number, w.weight*float64(frequency)/lengthNorm(w.penalty, float64(length)/w.average))
}

// penaltyOf is lengthPenalty, which names and dates do not have.
func penaltyOf(field int) float64 {
	if field == fieldSpeaker || field == fieldDate {
		return 0
	}
	return lengthPenalty
}

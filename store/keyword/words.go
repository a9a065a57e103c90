package keyword

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/memcore/memcore/internal/varint"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
)

// Words are a record's analysed terms: all that a search needs of the record, but where it is from.
// They take about ten bytes a distinct term.
type Words struct{ packed []byte }

// WordsVersion is that of what Words.Append writes. It grows when analysis, fields or the form
// change.
const WordsVersion = 1

// ErrWords is the error of DecodeWords for words of another version: the records have to be
// analysed again.
var ErrWords = errors.New("words of another version")

// Analyse returns the words of records, in order. It caches stems during a call: give the records
// of a document together. It is safe for concurrent use.
func Analyse(records []store.Record) []Words {
	analyzer := newTextAnalyzer()
	all := make([]Words, len(records))
	for i := range records {
		all[i] = newWords(&records[i], analyzer)
	}
	return all
}

// uses are how often a record has a term, by field.
type uses [fieldCount]uint64

func newWords(rec *store.Record, analyzer *textAnalyzer) Words {
	a := analyse(rec, analyzer)
	found := map[string]*uses{}
	for field, tokens := range a.terms {
		for _, token := range tokens {
			known := found[string(token.Term)]
			if known == nil {
				known = &uses{}
				found[string(token.Term)] = known
			}
			known[field]++
		}
	}
	terms := make([]string, 0, len(found))
	for term := range found {
		terms = append(terms, term)
	}
	slices.Sort(terms)

	b := []byte{WordsVersion, byte(len(a.language))}
	b = append(b, a.language...)
	var sum uint64
	if rec.Kind != store.KindStatement {
		sum = textSum(rec.Text)
	}
	b = binary.BigEndian.AppendUint64(b, sum)
	for _, n := range a.size {
		b = binary.AppendUvarint(b, uint64(n))
	}
	before := ""
	for _, term := range terms {
		shared := 0
		for shared < min(len(before), len(term)) && before[shared] == term[shared] {
			shared++
		}
		b = binary.AppendUvarint(b, uint64(shared))
		b = binary.AppendUvarint(b, uint64(len(term)-shared))
		b = append(b, term[shared:]...)
		b = appendUses(b, found[term])
		before = term
	}
	return Words{b}
}

func appendUses(b []byte, u *uses) []byte {
	at := len(b)
	b = append(b, 0)
	for field, n := range u {
		if n > 0 {
			b[at] |= 1 << field
			b = binary.AppendUvarint(b, n)
		}
	}
	return b
}

// Append appends the packed words, which begin with WordsVersion.
func (w Words) Append(b []byte) []byte { return append(b, w.packed...) }

// DecodeWords reads all of b, as written by Words.Append, and keeps it. The error is ErrWords, or
// wraps store.ErrCorrupt.
func DecodeWords(b []byte) (Words, error) {
	if len(b) > 0 && b[0] != WordsVersion {
		return Words{}, ErrWords
	}
	r, err := (Words{b}).read()
	if err != nil {
		return Words{}, err
	}
	var before []byte
	for first := true; ; first = false {
		more, err := r.next()
		if err != nil {
			return Words{}, err
		}
		if !more {
			return Words{b}, nil
		}
		if !first && bytes.Compare(before, r.term) >= 0 {
			return Words{}, errWords
		}
		before = append(before[:0], r.term...)
	}
}

var errWords = disk.Corrupt("words: %w", varint.ErrShort)

// A wordsReader reads words from their beginning.
type wordsReader struct {
	language []byte
	sum      uint64 // of the text; 0 for a statement
	size     [fieldCount]uint32

	rest []byte
	term []byte // changed by next
	uses uses
	bad  bool
}

// maxLanguage is more than an ISO 639 code has.
const maxLanguage = 8

func (w Words) read() (*wordsReader, error) {
	r := &wordsReader{}
	if len(w.packed) < 2 || w.packed[1] > maxLanguage || len(w.packed) < 2+int(w.packed[1])+8 {
		return nil, errWords
	}
	r.rest = w.packed[2:]
	r.language, r.rest = r.rest[:w.packed[1]], r.rest[w.packed[1]:]
	r.sum, r.rest = binary.BigEndian.Uint64(r.rest), r.rest[8:]
	for i := range r.size {
		r.size[i] = uint32(r.number(math.MaxUint32))
	}
	if r.bad {
		return nil, errWords
	}
	return r, nil
}

// number reads a number up to most.
func (r *wordsReader) number(most uint64) uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || n > most {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

// next reads a term; there may be none.
func (r *wordsReader) next() (more bool, err error) {
	if len(r.rest) == 0 {
		return false, nil
	}
	shared := int(r.number(uint64(len(r.term))))
	length := int(r.number(uint64(len(r.rest))))
	if length >= len(r.rest) { // the fields follow
		return false, errWords
	}
	r.term = append(r.term[:shared], r.rest[:length]...)
	fields := r.rest[length]
	r.rest = r.rest[length+1:]
	if fields == 0 || fields >= 1<<fieldCount {
		return false, errWords
	}
	for i := range r.uses {
		r.uses[i] = 0
		if fields>>i&1 == 1 {
			r.uses[i] = r.number(uint64(r.size[i]))
			r.bad = r.bad || r.uses[i] == 0
		}
	}
	if r.bad {
		return false, errWords
	}
	return true, nil
}

package keyword

import (
	"cmp"
	"slices"
	"time"

	segment "github.com/blevesearch/scorch_segment_api/v2"

	"github.com/memcore/memcore/store/internal/disk"
)

// copies are live records whose text another live record has, its original: a session that eighty
// others copied would make each of its words eighty times as frequent. All of them can be found,
// and the index has each, since they differ by path, session and time, by which a search is
// filtered; but texts are counted, not records. A snapshot's first search reads which they are:
// written down, that would have to be corrected when the original goes.
type copies struct {
	originals []int32 // records of a document that are no copies
	original  []int32 // by number of the record: that of its original, or its own; nil without copies
	number    int
	lengths   lengths // their sum
}

// isCopy reports whether a record is a copy.
func (c *copies) isCopy(number int) bool {
	return c.original != nil && c.original[number] != int32(number)
}

// A copied is one of several records with the same text.
type copied struct {
	number   int
	time     time.Time
	path, id string
	size     lengths
}

// unite makes one of all records with a text the original, and takes the others out of the number
// of records, and of documents, if they are all that a document has. Some may be copies of one of
// them already.
func (l *layout) unite(all []copied) {
	if len(all) < 2 {
		return
	}
	first := slices.MinFunc(all, func(a, b copied) int {
		return cmp.Or(a.time.Compare(b.time), cmp.Compare(a.path, b.path), cmp.Compare(a.id, b.id))
	})
	if l.original == nil {
		l.original = ownOriginals(len(l.of))
	}
	for _, c := range all {
		if c.number == first.number {
			continue
		}
		if !l.isCopy(c.number) {
			l.originals[l.of[c.number]]--
			l.records--
			l.number++
			l.lengths.add(c.size)
		}
		l.original[c.number] = int32(first.number)
	}
}

func ownOriginals(n int) []int32 {
	all := make([]int32, n)
	for i := range all {
		all[i] = int32(i)
	}
	return all
}

// readCopies finds the copies.
func (l *layout) readCopies(s *snapshot) error {
	return s.eachEqual(func(numbers []int) error {
		all := make([]copied, len(numbers))
		for i, number := range numbers {
			p, local := s.row(number)
			rec, size, err := p.record(local)
			if err != nil {
				return err
			}
			all[i] = copied{number, rec.Time, rec.Path, rec.ID, size}
		}
		l.unite(all)
		return nil
	})
}

// eachEqual calls do with the numbers of the live records of each text that several have.
func (s *snapshot) eachEqual(do func(numbers []int) error) error {
	var all []*textCursor
	for _, p := range s.parts {
		dictionary, err := p.Dictionary(facetField)
		if err != nil {
			return disk.Damaged(err)
		}
		c := &textCursor{part: p, dictionary: dictionary, facets: dictionary.AutomatonIterator(nil, []byte(firstText), []byte(afterTexts))}
		if err := c.next(); err != nil {
			return err
		}
		all = append(all, c)
	}
	for {
		next := ""
		for _, c := range all {
			if c.facet != "" && (next == "" || c.facet < next) {
				next = c.facet
			}
		}
		if next == "" {
			return nil
		}
		records := 0
		for _, c := range all {
			if c.facet == next {
				records += c.records
			}
		}
		var numbers []int
		for _, c := range all {
			if c.facet != next {
				continue
			}
			if records > 1 {
				rows, err := c.part.rows(next)
				if err != nil {
					return err
				}
				for row := rows.Iterator(); row.HasNext(); {
					numbers = append(numbers, c.part.first+int(row.Next()))
				}
			}
			if err := c.next(); err != nil {
				return err
			}
		}
		if len(numbers) > 1 {
			if err := do(numbers); err != nil {
				return err
			}
		}
	}
}

// A textCursor walks the texts of a part, in order.
type textCursor struct {
	part       *part
	dictionary segment.TermDictionary
	facets     segment.DictionaryIterator
	postings   segment.PostingsList // reused
	facet      string               // "" at the end
	records    int                  // that have the text, dead ones too
}

// next counts the records itself: after a term of one record, the dictionary's iterator says 1 for
// all that follow (zapx v17.2.3).
func (c *textCursor) next() error {
	entry, err := c.facets.Next()
	if err != nil {
		return disk.Damaged(err)
	}
	if c.facet, c.records = "", 0; entry == nil {
		return nil
	}
	c.facet = entry.Term
	if c.postings, err = c.dictionary.PostingsList([]byte(c.facet), nil, c.postings); err != nil {
		return disk.Damaged(err)
	}
	c.records = int(c.postings.Count())
	return nil
}

package keyword

import (
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/memcore/memcore/store"
)

// A layout assigns records to documents. A snapshot's first search reads it.
type layout struct {
	of      []int32     // number of the document a record belongs to; -1 if it is dead or a statement
	sizes   []int32     // live records of a document, without statements
	records int         // live records, without statements and copies
	live    int         // documents with such records
	all     int         // live records, with statements and copies
	total   lengths     // their sum
	average float64     // number of such records in them
	spoken  []*language // languages of the live records, without English and byScript
	copies
}

func (l *layout) addSpoken(spoken *language) {
	if spoken != nil && !slices.Contains(l.spoken, spoken) {
		l.spoken = append(l.spoken, spoken)
	}
}

// averages are the lengths of fields.
func (l *layout) averages() (all [fieldCount]float64) {
	for i := range all {
		if all[i] = float64(l.total[i]-l.lengths[i]) / float64(max(l.all-l.number, 1)); all[i] == 0 {
			all[i] = float64(l.total[i]) / float64(max(l.all, 1)) // only copies have the field
		}
	}
	return all
}

// finish counts documents, once the copies are known.
func (l *layout) finish() {
	for _, originals := range l.originals {
		if originals > 0 {
			l.live++
		}
	}
	l.average = float64(l.records) / float64(max(l.live, 1))
}

func (s *snapshot) layout() (*layout, error) {
	s.laidOut.Do(func() { s.documents, s.documentsErr = readLayout(s) })
	return s.documents, s.documentsErr
}

func readLayout(s *snapshot) (*layout, error) {
	l := &layout{of: make([]int32, s.rows), all: s.live, total: s.manifest.Lengths}
	for i := range l.of {
		l.of[i] = -1
	}
	known := map[string]int32{}
	l.records = s.live
	for _, p := range s.parts {
		statements, err := p.rows(kindFacet(store.KindStatement))
		if err != nil {
			return nil, err
		}
		l.records -= int(statements.GetCardinality())
		err = p.eachFacet(documentFacet(""), func(name string, rows *roaring.Bitmap) {
			rows = roaring.AndNot(rows, statements)
			document, ok := known[name]
			if !ok {
				document = int32(len(l.sizes))
				known[name] = document
				l.sizes = append(l.sizes, 0)
			}
			for row := rows.Iterator(); row.HasNext(); {
				l.of[p.first+int(row.Next())] = document
				l.sizes[document]++
			}
		})
		if err != nil {
			return nil, err
		}
	}
	for _, p := range s.parts {
		err := p.eachFacet(languageFacet(""), func(name string, rows *roaring.Bitmap) {
			if !rows.IsEmpty() {
				l.addSpoken(languageOf(name))
			}
		})
		if err != nil {
			return nil, err
		}
	}
	l.originals = slices.Clone(l.sizes)
	if err := l.readCopies(s); err != nil {
		return nil, err
	}
	l.finish()
	return l, nil
}

func (s *snapshot) languages() (map[string]int, error) {
	records := map[string]int{}
	for _, p := range s.parts {
		err := p.eachFacet(languageFacet(""), func(name string, rows *roaring.Bitmap) {
			records[name] += int(rows.GetCardinality())
		})
		if err != nil {
			return nil, err
		}
	}
	return records, nil
}

// eachFacet calls do with what follows prefix, which ends in a space, and the facet's live records.
func (p *part) eachFacet(prefix string, do func(rest string, rows *roaring.Bitmap)) error {
	facets, err := p.facets(prefix, strings.TrimSuffix(prefix, " ")+"!")
	if err != nil {
		return err
	}
	for _, facet := range facets {
		rows, err := p.rows(facet)
		if err != nil {
			return err
		}
		do(strings.TrimPrefix(facet, prefix), rows)
	}
	return nil
}

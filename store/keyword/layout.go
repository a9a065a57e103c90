package keyword

import (
	"slices"
	"strings"
)

// A layout says which records make up which documents. It is read from the facets when a snapshot is
// first searched.
type layout struct {
	of      []int32     // number of the document a record belongs to; -1 if it is dead
	sizes   []int32     // live records of a document
	live    int         // documents
	average float64     // of sizes
	spoken  []*language // of the live records, beside English and those a script tells
}

func (s *snapshot) layout() (*layout, error) {
	s.laidOut.Do(func() { s.documents, s.documentsErr = readLayout(s) })
	return s.documents, s.documentsErr
}

func readLayout(s *snapshot) (*layout, error) {
	l := &layout{of: make([]int32, s.rows)}
	for i := range l.of {
		l.of[i] = -1
	}
	known := map[string]int32{}
	for _, p := range s.parts {
		err := p.eachFacet(documentFacet(""), func(name string) error {
			document, ok := known[name]
			if !ok {
				document = int32(len(l.sizes))
				known[name] = document
				l.sizes = append(l.sizes, 0)
			}
			rows, err := p.rows(documentFacet(name))
			if err != nil {
				return err
			}
			for row := rows.Iterator(); row.HasNext(); {
				l.of[p.first+int(row.Next())] = document
				l.sizes[document]++
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	for _, p := range s.parts {
		err := p.eachFacet(languageFacet(""), func(name string) error {
			rows, err := p.rows(languageFacet(name))
			if spoken := languageOf(name); err == nil && spoken != nil && !rows.IsEmpty() && !slices.Contains(l.spoken, spoken) {
				l.spoken = append(l.spoken, spoken)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	for _, size := range l.sizes {
		if size > 0 {
			l.live++
		}
	}
	l.average = float64(s.live) / float64(max(l.live, 1))
	return l, nil
}

// eachFacet calls do for what stands behind prefix in each facet of the part that begins with it,
// whether a live record has it or not.
func (p *part) eachFacet(prefix string, do func(rest string) error) error {
	dictionary, err := p.Dictionary(facetField)
	if err != nil {
		return damaged(err)
	}
	end := []byte(prefix)
	end[len(end)-1]++
	facets := dictionary.AutomatonIterator(nil, []byte(prefix), end)
	for {
		entry, err := facets.Next()
		if err != nil {
			return damaged(err)
		}
		if entry == nil {
			return nil
		}
		if err := do(strings.TrimPrefix(entry.Term, prefix)); err != nil {
			return err
		}
	}
}

package keyword

import (
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
)

// filter implements source.
func (s *snapshot) filter(f store.Filter) (func(number int) bool, error) {
	allowed, err := s.allowed(f)
	if allowed == nil || err != nil {
		return nil, err
	}
	return func(number int) bool { return allowed[number] }, nil
}

// allowed reports which records pass; nil means all.
func (s *snapshot) allowed(f store.Filter) ([]bool, error) {
	if f.Scope == "" && f.Kind == "" && f.Path == "" && len(f.Not) == 0 && !f.Timed() {
		return s.withoutKind(f.NotKind)
	}
	allowed := make([]bool, s.rows)
	for _, p := range s.parts {
		rows, err := p.allowed(f)
		if err != nil {
			return nil, disk.Damaged(err)
		}
		for row := rows.Iterator(); row.HasNext(); {
			allowed[p.first+int(row.Next())] = true
		}
	}
	return allowed, nil
}

// withoutKind reports which records are of another kind; nil means all.
func (s *snapshot) withoutKind(kind string) (allowed []bool, err error) {
	if kind == "" {
		return nil, nil
	}
	for _, p := range s.parts {
		out, err := p.rows(kindFacet(kind))
		if err != nil {
			return nil, disk.Damaged(err)
		}
		if allowed == nil && !out.IsEmpty() {
			allowed = make([]bool, s.rows)
			for i := range allowed {
				allowed[i] = true
			}
		}
		for row := out.Iterator(); row.HasNext(); {
			allowed[p.first+int(row.Next())] = false
		}
	}
	return allowed, nil
}

func (p *part) allowed(f store.Filter) (*roaring.Bitmap, error) {
	rows := roaring.New()
	rows.AddRange(0, p.Count())
	if f.Scope != "" {
		if err := p.intersect(rows, scopeFacet(f.Scope)); err != nil {
			return nil, err
		}
	}
	if f.Kind != "" {
		if err := p.intersect(rows, kindFacet(f.Kind)); err != nil {
			return nil, err
		}
	}
	if f.NotKind != "" {
		out, err := p.rows(kindFacet(f.NotKind))
		if err != nil {
			return nil, err
		}
		rows.AndNot(out)
	}
	if f.Path != "" {
		if err := p.intersect(rows, documentFacet(f.Path), folderFacet(strings.TrimSuffix(f.Path, "/"))); err != nil {
			return nil, err
		}
	}
	for _, name := range f.Not {
		out, err := p.rows(documentFacet(name))
		if err != nil {
			return nil, err
		}
		rows.AndNot(out)
	}
	if f.Timed() {
		return rows, p.intersectTime(rows, f)
	}
	return rows, nil
}

// intersectTime keeps the rows within Since and Until. Facets have only days: it reads the records
// of the first and the last one.
func (p *part) intersectTime(rows *roaring.Bitmap, f store.Filter) error {
	first, last := disk.Days(f)
	if first > last {
		rows.Clear()
		return nil
	}
	days, err := p.facets(dayFacet(first), dayFacet(last+1))
	if err != nil {
		return err
	}
	some := roaring.New()
	for _, facet := range days {
		with, err := p.rows(facet)
		if err != nil {
			return err
		}
		if with = roaring.And(with, rows); facet == dayFacet(first) || facet == dayFacet(last) {
			if err := p.keepWithin(with, f); err != nil {
				return err
			}
		}
		some.Or(with)
	}
	rows.And(some)
	return nil
}

// keepWithin is intersectTime by records.
func (p *part) keepWithin(rows *roaring.Bitmap, f store.Filter) error {
	for _, row := range rows.ToArray() {
		rec, _, err := p.record(uint64(row))
		if err != nil {
			return err
		}
		if !f.PassesAt(rec.Time) {
			rows.Remove(row)
		}
	}
	return nil
}

// facets returns the facets in [from, to), also of dead records.
func (p *part) facets(from, to string) ([]string, error) {
	dictionary, err := p.Dictionary(facetField)
	if err != nil {
		return nil, disk.Damaged(err)
	}
	var all []string
	facets := dictionary.AutomatonIterator(nil, []byte(from), []byte(to))
	for {
		entry, err := facets.Next()
		if err != nil || entry == nil {
			return all, disk.Damaged(err)
		}
		all = append(all, entry.Term)
	}
}

func (p *part) intersect(rows *roaring.Bitmap, facets ...string) error {
	some := roaring.New()
	for _, facet := range facets {
		with, err := p.rows(facet)
		if err != nil {
			return err
		}
		some.Or(with)
	}
	rows.And(some)
	return nil
}

// find implements source.
func (s *snapshot) find(ids []string, do func(number int, id string)) error {
	for _, p := range s.parts {
		rows, err := p.live(ids)
		if err != nil {
			return err
		}
		for row := rows.Iterator(); row.HasNext(); {
			number := p.first + int(row.Next())
			id, err := s.id(number)
			if err != nil {
				return err
			}
			do(number, id)
		}
	}
	return nil
}

// live returns the part's live records with these IDs.
func (p *part) live(ids []string) (*roaring.Bitmap, error) {
	rows, err := p.DocNumbers(ids)
	if err != nil {
		return nil, disk.Damaged(err)
	}
	rows.AndNot(p.entry.Deleted)
	return rows, nil
}

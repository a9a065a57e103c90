package keyword

import (
	"strings"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/memcore/memcore/store"
)

// allowed tells by number which records pass the filter; nil means all. Dead records may pass: they
// match nothing.
func (s *snapshot) allowed(f store.Filter) ([]bool, error) {
	if f.Scope == "" && f.Kind == "" && f.Path == "" && len(f.Not) == 0 && !f.Timed() {
		return nil, nil
	}
	allowed := make([]bool, s.rows)
	for _, p := range s.parts {
		rows, err := p.allowed(f)
		if err != nil {
			return nil, damaged(err)
		}
		for row := rows.Iterator(); row.HasNext(); {
			allowed[p.first+int(row.Next())] = true
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

// intersectTime keeps in rows what passes Since and Until. Facets have days only, so records of the first
// and the last day are read.
func (p *part) intersectTime(rows *roaring.Bitmap, f store.Filter) error {
	first, last := int64(1), int64(lastDay)
	if !f.Since.IsZero() {
		first = dayOf(f.Since)
	}
	if !f.Until.IsZero() {
		last = dayOf(f.Until)
	}
	if first > last {
		rows.Clear()
		return nil
	}
	days, err := p.facetsBetween(dayFacet(first), dayFacet(last+1))
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

// keepWithin keeps in rows those whose record passes Since and Until.
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

// facetsBetween returns the facets of the part from one up to another, which is excluded.
func (p *part) facetsBetween(from, to string) ([]string, error) {
	dictionary, err := p.Dictionary(facetField)
	if err != nil {
		return nil, err
	}
	var all []string
	facets := dictionary.AutomatonIterator(nil, []byte(from), []byte(to))
	for {
		entry, err := facets.Next()
		if err != nil || entry == nil {
			return all, err
		}
		all = append(all, entry.Term)
	}
}

// intersect keeps in rows what has one of the facets.
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

// live returns the numbers inside the part of the live records with the given IDs.
func (p *part) live(ids []string) (*roaring.Bitmap, error) {
	rows, err := p.DocNumbers(ids)
	if err != nil {
		return nil, damaged(err)
	}
	rows.AndNot(p.entry.Deleted)
	return rows, nil
}

package core

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// A catalogue says what an index holds.
type catalogue struct{ *indexer }

// Sums count what a memory holds.
type Sums struct {
	Documents int `json:"documents"`
	Chunks    int `json:"chunks"`
	// Kinds and Sources have most chunks first.
	Kinds   []Sum `json:"kinds"`
	Sources []Sum `json:"sources"`
	// AboutUser are documents that say who the user is, at most 6.
	AboutUser []string `json:"aboutUser"`
}

// A Sum counts the documents and chunks of a kind or source.
type Sum struct {
	Name      string `json:"name"`
	Documents int    `json:"documents"`
	Chunks    int    `json:"chunks"`
}

// Sums returns what a view of the index knows without another look at it. Do not change the result.
func (m catalogue) Sums(ctx context.Context) (sums Sums, err error) {
	err = m.look(ctx, func(v *view) { sums = v.sums() })
	if sums.Kinds == nil {
		sums = noSums()
	}
	return sums, err
}

func noSums() Sums {
	return Sums{Kinds: []Sum{}, Sources: []Sum{}, AboutUser: []string{}}
}

// look calls do with the current view, if there is an index.
func (m catalogue) look(ctx context.Context, do func(*view)) error {
	current, err := m.acquire(ctx)
	if stateOf(err) == StateMissing {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open index %s: %w", m.options.Folder, err)
	}
	defer current.release()
	do(current.view)
	return nil
}

func (m *manifest) sums() Sums {
	s := noSums()
	kinds, sources := map[string]Sum{}, map[string]Sum{}
	add := func(all map[string]Sum, name string, e entry) {
		sum := all[name]
		all[name] = Sum{name, sum.Documents + 1, sum.Chunks + e.Chunks}
	}
	for path, e := range m.all() {
		s.Documents++
		s.Chunks += e.Chunks
		add(kinds, e.Kind, e)
		add(sources, e.Source, e)
		if isProfile(path) {
			s.AboutUser = append(s.AboutUser, path)
		}
	}
	slices.Sort(s.AboutUser)
	s.AboutUser = s.AboutUser[:min(len(s.AboutUser), maxProfiles)]
	most := func(a, b Sum) int { return cmp.Or(b.Chunks-a.Chunks, cmp.Compare(a.Name, b.Name)) }
	s.Kinds = slices.AppendSeq(s.Kinds, maps.Values(kinds))
	s.Sources = slices.AppendSeq(s.Sources, maps.Values(sources))
	slices.SortFunc(s.Kinds, most)
	slices.SortFunc(s.Sources, most)
	return s
}

// A DocumentInfo describes an indexed document.
type DocumentInfo struct {
	Path    string    `json:"path"`
	Kind    string    `json:"kind"`  // as in MemoryHit
	Scope   string    `json:"scope"` // ScopeProject or ScopeGlobal
	Source  string    `json:"source"`
	Changed time.Time `json:"changed"`
	Chunks  int       `json:"chunks"`
}

// DocumentsOptions narrow Documents. Empty fields do not.
type DocumentsOptions struct {
	Find   string // a part of the path, in any case
	Kind   string
	Source string
	Skip   int // this many of the documents found
	Limit  int // 0 or less means 100
}

const defaultDocuments = 100

// Documents lists indexed documents, the last changed first, and counts all that o finds.
func (m catalogue) Documents(ctx context.Context, o DocumentsOptions) (some []DocumentInfo, found int, err error) {
	some = []DocumentInfo{}
	limit := o.Limit
	if limit <= 0 {
		limit = defaultDocuments
	}
	find := strings.ToLower(o.Find)
	err = m.look(ctx, func(v *view) {
		for _, d := range v.listed() {
			if !o.wants(d) || find != "" && !strings.Contains(strings.ToLower(d.Path), find) {
				continue
			}
			if found++; found > o.Skip && len(some) < limit {
				some = append(some, d)
			}
		}
	})
	return some, found, err
}

func (o DocumentsOptions) wants(d DocumentInfo) bool {
	return (o.Kind == "" || d.Kind == o.Kind) && (o.Source == "" || d.Source == o.Source)
}

// list returns all documents, the last changed first.
func (m *manifest) list() []DocumentInfo {
	all := []DocumentInfo{}
	for path, e := range m.all() {
		all = append(all, DocumentInfo{Path: path, Kind: e.Kind, Scope: e.Scope, Source: e.Source, Changed: e.ModTime, Chunks: e.Chunks})
	}
	slices.SortFunc(all, func(a, b DocumentInfo) int {
		return cmp.Or(b.Changed.Compare(a.Changed), cmp.Compare(a.Path, b.Path))
	})
	return all
}

// Languages counts chunks by language (ISO 639-1). "en" also has those of no known language.
func (m catalogue) Languages(ctx context.Context) (chunks map[string]int, err error) {
	chunks = map[string]int{}
	var failed error
	err = m.look(ctx, func(v *view) { chunks, failed = v.languages(ctx) })
	return chunks, cmp.Or(err, failed)
}

func (v *view) languages(ctx context.Context) (map[string]int, error) {
	if index, ok := v.keywords.(interface {
		Languages(ctx context.Context) (map[string]int, error)
	}); ok {
		return index.Languages(ctx)
	}
	return map[string]int{}, nil
}

package core

import (
	"cmp"
	"context"
	"hash/fnv"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/store"
)

// Statistics say how a memory is used and what in it is worth a person's look.
type Statistics struct {
	Documents int `json:"documents"`
	Chunks    int `json:"chunks"`
	// Retrieved are the documents that were among hits, the most used first; only the 1,000 most used are known.
	Retrieved []Used `json:"retrieved"`
	// Never are the others, oldest first.
	Never []Aged `json:"never"`
	// Stale are Markdown documents that have neither changed nor been retrieved for long, oldest first.
	Stale []Aged `json:"stale"`
	// Duplicates are groups of chunks that say nearly the same, by citation; the newest of each is first.
	Duplicates [][]string `json:"duplicates"`
}

// A Used document is one that was retrieved.
type Used struct {
	Path string `json:"path"`
	// Weight is how often, each time counting half as much after 30 days.
	Weight float64   `json:"weight"`
	Last   time.Time `json:"last"`
}

// An Aged document is one that has changed last at some time.
type Aged struct {
	Path    string    `json:"path"`
	Changed time.Time `json:"changed"`
}

// Statistics looks through the whole index. Stale is what has not changed or been retrieved since a time.
func (m *Manager) Statistics(ctx context.Context, since time.Time) (Statistics, error) {
	m.usage.flush()
	used := m.usage.read()
	s := Statistics{Retrieved: []Used{}, Never: []Aged{}, Stale: []Aged{}}
	now := time.Now()
	groups := newLikeness()
	err := m.eachDocument(ctx, func(path string, e entry, records []store.Record) {
		s.Documents++
		s.Chunks += len(records)
		aged := Aged{Path: path, Changed: e.ModTime}
		u, ok := used[path]
		if ok {
			s.Retrieved = append(s.Retrieved, Used{Path: path, Weight: math.Round(u.now(now)*100) / 100, Last: u.Last})
		} else {
			s.Never = append(s.Never, aged)
		}
		if e.Kind == source.KindMarkdown && e.ModTime.Before(since) && u.Last.Before(since) {
			s.Stale = append(s.Stale, aged)
		}
		for _, r := range records {
			groups.add(r)
		}
	})
	if err != nil {
		return Statistics{}, err
	}
	s.Duplicates = groups.all()
	slices.SortFunc(s.Retrieved, func(a, b Used) int { return cmp.Or(cmp.Compare(b.Weight, a.Weight), cmp.Compare(a.Path, b.Path)) })
	older := func(a, b Aged) int { return cmp.Or(a.Changed.Compare(b.Changed), cmp.Compare(a.Path, b.Path)) }
	slices.SortFunc(s.Never, older)
	slices.SortFunc(s.Stale, older)
	return s, nil
}

// likeness finds chunks that say nearly the same. Two such have the same smallest hash of a word, by one of several ways of hashing, nearly always
// (Broder 1997), so only those that share one are compared.
type likeness struct {
	texts   []likeText
	buckets map[[2]uint64][]int
	group   []int // of each text: one before it in its group, or itself
}

type likeText struct {
	citation string
	at       time.Time
	words    words
}

const (
	hashings = 4
	// fewestWords is from how many words on two chunks can repeat each other: an answer such as "yes, please" is said often.
	fewestWords = 5
	// fullBucket is how many texts of a bucket are compared with: what so many share is a template.
	fullBucket = 40
)

func newLikeness() *likeness { return &likeness{buckets: map[[2]uint64][]int{}} }

func (l *likeness) add(r store.Record) {
	w := wordsOf(r.Text)
	if len(w) < fewestWords {
		return
	}
	number := len(l.texts)
	l.texts = append(l.texts, likeText{Citation(r.Path, r.StartLine, r.EndLine), r.Time, w})
	l.group = append(l.group, number)
	for way, least := range leastHashes(w) {
		key := [2]uint64{uint64(way), least}
		for _, other := range l.buckets[key] {
			if a, b := l.root(other), l.root(number); a != b && w.overlap(l.texts[other].words) >= nearDuplicate {
				l.group[max(a, b)] = min(a, b)
			}
		}
		if len(l.buckets[key]) < fullBucket {
			l.buckets[key] = append(l.buckets[key], number)
		}
	}
}

// root is the first text of a group.
func (l *likeness) root(of int) int {
	for l.group[of] != of {
		l.group[of] = l.group[l.group[of]] // the next search is shorter
		of = l.group[of]
	}
	return of
}

// leastHashes are the smallest hashes of the words, one a way of hashing.
func leastHashes(w words) [hashings]uint64 {
	least := [hashings]uint64{math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}
	for word := range w {
		h := fnv.New64a()
		h.Write([]byte(word))
		x := h.Sum64()
		for way := range least {
			x ^= x >> 33 // a step of MurmurHash3's finaliser, another number each time
			x *= 0xff51afd7ed558ccd
			x ^= x >> 29
			least[way] = min(least[way], x)
		}
	}
	return least
}

// all returns the groups of at least two, the largest first.
func (l *likeness) all() [][]string {
	members := map[int][]likeText{}
	for i, text := range l.texts {
		members[l.root(i)] = append(members[l.root(i)], text)
	}
	groups := [][]string{}
	for _, g := range slices.Sorted(maps.Keys(members)) {
		if len(members[g]) < 2 {
			continue
		}
		slices.SortStableFunc(members[g], func(a, b likeText) int { return b.at.Compare(a.at) })
		var group []string
		for _, text := range members[g] {
			group = append(group, text.citation)
		}
		groups = append(groups, group)
	}
	slices.SortStableFunc(groups, func(a, b []string) int { return len(b) - len(a) })
	return groups
}

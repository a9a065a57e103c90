package sets

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/eval"
)

// MixedOptions say which memories to make.
type MixedOptions struct {
	Sizes []int  // of a memory, in chunks, about
	Each  int    // memories of each size; 0 means 8
	Seed  uint64 // the same one makes the same memories
}

const (
	mixedEach = 8
	// mixedAsked limits the questions of each kind to a memory.
	mixedAsked = 24
	// mixedChunk is about the bytes of a chunk.
	mixedChunk = 900
	// mixedAround is how many documents before and after an answer are taken.
	mixedAround = 3
)

// Kinds of questions to a mixed memory.
const (
	MixedAnswerable = "answerable"
	MixedSister     = "sister"  // to a collection that is not in it, but another of whose set is
	MixedForeign    = "foreign" // to one of another set
	MixedOwn        = "own"     // to one that is in it and says itself that nothing answers
)

// MixedKind returns the kind of a question.
func MixedKind(q Query) string {
	kind, _, _ := strings.Cut(q.ID, ":")
	return kind
}

const mixedName = "mixed-"

// IsMixed reports whether Mixed made a collection.
func IsMixed(c Collection) bool { return strings.HasPrefix(c.Name, mixedName) }

// Mixed makes small memories from parts of several collections. Some of their questions have all
// answers in the memory, the others none.
func Mixed(collections []Collection, o MixedOptions) ([]Collection, error) {
	if len(collections) < 2 {
		return nil, fmt.Errorf("mix %d collections, want at least 2", len(collections))
	}
	if o.Each == 0 {
		o.Each = mixedEach
	}
	var all []Collection
	for _, size := range o.Sizes {
		if size < 1 {
			return nil, fmt.Errorf("mix a memory of %d chunks, want at least 1", size)
		}
		for n := range o.Each {
			m := mixer{r: rand.New(rand.NewPCG(o.Seed, uint64(size)<<16|uint64(n))), all: collections}
			all = append(all, m.memory(fmt.Sprintf("%s%d/%d", mixedName, size, n+1), size))
		}
	}
	return all, nil
}

// A mixer makes one memory.
type mixer struct {
	r   *rand.Rand
	all []Collection
}

// memory combines parts of two to four collections of different sets.
func (m mixer) memory(name string, size int) Collection {
	c := Collection{Name: name, Judgments: map[string]map[string]int{}}
	parts := m.r.Perm(len(m.all))
	sets := map[string]bool{}
	var chosen []Collection
	for _, i := range parts {
		if set := m.all[i].Set(); !sets[set] && len(chosen) < 2+m.r.IntN(3) {
			sets[set] = true
			chosen = append(chosen, m.all[i])
		}
	}
	for _, part := range chosen {
		m.take(&c, part, max(size/len(chosen), 1))
	}
	m.r.Shuffle(len(c.Queries), func(i, j int) { c.Queries[i], c.Queries[j] = c.Queries[j], c.Queries[i] })
	c.Queries = capped(c.Queries, mixedAsked)
	m.strangers(&c, chosen)
	return c
}

// take adds about size chunks around answers of a collection, and its questions.
func (m mixer) take(c *Collection, from Collection, size int) {
	place := map[string]int{}
	for i, d := range from.Documents {
		place[d.ID] = i
	}
	in := map[int]bool{}
	chunks := 0
	add := func(i int) {
		if i >= 0 && i < len(from.Documents) && !in[i] {
			in[i] = true
			chunks += 1 + len(from.Documents[i].Text)/mixedChunk
		}
	}
	for _, n := range m.r.Perm(len(from.Queries)) {
		if chunks >= size {
			break
		}
		q := from.Queries[n]
		answers := from.Judgments[q.ID]
		if q.Unanswerable() || len(answers) == 0 || len(answers) > max(size-chunks, 1) {
			continue
		}
		ids := slices.Sorted(maps.Keys(answers))
		for _, id := range ids {
			add(place[id])
		}
		for _, id := range ids {
			for by := 1; by <= mixedAround && chunks < size; by++ {
				for _, i := range []int{place[id] - by, place[id] + by} {
					if i >= 0 && i < len(from.Documents) && from.Documents[i].Session == from.Documents[place[id]].Session {
						add(i)
					}
				}
			}
		}
	}
	for i, d := range from.Documents {
		if in[i] {
			c.Documents = append(c.Documents, inMixed(from.Name, d))
		}
	}
	m.ask(c, from, func(id string) bool { return in[place[id]] })
}

// ask adds the questions with all answers in the memory, and some unanswerable ones.
func (m mixer) ask(c *Collection, from Collection, in func(id string) bool) {
	own := 0
	for _, n := range m.r.Perm(len(from.Queries)) {
		q := from.Queries[n]
		answers := from.Judgments[q.ID]
		if q.Unanswerable() {
			if own++; own <= mixedAsked/4 {
				c.Queries = append(c.Queries, inMixedQuery(from.Name, MixedOwn, q))
			}
			continue
		}
		whole := len(answers) > 0
		for id := range answers {
			whole = whole && in(id)
		}
		if !whole {
			continue
		}
		asked := inMixedQuery(from.Name, MixedAnswerable, q)
		asked.Meta.Answerable = nil
		c.Queries = append(c.Queries, asked)
		c.Judgments[asked.ID] = map[string]int{}
		for id, grade := range answers {
			c.Judgments[asked.ID][from.Name+"/"+id] = grade
		}
	}
}

// strangers adds questions to other collections, half of them of the same sets if possible.
func (m mixer) strangers(c *Collection, chosen []Collection) {
	used := map[string]bool{}
	sets := map[string]bool{}
	for _, part := range chosen {
		used[part.Name], sets[part.Set()] = true, true
	}
	var sisters, others []Query
	for _, i := range m.r.Perm(len(m.all)) {
		from := m.all[i]
		if used[from.Name] || len(from.Queries) == 0 || slices.ContainsFunc(chosen, func(c Collection) bool { return c.Set() == from.Set() && SameQuestions(c, from) }) {
			continue
		}
		for range mixedAsked / 4 {
			q := from.Queries[m.r.IntN(len(from.Queries))]
			if q.Unanswerable() {
				continue
			}
			if sets[from.Set()] {
				sisters = append(sisters, inMixedQuery(from.Name, MixedSister, q))
			} else {
				others = append(others, inMixedQuery(from.Name, MixedForeign, q))
			}
		}
	}
	asked := map[string]bool{}
	for _, q := range append(capped(sisters, mixedAsked/2), capped(others, mixedAsked/2)...) {
		if !asked[q.ID] {
			asked[q.ID] = true
			c.Queries = append(c.Queries, q)
		}
	}
}

// SameQuestions reports whether two collections share question IDs. They are translations or other
// cuts then, and each answers the other.
func SameQuestions(a, b Collection) bool {
	ids := map[string]bool{}
	for _, q := range a.Queries {
		ids[q.ID] = true
	}
	return slices.ContainsFunc(b.Queries, func(q Query) bool { return ids[q.ID] })
}

func capped[T any](all []T, most int) []T { return all[:min(len(all), most)] }

func inMixed(from string, d Document) Document {
	d.ID = from + "/" + d.ID
	if d.Session != "" {
		d.Session = Label(from + "/" + string(d.Session))
	}
	return d
}

func inMixedQuery(from, kind string, q Query) Query {
	q.ID = kind + ":" + from + "/" + q.ID
	answerable := kind == MixedAnswerable
	q.Meta.Answerable = &answerable
	return q
}

// A MixedReport measures small memories.
type MixedReport struct {
	Sizes []MixedResult `json:"sizes"`
	All   MixedResult   `json:"all"`
}

// A MixedResult measures the memories of one size.
type MixedResult struct {
	Name       string  `json:"name"`
	Memories   int     `json:"memories"`
	Answerable int     `json:"answerable"` // questions
	Empty      float64 `json:"empty"`      // share of them that get nothing
	Helped     float64 `json:"helped"`     // share of them that get an answer
	Precision  float64 `json:"precision"`  // relevant share of the hits
	Hits       float64 `json:"hits"`       // per question with hits
	Silent     float64 `json:"silent"`     // share of questions to other collections that get nothing
	Sisters    float64 `json:"sisters"`    // of those to other collections of the same set
	Own        float64 `json:"own"`        // of those that sets say have no answer
	Strangers  int     `json:"strangers"`  // questions to other collections

	empty, helped, given, right, silent, sisters, sistersSilent, own, ownSilent int
}

// RunMixed indexes the memories of Mixed and asks them as turns do.
func RunMixed(ctx context.Context, open eval.Opener, memories []Collection, progress func(done, total int)) (MixedReport, error) {
	var report MixedReport
	report.All.Name = "all"
	for n, c := range memories {
		i := slices.IndexFunc(report.Sizes, func(m MixedResult) bool { return m.Name == c.Set() })
		if i < 0 {
			i = len(report.Sizes)
			report.Sizes = append(report.Sizes, MixedResult{Name: c.Set()})
		}
		size, all := &report.Sizes[i], &report.All
		err := withMemory(ctx, open, c, func(memory memory) error {
			for _, q := range c.Queries {
				given, err := memory.RetrieveRelevant(ctx, q.Text, core.RetrieveOptions{})
				if err != nil {
					return fmt.Errorf("query %s: %w", q.ID, err)
				}
				right := 0
				for _, hit := range given.Hits {
					if document, _ := memory.corpus.document(hit.Path, hit.StartLine); c.Judgments[q.ID][document] > 0 {
						right++
					}
				}
				size.count(MixedKind(q), len(given.Hits), right)
				all.count(MixedKind(q), len(given.Hits), right)
			}
			return nil
		})
		if err != nil {
			return report, err
		}
		size.Memories++
		all.Memories++
		if progress != nil {
			progress(n+1, len(memories))
		}
	}
	for i := range report.Sizes {
		report.Sizes[i].finish()
	}
	report.All.finish()
	return report, nil
}

// count counts a question with its given and its relevant hits.
func (m *MixedResult) count(kind string, given, right int) {
	silent, helped := 1-min(given, 1), min(right, 1)
	switch kind {
	case MixedOwn:
		m.own, m.ownSilent = m.own+1, m.ownSilent+silent
	case MixedSister:
		m.sisters, m.sistersSilent = m.sisters+1, m.sistersSilent+silent
		fallthrough
	case MixedForeign:
		m.Strangers, m.silent = m.Strangers+1, m.silent+silent
	default:
		m.Answerable, m.empty, m.helped = m.Answerable+1, m.empty+silent, m.helped+helped
		m.given, m.right = m.given+given, m.right+right
	}
}

func (m *MixedResult) finish() {
	share := func(part, whole int) float64 { return float64(part) / float64(max(whole, 1)) }
	m.Empty, m.Helped = share(m.empty, m.Answerable), share(m.helped, m.Answerable)
	m.Precision, m.Hits = share(m.right, m.given), share(m.given, m.Answerable-m.empty)
	m.Silent, m.Sisters, m.Own = share(m.silent, m.Strangers), share(m.sistersSilent, m.sisters), share(m.ownSilent, m.own)
}

// Table returns the report as text.
func (r MixedReport) Table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-12s%9s%11s%7s%8s%10s%6s%11s%8s%9s%6s\n", "memories", "number", "answerable", "empty", "helped", "precision", "hits", "strangers", "silent", "sisters", "own")
	for _, m := range append(slices.Clip(r.Sizes), r.All) {
		fmt.Fprintf(&b, "%-12s%9d%11d%7.3f%8.3f%10.3f%6.1f%11d%8.3f%9.3f%6.3f\n", m.Name, m.Memories, m.Answerable, m.Empty, m.Helped, m.Precision, m.Hits, m.Strangers, m.Silent, m.Sisters, m.Own)
	}
	return b.String()
}

package fit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/lab/internal/sets"
)

// sample makes questions that keywords mostly decide, cosines sometimes, and length never. Small
// talk shares few words with memory.
func sample(sets, each int) Sample {
	r := rand.New(rand.NewPCG(7, 8))
	var s Sample
	for set := range sets {
		for n := range each {
			q := Question{Set: fmt.Sprint("set", set), Collection: fmt.Sprintf("set%d/%d", set, n%3), ID: fmt.Sprint("q", n),
				Query: relevance.Query{Text: "where is the boiler", Ceiling: 20, BestDocument: 20, Vectors: true, Chunks: 400, Words: []relevance.Word{{Text: "boiler", Records: 3}}}}
			if n%4 == 3 {
				q.Kind = SmallTalk
			}
			answer := r.IntN(20)
			for i := range 20 {
				cosine := 0.3*r.Float64() + 0.1
				c := relevance.Candidate{ID: fmt.Sprintf("%02d", i), Path: fmt.Sprint(i), Text: "it is in the cellar", Tokens: 1 + r.IntN(200), BM25: 6 * r.Float64()}
				if i == answer && q.Kind == Answerable {
					c.BM25 += 8 * r.Float64()
					cosine += 0.3 * r.Float64()
					c.Holds = 1
				}
				if q.Kind == SmallTalk {
					c.BM25 *= r.Float64()
					cosine -= 0.1 * r.Float64()
				}
				c.Cosine, c.Document = &cosine, 20*r.Float64()
				q.Candidates = append(q.Candidates, c)
				q.Units, q.Sessions = append(q.Units, fmt.Sprint("unit", i)), append(q.Sessions, fmt.Sprint("session", i/5))
			}
			if q.Kind == Answerable {
				q.Relevant = map[string]int{fmt.Sprint("unit", answer): 1}
				q.Session = map[string]int{fmt.Sprint("session", answer/5): 1}
			}
			s.Questions = append(s.Questions, q)
		}
	}
	return s
}

// byScore ranks by a score of each candidate.
func byScore(score func(relevance.Candidate) float64) Ranker {
	return func(q Question) []int {
		order := make([]int, len(q.Candidates))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(score(q.Candidates[b]), score(q.Candidates[a])) })
		return order
	}
}

var (
	byKeywords = byScore(func(c relevance.Candidate) float64 { return c.BM25 })
	byVectors  = byScore(func(c relevance.Candidate) float64 { return *c.Cosine })
)

func TestModelLearns(t *testing.T) {
	s := sample(2, 200)
	o := Options{Vectors: true, Absolute: true}
	m, err := Model(s, o)
	require.NoError(t, err)
	data, err := json.Marshal(m)
	require.NoError(t, err)
	_, err = relevance.Parse(data)
	require.NoError(t, err, "a fitted model can be shipped")
	if m.Weights["keywords"]+m.Weights["coverage"] < 0.5 || m.Weights["cosine"] < 0.2 || math.Abs(m.Weights["chunkLength"]) > 0.3 {
		t.Errorf("weights are %v, want those of keywords and cosine large, that of the length, which tells nothing, small", m.Weights)
	}
	mrr := func(rank Ranker) float64 { return s.Scores(rank, sets.LevelDocument).All.Scores["mrr"] }
	fitted := mrr(modelled(m))
	left, err := s.LeftOut(o, Model)
	require.NoError(t, err)
	validated := func(q Question) []int { return modelled(left[q.Set])(q) }
	for name, other := range map[string]Ranker{"keywords": byKeywords, "vectors": byVectors} {
		if got := mrr(other); got >= fitted || got >= mrr(validated) {
			t.Errorf("MRR of %s alone is %.3f, of the model %.3f, fitted to other sources %.3f", name, got, fitted, mrr(validated))
		}
	}

	// At the threshold few answerable questions get nothing and small talk nearly always does.
	// Scores are near the share of answers.
	silent, asked, empty, said, right, n := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
	for _, q := range s.Questions {
		ranked := m.Rank(q.Query, q.Candidates)
		below := yes(ranked[0].Score < m.Threshold)
		if q.Kind == SmallTalk {
			asked, silent = asked+1, silent+below
			continue
		}
		n, empty = n+1, empty+below
		said += ranked[0].Score
		if q.Relevant[q.unit(ranked[0].ID)] > 0 {
			right++
		}
	}
	if share := empty / n; share > Empty || share < Empty-0.05 {
		t.Errorf("%.3f of answerable questions get nothing, want %v or little less", share, Empty)
	}
	if silent/asked < 0.5 {
		t.Errorf("%.3f of small talk gets nothing, want most of it", silent/asked)
	}
	if math.Abs(said-right)/n > 0.15 {
		t.Errorf("the first candidate answers in %.3f of cases, scores say %.3f", right/n, said/n)
	}
}

func TestOptions(t *testing.T) {
	s := sample(1, 100)
	weights, err := Weights(s.Questions, Options{}, nil)
	require.NoError(t, err)
	require.NotContains(t, weights, "cosine")
	require.NotContains(t, weights, "documentCosine")
	require.Contains(t, weights, "keywords")
	_, err = Weights(nil, Options{}, nil)
	require.ErrorContains(t, err, "none of 0 questions")
	m, err := Model(s, Options{Vectors: true})
	require.NoError(t, err)
	require.Zero(t, m.Score.Cosine+m.Score.CosineShare+m.Score.CosineMass, "sizes of cosines are unknown")
}

// spokenBy makes turns of all candidates of questions.
func spokenBy(speaker string, questions []Question) {
	for _, q := range questions {
		for k := range q.Candidates {
			q.Candidates[k].Turn, q.Candidates[k].Speaker = true, speaker
		}
	}
}

// Each kind with enough questions has its own weights: those of chats are between those of their
// questions alone and the common ones, those of documents a plain sum.
func TestOrderByKind(t *testing.T) {
	s := sample(2, 200)
	people := s.Questions[200:]
	spokenBy("Ada", people)
	for i, q := range people { // in this source cosines say nothing
		for k := range q.Candidates {
			cosine := 0.3 + 0.01*float64((i+k)%7)
			q.Candidates[k].Cosine = &cosine
		}
	}
	cosine := func(toward float64) (ofPeople, common float64) {
		m, err := Order(s.Questions, Options{Vectors: true, Absolute: true, Toward: toward})
		require.NoError(t, err)
		require.Len(t, m.Kinds, 2, "no question to an assistant")
		require.Zero(t, m.Spread, "20 cosines are too few for one by chance")
		require.InDelta(t, m.Weights["time"], m.Kinds[relevance.KindPeople]["time"], 1e-3, "what no question of a kind shows is as elsewhere")
		documents := m.Kinds[relevance.KindDocuments]
		require.Len(t, documents, len(plain)+1, "and the time")
		for name, w := range plain {
			require.InDelta(t, documents["keywords"]/plain["keywords"]*w, documents[name], 2e-3, name)
		}
		return m.Kinds[relevance.KindPeople]["cosine"], m.Weights["cosine"]
	}
	own, common := cosine(1e-6)
	between, _ := cosine(0.1)
	near, _ := cosine(1e3)
	require.Less(t, own, between)
	require.Less(t, between, near)
	require.InDelta(t, common, near, 0.02)
	few, err := Order(s.Questions[:60], Options{Vectors: true})
	require.NoError(t, err)
	require.Empty(t, few.Kinds)
}

// A source with ten times the questions of another says no more.
func TestSourcesCountAlike(t *testing.T) {
	s := sample(2, 200)
	again := s.Questions[:200]
	for range 9 {
		s.Questions = append(s.Questions, again...)
	}
	many, err := Weights(s.Questions, Options{Vectors: true}, nil)
	require.NoError(t, err)
	few, err := Weights(s.Questions[:400], Options{Vectors: true}, nil)
	require.NoError(t, err)
	require.InDelta(t, few["keywords"], many["keywords"], 0.15)
	p := newListwise(s.Questions, Options{})
	sum := map[bool]float64{}
	for i, q := range p.questions {
		sum[i < 150 || i >= 300] += q.weight
	}
	require.InDelta(t, sum[false], sum[true], 1e-9)
}

// Gradients match their losses.
func TestGradient(t *testing.T) {
	p := newListwise(sample(2, 40).Questions, Options{Vectors: true})
	p.toward(map[string]float64{"keywords": 2, "assistant": -1}, 0.1)
	x := make([]float64, len(p.columns))
	for i := range x {
		x[i] = 0.2 + 0.1*float64(i%3)
	}
	grad := make([]float64, len(x))
	p.loss(x, grad)
	for i := range x {
		const h = 1e-5
		up, down := append([]float64(nil), x...), append([]float64(nil), x...)
		up[i] += h
		down[i] -= h
		require.InDelta(t, (p.loss(up, nil)-p.loss(down, nil))/(2*h), grad[i], 1e-6, relevance.Names[p.columns[i]])
	}
}

// What a source has a part in takes no part in a fit without it.
func TestWithout(t *testing.T) {
	s := Sample{[]Question{
		{Set: "chats", Collection: "chats/a", ID: "1"},
		{Set: "docs", Collection: "docs/b", ID: "2"},
		{Set: "docs", Collection: "docs/b", ID: "chats/a/1", Kind: Foreign},
		{Set: "docs", Collection: "docs/b", ID: "small-talk-1", Kind: SmallTalk},
		{Set: "mixed-5", Collection: "mixed-5/1", ID: "small-talk-1", Mixed: true, Units: []string{"docs/b/x", "chats/a/y"}},
		{Set: "mixed-5", Collection: "mixed-5/2", ID: "foreign:chats/a/1", Mixed: true, Units: []string{"docs/b/x"}},
		{Set: "mixed-5", Collection: "mixed-5/2", ID: "answerable:docs/b/2", Mixed: true, Units: []string{"docs/b/x"}},
	}}
	require.Equal(t, []string{"chats", "docs"}, s.sources())
	var left []string
	for _, q := range s.without("chats").Questions {
		left = append(left, q.ID)
	}
	require.Equal(t, []string{"2", "small-talk-1", "answerable:docs/b/2"}, left)
	_, err := Sample{s.Questions[:1]}.LeftOut(Options{}, Model)
	require.ErrorContains(t, err, "want at least 2")
}

// A kind follows the common weights if those of its sources differ: what one shows, another does
// not bear out.
func TestChoose(t *testing.T) {
	s := sample(4, 200)
	spokenBy("Ada", s.Questions[400:])
	for i, q := range s.Questions[400:] { // each of two sources of chats has a habit that the other lacks
		for k := range q.Candidates {
			if right := q.Relevant[q.Units[k]] > 0; right == (i < 200) {
				q.Candidates[k].Document = 0
			}
		}
	}
	o, table, err := s.Choose(Options{Vectors: true, Absolute: true})
	require.NoError(t, err)
	require.Equal(t, Strengths[len(Strengths)-1], o.Toward, table)
	require.Equal(t, len(Strengths), strings.Count(table, "nDCG@10"))
}

func TestPolygon(t *testing.T) {
	said := []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6}
	found := []float64{0, 1, 0, 0, 1, 1}
	weight := []float64{1, 1, 1, 1, 1, 1}
	// 0.2 to 0.4 pool to a third. Steps at 0 and 1 are dropped.
	require.Equal(t, [][2]float64{{0.3, 0.3333}}, polygon(said, found, weight, 0.5))
}

func TestQuestionsOf(t *testing.T) {
	yes, no := true, false
	query := func(id string, answerable *bool) sets.Query {
		q := sets.Query{ID: id, Text: "text of " + id}
		q.Meta.Answerable = answerable
		return q
	}
	mine := sets.Collection{Name: "chats/a", Queries: []sets.Query{query("1", &yes), query("2", &no), query("3", nil)},
		Judgments: map[string]map[string]int{"1": {"d": 1}, "2": {"d": 1}}}
	sister := sets.Collection{Name: "chats/b", Queries: []sets.Query{query("4", nil)}}
	stranger := sets.Collection{Name: "docs/c", Queries: []sets.Query{query("5", nil)}}
	var got []string
	for _, q := range questionsOf(mine, []sets.Collection{mine, sister, stranger}, []string{"Thanks!"}) {
		got = append(got, fmt.Sprintf("%s %d", q.ID, q.kind))
	}
	require.Equal(t, []string{"1 0", "2 1", "small-talk-1 2", "chats/b/4 4", "docs/c/5 3"}, got)
}

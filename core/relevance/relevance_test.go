package relevance

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShippedModels(t *testing.T) {
	names, err := fs.Glob(files, "models/*.json")
	require.NoError(t, err)
	require.Len(t, names, 4)
	for _, name := range names {
		data, err := files.ReadFile(name)
		require.NoError(t, err)
		m, err := Parse(data)
		require.NoError(t, err, name)
		require.NotEmpty(t, m.Fitted, name)
		require.Equal(t, slices.Contains([]string{"models/minilm.json", "models/e5.json"}, name), len(m.Embedders) > 0, "%s: of two models for an embedder either may be taken", name)
	}
	for fingerprint, want := range map[string]*Model{
		"minilm/all-MiniLM-L6-v2/384/mean/int8/v2": shipped()["minilm.json"],
		"ollama/all-minilm/dim=384":                shipped()["minilm.json"],
		"openai/text-embedding-3-small":            shipped()["other.json"],
		"pack/multilingual-e5-small/384/mean/0123": shipped()["e5.json"],
		"": shipped()["keywords.json"],
	} {
		require.Same(t, want, For(fingerprint), fingerprint)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		`{`:                                   "unexpected EOF",
		`{"threshold":0.1,"weights":{}}`:      `unknown field "weights"`,
		`{"threshold":0.1,"rank":{"moon":1}}`: `rank has "moon", want one of keywords`,
		`{"threshold":0.1,"rank":{"keywords":-1}}`:              "weight of keywords is -1, want at least 0",
		`{"threshold":0.1,"score":{"behind":-1}}`:               "coefficient of score is below 0",
		`{"threshold":0.1,"rank":{"keywords":1e308}}`:           "weight of keywords is 1e+308, want at most 1e+06 in size",
		`{"threshold":0.1,"rank":{"assistant":-1.1e6}}`:         "weight of assistant is -1.1e+06, want at most 1e+06 in size",
		`{"threshold":0.1,"score":{"behind":1e300}}`:            "a coefficient of score is 1e+300, want at most 1e+06 in size",
		`{"threshold":0.1,"score":{"bias":-1e7}}`:               "a coefficient of score is -1e+07, want at most 1e+06 in size",
		`{"threshold":0.1,"calibration":[[0.2,0.3],[0.1,0.4]]}`: "does not rise from [0.2 0.3] to [0.1 0.4]",
		`{"threshold":0.1,"calibration":[[0.2,0.3],[0.4,0.2]]}`: "does not rise",
		`{"threshold":0.1,"cosines":[0.1,0.2]}`:                 "cosines are [0.1 0.2], want 10 that rise",
		`{"threshold":0.1,"score":{"unknownNames":-1}}`:         "coefficient of score is below 0",
		`{"threshold":0.1,"scripts":["Elvish"]}`:                `"Elvish" is no script`,
		`{"threshold":0.1,"kinds":{"poems":{}}}`:                `kinds has "poems", want one of people, assistant, documents`,
		`{"threshold":0.1,"kinds":{"people":{"document":-1}}}`:  "weight of document is -1, want at least 0",
		`{"threshold":0.1,"spread":-1}`:                         "spread is -1, want 0.001 to 2",
		`{}`:                                                    "threshold is 0",
	} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%s) = %v, want an error with %q", text, err, want)
		}
	}
	if _, err := Parse([]byte(`{"threshold":0.1,"rank":{"assistant":-2}}`)); err != nil {
		t.Errorf("a property may count against a chunk: %v", err)
	}
}

func cosine(x float64) *float64 { return &x }

// random makes candidates of all kinds.
func random(r *rand.Rand) (Query, []Candidate) {
	q := Query{Text: "When did Ada move the port of the staging server?", Ceiling: 5 + 30*r.Float64(), Vectors: true, Chunks: 1 + r.IntN(100_000)}
	for _, word := range []string{"Ada", "move", "port", "staging", "server"} {
		q.Words = append(q.Words, Word{Text: word, Records: r.IntN(1 + q.Chunks/4)})
	}
	speakers := []string{"", "user", "assistant", "Ada", "Grace Hopper"}
	texts := []string{"We moved it yesterday.", "Why?", "The port is 5433 since 2024.", "完全に別の話", ""}
	all, whole := make([]Candidate, 2+r.IntN(70)), r.IntN(2) == 0
	for i := range all {
		c := Candidate{ID: string(rune('a' + i)), Text: texts[r.IntN(len(texts))], Before: texts[r.IntN(len(texts))], Path: string(rune('A' + r.IntN(9))),
			Speaker: speakers[r.IntN(len(speakers))], Turn: r.IntN(2) == 0, Tokens: r.IntN(300), BM25: max(0, r.Float64()*1.3-0.3) * q.Ceiling * 0.8,
			Holds: r.Uint64N(1<<len(q.Words)) & r.Uint64N(1<<len(q.Words))}
		c.Document = c.BM25 * (1 + r.Float64())
		if whole || r.IntN(10) > 0 {
			c.Cosine = cosine(r.Float64()*1.4 - 0.5)
		}
		q.BestDocument = max(q.BestDocument, c.Document)
		all[i] = c
	}
	return q, all
}

// Scores are probabilities in the order of what is returned.
func TestOrderOfScores(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		q, candidates := random(r)
		for _, fingerprint := range []string{"", "minilm/all-MiniLM-L6-v2/", "x"} {
			ranked := For(fingerprint).Rank(q, candidates)
			require.Len(t, ranked, len(candidates))
			before := math.Inf(1)
			for _, c := range ranked {
				if c.Score > before || c.Score < 0 || c.Score > 1 || math.IsNaN(c.Score) {
					t.Fatalf("score %v behind %v", c.Score, before)
				}
				before = c.Score
				sum := 0.0
				for _, term := range c.Terms {
					sum += term.Value * term.Weight
				}
				require.InDelta(t, c.Sum, sum, 1e-9, "the terms are what the sum is made of")
			}
		}
	}
}

// More evidence never lowers a score relative to others, apart from chunks that stand for chance
// and the first candidate. A score itself may fall, because terms are relative.
func TestMonotone(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		q, candidates := random(r)
		m := For([]string{"", "minilm/all-MiniLM-L6-v2/", "x"}[r.IntN(3)])
		find := func(ranked []Ranked, id string) (int, Ranked) {
			for i, c := range ranked {
				if c.ID == id {
					return i, c
				}
			}
			t.Fatal("candidate lost")
			return 0, Ranked{}
		}
		at := r.IntN(len(candidates))
		id := candidates[at].ID
		firsts := func() string { // by all evidence, and by words
			words := q
			words.Vectors = false
			return m.Order(q, candidates)[0].ID + Keywords().Order(words, candidates)[0].ID
		}
		first := firsts()
		place, before := find(m.Rank(q, candidates), id)
		what := r.IntN(4)
		switch what {
		case 0:
			candidates[at].BM25 = min(candidates[at].BM25*1.2+0.1, q.Ceiling)
		case 1:
			if !aboveChance(candidates, at) {
				continue // it would move what all cosines are compared with
			}
			nearer, with := 0, 0
			for _, c := range candidates {
				with += int(yes(c.Cosine != nil))
				nearer += int(yes(c.Cosine != nil && *c.Cosine > *candidates[at].Cosine))
			}
			if with > 1 && nearer >= min(clearPlace, with)-1 {
				continue
			}
			candidates[at].Cosine = cosine(*candidates[at].Cosine + 0.05)
		case 2:
			candidates[at].Document = min(candidates[at].Document*1.2, q.BestDocument)
		case 3:
			own := holdings(q, []Ranked{{Candidate: candidates[at]}})[0].mass
			more := 0
			for _, c := range candidates {
				more += int(yes(holdings(q, []Ranked{{Candidate: c}})[0].mass > own))
			}
			if more >= min(massPlace, len(candidates))-1 {
				continue
			}
			candidates[at].Holds |= 1 << r.IntN(len(q.Words))
		}
		if firsts() != first {
			continue
		}
		placeAfter, after := find(m.Rank(q, candidates), id)
		// Keywords and vectors share the order where some candidates lack a vector.
		both := slices.ContainsFunc(candidates, func(c Candidate) bool { return c.Cosine == nil })
		if placeAfter > place && !both || after.Score < before.Score-0.05 {
			t.Fatalf("more of evidence %d: place %d to %d, score %v to %v", what, place, placeAfter, before.Score, after.Score)
		}
	}
}

// A better time never lowers a score, nor lets another overtake it.
func TestMonotoneInTime(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		q, candidates := random(r)
		for i := range candidates {
			candidates[i].Timely = r.Float64()
		}
		m := For([]string{"", "minilm/all-MiniLM-L6-v2/", "x"}[r.IntN(3)])
		at := r.IntN(len(candidates))
		find := func() (int, float64) {
			ranked := m.Rank(q, candidates)
			i := slices.IndexFunc(ranked, func(c Ranked) bool { return c.ID == candidates[at].ID })
			return i, ranked[i].Score
		}
		place, score := find()
		candidates[at].Timely = 1
		if after, now := find(); after > place || now < score-1e-9 {
			t.Fatalf("place %d to %d, score %v to %v", place, after, score, now)
		}
	}
}

// aboveChance: among the nearest of more than Near.
func aboveChance(candidates []Candidate, at int) bool {
	nearer, all := 0, 0
	for _, c := range candidates {
		if c.Cosine == nil || candidates[at].Cosine == nil {
			continue
		}
		all++
		if *c.Cosine > *candidates[at].Cosine {
			nearer++
		}
	}
	return all > Near && nearer < Near-1
}

// Missing evidence must not matter: without names there are no other speakers.
func TestMissingEvidenceIsNeutral(t *testing.T) {
	q := Query{Text: "where is it?", Ceiling: 10, BestDocument: 5}
	for i, e := range Evidence(q, []Candidate{{ID: "1", BM25: 5, Document: 5, Tokens: 1}, {ID: "2", Path: "b"}}) {
		for n, name := range Names {
			if want := slices.Contains([]string{"keywords", "coverage", "document"}, name) && i == 0; want != (e[n] != 0) {
				t.Errorf("candidate %d: %s is %v", i, name, e[n])
			}
		}
	}
}

func TestEvidence(t *testing.T) {
	value := func(question string, c Candidate, name string) float64 {
		other := Candidate{ID: "other", Turn: true, Speaker: "Ada", Path: "other"}
		e := Evidence(Query{Text: question}, []Candidate{c, other})[0]
		for n := range Names {
			if Names[n] == name {
				return e[n]
			}
		}
		t.Fatal(name)
		return 0
	}
	for _, tt := range []struct {
		name, question string
		c              Candidate
		want           float64
	}{
		{"answerKind", "When did it break?", Candidate{Text: "It broke last week."}, 1},
		{"answerKind", "When did it break?", Candidate{Text: "In 1999"}, 1},
		{"answerKind", "When did it break?", Candidate{Text: "It broke at 5433."}, 0},
		{"answerKind", "what year was that", Candidate{Text: "2024-05-01"}, 1},
		{"answerKind", "How many dogs?", Candidate{Text: "three of them"}, 1},
		{"answerKind", "How many dogs?", Candidate{Text: "some of them"}, 0},
		{"answerKind", "Why?", Candidate{Text: "three, yesterday"}, 0},
		{"firstPerson", "x", Candidate{Turn: true, Text: "That is what I said"}, 0},
		{"firstPerson", "x", Candidate{Turn: true, Text: "It is in there"}, -1},
		{"firstPerson", "x", Candidate{Text: "That is what I said"}, 0},
		{"otherSpeaker", "what does Ada like", Candidate{Turn: true, Speaker: "Grace"}, 1},
		{"otherSpeaker", "what does Ada like", Candidate{Turn: true, Speaker: "Ada"}, 0},
		{"otherSpeaker", "what does she like", Candidate{Turn: true, Speaker: "Grace"}, 0},
		{"otherSpeaker", "what does Ada like", Candidate{Turn: true, Speaker: "user"}, 0},
		{"otherSpeaker", "what does Ada like", Candidate{Turn: true, Speaker: "summary"}, 0},
		{"assistant", "x", Candidate{Turn: true, Speaker: "tool"}, 1},
		{"toldByAssistant", "Which hotel did you recommend?", Candidate{Turn: true, Speaker: "assistant"}, 1},
		{"toldByAssistant", "Can you remind me of the hotel?", Candidate{Turn: true, Speaker: "assistant"}, 1},
		{"toldByAssistant", "In our chat about Rome, which hotel was it?", Candidate{Turn: true, Speaker: "assistant"}, 1},
		{"toldByAssistant", "Which hotel did you recommend?", Candidate{Turn: true, Speaker: "user"}, 0},
		{"toldByAssistant", "Which hotel did I book?", Candidate{Turn: true, Speaker: "assistant"}, 0},
		{"toldByAssistant", "What was the name of the hotel you suggested?", Candidate{Turn: true, Speaker: "assistant"}, 1},
		{"toldByAssistant", "Can you list what I told you about the garden?", Candidate{Turn: true, Speaker: "assistant"}, 0},
		{"toldByAssistant", "Can you list the order in which I brought up garden topics?", Candidate{Turn: true, Speaker: "assistant"}, 0},
		{"toldByAssistant", "Could you suggest a hotel in Rome?", Candidate{Turn: true, Speaker: "assistant"}, 0},
		{"toldByAssistant", "Remind me what I said about the balcony", Candidate{Turn: true, Speaker: "assistant"}, 0},
		{"wish", "How should I format the report?", Candidate{Turn: true, Speaker: "user", Text: "Always use bullet points when I ask about formats."}, 1},
		{"wish", "What libraries would you suggest?", Candidate{Turn: true, Speaker: "user", Text: "It has to stay small, so I prefer few dependencies."}, 1},
		{"wish", "Can you help me plan the week?", Candidate{Turn: true, Speaker: "user", Text: "Please never plan anything before nine."}, 1},
		{"wish", "How should I format the report?", Candidate{Turn: true, Speaker: "assistant", Text: "Always use bullet points."}, 0},
		{"wish", "How should I format the report?", Candidate{Turn: true, Speaker: "user", Text: "The report is always late."}, 0},
		{"wish", "When is the report due?", Candidate{Turn: true, Speaker: "user", Text: "Always use bullet points."}, 0},
		{"wish", "Can you list what I said about reports?", Candidate{Turn: true, Speaker: "user", Text: "Always use bullet points."}, 0},
		{"wish", "What did you recommend?", Candidate{Turn: true, Speaker: "user", Text: "I prefer trains."}, 0},
		{"question", "x", Candidate{Turn: true, Text: "何ですか？"}, 1},
		{"afterQuestion", "x", Candidate{Turn: true, Before: "Ada: why?"}, 1},
		{"turnLength", "x", Candidate{Turn: true, Tokens: 16}, -math.Log(8)},
		{"chunkLength", "x", Candidate{Tokens: 0}, 0},
		{"time", "x", Candidate{Timely: 0.4}, 0.4},
	} {
		if got := value(tt.question, tt.c, tt.name); got != tt.want {
			t.Errorf("%s of %q for %q = %v, want %v", tt.name, tt.c.Text, tt.question, got, tt.want)
		}
	}
}

// Keywords answer in a script unknown to the embedder.
func TestScripts(t *testing.T) {
	candidates := []Candidate{{ID: "words", BM25: 9, Document: 9, Cosine: cosine(0.1)}, {ID: "vectors", Path: "b", BM25: 5, Document: 5, Cosine: cosine(0.9)}}
	m := &Model{Scripts: []string{"Latin"}, Weights: map[string]float64{"cosine": 9, "keywords": 1}, Threshold: 0.1}
	for text, want := range map[string]string{
		"which port is it": "vectors", "Überraschung ñandú": "vectors", "5433": "vectors", "": "vectors",
		"哪个端口": "words", "какой порт": "words", "wie heißt 端口 bei Ihnen": "vectors",
	} {
		if got := m.Rank(Query{Text: text, Ceiling: 10, BestDocument: 9, Vectors: true}, candidates)[0].ID; got != want {
			t.Errorf("first for %q is %s, want %s", text, got, want)
		}
	}
	all := &Model{Weights: m.Weights, Threshold: 0.1}
	require.Equal(t, "vectors", all.Rank(Query{Text: "哪个端口", Ceiling: 10, BestDocument: 9, Vectors: true}, candidates)[0].ID)
}

// The turn before counts only if it is known to be that.
func TestBefore(t *testing.T) {
	asking := Candidate{ID: "asking", Path: "log", Line: 7, Turn: true, Speaker: "Ada", Text: "So good to see you!\nWhere did you find that lamp?", BM25: 8, Cosine: cosine(0.9)}
	answer := Candidate{ID: "answer", Path: "log", Line: 9, Turn: true, Speaker: "Grace", Text: "On the market.", Before: "Ada: …you! Where did you find that lamp?", Cosine: cosine(0.2)}
	far := Candidate{ID: "far", Path: "far", Turn: true, Speaker: "Grace", Text: "It rains.", BM25: 4, Cosine: cosine(0.1)}
	of := func(candidates ...Candidate) (keywords, cosine float64) {
		e := Evidence(Query{Text: "where is the lamp from", Vectors: true}, candidates)[0]
		return e[atBeforeKeywords], e[atBeforeCosine]
	}
	change := func(c Candidate, how func(*Candidate)) Candidate { how(&c); return c }
	for _, tt := range []struct {
		name             string
		candidates       []Candidate
		keywords, cosine float64
	}{
		{"after a question", []Candidate{answer, asking, far}, 1, 1},
		{"another part of the turn before", []Candidate{answer, far, asking, change(asking, func(c *Candidate) { c.ID, c.Text = "part", "Hello" })}, 1, 1},
		{"after a statement", []Candidate{change(answer, func(c *Candidate) { c.Before = "Ada: It is here." }), change(asking, func(c *Candidate) { c.Text = "It is here." }), far}, 0, 1},
		{"another turn was between", []Candidate{answer, asking, change(far, func(c *Candidate) { c.Path, c.Line = "log", 8 })}, 0, 0},
		{"another document", []Candidate{answer, change(asking, func(c *Candidate) { c.Path = "other" }), far}, 0, 0},
		{"it comes later", []Candidate{answer, change(asking, func(c *Candidate) { c.Line = 10 }), far}, 0, 0},
		{"it is no candidate", []Candidate{answer, far}, 0, 0},
	} {
		keywords, cosine := of(tt.candidates...)
		require.Equal(t, [2]float64{tt.keywords, tt.cosine}, [2]float64{keywords, cosine}, tt.name)
	}
}

// Each kind has its own weights; more terms are no advantage.
func TestKinds(t *testing.T) {
	m := &Model{Threshold: 0.1, Weights: map[string]float64{"keywords": 1}, Kinds: map[string]map[string]float64{
		KindDocuments: {"keywords": 2, "cosine": 2},
		KindPeople:    {"keywords": 3, "document": 3, "cosine": 2, "documentCosine": 2},
	}}
	q := Query{Text: "which lamp", BestDocument: 10, Vectors: true}
	note := Candidate{ID: "note", Path: "note.md", BM25: 10, Document: 10, Cosine: cosine(0.8)}
	turn := Candidate{ID: "turn", Path: "log", Turn: true, Speaker: "Ada", BM25: 7, Document: 8, Cosine: cosine(0.5)}
	least := Candidate{ID: "least", Path: "least.md", Cosine: cosine(0.2)}
	order := func(m *Model, all ...Candidate) (ids []string) {
		for _, r := range m.Order(q, all) {
			ids = append(ids, r.ID)
		}
		return ids
	}
	require.Equal(t, []string{"note", "turn", "least"}, order(m, turn, least, note))
	alike := &Model{Weights: m.Kinds[KindPeople]}
	require.InDelta(t, alike.Order(q, []Candidate{turn})[0].Sum, m.Order(q, []Candidate{turn})[0].Sum, 1e-9, "alone, a kind has its weights and no handicap")
	agent := Candidate{ID: "agent", Path: "session", Turn: true, Speaker: "user", BM25: 5}
	require.InDelta(t, 0.5, m.Order(q, []Candidate{agent, {ID: "x", Turn: true, BM25: 10}})[1].Sum, 1e-9, "a kind without weights of its own has those of all")
}

// Documents are ordered nearly by a plain sum.
func TestDocumentsAsByPlainSum(t *testing.T) {
	m := For("minilm/all-MiniLM-L6-v2/")
	q := Query{Text: "which port does staging use", Ceiling: 20, BestDocument: 10, Vectors: true, Chunks: 1000}
	candidates := []Candidate{
		{ID: "near", Path: "near.md", BM25: 6, Document: 6, Cosine: cosine(0.6), Tokens: 100},
		{ID: "words", Path: "words.md", BM25: 10, Document: 10, Cosine: cosine(0.35), Tokens: 100},
	}
	for i := range 60 {
		name := string(rune('A' + i))
		candidates = append(candidates, Candidate{ID: name, Path: name, BM25: 2, Document: 2, Cosine: cosine(0.3), Tokens: 100})
	}
	require.Equal(t, "near", m.Order(q, candidates)[0].ID, "0.6 + 0.5·6/10 is more than 0.35 + 0.5")
}

// A request for advice shares few words with what the user said of how they want it.
func TestWishBeforeTheTopic(t *testing.T) {
	for _, embedder := range []string{"minilm/all-MiniLM-L6-v2/", "another"} {
		m := For(embedder)
		said := func(id, text string, bm25, near float64) Candidate {
			return Candidate{ID: id, Path: id, Turn: true, Speaker: "user", Text: text, BM25: bm25, Document: bm25, Cosine: cosine(near), Tokens: 20}
		}
		candidates := []Candidate{
			said("topic", "I am writing my resume for the bakery, with my past jobs.", 7, 0.5),
			said("wish", "Always use one page when I ask about resumes.", 6, 0.45),
		}
		first := func(question string) string {
			return m.Order(Query{Text: question, Ceiling: 20, BestDocument: 8, Vectors: true, Chunks: 300}, candidates)[0].ID
		}
		require.Equal(t, "wish", first("How should I design my resume?"))
		require.Equal(t, "topic", first("Which past jobs are in my resume?"))
	}
}

// A long turn of the right session does not precede the note.
func TestNotesBesideTurns(t *testing.T) {
	q := Query{Text: "why did we not take DynamoDB", Ceiling: 20, BestDocument: 12, Vectors: true, Chunks: 200}
	note := Candidate{ID: "note", Path: "decisions/0007.md", Text: "DynamoDB was too dear.", BM25: 10, Document: 10, Cosine: cosine(0.55), Tokens: 60}
	turn := Candidate{ID: "turn", Path: "session", Turn: true, Speaker: "user", Text: "I would like us to take Terraform for this", BM25: 6, Document: 12, Cosine: cosine(0.45), Tokens: 400}
	for _, fingerprint := range []string{"minilm/all-MiniLM-L6-v2/", "x", ""} {
		require.Equal(t, "note", For(fingerprint).Order(q, []Candidate{turn, note, {ID: "other", Path: "o", Cosine: cosine(0.2)}})[0].ID, fingerprint)
	}
}

// A known spread makes cosines mean the same for all questions.
func TestSpread(t *testing.T) {
	terms := func(spread float64, cosines ...float64) (all []float64) {
		var candidates []Candidate
		for _, x := range cosines {
			candidates = append(candidates, Candidate{Cosine: cosine(x)})
		}
		for _, e := range Evidence(Query{Vectors: true, Spread: spread}, candidates) {
			all = append(all, math.Round(e[atCosine]*1000)/1000)
		}
		return all
	}
	require.Equal(t, []float64{1, 0.5, 0}, terms(0, 0.5, 0.45, 0.4))
	require.Equal(t, []float64{0.5, 0.25, 0}, terms(0.2, 0.5, 0.45, 0.4))
}

// Keywords answer in a language unknown to the embedder.
func TestLanguages(t *testing.T) {
	candidates := []Candidate{{ID: "words", BM25: 9, Document: 9, Cosine: cosine(0.1)}, {ID: "vectors", Path: "b", BM25: 5, Document: 5, Cosine: cosine(0.9)}}
	m := &Model{Languages: []string{"en", "de"}, Weights: map[string]float64{"cosine": 9, "keywords": 1}, Threshold: 0.1}
	for language, want := range map[string]string{"": "vectors", "en": "vectors", "de": "vectors", "es": "words", "vi": "words"} {
		q := Query{Text: "which port", Language: language, Ceiling: 10, BestDocument: 9, Vectors: true}
		require.Equal(t, want, m.Rank(q, candidates)[0].ID, language)
	}
}

// More candidates, as of Search, must not change first scores.
func TestDepthDoesNotMatter(t *testing.T) {
	var candidates []Candidate
	for i := range 150 {
		candidates = append(candidates, Candidate{ID: string(rune('0' + i)), Path: string(rune('0' + i)), Cosine: cosine(0.8 - float64(i)/300), BM25: float64(150-i) / 10})
	}
	q := Query{Text: "port", Ceiling: 30, Vectors: true, Chunks: 500}
	m := For("minilm/all-MiniLM-L6-v2/")
	few, many := m.Rank(q, candidates[:60]), m.Rank(q, candidates)
	for i := range 10 {
		require.Equal(t, few[i].ID, many[i].ID)
		require.InDelta(t, few[i].Score, many[i].Score, 1e-9)
	}
}

func TestDescribe(t *testing.T) {
	require.Equal(t, "assistant -2.0, keywords +1.5", Describe([]Term{{"keywords", 0.5, 3}, {"cosine", 0.01, 0.7}, {"assistant", 1, -2}}))
	require.Empty(t, Describe(nil))
}

func TestHonest(t *testing.T) {
	m := &Model{Calibration: [][2]float64{{0.2, 0.1}, {0.6, 0.5}}}
	for said, want := range map[float64]float64{0: 0, 0.1: 0.05, 0.2: 0.1, 0.4: 0.3, 0.6: 0.5, 0.8: 0.75, 1: 1} {
		require.InDelta(t, want, m.observed(said), 1e-12, "%v", said)
	}
	require.Equal(t, 0.3, (&Model{}).observed(0.3))
}

func TestModelRoundTrip(t *testing.T) {
	for _, m := range shipped() {
		data, err := json.Marshal(m)
		require.NoError(t, err)
		again, err := Parse(data)
		require.NoError(t, err)
		require.Equal(t, m, again)
	}
}

// A question in another language than the texts has a model of its own, whose threshold counts.
func TestAcross(t *testing.T) {
	m := For("pack/multilingual-e5-small/384/mean/x")
	require.NotNil(t, m.Across)
	q := Query{Text: "какой порт", Chunks: 60, Ceiling: 10, Vectors: true, Language: "ru", Words: []Word{{Text: "какой"}, {Text: "порт"}}}
	var candidates []Candidate
	for i := range 60 {
		candidates = append(candidates, Candidate{ID: fmt.Sprintf("%02d", i), Path: fmt.Sprint(i), Text: "text", Tokens: 100, Cosine: cosine(0.78 - 0.0002*float64(i))})
	}
	candidates[7].Cosine = cosine(0.83)
	require.Less(t, m.Rank(q, candidates)[0].Score, m.Threshold)
	q.Across = true
	ranked := m.Rank(q, candidates)
	require.Equal(t, "07", ranked[0].ID)
	require.Greater(t, ranked[0].Score, m.Threshold)
	require.Less(t, ranked[1].Score, m.Threshold)

	_, err := Parse([]byte(`{"rank":{},"score":{"bias":0,"behind":1},"threshold":0.5,"across":{"rank":{},"score":{"bias":0,"behind":1},"threshold":2}}`))
	require.ErrorContains(t, err, "across: relevance model: threshold is 2")
	_, err = Parse([]byte(`{"rank":{},"score":{"bias":0,"behind":1},"threshold":0.5,"across":{"rank":{},"score":{"bias":0,"behind":1},"threshold":0.5,"across":{"threshold":0.5}}}`))
	require.ErrorContains(t, err, "across of its own")
}

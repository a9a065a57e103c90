package relevance

import (
	"math"
	"testing"
)

// Each valid model gives probabilities.
func FuzzModel(f *testing.F) {
	for _, m := range []string{keywordsFile, otherFile} {
		data, err := files.ReadFile("models/" + m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, 3.5, 0.4)
	}
	f.Add([]byte(`{"rank":{"bm25":1e308},"score":{"behind":1e308,"bias":-1e308},"threshold":0.5}`), 1e300, -1.0)
	f.Add([]byte(`{"threshold":0.5,"calibration":[[0.5,0.5]]}`), 0.0, 1.0)
	f.Add([]byte(`{"threshold":0.5,"calibration":[[0.5,0.5]]}`), 1.5e308, 1.0)
	f.Add([]byte(`{"rank":{"keywords":1e308,"document":1e308},"score":{"behind":0},"threshold":0.5}`), 3.5, 0.4)
	f.Add([]byte(`{"rank":{"keywords":1e6,"document":1e6},"score":{"behind":1e6,"bias":-1e6,"cosine":1e6,"cosineMass":1e6,"unknownNames":1e6},"threshold":0.5}`), 1e6, -1.0)
	f.Add([]byte(`{"cosines":[-0.1,0,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8],"score":{"behind":1,"shareBehind":2,"massClear":1},"threshold":0.5}`), 3.5, 0.4)
	f.Fuzz(func(t *testing.T, data []byte, bm25, cosine float64) {
		// Real BM25 adds at most a few dozen per word.
		if !(bm25 >= 0 && bm25 <= 1e6) || !(math.Abs(cosine) <= 1) {
			return
		}
		m, err := Parse(data)
		if err != nil {
			return
		}
		half := cosine / 2
		ranked := m.Rank(Query{Text: "which port does staging use?", Ceiling: bm25, BestDocument: bm25, Vectors: true, Chunks: 1000,
			Words: []Word{{Text: "port", Records: 3}, {Text: "staging", Records: 1}, {Text: "use"}}}, []Candidate{
			{ID: "a", Text: "Staging uses port 5433.", Holds: 0b11, BM25: bm25, Document: bm25, Cosine: &cosine, Tokens: 7},
			{ID: "b", Text: "Lunch is at noon.", Cosine: &half, Tokens: 5},
			{ID: "c", Text: "user: hello", Speaker: "user", Turn: true},
		})
		if len(ranked) != 3 {
			t.Fatalf("%d candidates, want 3", len(ranked))
		}
		for i, r := range ranked {
			if !(r.Score >= 0 && r.Score <= 1) {
				t.Errorf("score of %s is %g, want it in [0, 1]", r.ID, r.Score)
			}
			if i > 0 && r.Score > ranked[i-1].Score {
				t.Errorf("scores rise from %g to %g", ranked[i-1].Score, r.Score)
			}
		}
	})
}

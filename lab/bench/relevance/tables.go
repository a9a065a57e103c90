package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/philippgille/chromem-go"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/lab/internal/fit"
	"github.com/memcore/memcore/lab/internal/sets"
)

// tables are those of docs/dev/relevance.md.
type tables struct{ strings.Builder }

func (t *tables) row(cells ...string) { fmt.Fprintf(t, "| %s |\n", strings.Join(cells, " | ")) }

func (t *tables) head(title string, cells ...string) {
	fmt.Fprintf(t, "\n%s\n\n", title)
	t.row(cells...)
	t.row("---" + strings.Repeat("|--:", len(cells)-1))
}

// A way is a named ranking.
type way struct {
	name string
	rank fit.Ranker
}

// sideBySide compares rankings of the same chunks by recall@1 / @5 / @10.
func (t *tables) sideBySide(ctx context.Context, s fit.Sample, collections []sets.Collection, e embed.Embedder, o fit.Options) error {
	model, err := s.CrossValidated(o)
	if err != nil {
		return err
	}
	words, err := s.CrossValidated(fit.Options{})
	if err != nil {
		return err
	}
	ways := []way{{"BM25", fit.Keywords}, {"MiniLM", fit.Vectors}, {"RRF", fit.Fused}, {"cosine + ½ BM25/best", fit.Summed},
		{"memcore, no vectors", words}, {"**memcore**", model}}
	var reports []eval.Report
	names := []string{"set", "questions"}
	for _, w := range ways {
		reports = append(reports, s.Scores(w.rank, sets.LevelDocument))
		names = append(names, w.name)
	}
	peers := map[string]eval.Report{}
	for _, peer := range []string{"grep", "chromem-go"} {
		if peers[peer], err = asked(ctx, collections, e, peer); err != nil {
			return err
		}
		names = append(names, peer)
	}
	t.head("Recall of documents or turns at 1 / 5 / 10. memcore is cross-validated: six folds, whole chats where a set has several.", names...)
	for i, c := range reports[0].Collections {
		cells := []string{c.Name, fmt.Sprint(c.Queries)}
		for _, r := range reports {
			cells = append(cells, recalls(r.Collections[i].Scores))
		}
		for _, peer := range []string{"grep", "chromem-go"} {
			for _, p := range peers[peer].Collections {
				if p.Name == c.Name {
					cells = append(cells, recalls(p.Scores))
				}
			}
		}
		t.row(cells...)
	}

	t.head("memcore of that table, with 95 % intervals (bootstrap over questions).", "set", "R@1", "R@5", "R@10", "MRR", "nDCG@10", "BM25 nDCG@10", "session R@5", "session R@10")
	last := reports[len(reports)-1]
	sessions := s.Scores(model, sets.LevelSession)
	for i, c := range last.Collections {
		cells := []string{c.Name}
		for _, key := range []string{"recall@1", "recall@5", "recall@10", "mrr", "ndcg@10"} {
			cells = append(cells, fmt.Sprintf("%.3f (%.3f–%.3f)", c.Scores[key], c.Intervals[key][0], c.Intervals[key][1]))
		}
		session := sessions.Collections[i].Scores
		t.row(append(cells, fmt.Sprintf("%.3f", reports[0].Collections[i].Scores["ndcg@10"]),
			fmt.Sprintf("%.3f", session["recall@5"]), fmt.Sprintf("%.3f", session["recall@10"]))...)
	}
	t.languages(s, model)
	return nil
}

// languages compares rankings by language.
func (t *tables) languages(s fit.Sample, model fit.Ranker) {
	t.head("Languages: recall@1 on XQuAD.", "language", "BM25", "MiniLM", "cosine + ½ BM25/best", "**memcore**")
	for _, language := range []string{"en", "de", "ru", "ar", "zh"} {
		cells := []string{language}
		for _, rank := range []fit.Ranker{fit.Keywords, fit.Vectors, fit.Summed, model} {
			part := fit.Sample{Questions: slices.DeleteFunc(slices.Clone(s.Questions), func(q fit.Question) bool { return q.Collection != "xquad/"+language })}
			cells = append(cells, fmt.Sprintf("%.3f", part.Scores(rank, sets.LevelDocument).All.Scores["recall@1"]))
		}
		t.row(cells...)
	}
}

func recalls(scores map[string]float64) string {
	return fmt.Sprintf("%.3f / %.3f / %.3f", scores["recall@1"], scores["recall@5"], scores["recall@10"])
}

// ablations fits without some evidence.
func (t *tables) ablations(s fit.Sample, o fit.Options) error {
	shown := []string{"locomo", "longmemeval_oracle_pool", "docs_code", "ir", "madial", "xquad"}
	t.head("What evidence is worth: recall@1 / @5 / @10, fitted and cross-validated without it.", append([]string{"without"}, shown...)...)
	for _, without := range [][]string{nil, {"document"}, {"cosine", "documentCosine", "beforeCosine"}, {"documentCosine"}, {"keywords"}, {"answerKind"}, {"beforeKeywords", "beforeCosine"}, {"toldByAssistant"}, {"firstPerson"},
		{"otherSpeaker"}, {"assistant"}, {"question", "afterQuestion"}, {"turnLength", "chunkLength"}} {
		o := o
		o.Without = without
		rank, err := s.CrossValidated(o)
		if err != nil {
			return err
		}
		cells := []string{cmp.Or(strings.Join(without, ", "), "nothing")}
		for _, c := range s.Scores(rank, sets.LevelDocument).Collections {
			if slices.Contains(shown, c.Name) {
				cells = append(cells, recalls(c.Scores))
			}
		}
		t.row(cells...)
	}
	return nil
}

// silence measures thresholds.
func (t *tables) silence(s fit.Sample, m *relevance.Model) {
	type asked struct {
		set, collection string
		kind            fit.Kind
		best, bestTrue  float64
	}
	var all []asked
	sets := []string{}
	for _, q := range s.Questions {
		if !slices.Contains(sets, q.Set) {
			sets = append(sets, q.Set)
		}
		a := asked{set: q.Set, kind: q.Kind}
		for i, r := range m.Rank(q.Query, q.Candidates) {
			a.best = max(a.best, r.Score)
			if i < 8 && q.Relevant[q.Units[slices.IndexFunc(q.Candidates, func(c relevance.Candidate) bool { return c.ID == r.ID })]] > 0 {
				a.bestTrue = max(a.bestTrue, r.Score)
			}
		}
		all = append(all, a)
	}
	share := func(set string, kind fit.Kind, yes func(asked) bool) string {
		n, of := 0, 0
		for _, a := range all {
			if (set == "" || a.set == set) && a.kind == kind {
				of++
				if yes(a) {
					n++
				}
			}
		}
		if of == 0 {
			return "–"
		}
		return fmt.Sprintf("%.2f", float64(n)/float64(of))
	}
	t.head(fmt.Sprintf("At the default threshold, %.3f, per set: questions with an answer that get one among eight, or nothing; others that get nothing.", m.Threshold),
		"set", "answered", "empty", "silent on small talk", "silent on questions to other sets", "to other collections of the set", "silent on its unanswerable")
	for _, set := range append(sets, "") {
		below := func(a asked) bool { return a.best < m.Threshold }
		t.row(cmp.Or(set, "all"), share(set, fit.Answerable, func(a asked) bool { return a.bestTrue >= m.Threshold }), share(set, fit.Answerable, below),
			share(set, fit.SmallTalk, below), share(set, fit.Foreign, below), share(set, fit.Sister, below), share(set, fit.Unanswerable, below))
	}
	t.head("Other thresholds, all sets.", "least score", "answered", "empty", "small talk", "other sets", "unanswerable")
	for _, least := range []float64{0.02, 0.03, 0.05, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75} {
		below := func(a asked) bool { return a.best < least }
		t.row(fmt.Sprint(least), share("", fit.Answerable, func(a asked) bool { return a.bestTrue >= least }), share("", fit.Answerable, below),
			share("", fit.SmallTalk, below), share("", fit.Foreign, below), share("", fit.Unanswerable, below))
	}
}

// product measures the shipped program on the fitted sets and another.
func (t *tables) product(ctx context.Context, open eval.Opener, data string) (eval.Report, error) {
	t.head("As shipped: what turns are given, and how long RetrieveRelevant takes, embedding included. "+tested+" was used for nothing else.",
		"set", "chunks", "any@1", "any@5", "R@5", "R@10", "given: precision", "recall", "median tokens", "p50", "p95")
	var all eval.Report
	var asked []eval.Asked // of all sets whose documents are judged
	chunks := 0
	for _, set := range []struct{ pattern, level string }{
		{"locomo", sets.LevelDocument}, {"longmemeval_oracle_pool/turns", sets.LevelDocument}, {"docs_code", sets.LevelDocument},
		{"precision_membench", sets.LevelDocument}, {tested + "/*/turns", sets.LevelDocument}, {tested + "/*/sessions", sets.LevelSession},
	} {
		pattern := filepath.Join(data, set.pattern)
		if found, _ := filepath.Glob(pattern); len(found) == 0 {
			fmt.Fprintf(os.Stderr, "relevancebench: nothing at %s\n", pattern)
			continue
		}
		collections, err := sets.Collections(pattern, "")
		if err != nil {
			return all, err
		}
		report, err := sets.RunAll(ctx, open, collections, sets.Options{Level: set.level})
		if err != nil {
			return all, err
		}
		a := report.All
		if set.level == sets.LevelDocument {
			asked, chunks = append(asked, report.Queries...), chunks+a.Chunks
		}
		figure := func(key string) string { return fmt.Sprintf("%.3f", a.Scores[key]) }
		t.row(set.pattern, fmt.Sprint(a.Chunks), figure("any@1"), figure("any@5"), figure("recall@5"), figure("recall@10"),
			fmt.Sprintf("%.3f", a.Injection.Precision), fmt.Sprintf("%.3f", a.Injection.Recall), fmt.Sprint(a.Injection.Tokens),
			a.P50.Round(10*time.Microsecond).String(), a.P95.Round(10*time.Microsecond).String())
		fmt.Fprintf(os.Stderr, "relevancebench: %s run\n", set.pattern)
	}
	all = eval.Tally(fit.Ranks, sets.LevelDocument, asked)
	all.All.Chunks = chunks
	return all, nil
}

// asked asks a peer over whole documents.
func asked(ctx context.Context, collections []sets.Collection, e embed.Embedder, peer string) (eval.Report, error) {
	var all []eval.Asked
	for _, c := range collections {
		find, err := peerOf(ctx, c, e, peer)
		if err != nil {
			return eval.Report{}, err
		}
		n := 0
		for _, q := range c.Queries {
			if q.Unanswerable() || len(c.Judgments[q.ID]) == 0 || n >= 400 {
				continue
			}
			n++
			found, err := find(q.Text)
			if err != nil {
				return eval.Report{}, err
			}
			all = append(all, eval.Asked{Collection: c.Set(), ID: c.Name + "/" + q.ID, Text: q.Text, Answerable: true, Relevant: c.Judgments[q.ID], Found: found})
		}
	}
	return eval.Tally(fit.Ranks, sets.LevelDocument, all), nil
}

func peerOf(ctx context.Context, c sets.Collection, e embed.Embedder, peer string) (func(string) ([]string, error), error) {
	if peer == "grep" {
		return grep(c), nil
	}
	texts := make([]string, len(c.Documents))
	for i, d := range c.Documents {
		texts[i] = readable(e, d.Text)
	}
	vectors, err := e.Embed(ctx, embed.Document, texts)
	if err != nil {
		return nil, err
	}
	collection, err := chromem.NewDB().CreateCollection("peer", nil, nil)
	if err != nil {
		return nil, err
	}
	var documents []chromem.Document
	for i, d := range c.Documents {
		documents = append(documents, chromem.Document{ID: d.ID, Content: d.Text, Embedding: vectors[i]})
	}
	if err := collection.AddDocuments(ctx, documents, 2); err != nil {
		return nil, err
	}
	return func(question string) ([]string, error) {
		vector, err := e.Embed(ctx, embed.Query, []string{readable(e, question)})
		if err != nil {
			return nil, err
		}
		hits, err := collection.QueryEmbedding(ctx, vector[0], min(50, collection.Count()), nil, nil)
		var found []string
		for _, h := range hits {
			found = append(found, h.ID)
		}
		return found, err
	}, nil
}

// readable returns the beginning of a text that fits the model.
func readable(e embed.Embedder, text string) string {
	for e.CountTokens(text) > e.MaxTokens() {
		text = strings.ToValidUTF8(text[:len(text)*9/10], "")
	}
	return text
}

// grep returns the documents with any word of over two letters, as grep -i, most words first.
func grep(c sets.Collection) func(string) ([]string, error) {
	lower := make([]string, len(c.Documents))
	for i, d := range c.Documents {
		lower[i] = strings.ToLower(d.Text)
	}
	return func(question string) ([]string, error) {
		var words []string
		for _, word := range strings.Fields(strings.ToLower(question)) {
			if word = strings.Trim(word, ".,;:!?'\"()"); len(word) > 2 {
				words = append(words, word)
			}
		}
		counts := make([]int, len(lower))
		order := make([]int, len(lower))
		for i, text := range lower {
			order[i] = i
			for _, word := range words {
				if strings.Contains(text, word) {
					counts[i]++
				}
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(counts[b], counts[a]) })
		var found []string
		for _, i := range order[:min(50, len(order))] {
			if counts[i] > 0 {
				found = append(found, c.Documents[i].ID)
			}
		}
		return found, nil
	}
}

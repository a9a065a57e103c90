// Command reader writes the first candidates of the questions of collections, for reader.py: with
// the scores of the shipped model, and of one that was fitted without the question's data set.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/embed/cache"
	"github.com/memcore/memcore/embed/minilm"
	"github.com/memcore/memcore/lab/internal/fit"
	"github.com/memcore/memcore/lab/internal/memories"
	"github.com/memcore/memcore/lab/internal/sets"
)

// first candidates are read, as many as a turn looks at.
const first = 16

var kinds = map[fit.Kind]string{fit.Answerable: "answerable", fit.Unanswerable: "unanswerable", fit.SmallTalk: "small talk",
	fit.Foreign: "foreign", fit.Sister: "sister"}

type question struct {
	Set        string         `json:"set"`
	Collection string         `json:"collection"`
	ID         string         `json:"id"`
	Kind       string         `json:"kind"`
	Text       string         `json:"text"`
	Relevant   map[string]int `json:"relevant"`
	BestUnseen float64        `json:"best_unseen"` // score of the first by the model without the set
	Candidates []candidate    `json:"candidates"`
}

type candidate struct {
	Unit    string  `json:"unit"`
	Text    string  `json:"text"`
	Before  string  `json:"before"`
	Speaker string  `json:"speaker"`
	Sum     float64 `json:"sum"`
	Score   float64 `json:"score"`
	Unseen  float64 `json:"unseen"`     // Score by the model without the set
	SumOf   float64 `json:"unseen_sum"` // Sum by it
}

func main() {
	data := flag.String("data", "", "folders of collections, separated by commas")
	smallTalk := flag.String("small-talk", "", "file of lines that must get nothing")
	vectors := flag.String("cache", "", "folder that keeps vectors")
	out := flag.String("out", "", "file for a question a line")
	flag.Parse()
	if *data == "" || *smallTalk == "" || *vectors == "" || *out == "" {
		log.Fatal("reader: -data, -small-talk, -cache and -out are all needed")
	}
	if err := run(context.Background(), strings.Split(*data, ","), *smallTalk, *vectors, *out); err != nil {
		log.Fatal("reader: ", err)
	}
}

func run(ctx context.Context, folders []string, smallTalk, vectors, out string) error {
	lines, err := fit.ReadSmallTalk(smallTalk)
	if err != nil {
		return err
	}
	embedder, err := cache.Open(minilm.New(), vectors, cache.Options{})
	if err != nil {
		return err
	}
	collections, err := sets.CollectionsOf(folders)
	if err != nil {
		return err
	}
	open := memories.Opener(embedder)
	sample, err := fit.Collect(ctx, open, collections, lines, func(done, total int) { log.Printf("%d of %d collections", done, total) })
	if err != nil {
		return err
	}
	unseen, err := withoutEach(sample)
	if err != nil {
		return err
	}
	file, err := os.Create(out)
	if err != nil {
		return err
	}
	defer file.Close()
	lines2 := json.NewEncoder(file)
	for _, q := range sample.Questions {
		if err := lines2.Encode(written(q, relevance.For(embedder.Fingerprint()), unseen[q.Set])); err != nil {
			return err
		}
	}
	return file.Close()
}

// withoutEach fits a model without each data set.
func withoutEach(sample fit.Sample) (map[string]*relevance.Model, error) {
	models := map[string]*relevance.Model{}
	for _, q := range sample.Questions {
		if models[q.Set] != nil {
			continue
		}
		var others fit.Sample
		for _, o := range sample.Questions {
			if o.Set != q.Set {
				others.Questions = append(others.Questions, o)
			}
		}
		m, err := fit.Model(others, fit.Options{Vectors: true, Absolute: true, Scripts: []string{"Latin"}, Languages: []string{"en"}})
		if err != nil {
			return nil, fmt.Errorf("without %s: %w", q.Set, err)
		}
		log.Printf("without %s: threshold %g", q.Set, m.Threshold)
		models[q.Set] = m
	}
	return models, nil
}

func written(q fit.Question, shipped, unseen *relevance.Model) question {
	w := question{Set: q.Set, Collection: q.Collection, ID: q.ID, Kind: kinds[q.Kind], Text: q.Query.Text, Relevant: q.Relevant, Candidates: []candidate{}}
	units := map[string]string{}
	for i, c := range q.Candidates {
		units[c.ID] = q.Units[i]
	}
	other := map[string]relevance.Ranked{}
	for i, r := range unseen.Rank(q.Query, q.Candidates) {
		if other[r.ID] = r; i == 0 {
			w.BestUnseen = r.Score
		}
	}
	for i, r := range shipped.Rank(q.Query, q.Candidates) {
		if i == first {
			break
		}
		w.Candidates = append(w.Candidates, candidate{Unit: units[r.ID], Text: r.Text, Before: r.Before, Speaker: r.Speaker,
			Sum: r.Sum, Score: r.Score, Unseen: other[r.ID].Score, SumOf: other[r.ID].Sum})
	}
	return w
}

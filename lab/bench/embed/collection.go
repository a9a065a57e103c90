package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/minilm"
)

// A collection is texts, and questions with the indexes of their answers.
type collection struct {
	texts, questions []string
	relevant         [][]int // by question
	// by the published weights and by the built-in embedder
	exact, rounded vectors
}

type vectors struct{ texts, questions [][]float32 }

func (c *collection) embed(ctx context.Context, s *server) error {
	all := slices.Concat(c.texts, c.questions)
	rounded, err := minilm.New().Embed(ctx, embed.Document, all)
	if err != nil {
		return err
	}
	exact, err := s.embed(all)
	if err != nil {
		return err
	}
	n := len(c.texts)
	c.exact, c.rounded = vectors{exact[:n], exact[n:]}, vectors{rounded[:n], rounded[n:]}
	return nil
}

// readAll reads the collections of -data, or the texts of -texts.
func readAll() ([]collection, error) {
	if *data == "" {
		texts, err := readTexts(*textsDir)
		return []collection{{texts: texts}}, err
	}
	dirs, err := filepath.Glob(filepath.Join(*data, "locomo", "*", "corpus.jsonl"))
	if err != nil || len(dirs) == 0 {
		return nil, fmt.Errorf("no collection in %s: want locomo/*/corpus.jsonl, queries.jsonl, qrels.tsv", *data)
	}
	var all []collection
	for _, name := range dirs {
		c, err := readCollection(filepath.Dir(name))
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// generated is the number of generated texts.
const generated = 1000

// sentenceEnd matches the end of a sentence or paragraph.
var sentenceEnd = regexp.MustCompile(`[.!?]\s+|\n\s*\n`)

// readTexts returns the distinct sentences of all Markdown below a folder, and generated prose.
func readTexts(folder string) ([]string, error) {
	seen := map[string]bool{}
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".md" {
			return err
		}
		markdown, err := os.ReadFile(name)
		for _, text := range sentenceEnd.Split(string(markdown), -1) {
			if text = strings.TrimSpace(text); text != "" {
				seen[text] = true
			}
		}
		return err
	})
	if err == nil && len(seen) < 2 {
		err = fmt.Errorf("no Markdown in %s: want a folder with some", folder)
	}
	texts := slices.Sorted(maps.Keys(seen))
	r := rand.New(rand.NewPCG(3, 4))
	for range generated {
		texts = append(texts, prose(r, 5+r.IntN(60)))
	}
	return texts, err
}

func readCollection(dir string) (c collection, err error) {
	documents, err := readLines(filepath.Join(dir, "corpus.jsonl"))
	if err != nil {
		return c, err
	}
	questions, err := readLines(filepath.Join(dir, "queries.jsonl"))
	if err != nil {
		return c, err
	}
	judged, err := os.ReadFile(filepath.Join(dir, "qrels.tsv"))
	if err != nil {
		return c, err
	}
	places, asked := map[string]int{}, map[string]int{}
	for i, d := range documents {
		c.texts, places[d.ID] = append(c.texts, d.Text), i
	}
	for i, q := range questions {
		c.questions, asked[q.ID] = append(c.questions, q.Text), i
	}
	c.relevant = make([][]int, len(questions))
	for line := range strings.Lines(string(judged)) {
		id, text, relevant := judgment(line)
		q, isAsked := asked[id]
		place, isThere := places[text]
		if relevant && isAsked && isThere && !questions[q].unanswerable() {
			c.relevant[q] = append(c.relevant[q], place)
		}
	}
	return c, nil
}

// judgment reads a tab-separated question, text and relevance.
func judgment(line string) (question, text string, relevant bool) {
	parts := strings.Split(strings.TrimSpace(line), "\t")
	if len(parts) != 3 {
		return "", "", false
	}
	return parts[0], parts[1], parts[2] != "0"
}

// A line is a text or a question.
type line struct {
	ID, Text string
	Words    int
	Meta     struct{ Answerable *bool }
}

// unanswerable reports whether the judged texts only look like answers. Recall skips such
// questions.
func (l line) unanswerable() bool { return l.Meta.Answerable != nil && !*l.Meta.Answerable }

func readLines(name string) ([]line, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var all []line
	scanner := bufio.NewScanner(f)
	scanner.Buffer(nil, 1<<24)
	for scanner.Scan() {
		var l line
		if err := json.Unmarshal(scanner.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", name, len(all)+1, err)
		}
		all = append(all, l)
	}
	return all, scanner.Err()
}

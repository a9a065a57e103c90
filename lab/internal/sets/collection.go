// Package sets reads public data sets and measures retrieval on them.
//
// It indexes labelled collections in BEIR's layout into temporary folders, and
// asks their queries. Document IDs stay out of the index: they may reveal answers.
package sets

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memcore/memcore/eval"
)

// Names of the files of a collection.
const (
	corpusFile    = "corpus.jsonl"
	queriesFile   = "queries.jsonl"
	judgmentsFile = "qrels.tsv"
)

// A Collection is documents, queries and judgments.
type Collection struct {
	Name      string
	Documents []Document
	Queries   []Query
	// Judgments are the relevant documents' grades, above 0, by query.
	Judgments map[string]map[string]int
	// Undated locates unreadable dates. Their documents count as undated.
	Undated []string
}

// Set returns the data set: the name's first part.
func (c Collection) Set() string {
	set, _, _ := strings.Cut(c.Name, "/")
	return set
}

// A Document is one line of corpus.jsonl.
type Document struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	Title   string `json:"title"`
	Speaker string `json:"speaker"`
	Session Label  `json:"session"`
	Date    string `json:"date"`
}

// A Label is a string that may be a number in JSON.
type Label string

// UnmarshalJSON reads a string or a number; null is empty.
func (l *Label) UnmarshalJSON(data []byte) error {
	if bytes.Equal(data, []byte("null")) {
		return nil
	}
	if data[0] == '"' {
		return json.Unmarshal(data, (*string)(l))
	}
	var number json.Number
	if err := json.Unmarshal(data, &number); err != nil {
		return err
	}
	*l = Label(number)
	return nil
}

// A Query is one line of queries.jsonl.
type Query struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	Meta struct {
		// Answerable is nil if the collection does not say.
		Answerable *bool `json:"answerable"`
		// QuestionDate is when the question was asked, unparsed.
		QuestionDate string `json:"question_date"`
	} `json:"meta"`
	// Now is Meta.QuestionDate; zero if unknown.
	Now time.Time `json:"-"`
}

// Unanswerable reports whether the collection says that no document answers.
func (q Query) Unanswerable() bool { return q.Meta.Answerable != nil && !*q.Meta.Answerable }

// Collections reads the collections below a folder or glob, by name: folders with corpus.jsonl,
// queries.jsonl and qrels.tsv. None is an error.
func Collections(pattern string) ([]Collection, error) {
	roots, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("find collections in %q: %w", pattern, err)
	}
	var all []Collection
	for _, root := range roots {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.IsDir() || !isCollection(path) {
				return err
			}
			c, err := ReadBEIR(path)
			all = append(all, c)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no collection (a folder with %s, %s and %s) in %q: %w",
			corpusFile, queriesFile, judgmentsFile, pattern, fs.ErrNotExist)
	}
	slices.SortFunc(all, func(a, b Collection) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// CollectionsOf reads the collections of several patterns, in their order.
func CollectionsOf(patterns []string) ([]Collection, error) {
	var all []Collection
	for _, pattern := range patterns {
		some, err := Collections(pattern)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func isCollection(folder string) bool {
	for _, name := range []string{corpusFile, queriesFile, judgmentsOf(folder)} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// judgmentsOf names the judgments of a folder, which BEIR's own archives keep by split.
func judgmentsOf(folder string) string {
	if _, err := os.Stat(filepath.Join(folder, judgmentsFile)); errors.Is(err, fs.ErrNotExist) {
		split := filepath.Join("qrels", "test.tsv")
		if _, err := os.Stat(filepath.Join(folder, split)); err == nil {
			return split
		}
	}
	return judgmentsFile
}

// ReadBEIR names the collection by its path's last two parts.
func ReadBEIR(folder string) (Collection, error) {
	c := Collection{Name: name(folder), Judgments: map[string]map[string]int{}}
	documents, queries := map[string]bool{}, map[string]bool{}
	at := func(file string, number int) string { return fmt.Sprintf("%s:%d", filepath.Join(folder, file), number) }
	err := errors.Join(
		eval.EachLine(filepath.Join(folder, corpusFile), func(number int, line []byte) error {
			var row struct {
				Document
				Published string `json:"_id"` // the ID in BEIR's own archives
			}
			if err := json.Unmarshal(line, &row); err != nil {
				return err
			}
			d := row.Document
			d.ID = cmp.Or(d.ID, row.Published)
			c.timeOf(d.Date, at(corpusFile, number))
			c.Documents = append(c.Documents, d)
			return fresh(documents, "document", d.ID)
		}),
		eval.EachLine(filepath.Join(folder, queriesFile), func(number int, line []byte) error {
			var row struct {
				Query
				Published string `json:"_id"`
			}
			if err := json.Unmarshal(line, &row); err != nil {
				return err
			}
			q := row.Query
			q.ID = cmp.Or(q.ID, row.Published)
			q.Now = c.timeOf(q.Meta.QuestionDate, at(queriesFile, number))
			c.Queries = append(c.Queries, q)
			return fresh(queries, "query", q.ID)
		}))
	if err != nil {
		return Collection{}, err
	}
	err = eval.EachLine(filepath.Join(folder, judgmentsOf(folder)), func(number int, line []byte) error {
		if number == 1 && bytes.HasPrefix(line, []byte("query-id\t")) {
			return nil
		}
		return c.judge(string(line), documents, queries)
	})
	return c, err
}

func name(folder string) string {
	whole, err := filepath.Abs(folder)
	if err != nil {
		whole = folder
	}
	return filepath.Base(filepath.Dir(whole)) + "/" + filepath.Base(whole)
}

func fresh(seen map[string]bool, what, id string) error {
	switch {
	case id == "":
		return fmt.Errorf("%s has no id", what)
	case seen[id]:
		return fmt.Errorf("%s %q occurs twice", what, id)
	}
	seen[id] = true
	return nil
}

// judge reads a line of qrels.tsv: query, document, relevance above 0.
func (c *Collection) judge(line string, documents, queries map[string]bool) error {
	fields := strings.Split(line, "\t")
	if len(fields) != 3 {
		return fmt.Errorf("%d fields, want 3: query, document, relevance", len(fields))
	}
	query, document := fields[0], fields[1]
	relevance, err := strconv.Atoi(strings.TrimSpace(fields[2]))
	switch {
	case err != nil:
		return fmt.Errorf("relevance %q is not a whole number", fields[2])
	case !queries[query]:
		return fmt.Errorf("query %q is not in %s", query, queriesFile)
	case !documents[document]:
		return fmt.Errorf("document %q is not in %s", document, corpusFile)
	case relevance <= 0:
		return nil
	}
	if c.Judgments[query] == nil {
		c.Judgments[query] = map[string]int{}
	}
	c.Judgments[query][document] = relevance
	return nil
}

// timeOf reads a date and records an unreadable one.
func (c *Collection) timeOf(date, where string) time.Time {
	t := timeOf(date)
	if t.IsZero() && strings.TrimSpace(date) != "" {
		c.Undated = append(c.Undated, fmt.Sprintf("%s: date %q", where, date))
	}
	return t
}

// undatedNamed is how many dates UndatedNotes lists.
const undatedNamed = 5

// UndatedNotes lists and counts unreadable dates.
func UndatedNotes(collections []Collection) (notes []string) {
	var all []string
	for _, c := range collections {
		all = append(all, c.Undated...)
	}
	for _, one := range all[:min(undatedNamed, len(all))] {
		notes = append(notes, one+" is not understood, and left out; want one like 2026-03-02, 2026-03-02T15:04:05Z or 2026/03/02 (Mon) 15:04")
	}
	if len(all) > 0 {
		notes = append(notes, fmt.Sprintf("%d dates are not understood; what has them counts as having no time", len(all)))
	}
	return notes
}

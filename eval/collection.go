// Package eval measures how well a memory finds what it should.
//
// It reads labelled collections in the layout of BEIR (a corpus, queries, and which documents answer
// which query), indexes each into a folder of its own by a Manager the caller opens, asks the queries
// and compares. It fits nothing and knows no engine. Its one rule: what is indexed never tells what
// is sought; identifiers of documents stay out of the index.
package eval

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Names of the files of a collection.
const (
	corpusFile    = "corpus.jsonl"
	queriesFile   = "queries.jsonl"
	judgmentsFile = "qrels.tsv"
)

// A Collection is documents, queries, and what answers them.
type Collection struct {
	Name      string
	Documents []Document
	Queries   []Query
	// Judgments maps the ID of a query to the documents that answer it and how well, above 0.
	Judgments map[string]map[string]int
	// Undated says of each date that was not understood where it stands; what has it counts as
	// having no time.
	Undated []string
}

// A Document is one line of corpus.jsonl.
type Document struct {
	ID      string `json:"id"`
	Text    string `json:"text"`
	Title   string `json:"title"`
	Speaker string `json:"speaker"`
	Session label  `json:"session"`
	Date    string `json:"date"`
}

// A label is a string that some collections write as a number.
type label string

// UnmarshalJSON reads a string or a number; null leaves the label empty.
func (l *label) UnmarshalJSON(data []byte) error {
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
	*l = label(number)
	return nil
}

// A Query is one line of queries.jsonl.
type Query struct {
	ID   string `json:"id"`
	Text string `json:"text"`
	Meta struct {
		// Answerable is nil where the collection does not tell.
		Answerable *bool `json:"answerable"`
		// QuestionDate is when the question was asked, as the collection writes it.
		QuestionDate string `json:"question_date"`
	} `json:"meta"`
	// Now is the time of Meta.QuestionDate; zero if it is not known.
	Now time.Time `json:"-"`
}

// Unanswerable tells whether the collection says that no document answers the query.
func (q Query) Unanswerable() bool { return q.Meta.Answerable != nil && !*q.Meta.Answerable }

// Collections reads all collections below the folders that pattern (a folder or a glob) names, sorted
// by name. A folder is a collection if it holds corpus.jsonl, queries.jsonl and qrels.tsv. A file that is
// named is read by ReadChats. Format is one of the constants, or "" to find out. It is an error if there is
// none.
func Collections(pattern, format string) ([]Collection, error) {
	if !slices.Contains([]string{"", FormatBEIR, FormatLoCoMo, FormatLongMemEval}, format) {
		return nil, fmt.Errorf("format is %q, want %s, %s or %s", format, FormatBEIR, FormatLoCoMo, FormatLongMemEval)
	}
	roots, err := filepath.Glob(pattern)
	if err != nil {
		return nil, fmt.Errorf("find collections in %q: %w", pattern, err)
	}
	var all []Collection
	for _, root := range roots {
		if info, err := os.Stat(root); err == nil && info.Mode().IsRegular() && format != FormatBEIR {
			chats, err := ReadChats(root, format)
			if err != nil {
				return nil, err
			}
			all = append(all, chats...)
			continue
		}
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

func isCollection(folder string) bool {
	for _, name := range []string{corpusFile, queriesFile, judgmentsFile} {
		if info, err := os.Stat(filepath.Join(folder, name)); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// ReadBEIR reads the collection in a folder. Its Name is the last two parts of the folder's path. An
// error names the file and the line.
func ReadBEIR(folder string) (Collection, error) {
	c := Collection{Name: name(folder), Judgments: map[string]map[string]int{}}
	documents, queries := map[string]bool{}, map[string]bool{}
	at := func(file string, number int) string { return fmt.Sprintf("%s:%d", filepath.Join(folder, file), number) }
	err := errors.Join(
		eachLine(filepath.Join(folder, corpusFile), func(number int, line []byte) error {
			var d Document
			if err := json.Unmarshal(line, &d); err != nil {
				return err
			}
			c.timeOf(d.Date, at(corpusFile, number))
			c.Documents = append(c.Documents, d)
			return fresh(documents, "document", d.ID)
		}),
		eachLine(filepath.Join(folder, queriesFile), func(number int, line []byte) error {
			var q Query
			if err := json.Unmarshal(line, &q); err != nil {
				return err
			}
			q.Now = c.timeOf(q.Meta.QuestionDate, at(queriesFile, number))
			c.Queries = append(c.Queries, q)
			return fresh(queries, "query", q.ID)
		}))
	if err != nil {
		return Collection{}, err
	}
	err = eachLine(filepath.Join(folder, judgmentsFile), func(_ int, line []byte) error {
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
		return fmt.Errorf("%s %q is there twice", what, id)
	}
	seen[id] = true
	return nil
}

// judge reads one line of qrels.tsv: query, document, relevance. A relevance of 0 or less says that
// the document does not answer the query, as if it were not judged.
func (c *Collection) judge(line string, documents, queries map[string]bool) error {
	fields := strings.Split(line, "\t")
	if len(fields) != 3 {
		return fmt.Errorf("%d fields, want 3: query, document, relevance", len(fields))
	}
	query, document := fields[0], fields[1]
	relevance, err := strconv.Atoi(strings.TrimSpace(fields[2]))
	switch {
	case err != nil:
		return fmt.Errorf("relevance %q is no whole number", fields[2])
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

// timeOf reads a date that stands somewhere in the collection. One that is not understood is no
// time, and is noted.
func (c *Collection) timeOf(date, where string) time.Time {
	t := timeOf(date)
	if t.IsZero() && strings.TrimSpace(date) != "" {
		c.Undated = append(c.Undated, fmt.Sprintf("%s: date %q", where, date))
	}
	return t
}

// eachLine calls do for every line of a file that is not blank, with its number from 1.
func eachLine(path string, do func(number int, line []byte) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read collection: %w", err)
	}
	defer file.Close()
	lines := bufio.NewReader(file)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("read collection: %w", err)
		}
		if line := bytes.TrimRight(line, "\r\n"); len(bytes.TrimSpace(line)) > 0 {
			if err := do(number, line); err != nil {
				return fmt.Errorf("%s:%d: %w", path, number, err)
			}
		}
		if err == io.EOF {
			return nil
		}
	}
}

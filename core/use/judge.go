// Package use judges whether agents used the passages that prompts got, by the agent's words and
// actions. It does not count what the agent knew from the prompt, the session before it or a file.
package use

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memcore/memcore/core/journal"
)

// An Answer is what an agent did, and knew before.
type Answer struct {
	// Before has the prompt and the session before it.
	Before []string
	// Steps are in order.
	Steps []Step
}

// A Step is something that an agent said, did or saw.
type Step struct {
	Said  string // to the person
	Call  string // arguments of a tool
	Shown string // what a tool returned; repeating it later proves nothing
}

// Known reports whether the agent did anything to judge by.
func (a Answer) Known() bool {
	return slices.ContainsFunc(a.Steps, func(s Step) bool { return s.Said != "" || s.Call != "" })
}

// An Index has the chunks of the workspace's memory.
type Index interface {
	// Texts returns a document's chunks by ID, or none if it is not indexed.
	Texts(ctx context.Context, path string) (map[string]string, error)
}

// A Judge decides which hits of a turn were used: those whose document the agent opened afterwards,
// and those from which it quotes five words in a row that no prompt or tool had shown it before.
type Judge struct {
	Index Index
	// Project and Home are what hits' paths are relative to.
	Project, Home string
}

// maxWhy is in bytes.
const maxWhy = 200

// Verdicts judges the passages and lines of a turn: Unknown without an answer.
func (j Judge) Verdicts(ctx context.Context, t journal.Entry, a Answer) (all []journal.Verdict, err error) {
	wrote := writtenIn(a)
	for _, g := range t.Given {
		v := journal.Verdict{Key: g.Key, Used: journal.Unknown, Why: "no answer was seen"}
		switch {
		case g.Kind != journal.Passage && g.Kind != journal.Line:
			continue
		case !a.Known():
		case g.Kind == journal.Line:
			if v.Used, v.Why = journal.No, ""; a.calls(g.Key) {
				v.Used, v.Why = journal.Yes, "opened"
			}
		default:
			if v.Used, v.Why, err = j.judge(ctx, g, a, wrote); err != nil {
				return nil, fmt.Errorf("judge the use of %s: %w", g.Source, err)
			}
		}
		all = append(all, v)
	}
	return all, nil
}

// calls reports whether a call has the name of a line.
func (a Answer) calls(name string) bool {
	return slices.ContainsFunc(a.Steps, func(s Step) bool { return strings.Contains(s.Call, name) })
}

// judge judges one passage, given the runs of words that the agent wrote.
func (j Judge) judge(ctx context.Context, g journal.Given, a Answer, wrote map[string]bool) (journal.Use, string, error) {
	if why := j.opened(g.Path, a); why != "" {
		return journal.Yes, journal.Clean(why, maxWhy), nil
	}
	texts, err := j.Index.Texts(ctx, g.Path)
	if err != nil {
		return "", "", err
	}
	text, ok := texts[g.Key]
	if !ok {
		return journal.Unknown, "it is no longer in the index", nil
	}
	for _, run := range runsOf(text) {
		if wrote[run] {
			return journal.Yes, journal.Clean("quotes “"+run+"” of it", maxWhy), nil
		}
	}
	return journal.No, "", nil
}

// writtenIn returns the runs of words that the agent wrote, without those that the prompt, the
// session before it or a tool had shown to it.
func writtenIn(a Answer) map[string]bool {
	known, wrote := map[string]bool{}, map[string]bool{}
	know := func(text string) {
		for _, run := range runsOf(text) {
			known[run] = true
		}
	}
	for _, text := range a.Before {
		know(text)
	}
	for _, s := range a.Steps {
		for _, run := range append(runsOf(s.Said), runsOf(s.Call)...) {
			if !known[run] {
				wrote[run] = true
			}
		}
		know(s.Shown)
	}
	return wrote
}

const (
	// quotedWords is how many words in a row are a quotation.
	quotedWords = 5
	// charactersPerWord count as a word in scripts that have no spaces.
	charactersPerWord = 2
	// maxText is how many bytes of a text are read.
	maxText = 256 << 10
)

// runsOf returns each quotedWords words in a row, in lower case and without punctuation.
func runsOf(text string) (runs []string) {
	all := wordsOf(strings.ToLower(text[:min(len(text), maxText)]))
	for first := range all {
		size := 0 // in characters of scripts without spaces
		for last := first; last < len(all); last++ {
			if all[last].dense {
				size++
			} else {
				size += charactersPerWord
			}
			if size >= quotedWords*charactersPerWord {
				runs = append(runs, join(all[first:last+1]))
				break
			}
		}
	}
	return runs
}

// A word is one character in scripts that have no spaces.
type word struct {
	text  string
	dense bool
}

func wordsOf(text string) (all []word) {
	start := -1
	end := func(at int) {
		if start >= 0 {
			all = append(all, word{text: strings.TrimRight(text[start:at], "'’")})
		}
		start = -1
	}
	for at, r := range text {
		switch {
		case unspaced(r):
			end(at)
			all = append(all, word{text[at : at+utf8.RuneLen(r)], true})
		case inWord(r) && start < 0:
			start = at
		case !inWord(r) && r != '\'' && r != '’':
			end(at)
		}
	}
	end(len(text))
	return all
}

func join(words []word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 && !(w.dense && words[i-1].dense) {
			b.WriteByte(' ')
		}
		b.WriteString(w.text)
	}
	return b.String()
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

func unspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// opened returns a reason if a call of the agent named a document, and neither the prompt nor a
// tool had named it before.
func (j Judge) opened(path string, a Answer) string {
	if path == "" {
		return ""
	}
	named := j.named(path)
	if slices.ContainsFunc(a.Before, named) {
		return ""
	}
	for _, s := range a.Steps {
		if named(s.Call) {
			return "opened " + path
		}
		if named(s.Shown) {
			return "" // a search has found it
		}
	}
	return ""
}

// What is around a path. A dot behind it may begin an extension, or end a sentence.
const (
	pathBegin = `(?:^|[^\pL\pN\pM/_~.-])`
	pathEnd   = `(?:$|[^\pL\pN\pM/_~.-]|\.(?:$|[^\pL\pN\pM]))`
)

// named returns a function that finds a document's path in a text, relative or absolute.
func (j Judge) named(path string) func(text string) bool {
	full := path
	if rest, ok := strings.CutPrefix(path, "~/"); ok && j.Home != "" {
		full = strings.TrimSuffix(j.Home, "/") + "/" + rest
	} else if !ok && !strings.HasPrefix(path, "/") && j.Project != "" {
		full = strings.TrimSuffix(j.Project, "/") + "/" + path
	}
	names := regexp.QuoteMeta(path) + `|\./` + regexp.QuoteMeta(path) + `|` + regexp.QuoteMeta(full)
	expression := regexp.MustCompile(strings.ToValidUTF8(pathBegin+`(?:`+names+`)`+pathEnd, ""))
	last := path[strings.LastIndexByte(path, '/')+1:]
	return func(text string) bool {
		if !strings.Contains(text, last) { // which is most often so, and found out faster
			return false
		}
		return expression.MatchString(strings.NewReplacer(`\\`, "/", `\`, "/").Replace(text))
	}
}

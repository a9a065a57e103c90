package view

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/text/plain"
)

// overviewPage is the content of the first page.
type overviewPage struct {
	Overview
	Next      *Check // the one thing to do
	Waiting   *Check // proposals, if they are not Next
	AboutUser []aboutRow
	Languages []languageRow
	MoreFrom  int // sources that are not listed
}

// A languageRow counts the chunks of a language.
type languageRow struct {
	Name   string
	Chunks int
}

func (v visit) overview() error {
	o, err := v.memory.Overview(v.r.Context())
	if err != nil {
		return err
	}
	return v.show("", "overview", "Overview", overviewOf(o))
}

// maxSources bounds the sources of a page.
const maxSources = 50

func overviewOf(o Overview) overviewPage {
	p := overviewPage{Overview: o, Next: nextOf(o), Waiting: waitingOf(o)}
	if p.Next != nil {
		p.Checks = slices.DeleteFunc(slices.Clone(o.Checks), func(c Check) bool { return c == *p.Next })
	}
	p.AboutUser = aboutRows(o)
	if p.Next != nil && p.Waiting != nil && *p.Next == *p.Waiting {
		p.Waiting = nil
	}
	if n := len(o.Sums.Sources) - maxSources; n > 0 {
		p.Sums.Sources, p.MoreFrom = o.Sums.Sources[:maxSources], n
	}
	for _, name := range slices.Sorted(maps.Keys(o.Languages)) {
		p.Languages = append(p.Languages, languageRow{cmp.Or(languages[name], name), o.Languages[name]})
	}
	slices.SortStableFunc(p.Languages, func(a, b languageRow) int { return b.Chunks - a.Chunks })
	return p
}

// An aboutRow is a document about the user, with its first lines.
type aboutRow struct {
	Path  string
	Line  int
	Lines []string
}

const (
	maxFacts = 4   // lines of a passage about the user
	maxFact  = 200 // characters
)

// aboutRows returns the documents that answer who the user is, and the files for such facts.
func aboutRows(o Overview) (rows []aboutRow) {
	known := func(path string) bool {
		return slices.ContainsFunc(rows, func(r aboutRow) bool { return r.Path == path })
	}
	for _, h := range o.AboutUser {
		row := aboutRow{Path: h.Path, Line: h.StartLine}
		for line := range strings.Lines(h.Text) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") && len(row.Lines) < maxFacts {
				row.Lines = append(row.Lines, plain.Shorten(line, maxFact))
			}
		}
		rows = append(rows, row)
	}
	for _, path := range o.Sums.AboutUser {
		if !known(path) {
			rows = append(rows, aboutRow{Path: path, Line: 1})
		}
	}
	return rows
}

// nextOf returns the worst problem that a person can mend, if any.
func nextOf(o Overview) *Check {
	if !o.Enabled {
		return &Check{Name: "memory", Text: "it is off, so agents get nothing", Do: "set memory.enabled in the configuration"}
	}
	for _, c := range o.Checks {
		if c.Do != "" {
			return &c
		}
	}
	return waitingOf(o)
}

// waitingOf returns what waits for a decision, if anything.
func waitingOf(o Overview) *Check {
	if o.Proposals == 0 {
		return nil
	}
	return &Check{Name: "proposals", Text: plain.Waits(o.Proposals) + " for your yes or no", Do: "memcore memory pending"}
}

var languages = map[string]string{
	"ar": "Arabic", "da": "Danish", "de": "German", "en": "English, or not recognised", "es": "Spanish", "fi": "Finnish", "fr": "French", "hu": "Hungarian",
	"it": "Italian", "nl": "Dutch", "no": "Norwegian", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "tr": "Turkish",
	"am": "Amharic", "bn": "Bengali", "el": "Greek", "he": "Hebrew", "hi": "Hindi", "hy": "Armenian", "ja": "Japanese", "ka": "Georgian",
	"km": "Khmer", "ko": "Korean", "my": "Burmese", "ta": "Tamil", "te": "Telugu", "th": "Thai", "zh": "Chinese",
}

var roles = map[string]string{"embedder": "Embedder", "reflection": "Model for reflection"}

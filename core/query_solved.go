package core

import (
	"cmp"
	"context"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/memcore/memcore/internal/text/prompt"
	"github.com/memcore/memcore/store"
)

// "What bug did we fix last time?" may share no word with its answer: take the newest episode of an
// error.

// SolvedFile has errors that were solved in earlier sessions.
const SolvedFile = "solved-earlier.md"

func isEpisodes(document string) bool {
	return path.Base(document) == SolvedFile || strings.ToLower(path.Base(path.Dir(document))) == "episodes"
}

const (
	// wordsOfEpisodes are words that episodes of errors have.
	wordsOfEpisodes = "Summary Date Problem Solution bug fix fixed error"
	mostEpisodes    = 3
)

var (
	tellsOfError = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?im)^\s*[-*]?\s*\**(problem|bug|error|cause|root cause)\**\s*:|^#+ .*\b(bug|fix|fixed|fixes|leak|crash|error|failure|panic)\b|^\s*[-*]?\s*(问题|原因)\s*[:：]|^#+ .*(修复|错误)`)
	})
	dateOfEpisode = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?m)^\s*[-*]?\s*\**Date\**\s*:\**\s*(\d{4}-\d{2}-\d{2})`)
	})
)

// solvedLast returns the newest solved error, if asked for.
func (q *query) solvedLast(ctx context.Context, p prompt.Prompt) []*candidate {
	if !p.AsksWhatWasSolved() || asksForWork(p.Own) {
		return nil
	}
	var last *candidate
	newest := ""
	episodes := slices.SortedFunc(slices.Values(q.documents(isEpisodes)), func(a, b string) int {
		return cmp.Or(cmp.Compare(path.Base(b), path.Base(a)), strings.Compare(a, b)) // SolvedFile is before all months
	})
	for _, document := range episodes[:min(len(episodes), mostEpisodes)] {
		for _, c := range q.gatherIn(ctx, document, wordsOfEpisodes).candidates {
			if !tellsOfError().MatchString(c.Text) {
				continue
			}
			if when := whenSolved(c.record); when > newest || when == newest && c.Path == last.Path && c.Line > last.Line {
				last, newest = c, when
			}
		}
	}
	if last == nil {
		return nil
	}
	last.sure = "tells what was solved last"
	return []*candidate{last}
}

// whenSolved is an episode's day, else its file's month.
func whenSolved(r store.Record) string {
	if found := dateOfEpisode().FindStringSubmatch(r.Text); found != nil {
		return found[1]
	}
	return strings.TrimSuffix(path.Base(r.Path), ".md")
}

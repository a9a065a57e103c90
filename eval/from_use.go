package eval

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/core/use"
)

// maxUseCases is the most cases of each kind.
const maxUseCases = 100

// ErrNothingUsed is returned if no turn makes a case.
var ErrNothingUsed = errors.New("no prompt was kept whose hits were judged")

const useHead = `# Cases for 'memcore eval run --data THIS FILE', made from what agents got here and used.
#
# A case expects the documents whose facts or words the agent used, newest prompt first. Other documents may
# have been better: read each case, and delete documents that need not be found.
#
`

const unusedHead = `
# To decide: nothing that agents got for these prompts was seen to be used, though it may have helped. If memory
# should have given nothing, remove the comment marks; if something else, name that under expect.
`

// FromUse makes cases from prompts and the documents they used; comments from others. Of repeated
// prompts the last counts.
func FromUse(entries []journal.Entry) ([]byte, error) {
	turns := use.Prompts(entries)
	slices.SortStableFunc(turns, func(a, b journal.Entry) int { return b.At.Compare(a.At) })
	var file caseFile
	var unused []journal.Entry
	seen := map[string]bool{}
	for _, t := range turns {
		query := strings.TrimSpace(t.Prompt)
		if query == "" || seen[plain(query)] || !t.Judged() {
			continue
		}
		seen[plain(query)] = true
		expected := usedIn(t)
		switch {
		case len(expected) > 0 && len(file.Cases) < maxUseCases:
			file.Cases = append(file.Cases, Case{Query: query, Expect: expected})
		case len(expected) == 0 && noneUsed(t) && len(unused) < maxUseCases:
			unused = append(unused, t)
		}
	}
	if len(file.Cases)+len(unused) == 0 {
		return nil, ErrNothingUsed
	}
	text := []byte(useHead + "cases:\n")
	if len(file.Cases) > 0 {
		var err error
		if text, err = encode(useHead, file); err != nil {
			return nil, err
		}
	}
	out := bytes.NewBuffer(text)
	if len(unused) > 0 {
		out.WriteString(unusedHead)
	}
	for _, t := range unused {
		var given []string
		for _, hit := range t.Passages() {
			given = append(given, fmt.Sprintf("%s (%.2f)", oneLine(hit.Source), hit.Score))
		}
		fmt.Fprintf(out, "#\n# given: %s\n#  - query: %s\n#    expect_nothing: true\n", strings.Join(given, ", "), strconv.Quote(oneLine(t.Prompt)))
	}
	return out.Bytes(), nil
}

// usedIn returns the documents that a turn used, each once.
func usedIn(t journal.Entry) (all Expectations) {
	for _, hit := range t.Passages() {
		e := Expectation{Path: hit.Path}
		if hit.Used == journal.Yes && hit.Path != "" && !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b Expectation) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// noneUsed reports whether every hit was judged as not used.
func noneUsed(t journal.Entry) bool {
	return !slices.ContainsFunc(t.Passages(), func(g journal.Given) bool { return g.Used != journal.No })
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

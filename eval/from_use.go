package eval

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/memcore/memcore/core/use"
)

// mostUseCases is how many cases of each kind are made of the record of use.
const mostUseCases = 100

// ErrNothingUsed is returned if no turn can be made a case of.
var ErrNothingUsed = errors.New("no prompt was kept whose hits were judged")

const useHead = `# Cases for 'memcore eval run --data THIS FILE', made of what agents were given here and what of it they used.
#
# A case expects the documents whose facts or words the agent used, newest prompt first. That it used something does
# not show that nothing else would have been better: read each, and delete what nobody has to find.
#
`

const unusedHead = `
# To look at: of what was given for these prompts nothing was seen to be used. It may have helped all the same. If memory
# should have kept silent, take the marks of a comment away; if it should have said something else, name that under expect.
`

// FromUse makes a file of cases of turns: prompts with the documents that were used, and, as comments for a
// person to decide about, prompts of which nothing was used. Each prompt is in it once, as it was last.
func FromUse(turns []use.Turn) ([]byte, error) {
	turns = slices.Clone(turns)
	slices.SortStableFunc(turns, func(a, b use.Turn) int { return b.At.Compare(a.At) })
	var file caseFile
	var unused []use.Turn
	seen := map[string]bool{}
	for _, t := range turns {
		query := strings.TrimSpace(t.Prompt)
		if query == "" || seen[plain(query)] || !t.Judged() {
			continue
		}
		seen[plain(query)] = true
		expected := usedIn(t)
		switch {
		case len(expected) > 0 && len(file.Cases) < mostUseCases:
			file.Cases = append(file.Cases, Case{Query: query, Expect: expected})
		case len(expected) == 0 && noneUsed(t) && len(unused) < mostUseCases:
			unused = append(unused, t)
		}
	}
	if len(file.Cases)+len(unused) == 0 {
		return nil, ErrNothingUsed
	}
	var out bytes.Buffer
	out.WriteString(useHead)
	if len(file.Cases) == 0 {
		out.WriteString("cases:\n")
	} else {
		encoder := yaml.NewEncoder(&out)
		encoder.SetIndent(2)
		if err := errors.Join(encoder.Encode(file), encoder.Close()); err != nil {
			return nil, err
		}
	}
	if len(unused) > 0 {
		out.WriteString(unusedHead)
	}
	for _, t := range unused {
		var given []string
		for _, hit := range t.Hits {
			given = append(given, fmt.Sprintf("%s (%.2f)", oneLine(hit.Source), hit.Score))
		}
		fmt.Fprintf(&out, "#\n# given: %s\n#  - query: %s\n#    expect_nothing: true\n", strings.Join(given, ", "), strconv.Quote(oneLine(t.Prompt)))
	}
	return out.Bytes(), nil
}

// usedIn are the documents that a turn used, each once.
func usedIn(t use.Turn) (all Expectations) {
	for _, hit := range t.Hits {
		e := Expectation{Path: hit.Path}
		if hit.Used == use.Yes && hit.Path != "" && !slices.Contains(all, e) {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b Expectation) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// noneUsed reports whether all verdicts of a turn are that it was not used.
func noneUsed(t use.Turn) bool {
	return !slices.ContainsFunc(t.Hits, func(h use.Hit) bool { return h.Used != use.No })
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

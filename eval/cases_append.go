package eval

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// CasesFile is the usual name of a workspace's cases.
const CasesFile = "memcore-eval.yaml"

var (
	// ErrCase means a case that cannot be checked, or that contradicts another one.
	ErrCase = errors.New("this cannot be a case")
	// ErrLayout means that a file cannot be extended at its end.
	ErrLayout = errors.New("its cases are not a plain list; add the case with an editor")
)

const editHead = `# Cases for 'memcore eval run --data THIS FILE': questions to your memory, and the expected hits.

`

// AskedBy returns the cases of a question.
func AskedBy(cases []Case, query string) (some []Case) {
	for _, c := range cases {
		if plain(c.Query) == plain(query) {
			some = append(some, c)
		}
	}
	return some
}

// WithCase returns a file of cases with one more at its end. Its other lines stay as they are. A
// file that has the case already is returned unchanged.
func WithCase(file []byte, c Case) ([]byte, error) {
	before, err := ParseCases(file)
	if err != nil {
		return nil, err
	}
	c.Query = strings.TrimSpace(c.Query)
	if slices.Contains(slices.Concat(c.Expect, c.ExpectNot), Expectation{}) {
		return nil, fmt.Errorf("%w: want a path, a heading or a text", ErrCase)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCase, err)
	}
	for _, old := range AskedBy(before, c.Query) {
		switch {
		case old.includes(c):
			return file, nil
		case old.contradicts(c):
			return nil, fmt.Errorf("%w: the file has a case of this question that says the opposite", ErrCase)
		}
	}
	item, err := yaml.Marshal([]Case{c})
	if err != nil {
		return nil, err
	}
	if len(file) == 0 {
		file = []byte(editHead)
	} else if !bytes.HasSuffix(file, []byte("\n")) {
		file = append(slices.Clip(file), '\n')
	}
	// The list may be indented by anything, or be missing: the result shows what fits.
	for _, key := range []string{"", "cases:\n"} {
		for _, indent := range []string{"  ", "", "    "} {
			after := string(file) + key
			for line := range strings.Lines(string(item)) {
				after += indent + line
			}
			if got, err := ParseCases([]byte(after)); err == nil && slices.EqualFunc(got, append(slices.Clip(before), c), sameCase) {
				return []byte(after), nil
			}
		}
	}
	return nil, ErrLayout
}

// includes reports whether a case expects all that another one does.
func (c Case) includes(other Case) bool {
	has := func(all, some Expectations) bool {
		return !slices.ContainsFunc(some, func(e Expectation) bool { return !slices.Contains(all, e) })
	}
	return c.ExpectNothing == other.ExpectNothing && has(c.Expect, other.Expect) && has(c.ExpectNot, other.ExpectNot)
}

// contradicts reports whether no answer can satisfy both cases.
func (c Case) contradicts(other Case) bool {
	both := func(some, others Expectations) bool {
		return slices.ContainsFunc(some, func(e Expectation) bool { return slices.Contains(others, e) })
	}
	return c.ExpectNothing && len(other.Expect) > 0 || other.ExpectNothing && len(c.Expect) > 0 ||
		both(c.Expect, other.ExpectNot) || both(c.ExpectNot, other.Expect)
}

func sameCase(a, b Case) bool {
	return a.Query == b.Query && a.ExpectNothing == b.ExpectNothing && slices.Equal(a.Expect, b.Expect) && slices.Equal(a.ExpectNot, b.ExpectNot)
}

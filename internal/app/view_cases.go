package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app/kind"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/text/secret"
)

// Cases implements httpapi.Workspace.
func (v view) Cases(_ context.Context, r httpapi.CasesRequest) (httpapi.Cases, error) {
	cases, err := readOwnCases(v.s.Workspace)
	if err != nil {
		return httpapi.Cases{}, kind.As(kind.Conflict, err)
	}
	return casesFor(v.s.Project, cases, r.Query), nil
}

// ChangeCase implements httpapi.Workspace.
func (v view) ChangeCase(_ context.Context, r httpapi.CaseRequest) (httpapi.Cases, error) {
	query, _ := secret.Redact(strings.TrimSpace(r.Query))
	text, _ := secret.Redact(strings.Join(strings.Fields(r.Text), " "))
	if query == "" {
		return httpapi.Cases{}, kind.Usagef("the question is empty")
	}
	expected := eval.Expectation{Path: v.documentOf(r.Path), Heading: strings.TrimSpace(r.Heading), Text: text}
	var all []eval.Case
	err := safefile.Update(v.s.Project, eval.CasesFile, mostCasesBytes, 0o600, func(before []byte) ([]byte, error) {
		cases, err := eval.ParseCases(before)
		if err != nil {
			return nil, err
		}
		changed := eval.CaseOf(cases, query)
		switch wish := eval.Wish(r.Wish); {
		case !r.Undo:
			changed, err = changed.Wished(wish, expected)
		case wish == eval.NoneComes:
			changed.ExpectNothing = false
		default:
			changed = changed.Without(expected)
		}
		if err != nil {
			return nil, err
		}
		after, err := eval.WithCase(before, changed)
		if err != nil {
			return nil, err
		}
		all, err = eval.ParseCases(after)
		return after, err
	})
	if err != nil {
		return httpapi.Cases{}, casesError(err)
	}
	return casesFor(v.s.Project, all, query), nil
}

// casesError says which file has the problem.
func casesError(err error) error {
	var failed *fs.PathError
	switch {
	case errors.Is(err, eval.ErrWish):
		return kind.As(kind.BadInput, err)
	case errors.As(err, &failed):
		return fmt.Errorf("cases: %w", err)
	}
	return kind.As(kind.Conflict, fmt.Errorf("%s is not as memcore reads it: %w", eval.CasesFile, err))
}

// documentOf returns a path as hits have it.
func (v view) documentOf(name string) string {
	name = filepath.ToSlash(strings.TrimSpace(name))
	switch {
	case name == "":
		return ""
	case filepath.IsAbs(name):
		return v.s.Names().Of(name)
	}
	return path.Clean(name)
}

// casesFor returns all cases, or that of a query, without secrets: a person may have written some.
func casesFor(project string, cases []eval.Case, query string) httpapi.Cases {
	out := httpapi.Cases{File: filepath.Join(project, eval.CasesFile), Cases: []httpapi.Case{}}
	if query != "" {
		query, _ = secret.Redact(query)
		if c := eval.CaseOf(cases, query); c.ExpectNothing || len(c.Expect)+len(c.ExpectNot) > 0 {
			cases = []eval.Case{c}
		} else {
			cases = nil
		}
	}
	for _, c := range cases {
		query, _ := secret.Redact(c.Query)
		out.Cases = append(out.Cases, httpapi.Case{Query: query, Expect: expectations(c.Expect), ExpectNot: expectations(c.ExpectNot), ExpectNothing: c.ExpectNothing})
	}
	return out
}

func expectations(all eval.Expectations) []httpapi.Expectation {
	out := []httpapi.Expectation{}
	for _, e := range all {
		e.Heading, _ = secret.Redact(e.Heading)
		e.Text, _ = secret.Redact(e.Text)
		out = append(out, httpapi.Expectation(e))
	}
	return out
}

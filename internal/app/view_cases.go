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
	"github.com/memcore/memcore/inject/view"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/text/secret"
)

// maxCasesBytes bounds the file of cases.
const maxCasesBytes = 4 << 20

// Case implements view.Memory. It must be a plain file, since no user named it.
func (v page) Case(_ context.Context, query string) (view.Case, error) {
	data, _, err := safefile.ReadFile(v.s.Project, eval.CasesFile, maxCasesBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return view.Case{}, nil
	}
	if err != nil {
		return view.Case{}, casesError(err)
	}
	cases, err := eval.ParseCases(data)
	if err != nil {
		return view.Case{}, casesError(err)
	}
	query, _ = secret.Redact(query)
	var out view.Case
	for _, c := range eval.AskedBy(cases, query) {
		out.Query = query
		out.Expect = append(out.Expect, expectations(c.Expect)...)
		out.ExpectNot = append(out.ExpectNot, expectations(c.ExpectNot)...)
		out.ExpectNothing = out.ExpectNothing || c.ExpectNothing
	}
	return out, nil
}

// expectations returns expectations without secrets: a person may have written some.
func expectations(all eval.Expectations) (out []view.Expectation) {
	for _, e := range all {
		e.Heading, _ = secret.Redact(e.Heading)
		e.Text, _ = secret.Redact(e.Text)
		out = append(out, view.Expectation(e))
	}
	return out
}

// AddCase implements view.Memory.
func (v page) AddCase(_ context.Context, c view.Case) error {
	query, _ := secret.Redact(strings.TrimSpace(c.Query))
	added := eval.Case{Query: query, Expect: v.expected(c.Expect), ExpectNot: v.expected(c.ExpectNot), ExpectNothing: c.ExpectNothing}
	return casesError(safefile.Update(v.s.Project, eval.CasesFile, maxCasesBytes, 0o600, func(before []byte) ([]byte, error) {
		return eval.WithCase(before, added)
	}))
}

// casesError says which file has the problem.
func casesError(err error) error {
	var failed *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, eval.ErrCase):
		return kind.As(kind.BadInput, err)
	case errors.As(err, &failed):
		return fmt.Errorf("cases: %w", err)
	}
	return kind.As(kind.Conflict, fmt.Errorf("%s is not as memcore reads it: %w", eval.CasesFile, err))
}

// expected returns expectations for the file, with paths as hits have them.
func (v page) expected(all []view.Expectation) (out eval.Expectations) {
	for _, e := range all {
		text, _ := secret.Redact(strings.Join(strings.Fields(e.Text), " "))
		name := filepath.ToSlash(strings.TrimSpace(e.Path))
		switch {
		case filepath.IsAbs(name):
			name = v.s.Names().Of(name)
		case name != "":
			name = path.Clean(name)
		}
		out = append(out, eval.Expectation{Path: name, Heading: strings.TrimSpace(e.Heading), Text: text})
	}
	return out
}

package eval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/memcore/memcore/core"
)

// A Case is a question to the user's memory.
type Case struct {
	Query string `yaml:"query"`
	// Expect must be met whole.
	Expect Expectations `yaml:"expect,omitempty"`
	// ExpectNot must not be met by any hit.
	ExpectNot Expectations `yaml:"expect_not,omitempty"`
	// ExpectNothing requires an empty answer.
	ExpectNothing bool `yaml:"expect_nothing,omitempty"`
}

// UnmarshalYAML refuses unknown keys.
func (c *Case) UnmarshalYAML(node *yaml.Node) error {
	if err := unknownKey(node, "query", "expect", "expect_not", "expect_nothing"); err != nil {
		return err
	}
	type raw Case
	return node.Decode((*raw)(c))
}

// An Expectation is met by a hit with all its fields.
type Expectation struct {
	Path    string `yaml:"path,omitempty"`    // of the document, or of a folder above it
	Heading string `yaml:"heading,omitempty"` // one of those above the text; letter case does not matter
	Text    string `yaml:"text,omitempty"`    // in the hit's text; letter case and white space do not matter
}

// Expectations are one or a list. Each is a mapping, or "a.md", "a.md#Heading", or a text.
type Expectations []Expectation

// UnmarshalYAML reads an expectation or a short form.
func (e *Expectations) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.SequenceNode {
		node = &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{node}, Line: node.Line}
	}
	for _, item := range node.Content {
		var one Expectation
		switch item.Kind {
		case yaml.ScalarNode:
			one = expectationOf(item.Value)
		case yaml.MappingNode:
			if err := unknownKey(item, "path", "heading", "text"); err != nil {
				return err
			}
			if err := item.Decode(&one); err != nil {
				return err
			}
		default:
			return fmt.Errorf("line %d: expect is neither a string nor a mapping", item.Line)
		}
		if one == (Expectation{}) {
			return fmt.Errorf("line %d: expect is empty, want a path, a heading or a text", item.Line)
		}
		*e = append(*e, one)
	}
	return nil
}

func unknownKey(mapping *yaml.Node, known ...string) error {
	if mapping.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: want a mapping with %s", mapping.Line, strings.Join(known, ", "))
	}
	for i := 0; i < len(mapping.Content); i += 2 {
		if key := mapping.Content[i]; !slices.Contains(known, key.Value) {
			return fmt.Errorf("line %d: unknown key %q, want one of %s", key.Line, key.Value, strings.Join(known, ", "))
		}
	}
	return nil
}

// expectationOf knows a path by its extension.
func expectationOf(text string) Expectation {
	path, heading, _ := strings.Cut(text, "#")
	if slices.Contains([]string{".md", ".jsonl", ".json"}, strings.ToLower(filepath.Ext(path))) && !strings.ContainsAny(path, " \n") {
		return Expectation{Path: path, Heading: heading}
	}
	return Expectation{Text: text}
}

// String names the expectation in a report.
func (e Expectation) String() string { return "expected: " + e.fields() }

// fields are what a hit must have.
func (e Expectation) fields() string {
	var parts []string
	if e.Path != "" {
		parts = append(parts, e.Path)
	}
	if e.Heading != "" {
		parts = append(parts, "#"+e.Heading)
	}
	if e.Text != "" {
		parts = append(parts, fmt.Sprintf("%q", e.Text))
	}
	return strings.Join(parts, " ")
}

// met reports whether a hit, or one folded into it, matches.
func (e Expectation) met(hit core.MemoryHit) bool {
	if !e.below(hit.Path) && !slices.ContainsFunc(hit.Also, func(citation string) bool {
		path, _, ok := ParseCitation(citation)
		return ok && e.below(path)
	}) {
		return false
	}
	same := func(heading string) bool {
		return strings.EqualFold(strings.TrimSpace(heading), strings.TrimSpace(e.Heading))
	}
	if e.Heading != "" && !slices.ContainsFunc(hit.Headings, same) {
		return false
	}
	return e.Text == "" || strings.Contains(plain(hit.Text), plain(e.Text))
}

// below reports whether a document is the expected one, or below the folder.
func (e Expectation) below(path string) bool {
	return e.Path == "" || path == e.Path || strings.HasPrefix(path, strings.TrimSuffix(e.Path, "/")+"/")
}

func plain(text string) string { return strings.ToLower(strings.Join(strings.Fields(text), " ")) }

// levelExpectation is the Level of reports about cases.
const levelExpectation = "expectation"

type caseFile struct {
	Cases []Case `yaml:"cases"`
}

// UnmarshalYAML refuses unknown keys.
func (f *caseFile) UnmarshalYAML(node *yaml.Node) error {
	if err := unknownKey(node, "cases"); err != nil {
		return err
	}
	type raw caseFile
	return node.Decode((*raw)(f))
}

// ReadCases reads a YAML file of cases. Errors name file and line.
func ReadCases(path string) ([]Case, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read cases: %w", err)
	}
	cases, err := ParseCases(data)
	if err == nil && len(cases) == 0 {
		err = ErrNoCases
	}
	if err != nil {
		return nil, fmt.Errorf("read cases: %s: %w", path, err)
	}
	return cases, nil
}

// ErrNoCases means that a file has no cases.
var ErrNoCases = errors.New("it has no cases, want a list under \"cases:\" ('memcore eval run --help' shows one)")

// ParseCases reads cases, of which there may be none. Errors name the line.
func ParseCases(data []byte) ([]Case, error) {
	var file caseFile
	if err := yaml.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	for i, c := range file.Cases {
		if err := c.check(); err != nil {
			return nil, fmt.Errorf("case %d: %w", i+1, err)
		}
	}
	return file.Cases, nil
}

func (c Case) check() error {
	switch {
	case strings.TrimSpace(c.Query) == "":
		return errors.New("query is empty")
	case c.ExpectNothing && len(c.Expect)+len(c.ExpectNot) > 0:
		return fmt.Errorf("%q expects something and nothing", c.Query)
	case slices.ContainsFunc(c.Expect, func(e Expectation) bool { return slices.Contains(c.ExpectNot, e) }):
		return fmt.Errorf("%q expects the same under expect and expect_not", c.Query)
	case !c.ExpectNothing && len(c.Expect)+len(c.ExpectNot) == 0:
		return fmt.Errorf("%q expects nothing; if that is meant, write expect_nothing: true", c.Query)
	}
	return nil
}

// RunCases asks a memory the queries of cases. A hit counts as the expectation it meets, or as
// itself. On an error the report is partial.
func RunCases(ctx context.Context, memory *core.Manager, name string, cases []Case, o Options) (Report, error) {
	o, err := o.WithDefaults()
	if err != nil {
		return Report{}, err
	}
	status, err := memory.Status(ctx)
	if err != nil {
		return Report{}, err
	}
	result := Result{Name: name, Chunks: status.Chunks}
	for _, n := range status.Documents {
		result.Documents += n
	}
	var all []Asked
	for i, c := range cases {
		a, failed := c.ask(ctx, memory, o)
		if failed != nil {
			err = fmt.Errorf("case %d, %q: %w", i+1, c.Query, failed)
			break
		}
		a.Collection, a.ID = name, fmt.Sprint(i+1)
		all = append(all, a)
		if o.Progress != nil {
			o.Progress(name, i+1, len(cases))
		}
	}
	report := Report{K: o.K, Level: levelExpectation}
	report.Add(result, all)
	return report, err
}

func (c Case) ask(ctx context.Context, memory *core.Manager, o Options) (Asked, error) {
	a := Asked{Text: c.Query, Answerable: len(c.Expect) > 0, Relevant: map[string]int{}}
	for _, e := range c.Expect {
		a.Relevant[e.String()] = 1
	}
	for _, e := range c.ExpectNot {
		a.Unwanted = append(a.Unwanted, "unwanted: "+e.fields())
	}
	met := func(hit core.MemoryHit) ([]string, error) {
		var met []string
		for _, e := range c.Expect {
			if e.met(hit) {
				met = append(met, e.String())
			}
		}
		for i, e := range c.ExpectNot {
			if e.met(hit) {
				met = append(met, a.Unwanted[i])
			}
		}
		if len(met) == 0 {
			return []string{hit.Source}, nil
		}
		return met, nil
	}
	err := a.Ask(ctx, memory, o, time.Time{}, met, met)
	if !a.Answerable && !c.ExpectNothing { // any other hit is as good as none
		a.Injected = slices.DeleteFunc(a.Injected, func(unit string) bool { return !slices.Contains(a.Unwanted, unit) })
	}
	return a, err
}

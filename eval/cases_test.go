package eval

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
)

func casesFile(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "cases.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestReadCases(t *testing.T) {
	got, err := ReadCases(casesFile(t, `
cases:
  - query: one path
    expect: notes/a.md
  - query: a section
    expect: notes/a.md#The  Section
  - query: a text, and it ends like a sentence about a.md
    expect: see a.md
  - query: all of a list
    expect:
      - path: notes
        heading: H
        text: 42
      - just text
  - query: thanks
    expect_nothing: true
`))
	require.NoError(t, err)
	want := []Case{
		{Query: "one path", Expect: Expectations{{Path: "notes/a.md"}}},
		{Query: "a section", Expect: Expectations{{Path: "notes/a.md", Heading: "The  Section"}}},
		{Query: "a text, and it ends like a sentence about a.md", Expect: Expectations{{Text: "see a.md"}}},
		{Query: "all of a list", Expect: Expectations{{Path: "notes", Heading: "H", Text: "42"}, {Text: "just text"}}},
		{Query: "thanks", ExpectNothing: true},
	}
	require.Equal(t, want, got)
}

func TestReadCasesRefuses(t *testing.T) {
	for want, text := range map[string]string{
		"has no cases":                      "",
		"want a list under":                 "cases: []\n",
		"line 1: unknown key \"questions\"": "questions: []\n",
		"line 3: unknown key \"expects\"":   "cases:\n  - query: x\n    expects: y\n",
		`unknown key "file"`:                "cases:\n  - query: x\n    expect: {file: y}\n",
		"case 1: query is empty":            "cases:\n  - expect: y\n",
		"case 2: \"y\" expects nothing":     "cases:\n  - query: x\n    expect: z\n  - query: y\n",
		"something and nothing":             "cases:\n  - query: x\n    expect: z\n    expect_nothing: true\n",
		"under expect and expect_not":       "cases:\n  - query: x\n    expect: a.md\n    expect_not: a.md\n",
		"\"z\" expects something":           "cases:\n  - query: z\n    expect_not: a.md\n    expect_nothing: true\n",
		"expect is empty":                   "cases:\n  - query: x\n    expect: {}\n",
		"neither a string":                  "cases:\n  - query: x\n    expect: [[a]]\n",
		"yaml":                              "cases: [\n",
	} {
		path := casesFile(t, text)
		if _, err := ReadCases(path); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("ReadCases(%q) = %v, want an error with %q and the file", text, err, want)
		}
	}
	if _, err := ReadCases(filepath.Join(t.TempDir(), "none.yaml")); err == nil {
		t.Error("ReadCases of a file that is not there: no error")
	}
}

func TestMet(t *testing.T) {
	hit := core.MemoryHit{Path: "notes/team/a.md", Headings: []string{"Team", "On call"}, Text: "Ada is on call\n in odd weeks."}
	for _, tt := range []struct {
		e    Expectation
		want bool
	}{
		{Expectation{Path: "notes/team/a.md"}, true},
		{Expectation{Path: "notes/team"}, true},
		{Expectation{Path: "notes/"}, true},
		{Expectation{Path: "notes/te"}, false},
		{Expectation{Path: "a.md"}, false},
		{Expectation{Heading: "on call "}, true},
		{Expectation{Heading: "call"}, false},
		{Expectation{Text: "ON CALL in odd"}, true},
		{Expectation{Text: "even"}, false},
		{Expectation{Path: "notes/team/a.md", Heading: "Team", Text: "ada"}, true},
		{Expectation{Path: "notes/team/a.md", Heading: "Team", Text: "grace"}, false},
	} {
		if got := tt.e.met(hit); got != tt.want {
			t.Errorf("%v met by the hit = %t, want %t", tt.e, got, tt.want)
		}
	}
}

// ownMemory indexes a folder of notes.
func ownMemory(t *testing.T) (*core.Manager, []source.Source) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"team.md":  "# Team\n\n## On call\n\nAda takes over the pager every odd week at 10:30 in the morning.\n",
		"cache.md": "# Cache\n\n- Redis of the staging cluster listens on port 6390 behind the gateway.\n",
		"code.md":  "# Code\n\n```\nport = 1\n```\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	sources := []source.Source{source.NewFolder(source.FolderOptions{Path: dir, Workspace: dir})}
	m, err := openWordy(t.Context(), sources, filepath.Join(t.TempDir(), "index"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close()) })
	_, err = m.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	return m, sources
}

func TestRunCases(t *testing.T) {
	m, _ := ownMemory(t)
	report, err := RunCases(t.Context(), m, "own", []Case{
		{Query: "on which port does redis listen", Expect: Expectations{{Path: "cache.md"}, {Text: "6390"}}},
		{Query: "who has the pager in odd weeks", Expect: Expectations{{Heading: "On call"}}},
		{Query: "who has the pager", Expect: Expectations{{Path: "cache.md", Text: "nobody says that"}}},
		{Query: "xylophone", ExpectNothing: true},
	}, Options{K: []int{1, 5}})
	require.NoError(t, err)
	require.Equal(t, 3, report.All.Queries)
	require.Equal(t, 1, report.All.Unanswerable)
	for i, want := range []float64{1, 1, 0} {
		if got := report.Queries[i].Scores["recall@5"]; got != want {
			t.Errorf("recall@5 of %q = %v, want %v; found %q", report.Queries[i].Text, got, want, report.Queries[i].Found)
		}
	}
	if report.All.Injection.Silence != 1 || len(report.Queries[3].Injected) != 0 {
		t.Errorf("silence = %v, want 1: nothing is known of xylophones", report.All.Injection.Silence)
	}
}

// A draft has a case for each document with facts, can be read, and is answered.
func TestDraft(t *testing.T) {
	m, sources := ownMemory(t)
	text, err := Draft(t.Context(), sources)
	require.NoError(t, err)
	cases, err := ReadCases(casesFile(t, string(text)))
	require.NoError(t, err)
	drafted := map[string]Case{}
	silent := 0
	for _, c := range cases {
		if c.ExpectNothing {
			silent++
			continue
		}
		drafted[c.Expect[0].Path] = c
	}
	require.Len(t, drafted, 2, "two documents have a number in their prose")
	require.Equal(t, len(smallTalk), silent)
	cache := drafted["cache.md"]
	if cache.Expect[0].Text != "6390" || cache.Query != "Redis of the staging cluster listens on port behind the gateway" {
		t.Errorf("case of cache.md = %+v, want the sentence without 6390, which is expected", cache)
	}
	report, err := RunCases(t.Context(), m, "draft", cases, Options{})
	require.NoError(t, err)
	if got := report.All.Scores["recall@1"]; got != 1 {
		t.Errorf("recall@1 of a draft = %v, want 1", got)
	}
}

func TestDraftOfNothing(t *testing.T) {
	sources := []source.Source{source.NewFolder(source.FolderOptions{Path: t.TempDir(), Workspace: t.TempDir()})}
	if _, err := Draft(t.Context(), sources); err == nil {
		t.Error("Draft of an empty folder: no error")
	}
}

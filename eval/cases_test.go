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
func ownMemory(t *testing.T) *core.Manager {
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
	return m
}

func TestRunCases(t *testing.T) {
	m := ownMemory(t)
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

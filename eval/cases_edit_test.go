package eval

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const commented = `# Mine.

cases:
  # The port.
  - query: which port   # asked often
    expect: notes/staging.md            # any part

  - expect:
      - a text   # of the hit
      - path: notes/a.md
        heading: H
    query: "all: of them"
  # Small talk.
  - query: thanks
    expect_nothing: true

# The end.
`

func wished(t *testing.T, file, query string, w Wish, e Expectation) string {
	t.Helper()
	cases, err := ParseCases([]byte(file))
	require.NoError(t, err)
	c, err := CaseOf(cases, query).Wished(w, e)
	require.NoError(t, err)
	after, err := WithCase([]byte(file), c)
	require.NoError(t, err)
	return string(after)
}

func TestCasesAreMadeAndExtended(t *testing.T) {
	b := Expectation{Path: "notes/b.md"}
	for name, tt := range map[string]struct {
		file, query string
		wish        Wish
		from, to    string // what changes in the file
	}{
		"a new one": {commented, "new: one", StayAway, "    expect_nothing: true\n", "    expect_nothing: true\n  - query: 'new: one'\n    expect_not:\n      - path: notes/b.md\n"},
		"a short form becomes a list": {commented, "Which  port", Come, "    expect: notes/staging.md            # any part\n",
			"    expect:\n      - notes/staging.md # any part\n      - path: notes/b.md\n"},
		"a list grows": {commented, "all: of them", Come, "        heading: H\n", "        heading: H\n      - path: notes/b.md\n"},
		"another key":  {commented, "all: of them", StayAway, "    query: \"all: of them\"\n", "    query: \"all: of them\"\n    expect_not:\n      - path: notes/b.md\n"},
		"no longer nothing": {commented, "thanks", Come, "    expect_nothing: true\n",
			"    expect:\n      - path: notes/b.md\n"},
		"an empty list":        {"cases: [] # none\n", "x", NoneComes, "cases: [] # none\n", "cases: # none\n  - query: x\n    expect_nothing: true\n"},
		"only a comment":       {"# mine\n", "x", NoneComes, "# mine\n", "# mine\ncases:\n  - query: x\n    expect_nothing: true\n"},
		"no indent, no end":    {"cases:\n- query: y\n  expect: z", "x", NoneComes, "expect: z", "expect: z\n- query: x\n  expect_nothing: true\n"},
		"lines end as before":  {"cases:\r\n- query: y\r\n  expect: z\r\n", "x", NoneComes, "expect: z\r\n", "expect: z\r\n- query: x\r\n  expect_nothing: true\r\n"},
		"a text of some lines": {"cases:\n- query: |\n    # a\n\n    b\n  expect: z\n# end\n", "# a b", Come, "  expect: z\n", "  expect:\n    - z\n    - path: notes/b.md\n"},
	} {
		got := wished(t, tt.file, tt.query, tt.wish, b)
		// The case that changes may get a new layout; everything else is as before.
		normal := strings.NewReplacer("which port   #", "which port #", "text   # of", "text # of").Replace
		if name == "a new one" {
			normal = func(s string) string { return s }
		}
		require.Equal(t, normal(strings.Replace(tt.file, tt.from, tt.to, 1)), normal(got), name)
	}
	require.Equal(t, editHead+"cases:\n  - query: x\n    expect_nothing: true\n", wished(t, "", "x", NoneComes, b), "a new file")
}

func TestCasesAreTakenBack(t *testing.T) {
	for _, query := range []string{"new", "which port", "all: of them"} {
		b := Expectation{Path: "notes/b.md", Text: "it: \"is\"\n# so"}
		with := wished(t, commented, query, Come, b)
		cases, err := ParseCases([]byte(with))
		require.NoError(t, err)
		after, err := WithCase([]byte(with), CaseOf(cases, query).Without(b))
		require.NoError(t, err)
		before, err := ParseCases([]byte(commented))
		require.NoError(t, err)
		got, err := ParseCases(after)
		require.NoError(t, err)
		require.Equal(t, before, got)
		require.Equal(t, strings.Count(commented, "#"), strings.Count(string(after), "#"), "comments stay: %s", after)
		if query == "new" {
			require.Equal(t, commented, string(after))
		}
	}
	after, err := WithCase([]byte("# mine\ncases:\n  - query: x\n    expect_nothing: true\n"), Case{Query: "x"})
	require.NoError(t, err)
	require.Equal(t, "# mine\ncases: []\n", string(after), "the last one")
}

func TestWishes(t *testing.T) {
	e := Expectation{Path: "a.md"}
	c, err := Case{Query: "x"}.Wished(Come, e)
	require.NoError(t, err)
	c, err = c.Wished(StayAway, e)
	require.NoError(t, err)
	require.Equal(t, Case{Query: "x", Expect: Expectations{}, ExpectNot: Expectations{e}}, c, "the opposite replaces")
	_, err = c.Wished(NoneComes, Expectation{})
	require.ErrorIs(t, err, ErrWish)
	_, err = c.Wished(Come, Expectation{})
	require.ErrorIs(t, err, ErrWish)
	_, err = c.Wished("else", e)
	require.ErrorIs(t, err, ErrWish)
}

func TestCasesThatCannotBeEdited(t *testing.T) {
	for _, file := range []string{"cases: [{query: x, expect: a.md}]\n", "cases:\n- {query: x, expect: a.md}\n---\na: b\n", "cases: [\n", "a: b\n", "cases:\n- query: x\n"} {
		after, err := WithCase([]byte(file), Case{Query: "y", ExpectNothing: true})
		if err == nil {
			cases, err := ParseCases(after)
			require.NoError(t, err)
			require.Len(t, cases, 2, file)
			continue
		}
		require.Regexp(t, "line|yaml|list|case", err.Error())
	}
}

// Text below the cases is not lost with the last one.
func TestAnotherDocumentBelowTheCases(t *testing.T) {
	for _, below := range []string{"---\na: b\n", "...\n---\n# mine\na: b\n"} {
		for _, c := range []Case{{Query: "x"}, {Query: "x", ExpectNothing: true}, {Query: "y", ExpectNothing: true}} {
			_, err := WithCase([]byte("cases:\n- query: x\n  expect: a.md\n"+below), c)
			require.ErrorIs(t, err, ErrLayout, "%s %v", below, c)
		}
	}
}

// Whatever the file, an edit changes one case or is refused.
func FuzzWithCase(f *testing.F) {
	for _, seed := range []string{commented, "", "cases:\n", "cases: [{query: x, expect: y}]", "cases:\n-\n  query: x\n  expect: &a y\n- query: y\n  expect: *a\n", "cases: []\n...\n", "\ufeffcases:\n"} {
		f.Add(seed, "x", "notes/b.md")
	}
	f.Fuzz(func(t *testing.T, file, query, path string) {
		cases, err := ParseCases([]byte(file))
		if err != nil || strings.TrimSpace(query) == "" || strings.TrimSpace(path) == "" {
			return
		}
		c, err := CaseOf(cases, query).Wished(Come, Expectation{Path: path})
		if err != nil {
			return
		}
		after, err := WithCase([]byte(file), c)
		if err != nil {
			return
		}
		got, err := ParseCases(after)
		if err != nil || !sameCases([]Case{CaseOf(got, query)}, []Case{c}) || len(got) < len(cases) {
			t.Errorf("%q with %q: %q, %v", file, query, after, err)
		}
	})
}

func TestUnwantedHits(t *testing.T) {
	m, _ := ownMemory(t)
	report, err := RunCases(t.Context(), m, "own", []Case{
		{Query: "on which port does redis listen", ExpectNot: Expectations{{Path: "cache.md"}}},
		{Query: "on which port does redis listen", ExpectNot: Expectations{{Path: "team.md"}}},
		{Query: "on which port does redis listen", Expect: Expectations{{Path: "cache.md"}}, ExpectNot: Expectations{{Text: "6390"}}},
	}, Options{})
	require.NoError(t, err)
	require.Equal(t, []string{"unwanted: cache.md"}, report.Queries[0].Injected)
	require.True(t, report.Queries[0].Fails())
	require.Empty(t, report.Queries[1].Injected)
	require.False(t, report.Queries[1].Fails())
	require.True(t, report.Queries[2].Fails())
	require.Contains(t, report.Failing(5), `unwanted: "6390"`)
}

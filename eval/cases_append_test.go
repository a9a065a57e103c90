package eval

import (
	"slices"
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

func TestCasesAreAppended(t *testing.T) {
	nothing := Case{Query: "x", ExpectNothing: true}
	for name, tt := range map[string]struct{ file, after string }{
		"a new file":     {"", editHead + "cases:\n  - query: x\n    expect_nothing: true\n"},
		"with comments":  {commented, commented + "  - query: x\n    expect_nothing: true\n"},
		"only a comment": {"# mine\n", "# mine\ncases:\n  - query: x\n    expect_nothing: true\n"},
		"no indentation": {"cases:\n- query: y\n  expect: z", "cases:\n- query: y\n  expect: z\n- query: x\n  expect_nothing: true\n"},
		"a long text":    {"cases:\n- expect: z\n  query: |\n    # a\n\n    b\n", "cases:\n- expect: z\n  query: |\n    # a\n\n    b\n- query: x\n  expect_nothing: true\n"},
	} {
		after, err := WithCase([]byte(tt.file), nothing)
		require.NoError(t, err, name)
		require.Equal(t, tt.after, string(after), name)
		again, err := WithCase(after, nothing)
		require.NoError(t, err, name)
		require.Equal(t, string(after), string(again), "%s: a case is added once", name)
	}
	b := Expectation{Path: "notes/b.md", Text: "it: \"is\"\n# so"}
	after, err := WithCase([]byte(commented), Case{Query: " Which  port ", Expect: Expectations{b}})
	require.NoError(t, err)
	cases, err := ParseCases(after)
	require.NoError(t, err)
	require.Equal(t, []Case{{Query: "which port", Expect: Expectations{{Path: "notes/staging.md"}}}, {Query: "Which  port", Expect: Expectations{b}}}, AskedBy(cases, "which port"))
}

func TestCasesThatAreNotAppended(t *testing.T) {
	a := Expectations{{Path: "a.md"}}
	file := []byte("cases:\n- query: x\n  expect: a.md\n- query: hi\n  expect_nothing: true\n")
	for _, c := range []Case{{Query: "x", ExpectNot: a}, {Query: "x", ExpectNothing: true}, {Query: "hi", Expect: a}, {Query: "y"}, {Expect: a}, {Query: "y", Expect: Expectations{{}}}} {
		_, err := WithCase(file, c)
		require.ErrorIs(t, err, ErrCase, "%v", c)
	}
	for _, file := range []string{"cases: [{query: x, expect: a.md}]\n", "cases: []\n", "cases:\n- {query: x, expect: a.md}\n---\na: b\n", "cases:\n- {query: x, expect: a.md}\n...\n"} {
		_, err := WithCase([]byte(file), Case{Query: "y", ExpectNothing: true})
		require.ErrorIs(t, err, ErrLayout, file)
	}
	for _, file := range []string{"cases: [\n", "a: b\n", "cases:\n- query: x\n"} {
		_, err := WithCase([]byte(file), Case{Query: "y", ExpectNothing: true})
		require.Error(t, err, file)
		require.NotErrorIs(t, err, ErrLayout, file)
	}
}

// Whatever the file, a case is appended and all others stay, or the file is refused.
func FuzzWithCase(f *testing.F) {
	for _, seed := range []string{commented, "", "cases:\n", "cases: [{query: x, expect: y}]", "cases:\n-\n  query: x\n  expect: &a y\n- query: y\n  expect: *a\n", "cases: []\n...\n", "\ufeffcases:\n"} {
		f.Add(seed, "x", "notes/b.md")
	}
	f.Fuzz(func(t *testing.T, file, query, path string) {
		before, err := ParseCases([]byte(file))
		if err != nil {
			return
		}
		c := Case{Query: query, Expect: Expectations{{Path: path}}}
		after, err := WithCase([]byte(file), c)
		if err != nil {
			return
		}
		got, err := ParseCases(after)
		if err != nil || len(got) < len(before) || !slices.EqualFunc(got[:len(before)], before, sameCase) || !strings.HasPrefix(string(after), file) {
			t.Errorf("%q with %q: %q, %v", file, query, after, err)
		}
	})
}

func TestUnwantedHits(t *testing.T) {
	m := ownMemory(t)
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

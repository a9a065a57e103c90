package turns

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type repository struct {
	Name     string    `json:"name"`
	URL      string    `json:"url"`
	Licence  string    `json:"licence"`
	About    string    `json:"about"`
	Sessions []session `json:"sessions"`
	States   []state   `json:"states"`
}

type session struct {
	Name   string `json:"name"`
	Commit string `json:"commit"`
	Blob   string `json:"blob"`
}

type state struct {
	Name    string   `json:"name"`
	Commit  string   `json:"commit"`
	Without []string `json:"without"` // earlier sessions that it does not know
}

type label struct {
	Repository string     `json:"repository"`
	ID         string     `json:"id"`
	State      string     `json:"state"`
	Session    string     `json:"session"`
	Turn       int        `json:"turn"`
	Sample     string     `json:"sample"`
	Kind       string     `json:"kind"`
	Prompt     string     `json:"prompt"`   // hash of the text
	Question   string     `json:"question"` // ours, in full
	Judged     []judgment `json:"judged"`
}

type judgment struct {
	Path   string `json:"path"`
	Lines  [2]int `json:"lines"`
	Offset int    `json:"offset"`
	SHA256 string `json:"sha256"`
	Grade  int    `json:"grade"`
}

// Formats of fields.
var (
	fromGitHub = regexp.MustCompile(`^https://github\.com/[\w.-]+/[\w.-]+$`)
	object     = regexp.MustCompile(`^[0-9a-f]{40}$`)
	hash       = regexp.MustCompile(`^[0-9a-f]{16}$`)
	numbered   = regexp.MustCompile(`^s\d{2}$`)
	home       = regexp.MustCompile(`/(home|Users)/|[\w.+-]+@[\w-]+\.[a-z]{2,}`)
	address    = regexp.MustCompile(`\w+://([\w.-]+)`)
)

// opinion is two judges' grades of a passage.
type opinion struct {
	ID     string `json:"id"`
	Path   string `json:"path"`
	Lines  [2]int `json:"lines"`
	Offset int    `json:"offset"`
	SHA256 string `json:"sha256"`
	First  int    `json:"first"`
	Second int    `json:"second"`
}

func strictly(t *testing.T, data []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(into), "%.100s", data)
}

func readSources(t *testing.T) map[string]repository {
	t.Helper()
	data, err := os.ReadFile("sources.json")
	require.NoError(t, err)
	var all []repository
	strictly(t, data, &all)
	byName := map[string]repository{}
	for _, r := range all {
		byName[r.Name] = r
	}
	require.Len(t, byName, len(all), "names differ")
	return byName
}

func readLines[T any](t *testing.T, name string) []T {
	t.Helper()
	file, err := os.Open(name)
	require.NoError(t, err)
	defer file.Close()
	var all []T
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one T
		strictly(t, lines.Bytes(), &one)
		all = append(all, one)
	}
	require.NoError(t, lines.Err())
	return all
}

func readLabels(t *testing.T) []label { return readLines[label](t, "labels.jsonl") }

func TestSources(t *testing.T) {
	for _, r := range readSources(t) {
		require.Regexp(t, fromGitHub, r.URL)
		require.NotEmpty(t, r.Licence, r.Name)
		require.NotEmpty(t, r.About, r.Name)
		for i, s := range r.Sessions {
			require.Equal(t, fmt.Sprintf("s%02d", i+1), s.Name, r.Name)
			require.Regexp(t, object, s.Commit, r.Name)
			require.Regexp(t, object, s.Blob, r.Name)
		}
		for _, s := range r.States {
			require.True(t, hasSession(r, s.Name), "%s: state %s is before no session", r.Name, s.Name)
			require.Regexp(t, object, s.Commit, r.Name)
			for _, name := range s.Without {
				require.True(t, hasSession(r, name) && name < s.Name, "%s: %s goes without %s", r.Name, s.Name, name)
			}
		}
	}
}

func hasSession(r repository, name string) bool {
	return slices.ContainsFunc(r.Sessions, func(s session) bool { return s.Name == name })
}

func TestLabelsAgreeWithSources(t *testing.T) {
	sources := readSources(t)
	seen := map[string]bool{}
	for _, l := range readLabels(t) {
		r, ok := sources[l.Repository]
		require.True(t, ok, "%s: no source %s", l.ID, l.Repository)
		require.False(t, seen[l.ID], "%s is there twice", l.ID)
		seen[l.ID] = true
		at := slices.IndexFunc(r.States, func(s state) bool { return s.Name == l.State })
		require.GreaterOrEqual(t, at, 0, "%s: no state %s", l.ID, l.State)
		if l.Kind == "team question" {
			require.NotEmpty(t, l.Question, l.ID)
			require.Equal(t, -1, l.Turn, l.ID)
		} else {
			require.Regexp(t, hash, l.Prompt, l.ID)
			require.True(t, hasSession(r, l.Session), "%s: no session %s", l.ID, l.Session)
			require.GreaterOrEqual(t, l.Turn, 0, l.ID)
			require.Empty(t, l.Question, l.ID)
		}
		for _, j := range l.Judged {
			require.Regexp(t, hash, j.SHA256, l.ID)
			require.Contains(t, []int{0, 1, 2}, j.Grade, l.ID)
			require.True(t, 1 <= j.Lines[0] && j.Lines[0] <= j.Lines[1] && j.Offset >= 0, "%s: %+v", l.ID, j)
			if numbered.MatchString(j.Path) {
				require.True(t, hasSession(r, j.Path), "%s: no session %s", l.ID, j.Path)
				require.Less(t, j.Path, l.State, "%s: that session is of later", l.ID)
				require.NotContains(t, r.States[at].Without, j.Path, l.ID)
			} else {
				require.Equal(t, ".md", path.Ext(j.Path), l.ID)
			}
		}
	}
}

// The README counts the labels correctly.
func TestReadmeCounts(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	type count struct{ prompts, nothing, questions int }
	counts := map[string]count{}
	for _, l := range readLabels(t) {
		c := counts[l.Repository]
		wanted := slices.ContainsFunc(l.Judged, func(j judgment) bool { return j.Grade == 2 })
		switch {
		case l.Question != "":
			c.questions++
		case wanted:
			c.prompts++
		default:
			c.prompts++
			c.nothing++
		}
		counts[l.Repository] = c
	}
	require.Len(t, counts, len(readSources(t)))
	for name, c := range counts {
		require.Regexp(t, fmt.Sprintf(`\| %s \|.*\| %d \(%d\) \| %d \|`, regexp.QuoteMeta(name), c.prompts, c.nothing, c.questions), string(readme))
	}
}

// The second judge graded passages of the first.
func TestSecondJudgeAgreesWithLabels(t *testing.T) {
	type passage struct {
		id, path, hash string
		lines          [2]int
		offset         int
	}
	known := map[passage]bool{}
	for _, l := range readLabels(t) {
		for _, j := range l.Judged {
			known[passage{l.ID, j.Path, j.SHA256, j.Lines, j.Offset}] = true
		}
	}
	for _, o := range readLines[opinion](t, "second.jsonl") {
		p := passage{o.ID, o.Path, o.SHA256, o.Lines, o.Offset}
		require.True(t, known[p], "%+v is not in labels.jsonl, or there twice", o)
		delete(known, p)
	}
}

// The README has the agreement from second.jsonl.
func TestReadmeAgreement(t *testing.T) {
	data, err := os.ReadFile("README.md")
	require.NoError(t, err)
	readme := strings.Join(strings.Fields(string(data)), " ")
	opinions := readLines[opinion](t, "second.jsonl")

	var table [3][3]int
	for _, o := range opinions {
		table[o.First][o.Second]++
	}
	for first, row := range table {
		require.Contains(t, readme, fmt.Sprintf("| %d | %d | %d | %d |", first, row[0], row[1], row[2]))
	}
	for _, c := range []struct {
		says  string
		grade func(int) int
	}{
		{`%d have the same grade (κ %s)`, func(g int) int { return g }},
		{`%d are the same on "2 or not" (κ %s)`, func(g int) int { return g / 2 }},
		{`%d on "1 or better" (κ %s)`, func(g int) int { return min(g, 1) }},
	} {
		same, kappa := agreement(opinions, c.grade)
		require.Contains(t, readme, fmt.Sprintf(c.says, same, strings.TrimPrefix(fmt.Sprintf("%.2f", kappa), "0")))
	}
}

// agreement returns the share of equal opinions and Cohen's κ.
func agreement(opinions []opinion, grade func(int) int) (same int, kappa float64) {
	var first, second [3]float64
	for _, o := range opinions {
		a, b := grade(o.First), grade(o.Second)
		first[a]++
		second[b]++
		if a == b {
			same++
		}
	}
	n := float64(len(opinions))
	var chance float64
	for g := range first {
		chance += first[g] * second[g] / (n * n)
	}
	return same, (float64(same)/n - chance) / (1 - chance)
}

// No personal data, and no host but that of the repositories.
func TestNothingPersonal(t *testing.T) {
	for _, name := range []string{"sources.json", "labels.jsonl", "second.jsonl", "README.md"} {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Less(t, len(data), 1<<20, name)
		require.NotRegexp(t, home, string(data), name)
		for _, found := range address.FindAllStringSubmatch(string(data), -1) {
			require.Equal(t, "github.com", strings.ToLower(found[1]), name)
		}
	}
}

package eval

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

// Every statement of the committed set stands in full on the line that it cites, and nowhere else.
func TestSaidSet(t *testing.T) {
	sets, err := ReadTurns("../testdata/eval/said")
	require.NoError(t, err)
	require.Len(t, sets, 6)
	statements, foreign := 0, 0
	for _, set := range sets {
		logs, err := filepath.Glob(filepath.Join(set.Folder, logsFolder, "*.jsonl"))
		require.NoError(t, err)
		for _, turn := range set.Turns {
			if turn.Kind != KindSaidOrder {
				continue
			}
			statements++
			if !english(turn.said.Text) || strings.ContainsAny(turn.said.Text, "áéíóúñ") {
				foreign++
			}
			require.NotEmpty(t, turn.said.Question, turn.ID)
			cited := []Statement{turn.said.Statement}
			if turn.said.Kind == "reversal" {
				require.NotNil(t, turn.said.Instead, turn.ID)
				cited = append(cited, *turn.said.Instead)
			}
			for _, s := range cited {
				var found []string
				for _, log := range logs {
					err := EachLine(log, func(number int, line []byte) error {
						if path := logsFolder + "/" + filepath.Base(log); said(t, line, s.Text) {
							found = append(found, citation(path, [2]int{number, number}))
						}
						return nil
					})
					require.NoError(t, err)
				}
				path, lines, ok := ParseCitation(s.Source)
				require.True(t, ok, s.Source)
				require.Equal(t, []string{citation(path, lines)}, found, turn.ID)
			}
		}
	}
	require.GreaterOrEqual(t, statements, 60)
	require.GreaterOrEqual(t, foreign*5, statements, "a fifth is not English")
}

// said reports whether a line of a log has a text in what its user says.
func said(t *testing.T, line []byte, text string) bool {
	var message struct {
		Type    string `json:"type"`
		Message struct {
			Content json.RawMessage `json:"content"`
		} `json:"message"`
	}
	require.NoError(t, json.Unmarshal(line, &message))
	quoted, err := json.Marshal(text)
	require.NoError(t, err)
	unescaped := strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(strings.Trim(string(quoted), `"`))
	return message.Type == "user" && strings.Contains(string(message.Message.Content), unescaped)
}

func TestOrdinaryPrompts(t *testing.T) {
	seen := map[string]bool{}
	require.NoError(t, EachLine("../testdata/eval/ordinary.txt", func(_ int, line []byte) error {
		return fresh(seen, "prompt", string(line))
	}))
	require.Len(t, seen, 200)
}

func TestParseStatements(t *testing.T) {
	turns, err := parseTurns([]byte(`{"id":"a","state":"all","statement":"No sleeps please.","source":"sessions/s.jsonl#L5","kind":"rule","standing":true,"order":"write a test","question":"how do tests wait?"}`))
	require.NoError(t, err)
	require.Len(t, turns, 3)
	require.Equal(t, []string{"a/order", "a/question", "a/start"}, []string{turns[0].ID, turns[1].ID, turns[2].ID})
	require.Equal(t, Judgment{Path: "sessions/s.jsonl", Lines: [2]int{5, 5}, Text: "No sleeps please.", Grade: GradeWanted}, turns[1].Gold[0])
	for line, want := range map[string]string{
		`{"id":"a","state":"all","statement":"x","source":"s.jsonl","order":"y"}`:     `source is "s.jsonl"`,
		`{"id":"a","state":"all","statement":"x","source":"s.jsonl#L1"}`:              "neither an order nor a question",
		`{"id":"a","state":"../a","statement":"x","source":"s.jsonl#L1","order":"y"}`: `state is "../a"`,
	} {
		_, err := parseTurns([]byte(line))
		require.ErrorContains(t, err, want, line)
	}
}

func TestGradeOfStatement(t *testing.T) {
	turn := Turn{Kind: KindSaidOrder, said: &Said{
		Statement: Statement{Text: "We release on Tuesdays now, never before a weekend", Source: "sessions/b.jsonl#L7"},
		Instead:   &Statement{Text: "releases go out on Thursdays", Source: "sessions/a.jsonl#L3"},
	}}
	hit := func(path string, line int, text, request string) core.MemoryHit {
		return core.MemoryHit{Path: path, StartLine: line, EndLine: line, Text: text, Request: request}
	}
	for _, test := range []struct {
		hit    core.MemoryHit
		grade  int
		judged bool
	}{
		{hit("sessions/b.jsonl", 7, "Thursday was bad. We release on Tuesdays now, never before a weekend.", ""), GradeWanted, true},
		{hit("sessions/b.jsonl", 8, "Noted.", "We release on Tuesdays now, never before a weekend"), GradeWanted, true},
		{hit("sessions/b.jsonl", 7, "never before a weekend", ""), GradeWanted, true},
		{hit("sessions/c.jsonl", 7, "never before a weekend", ""), GradeNoise, false},
		{hit("sessions/b.jsonl", 7, "Is it Tuesday?", ""), GradeNoise, false},
		{hit("sessions/a.jsonl", 3, "releases go out on Thursdays then", ""), GradeNoise, true},
	} {
		grade, judged := turn.grade(test.hit)
		require.Equal(t, test.grade, grade, "%+v", test.hit)
		require.Equal(t, test.judged, judged, "%+v", test.hit)
	}

	newer, older := GradedHit{Grade: GradeWanted, Judged: true}, GradedHit{Judged: true}
	other := GradedHit{}
	asked := func(given ...GradedHit) AskedTurn { return AskedTurn{Kind: KindSaidOrder, Given: given} }
	require.True(t, asked(other, newer, older).Hit())
	require.False(t, asked(other, older, newer).Hit(), "what no longer holds comes first")
	require.False(t, asked(other).Hit())
}

func TestVariants(t *testing.T) {
	said := func(prompt, file string) []string {
		var all []string
		for _, v := range Variants(prompt, file) {
			all = append(all, v.Prompt)
		}
		return all
	}
	require.Equal(t, []string{
		"please write tests for the parser.", "can you write tests for the parser?", "ok, write tests for the parser.", "Write tests for the parser and commit",
		"Write tests for the parser. thanks", "write tests for the parser", "Write tests for the parser (README.md)",
	}, said("Write tests for the parser.", "README.md"))
	require.Equal(t, []string{"ok, SMS fails?", "SMS fails? thanks", "SMS fails.", `"SMS fails?"`}, said("SMS fails?", ""))
	require.Equal(t, []string{"ok, commit", "commit thanks", "Commit.", `"commit"`}, said("commit", ""), "more would be another order")
	require.Equal(t, []string{"运行测试 thanks", "运行测试.", `"运行测试"`}, said("运行测试", ""), "no English before another language")
}

func TestVariantIsGivenTheSame(t *testing.T) {
	hit := func(line int) GradedHit { return GradedHit{Path: "a.md", Lines: [2]int{line, line}} }
	rule := GradedHit{Path: "s.jsonl", Lines: [2]int{1, 1}, Said: true}
	asked := func(given ...GradedHit) AskedTurn { return AskedTurn{Given: given} }
	require.True(t, asked(hit(1), hit(2)).sameAs(asked(hit(2), hit(1)), "please"))
	require.False(t, asked(hit(1)).sameAs(asked(hit(2), hit(1)), "please"))
	require.False(t, asked(hit(1), rule).sameAs(asked(hit(1)), "please"))
	require.True(t, asked(hit(1), rule).sameAs(asked(hit(1)), variantCommit))
	require.False(t, asked(hit(1)).sameAs(asked(hit(1), rule), variantCommit))
}

// Prompts that want nothing, and variants, are rows of their own and count in no other.
func TestRunTurnsInOtherWords(t *testing.T) {
	sets, err := ReadTurns("testdata/turns")
	require.NoError(t, err)
	plain := TurnsOptions{Folder: t.TempDir(), MadeBy: "test", Retrieve: core.RetrieveOptions{MinSimilarity: 0.01}}
	before, err := RunTurns(t.Context(), openWordy, sets, plain)
	require.NoError(t, err)
	more := plain
	more.Ordinary, more.Variants = []string{"lol", "qwerty"}, true
	after, err := RunTurns(t.Context(), openWordy, sets, more)
	require.NoError(t, err)
	rows := map[string]TurnsRow{}
	for _, row := range after.Rows {
		rows[row.Name] = row
	}
	for _, row := range before.Rows {
		row.P50, row.P95 = rows[row.Name].P50, rows[row.Name].P95
		require.Equal(t, row, rows[row.Name])
	}
	require.Equal(t, 2, rows[KindOrdinary].Turns)
	require.Equal(t, 1.0, rows[KindOrdinary].Silent)
	require.NotZero(t, rows[RowVariants].Turns)

	require.NotContains(t, rows, KindSaidStart)

	worse := after.Baseline()
	for i := range worse.Rows {
		if worse.Rows[i].Name == RowVariants {
			worse.Rows[i].Same = 2
		}
	}
	fallen, err := after.Fallen(worse)
	require.NoError(t, err)
	require.Len(t, fallen, 1)
	require.Contains(t, fallen[0], "variants: same from 2.000")
}

// A list is counted beside what is given whole: it neither answers a turn nor breaks its silence.
func TestListedLines(t *testing.T) {
	turn := Turn{Judged: []Judgment{{Path: "a.md", Lines: [2]int{10, 12}, Grade: GradeWanted}, {Path: "s.jsonl", Lines: [2]int{7, 7}, Grade: GradeRelated}}}
	for _, test := range []struct {
		path   string
		lines  [2]int
		grade  int
		judged bool
	}{
		{"a.md", [2]int{8, 20}, GradeWanted, true},
		{"a.md", [2]int{11, 11}, GradeWanted, true},
		{"a.md", [2]int{11, 20}, GradeNoise, false},
		{"b.md", [2]int{8, 20}, GradeNoise, false},
		{"s.jsonl", [2]int{5, 9}, GradeRelated, true},
	} {
		grade, judged := turn.gradeLines(test.path, test.lines)
		require.Equal(t, test.grade, grade, "%+v", test)
		require.Equal(t, test.judged, judged, "%+v", test)
	}

	list := []GradedHit{{Grade: GradeWanted, Judged: true, Tokens: 20}, {Tokens: 10}}
	row := tallyTurns([]AskedTurn{{ID: "1", Kind: "question", Listed: list}, {ID: "2", Kind: "question", Nothing: true, Listed: list[1:]},
		{ID: "3", Kind: "question", Nothing: true}}).Rows[0]
	require.Equal(t, 0.0, row.Hit)
	require.Equal(t, 1.0, row.Listed)
	require.Equal(t, 1.0, row.Silent)
	require.InDelta(t, 2.0/3, row.Lists, 1e-9)
	require.InDelta(t, 40.0/3, row.Tokens, 1e-9)

	// A session gets each thing once.
	list[0].Path, list[1].Path = "a.md", "b.md"
	row = tallyTurns([]AskedTurn{{ID: "1", Session: "s1", Listed: list}, {ID: "2", Session: "s1", Listed: list}, {ID: "3", Session: "s2", Listed: list[:1]}}).Rows[0]
	require.InDelta(t, 50.0/3, row.Tokens, 1e-9)
}

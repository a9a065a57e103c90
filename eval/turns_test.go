package eval

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
)

func TestReadTurns(t *testing.T) {
	sets, err := ReadTurns("testdata/turns")
	require.NoError(t, err)
	require.Len(t, sets, 1)
	require.Equal(t, "garage", sets[0].Name)
	require.Len(t, sets[0].Turns, 3)
	require.Equal(t, []string{"s02", "s03"}, sets[0].states())

	one, err := ReadTurns("testdata/turns/garage")
	require.NoError(t, err)
	require.Equal(t, sets, one)

	_, err = ReadTurns("testdata/turns", "garden")
	require.ErrorContains(t, err, `no set "garden" in testdata/turns, want one of garage`)
	_, err = ReadTurns("testdata")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestParseTurnRefuses(t *testing.T) {
	for line, want := range map[string]string{
		`{`: "unexpected end",
		`{"prompt":"x","state":"a","nothing":true}`:                                                                                      "turn has no id",
		`{"id":"1","state":"a","nothing":true}`:                                                                                          "prompt is empty",
		`{"id":"1","prompt":"x","state":"../a","nothing":true}`:                                                                          `state is "../a"`,
		`{"id":"1","prompt":"x","state":"a","judged":[{"path":"p","lines":[3,2],"grade":2}]}`:                                            "two lines from 1 on",
		`{"id":"1","prompt":"x","state":"a","judged":[{"path":"p","lines":[3,3],"grade":3}]}`:                                            "grade of p is 3, want 0 to 2",
		`{"id":"1","prompt":"x","state":"a","nothing":true,"judged":[{"path":"p","lines":[3,3],"grade":2}]}`:                             "nothing is true",
		`{"id":"1","prompt":"x","state":"a","nothing":false,"judged":[{"path":"p","lines":[3,3],"grade":1}]}`:                            "nothing is false",
		`{"id":"1","prompt":"x","state":"a","nothing":false,"gold":[{"path":"p","lines":[3,3],"grade":2}]}`:                              "",
		`{"id":"1","prompt":"x","state":"a","nothing":true,"judged":[{"path":"p","lines":[3,3],"grade":0}],"sample":"natural","more":1}`: "",
	} {
		_, err := parseTurn([]byte(line))
		if want == "" {
			require.NoError(t, err, line)
			continue
		}
		require.ErrorContains(t, err, want, line)
	}
}

func FuzzParseTurn(f *testing.F) {
	f.Add([]byte(`{"id":"1","prompt":"x","state":"a","judged":[{"path":"p","lines":[3,3],"grade":2,"text":"t"}]}`))
	f.Add([]byte(`{"id":"1","prompt":"x","state":"a","nothing":true,"gold":null}`))
	f.Add([]byte(`{"lines":[1,2,3]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		turn, err := parseTurn(line)
		if err != nil {
			return
		}
		again, err := json.Marshal(turn)
		require.NoError(t, err)
		same, err := parseTurn(again)
		require.NoError(t, err)
		require.Equal(t, turn.judgments(), same.judgments())
		require.True(t, filepath.IsLocal(turn.State))
	})
}

func TestRunTurns(t *testing.T) {
	sets, err := ReadTurns("testdata/turns")
	require.NoError(t, err)
	folder := t.TempDir()
	o := TurnsOptions{Folder: folder, MadeBy: "test", Retrieve: core.RetrieveOptions{MinSimilarity: 0.01}}
	report, err := RunTurns(t.Context(), openWordy, sets, o)
	require.NoError(t, err)
	require.Len(t, report.Turns, 3)

	door, xyzzy, bulb := report.Turns[0], report.Turns[1], report.Turns[2]
	require.True(t, door.Hit(), "%+v", door)
	require.Equal(t, []string{"sessions/s01-door.jsonl#L2-L2"}, door.Wanted)
	for _, g := range door.Given {
		require.NotEqual(t, "sessions/s02-lamp.jsonl", g.Path, "that log came later")
	}
	require.Empty(t, xyzzy.Given)
	require.True(t, bulb.Hit(), "%+v", bulb)

	rows := map[string]TurnsRow{}
	for _, row := range report.Rows {
		rows[row.Name] = row
	}
	require.Equal(t, 3, rows[RowAll].Turns)
	require.Equal(t, 2, rows[RowAll].Gold)
	require.Equal(t, 1.0, rows[RowAll].Hit)
	require.Equal(t, 1.0, rows[RowAll].Silent)
	require.Equal(t, 2, rows[RowPrompts].Turns)
	require.Equal(t, 1, rows[RowQuestions].Turns)
	require.Equal(t, 3, rows["garage"].Turns)
	require.Equal(t, 1, rows["follow-up"].Turns)
	require.NotContains(t, rows, KindTeamQuestion)

	stamp, err := os.ReadFile(filepath.Join(folder, "garage", "s03.made-by"))
	require.NoError(t, err)
	require.Equal(t, "test", string(stamp))
	again, err := RunTurns(t.Context(), openWordy, sets, o)
	require.NoError(t, err)
	require.Equal(t, report.Baseline(), again.Baseline())

	// Indexes of another program are kept on request, else rebuilt.
	for _, step := range []struct {
		keep bool
		want string
	}{{true, "test"}, {false, "another"}} {
		o.MadeBy, o.Keep = "another", step.keep
		again, err = RunTurns(t.Context(), openWordy, sets, o)
		require.NoError(t, err)
		require.Equal(t, report.Baseline(), again.Baseline())
		stamp, err = os.ReadFile(filepath.Join(folder, "garage", "s03.made-by"))
		require.NoError(t, err)
		require.Equal(t, step.want, string(stamp))
	}
}

// A run that is cut off keeps earlier results.
func TestRunTurnsCutOff(t *testing.T) {
	sets, err := ReadTurns("testdata/turns")
	require.NoError(t, err)
	broken := errors.New("broken")
	opened := 0
	report, err := RunTurns(t.Context(), func(ctx context.Context, sources []source.Source, folder string) (*core.Manager, error) {
		if opened++; opened > 1 {
			return nil, broken
		}
		return openWordy(ctx, sources, folder)
	}, sets, TurnsOptions{})
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, "measure turns: garage/s03")
	require.Len(t, report.Turns, 1)
	require.Equal(t, 1, report.Rows[0].Turns)
}

// A missing log is an error: the set is incomplete.
func TestRunTurnsMissingLog(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.CopyFS(root, os.DirFS("testdata/turns/garage")))
	require.NoError(t, os.Remove(filepath.Join(root, "sessions", "s01-door.jsonl")))
	sets, err := ReadTurns(root)
	require.NoError(t, err)
	_, err = RunTurns(t.Context(), openWordy, sets, TurnsOptions{})
	require.ErrorContains(t, err, "a log that ")
}

func TestTurnsFallen(t *testing.T) {
	given := func(grades ...int) []GradedHit {
		all := []GradedHit{}
		for _, grade := range grades {
			all = append(all, GradedHit{Grade: grade, Judged: true, Tokens: 10})
		}
		return all
	}
	run := func(wanted, nothing []GradedHit) TurnsReport {
		return tallyTurns([]AskedTurn{{ID: "1", Kind: "question", Given: wanted}, {ID: "2", Kind: "question", Nothing: true, Given: nothing}})
	}
	baseline := run(given(2, 1), given()).Baseline()
	for name, test := range map[string]struct {
		report TurnsReport
		want   []string
	}{
		"the same":        {run(given(2, 1), given()), nil},
		"better":          {run(given(2), given()), nil},
		"misses":          {run(given(1, 1), given()), []string{"prompts: hit from 1.000 to 0.000", "prompts: precision from 0.500 to 0.000", "prompts: hit or listed from 1.000 to 0.000"}},
		"speaks":          {run(given(2, 1), given(2)), []string{"prompts: silent from 1.000 to 0.000"}},
		"noise beside it": {run(given(2, 1, 0), given()), []string{"prompts: precision from 0.500 to 0.333", "prompts: related from 1.000 to 0.667"}},
	} {
		fallen, err := test.report.Fallen(baseline)
		require.NoError(t, err)
		require.Equal(t, test.want, fallen, name)
	}
	_, err := tallyTurns([]AskedTurn{{ID: "1", Kind: "question"}}).Fallen(baseline)
	require.ErrorContains(t, err, "the baseline has 2 turns, 1 of them with gold")

	file := filepath.Join(t.TempDir(), "baseline.json")
	data, err := json.Marshal(baseline)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, data, 0o600))
	require.NoError(t, run(given(2), given()).PassGate(file))
	require.ErrorContains(t, run(given(2, 1), given(2)).PassGate(file), "fell prompts: silent from 1.000 to 0.000")
	require.NoError(t, os.WriteFile(file, []byte(`{}`), 0o600))
	require.ErrorContains(t, run(given(2), given()).PassGate(file), "it has no rows")
}

// The table shows a dash where it would divide by 0.
func TestTurnsTable(t *testing.T) {
	silent := tallyTurns([]AskedTurn{{ID: "1", Kind: "question", Nothing: true}})
	require.Regexp(t, `(?m)^ *all +1 +0 +– +– +1\.00 +0\.00 +– +– +0\.0`, silent.Table())
	missed := tallyTurns([]AskedTurn{{ID: "1", Kind: "question", Given: []GradedHit{{Grade: 0, Judged: true}}}})
	require.Regexp(t, `(?m)^ *all +1 +1 +0\.00 +0\.00 +– +0\.00 +0\.000 +0\.00 +1\.0`, missed.Table())
}

func TestTurnsDetails(t *testing.T) {
	report := tallyTurns([]AskedTurn{
		{ID: "right", Given: []GradedHit{{Grade: 2, Judged: true}}},
		{ID: "missed", Wanted: []string{"a.md#L1-L2"}, Prompt: "where is it", Silence: "no words"},
		{ID: "noisy", Nothing: true, Given: []GradedHit{{Path: "b.md", Lines: [2]int{3, 4}, Score: .5, Text: "some\ntext"}}},
	})
	details := report.Details()
	require.NotContains(t, details, "right")
	require.Contains(t, details, "missed a.md#L1-L2 (silent: no words)\n  > where is it")
	require.Contains(t, details, "[?] 0.500 b.md#L3-L4: some text")
}

package use

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// A testIndex has one chunk of each document of workspace.
type testIndex struct{ err error }

func (x testIndex) Texts(_ context.Context, path string) (map[string]string, error) {
	text, ok := workspace[path]
	if !ok {
		return nil, x.err
	}
	return map[string]string{keyOf(path): text}, x.err
}

var workspace = map[string]string{
	"notes/staging.md": "# Staging\n\nThe staging database listens on port 5433. Its pool has 40 connections.",
	"notes/deploy.md":  "The proxy's rules are in `ops/nginx/harbourline.conf`. A reload is not enough, since the upstream zones keep their size until the process ends.",
	"notes/ja.md":      "本番のデータベースは毎晩三時に東京の倉庫へ複製される。",
	"b.md":             "Nothing in here but the word zirconium.",
}

func TestJudge(t *testing.T) {
	judge := Judge{Index: testIndex{}, Project: "/src/harbour", Home: "/home/ada"}
	said := func(text string) []Step { return []Step{{Said: text}} }
	for _, tt := range []struct {
		name, path, prompt string
		steps              []Step
		want               Verdict
		why                string // part of it
	}{
		{"five words of it", "notes/deploy.md", "I changed the rules", said("Note that the Upstream zones,\nkeep their size."), Yes, "quotes “the upstream zones keep their” of it"},
		{"four words of it", "notes/deploy.md", "I changed the rules", said("Note that upstream zones keep their values."), No, ""},
		{"five words that are not in a row", "notes/deploy.md", "I changed the rules", said("The zones of the upstream: they keep their own size."), No, ""},
		{"five words in an argument", "notes/deploy.md", "I changed the rules", []Step{{Call: "echo 'upstream zones keep their size'"}}, Yes, "upstream zones keep their size"},
		{"five words that the prompt has", "notes/deploy.md", "is it true that upstream zones keep their size?", said("I cannot say whether upstream zones keep their size."), No, ""},
		{"five words that a tool had shown", "notes/deploy.md", "I changed the rules", []Step{{Call: "man nginx"}, {Shown: "Upstream zones keep their size."}, {Said: "Upstream zones keep their size."}}, No, ""},
		{"five words that a tool showed later", "notes/deploy.md", "I changed the rules", []Step{{Call: "rg 'upstream zones keep their size'"}, {Shown: "upstream zones keep their size"}}, Yes, "upstream zones keep their size"},
		{"a number alone", "notes/staging.md", "where does staging run?", said("Use port 5433."), No, ""},
		{"ten characters without spaces", "notes/ja.md", "バックアップは？", said("毎晩三時に東京の倉庫へ送ります。"), Yes, "quotes “毎晩三時に東京の倉庫” of it"},
		{"nine characters without spaces", "notes/ja.md", "バックアップは？", said("毎晩三時に東京の倉で。"), No, ""},
		{"its file was opened", "notes/staging.md", "where does staging run?", []Step{{Call: "/src/harbour/notes/staging.md"}}, Yes, "opened notes/staging.md"},
		{"its file was opened by a relative path", "notes/staging.md", "where does staging run?", []Step{{Call: "sed -i s/a/b/ notes/staging.md\n"}}, Yes, "opened"},
		{"the prompt names its file", "notes/staging.md", "tidy notes/staging.md", []Step{{Call: "/src/harbour/notes/staging.md"}}, No, ""},
		{"a search has found its file", "notes/staging.md", "tidy the notes", []Step{{Call: "ls notes"}, {Shown: "notes/staging.md\nnotes/deploy.md"}, {Call: "notes/staging.md"}}, No, ""},
		{"a file of the same name elsewhere", "b.md", "tidy", []Step{{Call: "/src/other/b.md ab.md b.md.orig"}}, No, ""},
		{"a file of the home folder", "~/.beans/a.md", "tidy", []Step{{Call: "/home/ada/.beans/a.md"}}, Yes, "opened"},
		{"no answer", "notes/staging.md", "where does staging run?", []Step{{Shown: "5433"}}, Unknown, "no answer was seen"},
		{"it has changed meanwhile", "notes/gone.md", "where does staging run?", said("5433"), Unknown, "no longer in the index"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			turn := NewTurn(testTime, "claude-code", "s", tt.prompt, true, []Hit{{ID: keyOf(tt.path), Path: tt.path, Source: tt.path + "#L1"}})
			hits, err := judge.Hits(t.Context(), turn, Answer{Before: []string{tt.prompt}, Steps: tt.steps})
			require.NoError(t, err)
			require.Equal(t, tt.want, hits[0].Used, hits[0].Why)
			require.Contains(t, hits[0].Why, tt.why)
			require.Equal(t, tt.why == "", hits[0].Why == "", hits[0].Why)
			require.Empty(t, turn.Hits[0].Used, "the turn stays as it was")
		})
	}
}

func TestJudgeFails(t *testing.T) {
	x := testIndex{errors.New("the disk is gone")}
	turn := NewTurn(testTime, "codex", "s", "x", true, []Hit{{ID: "a", Path: "a.md", Source: "a.md#L1"}})
	_, err := Judge{Index: x}.Hits(t.Context(), turn, Answer{Steps: []Step{{Said: "y"}}})
	require.ErrorIs(t, err, x.err)
	require.ErrorContains(t, err, "judge the use of a.md#L1")
}

// A reason names words of the answer, which may be a secret.
func TestReasonsHaveNoSecrets(t *testing.T) {
	require.NotContains(t, clean("names AKIAIOSFODNN7REALKEY of it, password: hunter2-and-more", maxWhy), "hunter2")
}

func FuzzRuns(f *testing.F) {
	for _, text := range workspace {
		f.Add(text, text)
	}
	f.Add("a\\nb \\\\ x.", "\xff\xfe..")
	f.Add("a word", "") // went on for ever
	f.Fuzz(func(t *testing.T, text, other string) {
		for _, run := range runsOf(text) {
			if run == "" {
				t.Fatal("an empty run")
			}
		}
		Judge{Project: "/p"}.names(text, other)
		arguments(text)
	})
}

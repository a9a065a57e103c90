package use

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/journal"
)

var testTime = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// turnOf is a prompt that got passages of documents.
func turnOf(prompt string, paths ...string) journal.Entry {
	e := journal.Entry{Head: journal.Head{ID: journal.NewID(), Agent: "claude-code", Session: "s"},
		Event: journal.Event{At: testTime, Kind: journal.PromptEvent}, Answer: journal.Answer{Took: "1ms"}}
	e.SetPrompt(prompt, true)
	for _, path := range paths {
		e.Given = append(e.Given, journal.Given{Kind: journal.Passage, Key: journal.KeyOf(path), Path: path, Source: path + "#L1", Tokens: 7})
	}
	return e
}

// A testIndex has one chunk of each document of workspace.
type testIndex struct{ err error }

func (x testIndex) Texts(_ context.Context, path string) (map[string]string, error) {
	text, ok := workspace[path]
	if !ok {
		return nil, x.err
	}
	return map[string]string{journal.KeyOf(path): text}, x.err
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
		want               journal.Use
		why                string // part of it
	}{
		{"five words of it", "notes/deploy.md", "I changed the rules", said("Note that the Upstream zones,\nkeep their size."), journal.Yes, "quotes “the upstream zones keep their” of it"},
		{"four words of it", "notes/deploy.md", "I changed the rules", said("Note that upstream zones keep their values."), journal.No, ""},
		{"five words that are not in a row", "notes/deploy.md", "I changed the rules", said("The zones of the upstream: they keep their own size."), journal.No, ""},
		{"five words in an argument", "notes/deploy.md", "I changed the rules", []Step{{Call: "echo 'upstream zones keep their size'"}}, journal.Yes, "upstream zones keep their size"},
		{"five words that the prompt has", "notes/deploy.md", "is it true that upstream zones keep their size?", said("I cannot say whether upstream zones keep their size."), journal.No, ""},
		{"five words that a tool had shown", "notes/deploy.md", "I changed the rules", []Step{{Call: "man nginx"}, {Shown: "Upstream zones keep their size."}, {Said: "Upstream zones keep their size."}}, journal.No, ""},
		{"five words that a tool showed later", "notes/deploy.md", "I changed the rules", []Step{{Call: "rg 'upstream zones keep their size'"}, {Shown: "upstream zones keep their size"}}, journal.Yes, "upstream zones keep their size"},
		{"a number alone", "notes/staging.md", "where does staging run?", said("Use port 5433."), journal.No, ""},
		{"ten characters without spaces", "notes/ja.md", "バックアップは？", said("毎晩三時に東京の倉庫へ送ります。"), journal.Yes, "quotes “毎晩三時に東京の倉庫” of it"},
		{"nine characters without spaces", "notes/ja.md", "バックアップは？", said("毎晩三時に東京の倉で。"), journal.No, ""},
		{"its file was opened", "notes/staging.md", "where does staging run?", []Step{{Call: "/src/harbour/notes/staging.md"}}, journal.Yes, "opened notes/staging.md"},
		{"its file was opened by a relative path", "notes/staging.md", "where does staging run?", []Step{{Call: "sed -i s/a/b/ notes/staging.md\n"}}, journal.Yes, "opened"},
		{"the prompt names its file", "notes/staging.md", "tidy notes/staging.md", []Step{{Call: "/src/harbour/notes/staging.md"}}, journal.No, ""},
		{"a search has found its file", "notes/staging.md", "tidy the notes", []Step{{Call: "ls notes"}, {Shown: "notes/staging.md\nnotes/deploy.md"}, {Call: "notes/staging.md"}}, journal.No, ""},
		{"a file of the same name elsewhere", "b.md", "tidy", []Step{{Call: "/src/other/b.md ab.md b.md.orig"}}, journal.No, ""},
		{"a file of the home folder", "~/.beans/a.md", "tidy", []Step{{Call: "/home/ada/.beans/a.md"}}, journal.Yes, "opened"},
		{"no answer", "notes/staging.md", "where does staging run?", []Step{{Shown: "5433"}}, journal.Unknown, "no answer was seen"},
		{"it has changed meanwhile", "notes/gone.md", "where does staging run?", said("5433"), journal.Unknown, "no longer in the index"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			turn := turnOf(tt.prompt, tt.path)
			verdicts, err := judge.Verdicts(t.Context(), turn, Answer{Before: []string{tt.prompt}, Steps: tt.steps})
			require.NoError(t, err)
			require.Equal(t, tt.want, verdicts[0].Used, verdicts[0].Why)
			require.Contains(t, verdicts[0].Why, tt.why)
			require.Equal(t, tt.why == "", verdicts[0].Why == "", verdicts[0].Why)
		})
	}
}

// A line is used if it was opened.
func TestJudgeLines(t *testing.T) {
	turn := turnOf("x")
	turn.Given = []journal.Given{{Kind: journal.Line, Key: "abcde-12"}, {Kind: journal.Line, Key: "abcde-40"}, {Kind: journal.Statement, Key: "s"}}
	verdicts, err := Judge{Index: testIndex{}}.Verdicts(t.Context(), turn, Answer{Steps: []Step{{Call: "memcore read abcde-12\n"}}})
	require.NoError(t, err)
	require.Equal(t, []journal.Verdict{{Key: "abcde-12", Used: journal.Yes, Why: "opened"}, {Key: "abcde-40", Used: journal.No}}, verdicts)
}

func TestJudgeFails(t *testing.T) {
	x := testIndex{errors.New("the disk is gone")}
	turn := turnOf("x", "a.md")
	_, err := Judge{Index: x}.Verdicts(t.Context(), turn, Answer{Steps: []Step{{Said: "y"}}})
	require.ErrorIs(t, err, x.err)
	require.ErrorContains(t, err, "judge the use of a.md#L1")
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
		Judge{Project: "/p"}.named(other)(text)
		arguments(text)
	})
}

package use

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/keyword"
)

// An index of a small workspace, with real frequencies.
type testIndex struct {
	*keyword.Index
	texts map[string]map[string]string
	err   error
}

func (x testIndex) Texts(_ context.Context, path string) (map[string]string, error) {
	return x.texts[path], x.err
}

var workspace = map[string]string{
	"notes/staging.md": "# Staging\n\nThe staging database listens on port 5433. Its pool has 40 connections.",
	"notes/deploy.md":  "The proxy's rules are in `ops/nginx/harbourline.conf`. You must restart nginx after this change. A reload is not enough, since the upstream zones keep their size until the process ends.",
	"notes/rota.md":    "The pangolin rota is kept by Ines Okafor on the third shelf.",
	"notes/cache.md":   "Use getCacheStats and never read the counters directly. They wrap around after two days.",
	"notes/ferry.md":   "The ferry leaves at eight and returns before the tide. Passengers carry lanterns, blankets and sandwiches.",
	"notes/ja.md":      "本番のデータベースは毎晩三時に東京の倉庫へ複製される。",
	"notes/de.md":      "Der Lieferschein wird vom Hafenmeister unterschrieben, bevor die Ladung gelöscht wird.",
	"notes/year.md":    "In 2024 the office moved. The readme is README.md.",
	"notes/numbers.md": "Lines 36 and 81 of section 1.2 are to be looked at again.",
	"notes/sibling.md": "The test database has another pool and other connections.",
	"b.md":             "Nothing in here but the word zirconium.",
}

func newTestIndex(t *testing.T) testIndex {
	t.Helper()
	ix, err := keyword.Open(t.Context(), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { ix.Close() })
	x := testIndex{Index: ix, texts: map[string]map[string]string{}}
	var records []store.Record
	for path, text := range workspace {
		id := keyOf(path)
		records = append(records, store.Record{ID: id, Path: path, Text: text})
		x.texts[path] = map[string]string{id: text}
	}
	require.NoError(t, ix.Put(t.Context(), records))
	require.NoError(t, ix.Commit(t.Context()))
	return x
}

func TestJudge(t *testing.T) {
	judge := Judge{Index: newTestIndex(t), Project: "/src/harbour", Home: "/home/ada"}
	said := func(texts ...string) (all []Step) {
		for _, text := range texts {
			all = append(all, Step{Said: text})
		}
		return all
	}
	for _, tt := range []struct {
		name, path, prompt string
		steps              []Step
		want               Verdict
		why                string // part of it
	}{
		{"its number is in the answer", "notes/staging.md", "where does staging run?", said("Use port 5433."), Yes, "names 5433 of it"},
		{"its number is in an argument", "notes/staging.md", "connect to staging", []Step{{Call: "psql -h localhost:5433 app"}}, Yes, "5433"},
		{"the prompt has the number", "notes/staging.md", "is staging on 5433?", said("Yes, staging is on 5433."), No, ""},
		{"it shares the prompt's words only", "notes/staging.md", "which port does the staging database listen on?", said("I do not know which port the staging database listens on."), No, ""},
		{"a tool returned the number before", "notes/staging.md", "where does staging run?", []Step{{Said: "Let me look."}, {Call: "cat config.yml"}, {Shown: "port: 5433"}, {Said: "It is 5433."}}, Unknown, "a tool had shown 5433 before"},
		{"a tool returned it after the agent had said it", "notes/staging.md", "where does staging run?", []Step{{Call: "rg 5433"}, {Shown: "config.yml: 5433"}, {Said: "It is 5433."}}, Yes, "5433"},
		{"its path is named", "notes/deploy.md", "I changed the rules", said("They are in ops/nginx/harbourline.conf, so go on."), Yes, "ops/nginx/harbourline.conf"},
		{"the end of its path is edited", "notes/deploy.md", "I changed the rules", []Step{{Call: "/etc/harbourline.conf"}}, Yes, "harbourline.conf"},
		{"its advice comes back in its words", "notes/deploy.md", "I changed the rules", said("Restart nginx: a reload is not enough, since the upstream zones keep their size until the process ends."), Yes, "upstream"},
		{"a part of it is quoted", "notes/deploy.md", "I changed the nginx rules. What do I have to do?", said("Note that the upstream zones keep their size."), Yes, "“upstream zones keep their size”"},
		{"a part of it is quoted that the prompt has", "notes/deploy.md", "is it true that the upstream zones keep their size?", said("I cannot say whether the upstream zones keep their size."), No, ""},
		{"half of its telling words", "notes/deploy.md", "I changed the nginx rules. What do I have to do?", said("Restart it. With a reload, zones of the upstream would be too small."), Yes, "names upstream, restart, reload, zones of it"},
		{"what everybody says one after the other", "notes/sibling.md", "and now?", said("There is nothing in here but the end of it."), No, ""},
		{"some of its words are in a long answer", "notes/deploy.md", "write me a story", said("He had to change the process after the rules were read, and nothing of this was enough; until the night ended he kept on."), No, ""},
		{"a name", "notes/rota.md", "who keeps the pangolin rota?", said("It is with Ines Okafor, on the third shelf."), Yes, "okafor"},
		{"not the name", "notes/rota.md", "who keeps the pangolin rota?", said("Nobody that I know of keeps the pangolin rota."), No, ""},
		{"an identifier in code", "notes/cache.md", "print the statistics", []Step{{Call: "fmt.Println(cache.getCacheStats())"}}, Yes, "getcachestats"},
		{"an identifier of the same stem", "notes/cache.md", "print the statistics", said("The cache has stats."), No, ""},
		{"most of its rare words", "notes/ferry.md", "plan the trip", said("It leaves at eight; bring lanterns, blankets and sandwiches for the passengers."), Yes, "blankets"},
		{"another subject", "notes/ferry.md", "plan the trip", said("Take the train at nine, it has a restaurant."), No, ""},
		{"a short answer", "b.md", "what is in there?", said("It has zirconium."), Yes, "names zirconium of it"},
		{"a short answer in other forms of the prompt's words", "notes/ferry.md", "which passenger carries a blanket?", said("No passengers carrying blankets here."), No, ""},
		{"Japanese", "notes/ja.md", "バックアップは？", said("毎晩三時に東京の倉庫へ複製されます。"), Yes, "東京"},
		{"Japanese about something else", "notes/ja.md", "バックアップは？", said("分かりません。設定を確認してください。"), No, ""},
		{"German nouns are not all names", "notes/de.md", "Was ist mit dem Lieferschein?", said("Der Lieferschein und die Ladung stehen heute Morgen beim Pförtner am Eingang bereit."), No, ""},
		{"a year and a name of everywhere", "notes/year.md", "summarise", said("See README.md, written in 2024."), No, ""},
		{"small numbers and versions", "notes/numbers.md", "go on", said("Step 81 comes before 36, as 1.2 has it."), No, ""},
		{"its file was opened", "notes/staging.md", "where does staging run?", []Step{{Call: "/src/harbour/notes/staging.md"}}, Yes, "file notes/staging.md of it was touched"},
		{"its file was opened by a relative path", "notes/staging.md", "where does staging run?", []Step{{Call: "sed -i s/a/b/ notes/staging.md\n"}}, Yes, "touched"},
		{"the prompt names its file", "notes/staging.md", "tidy notes/staging.md", []Step{{Call: "/src/harbour/notes/staging.md"}}, No, ""},
		{"a search has found its file", "notes/staging.md", "tidy the notes", []Step{{Call: "ls notes"}, {Shown: "notes/staging.md\nnotes/deploy.md"}, {Call: "notes/staging.md"}}, No, ""},
		{"a file of the same name elsewhere", "b.md", "tidy", []Step{{Call: "/src/other/b.md ab.md b.md.orig"}}, No, ""},
		{"a file of the home folder", "~/.beans/a.md", "tidy", []Step{{Call: "/home/ada/.beans/a.md"}}, Yes, "touched"},
		{"no answer", "notes/staging.md", "where does staging run?", []Step{{Shown: "5433"}}, Unknown, "no answer was seen"},
		{"it has changed meanwhile", "notes/gone.md", "where does staging run?", said("5433"), Unknown, "no longer in the index"},
		{"the project's own path has its words", "notes/ferry.md", "list", []Step{{Call: "/src/harbour/x.go"}}, No, ""},
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

// Among many chunks fewer words are rare, and frequent ones tell nothing.
func TestJudgeInALargeMemory(t *testing.T) {
	x := newTestIndex(t)
	var many []store.Record
	for i := range 400 {
		many = append(many, store.Record{ID: keyOf(strings.Repeat("x", i)), Path: "many.md", Text: "Passengers carry lanterns on port 5433."})
	}
	require.NoError(t, x.Put(t.Context(), many))
	require.NoError(t, x.Commit(t.Context()))
	judge := Judge{Index: x}
	for answer, want := range map[string]Verdict{
		"Bring lanterns and passengers to 5433.":                       No,
		"The ferry leaves at eight, so bring blankets and sandwiches.": Yes,
	} {
		turn := NewTurn(testTime, "codex", "s", "trip", true, []Hit{{ID: keyOf("notes/ferry.md"), Path: "notes/ferry.md"}})
		hits, err := judge.Hits(t.Context(), turn, Answer{Steps: []Step{{Said: answer}}})
		require.NoError(t, err)
		require.Equal(t, want, hits[0].Used, answer+hits[0].Why)
	}
}

func TestJudgeFails(t *testing.T) {
	x := newTestIndex(t)
	x.err = errors.New("the disk is gone")
	turn := NewTurn(testTime, "codex", "s", "x", true, []Hit{{ID: "a", Path: "a.md", Source: "a.md#L1"}})
	_, err := Judge{Index: x}.Hits(t.Context(), turn, Answer{Steps: []Step{{Said: "y"}}})
	require.ErrorIs(t, err, x.err)
	require.ErrorContains(t, err, "judge the use of a.md#L1")
}

// A reason names words of the answer, which may be a secret.
func TestReasonsHaveNoSecrets(t *testing.T) {
	require.NotContains(t, clean("names AKIAIOSFODNN7REALKEY of it, password: hunter2-and-more", maxWhy), "hunter2")
}

func FuzzWords(f *testing.F) {
	for _, text := range workspace {
		f.Add(text, text)
	}
	f.Add("a\\nb \\\\ x.", "\xff\xfe..")
	f.Add("a word", "") // went on for ever
	f.Fuzz(func(t *testing.T, text, other string) {
		w := words{}
		w.add(text)
		for word := range w {
			if word == "" {
				t.Fatal("an empty word")
			}
		}
		of, in := newWording(), newWording()
		of.add(text)
		in.add(other)
		of.found(in, map[string]int{}, 10)
		Judge{Project: "/p"}.names(text, other)
		arguments(text)
	})
}

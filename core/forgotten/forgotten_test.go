package forgotten_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/forgotten"
	"github.com/memcore/memcore/internal/jsonfile"
)

func same(text string) string { return text }

// forget returns a list that forgets some passages.
func forget(t *testing.T, says forgotten.Passages, some ...int) *forgotten.Set {
	t.Helper()
	file := filepath.Join(t.TempDir(), "forgotten.json")
	require.NoError(t, forgotten.Add(t.Context(), file, forgotten.Part{Path: "a", Passages: says, Some: some}))
	set, err := forgotten.Load(file, "")
	require.NoError(t, err)
	return set
}

const pilot = "The harbour pilot is called Quillfeather, and he wants to be paid in advance."

// A text that tells enough is known in whatever form it comes, and nothing else is.
func TestATellingText(t *testing.T) {
	set := forget(t, forgotten.OfMarkdown("# Pilot\n\n"+pilot+"\n"), 1)
	for name, tt := range map[string]struct {
		text string
		want bool
	}{
		"as it was":                {pilot, true},
		"below another line":       {"# Other\n\nA line above.\n\n" + pilot + "\n\nAnd one below.", true},
		"wrapped":                  {strings.ReplaceAll(pilot, ", ", ",\n"), true},
		"with other ends":          {strings.ReplaceAll(pilot, ", ", ",\r\n") + "\r\n", true},
		"quoted":                   {"> " + strings.ReplaceAll(pilot, ", ", ",\n> "), true},
		"as an item":               {"- [ ] " + pilot + "\n- another item", true},
		"as a numbered item":       {"1. one\n2) two\n\n* " + pilot, true},
		"ticked":                   {"- [x] " + pilot, true},
		"ticked in a list":         {"> 1. [X] " + pilot + "\n2. [ ] more", true},
		"as a footnote":            {"[^1]: See below.\n[^2]: " + pilot, true},
		"as a numbered heading":    {"## 12. " + pilot, true},
		"with a number of its own": {"[12] " + pilot, false},
		"with invisible marks":     {strings.Replace(strings.Replace(pilot, "pilot", "pi\u034flo\ufe0ft", 1), "paid", "p\u00ada\u200bi\u2060d\U000e0041\u115f", 1), true},
		"with a mark on no letter": {strings.Replace(pilot, " is", " \u0301is", 1), true},
		"with breaks and entities": {strings.NewReplacer("harbour ", "harbour&nbsp;", ", and", ",<br/>and", "paid", "pa&shy;id").Replace(pilot), true},
		"with another letter":      {strings.Replace(pilot, "pilot", "pilo\u034f\u0301t", 1), false},
		"with marks":               {"**The harbour pilot** is called _Quillfeather_, and he wants to be `paid` in advance", true},
		"in upper case":            {strings.ToUpper(pilot), true},
		"in wide letters":          {wide(pilot), true},
		"as a row of a table":      {"| a | b |\n|---|---|\n| The harbour pilot is called | Quillfeather, and he wants to be paid in advance. |\n| c | d |", true},
		"in a fence":               {"```text\n" + pilot + "\n```", true},
		"with another word":        {strings.Replace(pilot, "advance", "arrears", 1), false},
		"within a longer text":     {"Yes. " + pilot, false},
		"a part of it":             {pilot[:50], false},
		"what is said beside it":   {"# Pilot\n\nHe came at noon.", false},
	} {
		t.Run(name, func(t *testing.T) {
			left, hidden := set.Markdown([]byte(tt.text))
			require.Equal(t, tt.want, hidden == 1, "%q", left)
			require.Equal(t, strings.Count(tt.text, "\n"), strings.Count(string(left), "\n"), "lines keep their numbers")
			if tt.want {
				require.NotContains(t, strings.ToLower(string(left)), "quillfeather")
			} else {
				require.Equal(t, tt.text, string(left))
			}
		})
	}
}

func wide(text string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r - 'A' + 'Ａ'
		}
		return r
	}, text)
}

func user(texts ...string) (turns []chunker.Turn) {
	for i, text := range texts {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		turns = append(turns, chunker.Turn{Line: i + 1, EndLine: i + 1, Role: role, Text: text})
	}
	return turns
}

// What is forgotten as an item stays forgotten when it is ticked or has another number.
func TestAnItem(t *testing.T) {
	set := forget(t, forgotten.OfMarkdown("1. First.\n2. [ ] "+pilot+"\n\n[^2]: "+strings.Replace(pilot, "pilot", "miller", 1)), 1, 2)
	_, hidden := set.Markdown([]byte("3. [x] " + pilot + "\n4. " + pilot + "\n\n" + pilot + "\n\n[^note]: " + strings.Replace(pilot, "pilot", "miller", 1)))
	require.Equal(t, 4, hidden)
}

// A short text is known by what stands before or behind it.
func TestAShortText(t *testing.T) {
	const asks, answers = "Shall I drop the table of old invoices in the staging database?", "I dropped it; 4,210 rows are gone, and the disk has room again."
	set := forget(t, forgotten.OfTurns(user(asks, "yes", answers), same), 1)
	for name, tt := range map[string]struct {
		turns []chunker.Turn
		want  []int // turns that are hidden
	}{
		"as it was":                {user(asks, "yes", answers), []int{1}},
		"below another turn":       {user("hello", asks, "Yes.", answers), []int{2}},
		"the end is cut":           {user(asks, "yes"), []int{1}},
		"the beginning is cut":     {user("yes", answers), []int{0}},
		"one was put before it":    {user(asks, "hm", "yes", answers), []int{2}},
		"one was put behind it":    {user(asks, "yes", "hm", answers), []int{1}},
		"in another conversation":  {user("Shall I push this branch to the server of the customer?", "yes", "I pushed it."), nil},
		"alone":                    {user("yes"), nil},
		"twice, one of them here":  {user("Shall I push this branch to the server of the customer?", "yes", asks, "yes", answers), []int{3}},
		"what stands beside it is": {user(asks, "no", answers), nil},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(tt.turns)
			require.Equal(t, len(tt.want), set.Turns(tt.turns, same))
			for i, turn := range tt.turns {
				if slices.Contains(tt.want, i) {
					require.Empty(t, turn.Text)
				} else {
					require.Equal(t, before[i], turn)
				}
			}
		})
	}
	heading := forget(t, forgotten.OfMarkdown("# PIN\n\n4711\n"), 0, 1)
	for text, want := range map[string]int{"# PIN\n\n4711\n": 2, "# pin\n4711": 2, "# PIN\n\n4711\n\n# Other\n\nThis has nothing to do with it at all.\n": 0, "4711\n": 0} {
		_, hidden := heading.Markdown([]byte(text))
		require.Equal(t, want, hidden, "a document that says no more is known by all of it: %q", text)
	}
}

// In its own document a short text stays hidden, whatever is added on either side of it.
func TestAShortTextAtItsPlace(t *testing.T) {
	const more = "Which compiler do we need for the small board with the sensors?"
	log := forget(t, forgotten.OfTurns(user("Never use quaggafern.", "Ok."), same), 0)
	table := forget(t, forgotten.OfMarkdown("# PIN\n\n| north | 77 |\n| south | 88 |\n| north | 77 |\n\n"+more), 1)
	goesOn := user("Never use quaggafern.", "Ok.", more, "Never use quaggafern.", "Ok.")
	require.Equal(t, 0, log.For("", "b").Turns(slices.Clone(goesOn), same), "elsewhere it says something else")
	require.Equal(t, 1, log.For("", "a").Turns(goesOn, same))
	require.Empty(t, goesOn[0].Text)
	for text, want := range map[string]string{
		"# PIN\n\n| north | 77 |\n| south | 88 |\n| north | 77 |\n\n" + more:                                       "# PIN\n\n\n| south | 88 |\n| north | 77 |\n\n" + more,
		"# PIN\n\n" + more + "\n\n| east | 55 |\n| north | 77 |\n| attic | 66 |\n| north | 77 |\n| south | 88 |\n": "# PIN\n\n" + more + "\n\n| east | 55 |\n\n| attic | 66 |\n| north | 77 |\n| south | 88 |\n",
	} {
		left, hidden := table.For("", "a").Markdown([]byte(text))
		require.Equal(t, 1, hidden)
		require.Equal(t, want, string(left))
	}
}

// A turn goes with its calls and with each of its paragraphs, in notes, too; of one without text
// the calls are known.
func TestTurns(t *testing.T) {
	failed := chunker.ToolUse{Name: "Bash", Input: `{"command":"mill login --user quillfeather --password hunter2"}`, Output: "Exit code 1\nerror: permission denied", Failed: true}
	turns := []chunker.Turn{
		{Line: 1, EndLine: 1, Role: "user", Text: "Please look at this:\n\n" + pilot + "\n\nok?"},
		{Line: 2, EndLine: 2, Role: "assistant", Text: "I look at it.", Tools: []chunker.ToolUse{failed}},
		{Line: 3, EndLine: 3, Role: "assistant", Tools: []chunker.ToolUse{failed}},
		{Line: 4, EndLine: 4, Role: "user", Text: "The ferry leaves from the northern quay at eight.", Asked: pilot},
	}
	says := forgotten.OfTurns(turns, same)
	left := slices.Clone(turns)
	require.Equal(t, 3, forget(t, says, 0, 2).Turns(left, same))
	require.Equal(t, []chunker.Turn{{Line: 1, EndLine: 1, Role: "user"}, turns[1], {Line: 3, EndLine: 3, Role: "assistant"}, {Line: 4, EndLine: 4, Role: "user", Text: turns[3].Text}}, left)

	merged := []chunker.Turn{{Line: 1, EndLine: 1, Role: "user", Text: "Two things.\n\n" + pilot + "\n\nThe ferry leaves from the northern quay at eight."}}
	require.Equal(t, 1, forget(t, says, 0).Turns(merged, same))
	require.Equal(t, "Two things.\n\n\n\nThe ferry leaves from the northern quay at eight.", merged[0].Text)
	_, hidden := forget(t, says, 0).Markdown([]byte("# Copied\n\n> " + pilot))
	require.Equal(t, 1, hidden)

	require.Equal(t, []int{0, 1}, says.In(1, 2))
	one := forgotten.OfTurns([]chunker.Turn{{Line: 1, EndLine: 1, Role: "user", Text: "a\nb"}, {Line: 1, EndLine: 1, Role: "user", Text: pilot}}, same)
	require.Equal(t, []int{1}, one.Nearest(one.In(1, 1), pilot[:40]), "a log may be one line")
}

// Whatever passages a document has, in whatever order, what is forgotten is not in it any more, and
// a telling text that is not forgotten stays.
func TestCopies(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("anchor buoy crane dock ferry gull harbour jetty keel lamp mast pilot quay rope sail tide wharf éclair Straße 港口 Гавань")
	say := func() string {
		var text []string
		for range 1 + random.IntN(14) {
			text = append(text, words[random.IntN(len(words))])
		}
		return strings.Join(text, " ")
	}
	for range 500 {
		var paragraphs []string
		for range 2 + random.IntN(8) {
			paragraphs = append(paragraphs, say())
		}
		says := forgotten.OfMarkdown(strings.Join(paragraphs, "\n\n"))
		require.Len(t, says, len(paragraphs))
		gone := random.IntN(len(paragraphs))
		set := forget(t, says, gone)
		at := random.IntN(len(paragraphs) + 1)
		beside := paragraphs[gone:]
		if at > gone {
			beside = paragraphs[:gone+1]
		}
		if len([]rune(strings.ReplaceAll(strings.Join(beside, ""), " ", ""))) < 32 {
			continue // a short text near the beginning or end has too little on that side
		}
		copied := slices.Insert(slices.Clone(paragraphs), at, "inserted "+say())
		marks := []string{"", "> ", "- ", "## "}
		for i := range copied {
			copied[i] = marks[random.IntN(len(marks))] + norm.NFD.String(strings.ToUpper(copied[i]))
		}
		left, hidden := set.Markdown([]byte(strings.Join(copied, "\n\n")))
		require.GreaterOrEqual(t, hidden, 1, "%q of %q in %q", paragraphs[gone], paragraphs, copied)
		for i, p := range copied {
			if i -= btoi(i > at); i != gone && len([]rune(p)) > 60 && !strings.EqualFold(paragraphs[min(i, len(paragraphs)-1)], paragraphs[gone]) {
				require.Contains(t, string(left), p)
			}
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// The list has no word of what it forgets, and no hash that another list has.
func TestTheListTellsNothing(t *testing.T) {
	says := forgotten.OfMarkdown("# Pilot\n\n" + pilot)
	var texts []string
	for range 2 {
		file := filepath.Join(t.TempDir(), "forgotten.json")
		require.NoError(t, forgotten.Add(t.Context(), file, forgotten.Part{In: "w", Path: "a.md", Passages: says, Some: []int{0, 1}}))
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NotContains(t, strings.ToLower(string(data)), "pilot")
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		var list struct {
			Salt      string
			Forgotten []struct{ Texts string }
		}
		require.NoError(t, json.Unmarshal(data, &list))
		require.Len(t, list.Salt, 32)
		texts = append(texts, list.Forgotten[0].Texts)
	}
	require.NotEqual(t, texts[0], texts[1])
}

// What cannot be read hides nothing silently: each is an error, and the file stays as it is.
func TestDamagedLists(t *testing.T) {
	for text, want := range map[string]error{
		`{"forgotten":[{"path":"notes/old.md","at":"2026-01-02T03:04:05Z"}]}`:                                                   jsonfile.ErrDamaged,
		`{"salt":"00","forgotten":[]}`:                                                                                          jsonfile.ErrDamaged,
		`{"salt":"000102030405060708090a0b0c0d0e0f","forgotten":[{"path":"a","texts":"00"}]}`:                                   jsonfile.ErrDamaged,
		`{"salt":"000102030405060708090a0b0c0d0e0f","forgotten":[{"path":"a","salt":"x","texts":""}]}`:                          jsonfile.ErrDamaged,
		`{"salt":"000102030405060708090a0b0c0d0e0f","forgotten":{}}`:                                                            jsonfile.ErrDamaged,
		`{"format":2,"salt":"000102030405060708090a0b0c0d0e0f","forgotten":[{"path":"a","texts":"0000000000000000 zzzzzzzz"}]}`: jsonfile.ErrNewer,
	} {
		file := filepath.Join(t.TempDir(), "forgotten.json")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := forgotten.Load(file, "")
		require.ErrorIs(t, err, want, text)
		require.ErrorContains(t, err, file)
		require.ErrorIs(t, forgotten.Add(t.Context(), file, forgotten.Part{Path: "a", Whole: true}), want)
		_, err = forgotten.Remember(t.Context(), file, "", "a", nil)
		require.ErrorIs(t, err, want)
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, text, string(data))
	}
}

// Remember takes back a place, and what a document says wherever it was forgotten.
func TestRemember(t *testing.T) {
	file := filepath.Join(t.TempDir(), "forgotten.json")
	ferry := "The ferry leaves from the northern quay at eight in the morning."
	says := forgotten.OfMarkdown(pilot + "\n\n" + ferry)
	add := func(p forgotten.Part) { require.NoError(t, forgotten.Add(t.Context(), file, p)) }
	add(forgotten.Part{In: "one", Path: "a.md", Passages: says, Some: []int{0, 1}})
	add(forgotten.Part{In: "two", Path: "a.md", Whole: true})
	add(forgotten.Part{In: "one", Path: "~/log.jsonl", Whole: true})
	add(forgotten.Part{In: "one", Path: "~/log.jsonl", Whole: true})
	hidden := func(text string) int {
		set, err := forgotten.Load(file, "")
		require.NoError(t, err)
		_, n := set.Markdown([]byte(text))
		return n
	}
	whole := func(in, path string) bool {
		set, err := forgotten.Load(file, "")
		require.NoError(t, err)
		return set.Whole(in, path)
	}
	require.True(t, whole("two", "a.md"))
	require.False(t, whole("one", "a.md"))
	require.True(t, whole("two", "~/log.jsonl"), "it is the same file in all workspaces")
	set, err := forgotten.Load(file, "")
	require.NoError(t, err)
	require.Equal(t, set.Changed, set.Added)

	n, err := forgotten.Remember(t.Context(), file, "three", "copy.md", forgotten.OfMarkdown("# Copy\n\n"+ferry))
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, 0, hidden(ferry))
	require.Equal(t, 1, hidden(pilot))
	later, err := forgotten.Load(file, "")
	require.NoError(t, err)
	require.Greater(t, later.Changed, set.Changed)
	require.Equal(t, set.Added, later.Added, "nothing was added")

	require.NoError(t, forgotten.Move(t.Context(), file, "two", "moved"))
	require.True(t, whole("moved", "a.md"))
	n, err = forgotten.Remember(t.Context(), file, "one", "a.md", nil)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, 0, hidden(pilot))
	n, err = forgotten.Remember(t.Context(), file, "", "~/log.jsonl", nil)
	require.NoError(t, err)
	require.Equal(t, 1, n, "twice is once")
	require.True(t, whole("moved", "a.md"))
}

// A list of another machine, with another salt, is asked beside this one, in those workspaces only
// that come with it.
func TestMerge(t *testing.T) {
	here, there := filepath.Join(t.TempDir(), "here.json"), filepath.Join(t.TempDir(), "there.json")
	says := forgotten.OfMarkdown(pilot)
	require.NoError(t, forgotten.Add(t.Context(), there,
		forgotten.Part{In: "work-1", Path: "a.md", Whole: true, Passages: says, Some: []int{0}},
		forgotten.Part{In: "mine-3", Path: "c.md", Whole: true}, forgotten.Part{Path: "~/log.jsonl", Whole: true}))
	require.NoError(t, forgotten.Add(t.Context(), here, forgotten.Part{Path: "b.md", Whole: true}))
	read := func(file string) []byte {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		return data
	}
	hidden := func(file, in string, paths ...string) (n int) {
		set, err := forgotten.Load(file, in)
		require.NoError(t, err)
		for _, path := range paths {
			if set.Whole(in, path) {
				n++
			}
		}
		_, texts := set.Markdown([]byte(pilot))
		return n + texts
	}
	merge := func(file string, data []byte, names map[string]string, want int) {
		t.Helper()
		for _, want := range []int{want, 0} {
			n, err := forgotten.Missing(file, data, names)
			require.NoError(t, err)
			require.Equal(t, want, n)
			require.NoError(t, forgotten.Merge(t.Context(), file, data, names))
		}
	}
	merge(here, read(there), nil, 0)
	merge(here, read(there), map[string]string{"work-1": "work-2", "other-1": "other-2"}, 4)
	require.Equal(t, 3, hidden(here, "work-2", "a.md", "~/log.jsonl"))
	require.Equal(t, 2, hidden(here, "other-2", "a.md", "~/log.jsonl"), "also where the same is said in another of them")
	require.Zero(t, hidden(here, "mine-3", "a.md", "c.md", "~/log.jsonl"))
	merge(there, read(there), map[string]string{"work-1": "work-1"}, 0)

	require.NoError(t, forgotten.Move(t.Context(), here, "work-2", "moved"))
	require.Equal(t, 3, hidden(here, "moved", "a.md", "~/log.jsonl"))
	require.Zero(t, hidden(here, "work-2", "a.md", "~/log.jsonl"))
	third := filepath.Join(t.TempDir(), "third.json")
	merge(third, read(here), map[string]string{"mine-3": "mine-4", "moved": "again"}, 5)
	require.Equal(t, 3, hidden(third, "again", "a.md", "~/log.jsonl"))
	require.Zero(t, hidden(third, "mine-4", "c.md", "~/log.jsonl"))
	require.Error(t, forgotten.Merge(t.Context(), here, []byte(`{"forgotten":[{"path":"a"}]}`), nil))
}

// Blanking lines keeps the others, for any text.
func FuzzMarkdown(f *testing.F) {
	f.Add("# A\n\n- one\n- two\n\n> three\r\n\n```\ncode\n```\n| a | b |\n")
	f.Add("a\n---\n\xff\n\u0301\n•  x")
	f.Fuzz(func(t *testing.T, text string) {
		says := forgotten.OfMarkdown(text)
		lines := strings.Count(text, "\n") + 1
		last := 0
		for _, p := range says {
			if p.First <= last || p.Last < p.First || p.Last > lines {
				t.Fatalf("%q: lines %d to %d behind %d", text, p.First, p.Last, last)
			}
			last = p.Last
		}
		if len(says) == 0 {
			return
		}
		all := make([]int, len(says))
		for i := range all {
			all[i] = i
		}
		left, hidden := forget(t, says, all...).Markdown([]byte(text))
		if hidden != len(says) || len(forgotten.OfMarkdown(string(left))) > 0 {
			t.Errorf("%q: %d of %d hidden, left %q", text, hidden, len(says), left)
		}
		if n := strings.Count(string(left), "\n") + 1; n != lines {
			t.Errorf("%q: %d lines, want %d", text, n, lines)
		}
	})
}

func BenchmarkTurns(b *testing.B) {
	var turns []chunker.Turn
	for i := range 1000 {
		turns = append(turns, chunker.Turn{Line: i + 1, EndLine: i + 1, Role: "assistant", Text: fmt.Sprintf("%s\n\nSentence %d.\n\n%s", pilot, i, strings.Repeat("The ferry leaves at eight. ", 40))})
	}
	file := filepath.Join(b.TempDir(), "forgotten.json")
	require.NoError(b, forgotten.Add(b.Context(), file, forgotten.Part{Path: "a", Passages: forgotten.OfMarkdown("something else that nobody says in any conversation"), Some: []int{0}}))
	set, err := forgotten.Load(file, "")
	require.NoError(b, err)
	b.SetBytes(int64(1000 * len(turns[0].Text)))
	for b.Loop() {
		set.Turns(turns, same)
	}
}

package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

var testTime = time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC)

// event returns an event of session "s" without an answer.
func event(kind, prompt string) Entry {
	e := Entry{Head: Head{ID: NewID(), Agent: "codex", Session: "s"}, Event: Event{At: testTime, Kind: kind}}
	e.SetPrompt(prompt, true)
	return e
}

// prompted returns an answered prompt that got passages of documents.
func prompted(prompt string, paths ...string) Entry {
	e := event(PromptEvent, prompt)
	e.Took, e.Added = "1ms", len(paths)
	for _, path := range paths {
		e.Given = append(e.Given, Given{Kind: Passage, Key: path, Path: path, Source: path + "#L1", Score: 0.5, Tokens: 7})
	}
	return e
}

func newJournal(t testing.TB) Journal {
	return In(filepath.Join(t.TempDir(), "deep", "journal.jsonl"))
}

func entries(t testing.TB, j Journal) []Entry {
	t.Helper()
	all, err := j.Entries()
	require.NoError(t, err)
	return all
}

// What several lines say of an event is joined, in any order.
func TestLinesAreJoined(t *testing.T) {
	j := newJournal(t)
	require.Empty(t, entries(t, j))
	e := prompted("which port?", "a.md", "b.md")
	e.Result = &core.Result{State: core.StateReady, Hits: []core.MemoryHit{{ID: "x"}}}
	begun, answered := Entry{Head: e.Head, Event: e.Event}, Entry{Head: e.Head, Answer: e.Answer, Result: e.Result}
	for _, line := range []Entry{
		begun, event(PromptEvent, "another"), answered,
		{Head: e.Head, Opened: []string{"a.md", "stranger"}},
		{Head: Head{ID: "of no event"}, Opened: []string{"b.md"}},
		{Head: e.Head, Event: Event{At: testTime.Add(time.Hour), Kind: OtherEvent}, Answer: Answer{Problems: []string{"late"}}},
	} {
		require.NoError(t, j.Append(t.Context(), line))
	}
	all := entries(t, j)
	require.Len(t, all, 2)
	got := all[0]
	require.Nil(t, got.Result, "it is read only if asked for")
	require.NoError(t, j.Explain(&got, &all[1]))
	require.Equal(t, "x", got.Result.Hits[0].ID)
	require.Nil(t, all[1].Result)
	e.Given[0].Opened, e.Problems = true, []string{"late"}
	require.Equal(t, e, got, "the first line says what happened")

	own, err := j.Of(e.Head)
	require.NoError(t, err)
	require.Len(t, own, 2)
	own, err = j.Of(Head{Agent: "codex", Session: "s", Sub: "sub"})
	require.NoError(t, err)
	require.Empty(t, own)
	if runtime.GOOS != "windows" {
		info, err := os.Stat(j.file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	require.NoError(t, Journal{}.Append(t.Context(), e))
	require.Empty(t, entries(t, Journal{}))
}

// A damaged line costs itself, also one that a crash tore.
func TestDamagedLines(t *testing.T) {
	j := newJournal(t)
	require.NoError(t, j.Append(t.Context(), prompted("one", "a.md")))
	data, err := os.ReadFile(j.file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(j.file, append(data, "\x00\x00{}\n[]\n7\n{\"id\":5}\n{\"session\":\"s\",\"id\":\"half"...), 0o600))
	require.NoError(t, j.Append(t.Context(), prompted("two", "a.md")))
	all := entries(t, j)
	require.Len(t, all, 2)
	require.Equal(t, "two", all[1].Prompt)
	s, err := j.Session(all[0].Head)
	require.NoError(t, err)
	require.Equal(t, 2, s.Prompts)
}

func TestFullFilesMakeRoom(t *testing.T) {
	j := newJournal(t)
	j.max = 10_000
	for i := range 1000 {
		require.NoError(t, j.Append(t.Context(), prompted(fmt.Sprintf("prompt %d", i), "a.md")))
	}
	total := int64(0)
	for _, file := range j.Files() {
		info, err := os.Stat(file)
		require.NoError(t, err)
		total += info.Size()
	}
	require.Less(t, total, (oldFiles+1)*(j.max+1000))
	all := entries(t, j)
	require.Greater(t, len(all), 100)
	require.Equal(t, "prompt 999", all[len(all)-1].Prompt)
	require.NoError(t, j.Append(t.Context(), Entry{Head: all[0].Head, Opened: []string{"a.md"}}))
	require.True(t, entries(t, j)[0].Given[0].Opened, "also of a turn in an old file")
}

// TestMain lets the test's binary be a process that writes.
func TestMain(m *testing.M) {
	if file := os.Getenv("JOURNAL_OF_TEST"); file != "" {
		j := In(file)
		j.max = 20_000
		for range 50 {
			e := prompted("x", "a.md")
			e.Result = &core.Result{State: core.StateReady}
			if err := j.Append(context.Background(), e); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Lines of several processes stay whole, and full files are moved by one of them.
func TestProcessesWriteTogether(t *testing.T) {
	j := newJournal(t)
	var writers []*exec.Cmd
	for range 4 {
		writer := exec.Command(os.Args[0])
		writer.Env = append(os.Environ(), "JOURNAL_OF_TEST="+j.file)
		writer.Stdout = os.Stderr
		require.NoError(t, writer.Start())
		writers = append(writers, writer)
	}
	for _, writer := range writers {
		require.NoError(t, writer.Wait())
	}
	require.Len(t, entries(t, j), 200)
	for _, file := range j.Files()[1:] {
		data, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			continue
		}
		require.NoError(t, err)
		for line := range bytes.Lines(data) {
			require.True(t, json.Valid(line), "%s", line)
		}
	}
}

func TestForget(t *testing.T) {
	require.NoError(t, In(filepath.Join(t.TempDir(), "absent", "journal.jsonl")).Forget(t.Context(), []Place{{Path: "a.md"}}))
	j := newJournal(t)
	j.max = 1500 // some of it is in old files
	of := prompted("of the document", "a.md", "b.md")
	of.Reason = "the session has a.md"
	candidates := prompted("what now?")
	candidates.Result = &core.Result{Hits: []core.MemoryHit{{Path: "a.md", Text: "zebra"}}, Rejected: []core.MemoryHit{{Path: "b.md", Text: "The PORT is\n5432."}, {Path: "b.md", Text: "kept"}}}
	whole := prompted("rules")
	whole.Given = append(whole.Given, Given{Kind: Rules, Path: "a.md", Key: "1"})
	said := prompted("is the Port\n 5432?", "c.md")
	for _, e := range []Entry{of, candidates, prompted("of another", "b.md"), said, whole} {
		require.NoError(t, j.Append(t.Context(), e))
		require.NoError(t, j.Append(t.Context(), Entry{Head: e.Head, Opened: []string{"b.md"}}))
	}
	require.NoError(t, j.Forget(t.Context(), []Place{{Path: "absent.md"}}))
	require.Len(t, entries(t, j)[0].Given, 2)
	require.NoError(t, j.Forget(t.Context(), []Place{{Path: "absent.md"}, {Path: "a.md"}}, "the port is 5432"))
	all := entries(t, j)
	require.Len(t, all, 5)
	require.Len(t, all[0].Given, 1)
	require.True(t, all[0].Given[0].Opened)
	require.Equal(t, reasonForgotten, all[0].Reason)
	require.NoError(t, j.Explain(&all[1]))
	require.Empty(t, all[1].Result.Hits)
	require.Equal(t, []core.MemoryHit{{Path: "b.md", Text: "kept"}}, all[1].Result.Rejected)
	require.NotEmpty(t, all[3].Prompt, "it does not say that text")
	require.NotEmpty(t, all[4].Given, "the session still has the rules")
	require.NoError(t, j.Forget(t.Context(), nil, "port 5432"))
	all = entries(t, j)
	require.Empty(t, all[3].Prompt+all[3].Key)
	require.Len(t, all[3].Given, 1)
	for _, file := range j.Files() {
		data, err := os.ReadFile(file)
		if err == nil {
			require.NotRegexp(t, `(?i)port.{0,8}5432`, string(data)) // IDs are random digits
			require.NotContains(t, string(data), "zebra")
		}
	}
	require.NoError(t, j.ForgetSessions(t.Context(), func(agent, session string) bool { return agent == "codex" && session == "s" }))
	require.Empty(t, entries(t, j))
}

// What a search lacked are words of the prompt, also if the journal does not keep prompts.
func TestForgetWhatAPromptAsked(t *testing.T) {
	j := newJournal(t)
	for _, tt := range [][2]string{{"How is the divorce lawyer paid?", "divorce, lawyer"}, {"Where is the ferry?", "ferry"}} {
		e := prompted("")
		e.SetPrompt(tt[0], false)
		e.Result = &core.Result{Why: "not in any chunk: " + tt[1]}
		require.NoError(t, j.Append(t.Context(), e))
	}
	require.NoError(t, j.Forget(t.Context(), nil, "How is the divorce\nlawyer paid?"))
	data, err := os.ReadFile(j.file)
	require.NoError(t, err)
	require.NotContains(t, string(data), "divorce")
	all := entries(t, j)
	require.Empty(t, all[0].Key)
	require.NotEmpty(t, all[1].Key)
	require.NoError(t, j.Explain(&all[1]))
	require.Contains(t, all[1].Result.Why, "ferry")
}

// The request of a passage may be what is forgotten, cut, as may be a prompt and a candidate.
func TestForgetCutTitles(t *testing.T) {
	j := newJournal(t)
	const cut = "always run the tests with DB=memory, otherwise they…"
	e := prompted("what now?", "log.jsonl#L2", "b.md")
	e.Given[0].Title, e.Given[1].Title = cut, "Tests"
	require.NoError(t, j.Append(t.Context(), e))
	copied := prompted("Please "+cut, "copy.md")
	copied.Result = &core.Result{Hits: []core.MemoryHit{{Path: "copy.md", Text: cut}, {Path: "b.md", Text: "kept"}}}
	require.NoError(t, j.Append(t.Context(), copied))
	require.NoError(t, j.Forget(t.Context(), []Place{{Path: "log.jsonl", First: 1, Last: 1}}, "Please always run the tests with DB=memory, otherwise they destroy the staging database"))
	all := entries(t, j)
	require.Len(t, all[0].Given, 2, "the passage itself is not forgotten")
	require.Empty(t, all[0].Given[0].Title)
	require.Equal(t, "Tests", all[0].Given[1].Title)
	require.Empty(t, all[1].Prompt)
	require.NoError(t, j.Explain(&all[1]))
	require.Equal(t, []core.MemoryHit{{Path: "b.md", Text: "kept"}}, all[1].Result.Hits)
}

func TestPlaces(t *testing.T) {
	for source, in := range map[string]bool{"a.md#L1-L4": false, "a.md#L1-L5": true, "a.md#L7": true, "a.md#L8-L9": false, "a.md": true} {
		first, last := Given{Source: source}.cited()
		require.Equal(t, in, Place{"a.md", 5, 7}.Has("a.md", first, last), source)
		require.True(t, Place{Path: "a.md"}.Has("a.md", first, last), source)
		require.False(t, Place{"b.md", 5, 7}.Has("a.md", first, last), source)
	}
}

// A prompt is kept only if asked, never with a secret, and not endlessly.
func TestPrompts(t *testing.T) {
	kept := func(prompt string, keep bool) (e Entry) { e.SetPrompt(prompt, keep); return e }
	require.Empty(t, kept("which port?", false).Prompt)
	require.Equal(t, "which port?", kept(" which port?\n", true).Prompt)
	require.Zero(t, kept(" \n", true))
	require.Contains(t, kept("the password is c0rrect-horse-battery, which port?", true).Prompt, "[redacted: ")
	require.LessOrEqual(t, len(kept(strings.Repeat("é ", 5000), true).Prompt), maxPrompt+len("…"))
	cut := strings.Repeat("x", maxPrompt-30) + "\nthe password is c0rrect-horse-battery-staple-0123456789\n" + strings.Repeat("line of a log\n", 1000)
	require.NotContains(t, kept(cut, true).Prompt, "c0rrect")
	lines, err := Entry{Answer: Answer{Given: []Given{{Title: "the password is c0rrect-horse-battery"}}}}.lines()
	require.NoError(t, err)
	require.NotContains(t, string(lines), "c0rrect")
	require.Equal(t, KeyOf("which\n port?"), KeyOf(" which port? "))
	require.NotEqual(t, NewID(), NewID())
}

func TestExcerpt(t *testing.T) {
	require.Equal(t, "It is on 5433.", Excerpt("# Staging\n\n## Database\n\nIt is\non  5433.\n"))
	require.Equal(t, "# Staging", Excerpt("# Staging\n"))
	long := Excerpt(strings.Repeat("ä\u202e\t", 100))
	require.Equal(t, ExcerptLength, len([]rune(long)))
	require.NotContains(t, long, "\u202e")
	require.NotContains(t, Excerpt("the password is c0rrect-horse-battery"), "c0rrect")
}

func TestTrim(t *testing.T) {
	var many []core.MemoryHit
	for range 30 {
		cosine := 1.0 / 3
		many = append(many, core.MemoryHit{ID: "x", Text: strings.Repeat("word ", 100), Score: 1.0 / 3, Explain: &core.Explanation{Cosine: &cosine, Verdict: "kept"}})
	}
	r := core.Result{Hits: many[:2], Withheld: many[:1], Rejected: many, Threshold: 0.4, Silence: "why"}
	got := Trim(r)
	require.Len(t, got.Hits, 2)
	require.Len(t, got.Rejected, maxCandidates-3)
	require.Equal(t, 0.3333, got.Hits[0].Score)
	require.Equal(t, 0.4, got.Threshold)
	require.Len(t, r.Rejected, 30, "the result itself stays")
	e := Entry{Head: Head{ID: NewID()}, Result: got}
	lines, err := e.lines()
	require.NoError(t, err)
	require.Less(t, len(lines), 9<<10)
}

// An empty answer names what was found, and what that missed.
func TestHeldBack(t *testing.T) {
	found := func(verdict, why string) core.Result {
		return core.Result{Threshold: 0.111, Rejected: []core.MemoryHit{{Source: "a.md#L1", Score: 0.057, Explain: &core.Explanation{Verdict: verdict, Why: why}}, {}}}
	}
	require.Equal(t, "the best that was found is a.md#L1: below threshold: 0.054 short of 0.111", HeldBack(found(core.VerdictThreshold, "")))
	require.Equal(t, "the best that was found is a.md#L1: over limit", HeldBack(found("over limit", "")))
	require.Empty(t, HeldBack(core.Result{}))
	require.Equal(t, "kept: it names you", Decision(found("kept", "it names you").Rejected[0], 1))
}

// The last turn has the later events of its session, and a skipped hook counts only if no other
// agent answered the event.
func TestLast(t *testing.T) {
	at := testTime
	add := func(agent, session, kind string, change func(*Entry)) Entry {
		at = at.Add(time.Second)
		e := Entry{Head: Head{ID: NewID(), Agent: agent, Session: session}, Event: Event{At: at, Kind: kind}}
		if change != nil {
			change(&e)
		}
		return e
	}
	gave := func(e *Entry) { e.Added = 5 }
	_, ok := Last(nil)
	require.False(t, ok)
	all := []Entry{add("codex", "a", PromptEvent, gave), add("codex", "b", PromptEvent, nil)}
	last, _ := Last(all)
	require.Equal(t, "b", last.Session)
	all = append(all, add("codex", "a", "tool call", gave), add("codex", "a", "turn end", func(e *Entry) { e.Problems = []string{"slow"} }), add("codex", "a", "session end", nil))
	last, _ = Last(all)
	require.Equal(t, "a", last.Session)
	require.Len(t, last.Later, 2)

	skipped := func(e *Entry) { e.Reason = ReasonSkipped + "Cursor" }
	last, _ = Last([]Entry{add("claude-code", "x", PromptEvent, skipped)})
	require.Equal(t, "claude-code", last.Agent)
	all = append(all, add("cursor", "x", PromptEvent, gave), add("claude-code", "x", PromptEvent, skipped))
	last, _ = Last(all)
	require.Equal(t, "cursor", last.Agent)
	at = at.Add(time.Hour)
	last, _ = Last(append(all, add("claude-code", "x", PromptEvent, skipped)))
	require.Equal(t, "claude-code", last.Agent, "Cursor's hook no longer runs")

	// Events that could not be read, of an agent, and of a name that is none.
	unread := func(e *Entry) { e.Problems = []string{"no event"} }
	bad := []Entry{add("", "", OtherEvent, unread), add("codex", "", OtherEvent, unread)}
	last, _ = Last(bad)
	require.Equal(t, OtherEvent, last.Kind, "there is nothing else")
	last, _ = Last(append([]Entry{add("codex", "a", PromptEvent, gave)}, bad...))
	require.Equal(t, "a", last.Session)
	require.Equal(t, bad, last.Later)
}

func FuzzJournal(f *testing.F) {
	e := prompted("x", "a.md")
	e.Result = &core.Result{State: core.StateReady}
	lines, err := e.lines()
	require.NoError(f, err)
	f.Add(string(lines))
	f.Add(`{"id":"t","at":"2026-11-22T09:00:00Z","given":[{"key":"a"}]}` + "\n" + `{"id":"t","verdicts":[{"key":"a","used":"yes"}]}`)
	f.Add("{\"of\":\"t\"}\n\n\x00\n{\"id\":")
	file := filepath.Join(f.TempDir(), "journal.jsonl")
	f.Fuzz(func(t *testing.T, text string) {
		j := In(file)
		if err := os.WriteFile(j.file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		before := entries(t, j)
		if err := j.Append(context.Background(), prompted("added", "b.md")); err != nil {
			t.Fatal(err)
		}
		if err := j.Forget(context.Background(), []Place{{Path: "absent"}}); err != nil {
			t.Fatal(err)
		}
		if after := entries(t, j); len(after) != len(before)+1 {
			t.Errorf("%d entries after %d", len(after), len(before))
		}
		if _, err := j.Session(Head{Agent: "codex", Session: "s"}); err != nil {
			t.Fatal(err)
		}
	})
}

// filled returns a journal of 4 MB.
func filled(b *testing.B) Journal {
	j := newJournal(b)
	text := strings.Repeat("The staging database listens on port 5433. ", 20)
	for i, size := 0, 0; size < 2*maxFile; i++ {
		e := prompted(text[:200], "notes/a.md", "notes/b.md")
		e.Session = fmt.Sprintf("%08d-ecf0-4bd0-9c3b-9a1de6c1f0aa", i/40)
		var hits []core.MemoryHit
		for n := range 20 {
			cosine := 0.4321
			hits = append(hits, core.MemoryHit{ID: fmt.Sprintf("%032d", n), Path: "notes/a.md", Source: "notes/a.md#L10-L20", Text: text, Score: 0.1234, TokenEstimate: 120,
				Explain: &core.Explanation{Cosine: &cosine, BM25: 12.3456, Verdict: core.VerdictThreshold}})
		}
		e.Resets = i%40 == 0
		e.Result = Trim(core.Result{State: core.StateReady, Hits: hits[:2], Rejected: hits[2:]})
		lines, err := e.lines()
		require.NoError(b, err)
		require.NoError(b, j.Append(b.Context(), e))
		size += len(lines)
	}
	return j
}

// What a hook waits for: the record of the last session.
func BenchmarkSession(b *testing.B) {
	j := filled(b)
	all := entries(b, j)
	last := all[len(all)-1].Head
	b.Logf("%d turns", len(all))
	for b.Loop() {
		if _, err := j.Session(last); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEntries(b *testing.B) {
	j := filled(b)
	for b.Loop() {
		if _, err := j.Entries(); err != nil {
			b.Fatal(err)
		}
	}
}

package journal

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSession(t *testing.T) {
	beginning := Given{Kind: Beginning}
	with := func(e Entry, change func(*Entry)) Entry { change(&e); return e }
	start := with(event(StartEvent, ""), func(e *Entry) { e.Resets, e.Until = true, testTime.Add(time.Minute) })
	prompt := with(event(PromptEvent, "x"), func(e *Entry) { e.Until = testTime.Add(time.Minute) })
	answered := func(e Entry, given ...Given) Entry {
		e.Took, e.Given, e.Added = "1ms", given, len(given)
		return e
	}
	for _, tt := range []struct {
		name    string
		entries []Entry
		want    Session
	}{
		{"nothing", nil, Session{}},
		{"a start that is being answered", []Entry{start}, Session{Starting: start.Until}},
		{"a start that was answered", []Entry{answered(start, beginning)}, Session{Begun: true}},
		{"a start that was late", []Entry{with(start, func(e *Entry) { e.Undelivered = "late" })}, Session{}},
		{"a prompt that is being answered", []Entry{prompt}, Session{Prompts: 1, Prompting: prompt.Until}},
		{"a prompt that got nothing", []Entry{answered(prompt)}, Session{Prompts: 1}},
		{"a prompt that got something", []Entry{answered(prompt, beginning)}, Session{Prompts: 1, Begun: true, Prompting: prompt.Until}},
		{"a prompt whose answer was not delivered", []Entry{with(answered(prompt, beginning), func(e *Entry) { e.Undelivered = "x" })}, Session{Prompts: 1}},
		{"another start", []Entry{answered(prompt, beginning), with(answered(start, beginning), func(e *Entry) { e.Dropped = testTime })}, Session{Begun: true, Dropped: testTime}},
		{"the folder, and what is spent", []Entry{with(answered(start, beginning), func(e *Entry) { e.Began, e.Spent = "/p", 7 }), with(answered(prompt), func(e *Entry) { e.Spent = 3 })}, Session{Begun: true, Prompts: 1, Dir: "/p", Spent: 10}},
		{"an overview", []Entry{answered(prompt, Given{Kind: Overview, Key: "1"}), answered(prompt, Given{Kind: Overview, Key: "2"})}, Session{Prompts: 2, Prompting: prompt.Until, Overview: "2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var s Session
			for _, e := range tt.entries {
				s.add(e)
			}
			s.given = nil
			require.Equal(t, tt.want, s)
		})
	}
}

// The first start drops no history; another one, and a compaction, do.
func TestDropped(t *testing.T) {
	j := newJournal(t)
	at := testTime
	add := func(kind string, decide func(Session)) time.Time {
		at = at.Add(time.Second)
		e := event(kind, "")
		e.At, e.Resets = at, kind != PromptEvent
		if kind == PromptEvent {
			e.SetPrompt("x", true)
		}
		require.NoError(t, j.Begin(t.Context(), &e, decide))
		s, err := j.Session(e.Head)
		require.NoError(t, err)
		return s.Dropped
	}
	looks := func(Session) {}
	require.Zero(t, add(StartEvent, looks))
	require.Zero(t, add(PromptEvent, looks))
	dropped := add(StartEvent, looks)
	require.Equal(t, at, dropped)
	require.Equal(t, dropped, add(StartEvent, looks), "there was nothing to drop since")
	first := event(PromptEvent, "x")
	first.Session = "whose start was missed"
	require.NoError(t, j.Begin(t.Context(), &first, looks))
	require.True(t, first.Resets, "the next event need not look further back")
	require.Zero(t, first.Dropped)
	dropped = add("compaction", nil)
	require.Equal(t, at, dropped)
	require.Equal(t, dropped, add(PromptEvent, looks))
}

// A session is read from the end until its last reset, in whatever file it is.
func TestRecent(t *testing.T) {
	j := newJournal(t)
	start := event(StartEvent, "")
	start.Session, start.Resets = "long", true
	require.NoError(t, j.Append(t.Context(), start))
	first := prompted("x", "a.md")
	first.Session = "long"
	require.NoError(t, j.Append(t.Context(), first))
	for size := 0; size < 3*minTail; size += 2000 {
		require.NoError(t, j.Append(t.Context(), prompted(strings.Repeat("y", 1500))))
	}
	own, err := j.Recent(start.Head)
	require.NoError(t, err)
	require.Len(t, own, 2)
	start.ID = NewID()
	require.NoError(t, j.Append(t.Context(), start))
	own, err = j.Recent(start.Head)
	require.NoError(t, err)
	require.Len(t, own, 1)
	own, err = j.Of(start.Head)
	require.NoError(t, err)
	require.Len(t, own, 3)
}

func TestWhatASessionHas(t *testing.T) {
	j := newJournal(t)
	e := prompted("x", "a.md")
	e.Given[0].States = []string{"said-1"}
	e.Given = append(e.Given, Given{Kind: Rules, Path: "r.md", Key: "1"}, Given{Kind: Document, Path: "r.md", Key: "stamp"})
	require.NoError(t, j.Append(t.Context(), e))
	s, err := j.Session(e.Head)
	require.NoError(t, err)
	for _, g := range e.Given {
		require.True(t, s.Has(g))
	}
	require.False(t, s.Has(Given{Kind: Line, Key: "a.md"}), "of another kind")
	require.False(t, s.Has(Given{Kind: Rules, Path: "r.md", Key: "2"}), "changed")
	require.Equal(t, map[string]string{"r.md": "1"}, s.Keys(Rules))
	require.Equal(t, map[string]string{"r.md": "stamp"}, s.Keys(Document))
	require.Equal(t, []string{"a.md", "said-1"}, s.Given(), "a passage gives what the user states there")
	sub := e.Head
	sub.Sub = "sub"
	s, err = j.Session(sub)
	require.NoError(t, err)
	require.Empty(t, s.Keys(Rules), "a subagent has a history of its own")
	s, err = j.Session(Head{Agent: "codex"})
	require.NoError(t, err)
	require.Zero(t, s)
}

// What the agent opens is noted with the last prompt that gave it.
func TestOpened(t *testing.T) {
	j := newJournal(t)
	list := prompted("x", "a.md")
	list.Given = append(list.Given, Given{Kind: Line, Key: "abcde-12", Source: "b.md#L12-L20", Path: "b.md"})
	again, other := list, prompted("y", "a.md")
	again.ID = NewID()
	for _, e := range []Entry{list, again, other} {
		require.NoError(t, j.Append(t.Context(), Entry{Head: e.Head, Event: e.Event}))
		require.NoError(t, j.Append(t.Context(), Entry{Head: e.Head, Answer: e.Answer}))
	}
	require.NoError(t, j.Opened(t.Context(), "abcde-12"))
	require.NoError(t, j.Opened(t.Context(), "b.md#L12"), "nothing gave it")
	all := entries(t, j)
	require.Len(t, all, 3)
	require.False(t, all[0].Given[1].Opened)
	require.True(t, all[1].Given[1].Opened)
	require.NoError(t, j.Opened(t.Context(), "a.md#L1"))
	require.True(t, entries(t, j)[2].Given[0].Opened, "by its citation")
}

// What another process answered instead counts for nothing.
func TestAnsweredTwice(t *testing.T) {
	j := newJournal(t)
	byDaemon := prompted("x", "a.md")
	own := prompted("x", "b.md")
	require.NoError(t, j.Append(t.Context(), Entry{Head: byDaemon.Head, Instead: own.ID}))
	require.NoError(t, j.Append(t.Context(), own))
	require.NoError(t, j.Append(t.Context(), byDaemon), "it may come late")
	require.Equal(t, []Entry{own}, entries(t, j))
	s, err := j.Session(own.Head)
	require.NoError(t, err)
	require.Equal(t, 1, s.Prompts)
	require.Equal(t, []string{"b.md"}, s.Given())
}

// A hook may end right after it has said that it answers in place of the daemon. What the daemon
// answered reached nobody, but the event happened.
func TestAnsweredByNobody(t *testing.T) {
	j := newJournal(t)
	byDaemon := prompted("x", "a.md")
	require.NoError(t, j.Append(t.Context(), Entry{Head: byDaemon.Head, Event: byDaemon.Event, Instead: NewID()}))
	require.NoError(t, j.Append(t.Context(), byDaemon))
	all := entries(t, j)
	require.Len(t, all, 1)
	require.NotEmpty(t, all[0].Undelivered)
	s, err := j.Session(byDaemon.Head)
	require.NoError(t, err)
	require.Equal(t, 1, s.Prompts)
	require.Empty(t, s.Given())
	own := byDaemon.Head
	own.ID = all[0].Instead
	s, err = j.Session(own)
	require.NoError(t, err)
	require.Zero(t, s.Prompts, "the prompt does not precede itself")
	require.NoError(t, j.Append(t.Context(), Entry{Head: byDaemon.Head, Undelivered: "late"}))
	require.Equal(t, "late", entries(t, j)[0].Undelivered, "it knows more")
}

// Nothing is given twice in a session until its history is dropped, whatever happens in what order,
// if each event gives only what the journal lacks.
func TestNothingTwice(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		j := newJournal(t)
		j.max = 50_000
		reached := map[string]map[string]bool{} // what each history has, by session
		for range 60 {
			session := fmt.Sprint(r.IntN(3))
			e := event(PromptEvent, "x")
			e.Session = session
			switch r.IntN(10) {
			case 0:
				e.Kind, e.Key, e.Resets = "compaction", "", true
				require.NoError(t, j.Append(t.Context(), e))
				reached[session] = nil
				continue
			case 1:
				e.Undelivered = "late"
			}
			var s Session
			require.NoError(t, j.Begin(t.Context(), &e, func(had Session) { s = had }))
			answer := Entry{Head: e.Head, Answer: Answer{Took: "1ms"}}
			for n := range 5 {
				if g := (Given{Kind: Passage, Key: fmt.Sprint(r.IntN(8), n%2)}); !s.Has(g) {
					answer.Given = append(answer.Given, g)
				}
			}
			require.NoError(t, j.Append(t.Context(), answer))
			if e.Undelivered != "" {
				continue
			}
			before := reached[session]
			reached[session] = map[string]bool{}
			for key := range before {
				reached[session][key] = true
			}
			for _, g := range answer.Given {
				require.False(t, before[g.Key], "seed %d: %s is given again", seed, g.Key)
				reached[session][g.Key] = true
			}
		}
	}
}

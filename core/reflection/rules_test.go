package reflection

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
)

func TestPropose(t *testing.T) {
	said := func(pairs ...string) (all []session.Message) {
		for i := 0; i+1 < len(pairs); i += 2 {
			all = append(all, session.Message{Role: pairs[i], Content: pairs[i+1], Citation: "messages.jsonl#L" + string(rune('1'+i/2))})
		}
		return all
	}
	for name, tt := range map[string]struct {
		said []session.Message
		want []string // kind path: text
	}{
		"preference":            {said("user", "I prefer tabs over spaces. Is that fine?"), []string{"preference facts/preferences.md: - I prefer tabs over spaces."}},
		"rule":                  {said("user", "Never push to main directly!"), []string{"preference facts/preferences.md: - Never push to main directly!"}},
		"fact of the user":      {said("user", "Hello, my name is Ada Lovelace"), []string{"fact facts/user.md: - Hello, my name is Ada Lovelace"}},
		"fact of the project":   {said("user", "The staging database is on 10.0.0.5:5433, see main.go."), []string{"fact facts/project.md: - The staging database is on 10.0.0.5:5433, see main.go."}},
		"decision":              {said("user", "After the meeting we decided to use Postgres"), []string{"decision facts/project.md: - After the meeting we decided to use Postgres"}},
		"chinese":               {said("user", "我喜欢用中文讨论，代码用英文。"), []string{"preference facts/preferences.md: - 我喜欢用中文讨论，代码用英文。"}},
		"question":              {said("user", "Do you know what I prefer to eat?"), []string{}},
		"said by the assistant": {said("assistant", "I prefer tabs over spaces, always."), []string{}},
		"by a program":          {said("user", "[SYSTEM NOTIFICATION - NOT USER INPUT]\nNever use the arm64 image again.", "user", "<task-notification>\n<result>I prefer tabs over spaces.</result>\n</task-notification>"), []string{}},
		"in code":               {said("user", "Look:\n```\n# always use this flag here\n```\nthanks a lot"), []string{}},
		"secret":                {said("user", "Remember that the password is c0rrect-horse-battery"), []string{}},
		"twice":                 {said("user", "I prefer tabs over spaces.", "user", "i prefer tabs over the spaces"), []string{"preference facts/preferences.md: - I prefer tabs over spaces."}},
		"known":                 {said("user", "I prefer dark mode in editors."), []string{}},
		"fix": {said("user", "The build failed with exit code 2 again", "assistant", "Let me look at it now.", "assistant", "The root cause was a stale cache. It works."),
			[]string{"fix : ## The build failed with exit code 2 again\n- Summary: The build failed with exit… → The root cause was a…\n- Date: 2026-02-24\n- Problem: The build failed with exit code 2 again\n- Solution: The root cause was a stale cache."}},
		"fix in one word": {said("user", "The tests fail with: panic: close of closed channel", "assistant", "Fixed: the pool closed its channel twice."),
			[]string{"fix : ## The tests fail with: panic: close of closed…\n- Summary: The tests fail with: panic:… → Fixed: the pool closed its…\n- Date: 2026-02-24\n- Problem: The tests fail with: panic: close of closed channel\n- Solution: Fixed: the pool closed its channel twice."}},
		"error in a question": {said("user", "Why does the deploy crash with exit code 137?", "assistant", "I fixed the leak by bounding the cache."),
			[]string{"fix : ## Why does the deploy crash with exit code…\n- Summary: Why does the deploy crash… → I fixed the leak by…\n- Date: 2026-02-24\n- Problem: Why does the deploy crash with exit code 137?\n- Solution: I fixed the leak by bounding the cache."}},
		"task":                       {said("user", "Please write tests for the parser"), []string{}},
		"manner":                     {said("user", "Please write comments in English"), []string{"preference facts/preferences.md: - Please write comments in English"}},
		"solution without a problem": {said("assistant", "The root cause was a stale cache."), []string{}},
		"long":                       {said("user", "I prefer "+strings.Repeat("very ", 100)+"long sentences"), []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, map[string]string{"facts/preferences.md": "# Preferences\n\n- I prefer dark mode in editors\n"})
			found, err := Propose(t.Context(), p.data, tt.said, now)
			require.NoError(t, err)
			got := []string{}
			for _, c := range found {
				require.NotEmpty(t, c.Source)
				require.Regexp(t, "^[0-9a-f]{6}$", c.ID)
				got = append(got, c.Kind+" "+c.Path+": "+c.Text)
			}
			require.Equal(t, tt.want, got)
		})
	}
}

func TestAccept(t *testing.T) {
	p := newPlace(t, map[string]string{"facts/preferences.md": "# Preferences\n\n- Dark mode\n"})
	said := []session.Message{{Role: "user", Content: "I prefer tabs over spaces. We decided to use Postgres. The build failed again."}, {Role: "assistant", Content: "Fixed by clearing the cache."}}
	found, err := Propose(t.Context(), p.data, said, now)
	require.NoError(t, err)
	require.Len(t, found, 3)
	before := p.files(t)
	written, err := p.data.Accept(t.Context(), "accepted", found)
	require.NoError(t, err)
	require.Len(t, written, 3)
	files := p.files(t)
	require.Equal(t, "# Preferences\n\n> Summary: dark mode, i prefer tabs over spaces\n\n- Dark mode\n- I prefer tabs over spaces.\n", files["facts/preferences.md"])
	require.Contains(t, files["facts/project.md"], "- We decided to use Postgres.")
	again, err := Propose(t.Context(), p.data, said, now)
	require.NoError(t, err)
	require.Empty(t, again, "what was accepted is known")
	_, err = p.data.Accept(t.Context(), "accepted", found)
	require.NoError(t, err)
	require.Equal(t, files, p.files(t), "accepting again what a killed process had written adds nothing")
	_, err = p.journal.Undo(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, p.files(t), "one change")
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	_, err = Propose(cancelled, p.data, said, now)
	require.ErrorIs(t, err, context.Canceled)
	_, err = p.data.Accept(t.Context(), "accepted", []notes.Proposal{{Path: "../x.md", Text: "- x"}})
	require.ErrorIs(t, err, notes.ErrPath)
}

func FuzzSentences(f *testing.F) {
	f.Add("I prefer tabs. Never 10.0.0.5!\n```\ncode\n```")
	f.Add("我喜欢。错误？")
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range sentencesOf(text) {
			if strings.Contains(s, "\n") || len([]rune(s)) > maxSentence {
				t.Errorf("%q", s)
			}
		}
	})
}

// Propose reads each message once, even in a long session.
func TestProposeIsLinear(t *testing.T) {
	p := newPlace(t, nil)
	var said []session.Message
	for range 300 {
		said = append(said, session.Message{Role: "assistant", Content: strings.Repeat("step: the fix is to look at it again\n", 200)})
	}
	begun := time.Now()
	found, err := Propose(t.Context(), p.data, said, now)
	require.NoError(t, err)
	require.Empty(t, found)
	require.Less(t, time.Since(begun), 2*time.Minute, "2 MB")
}

package use

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/journal"
)

func TestAnswers(t *testing.T) {
	at := func(seconds int) time.Time { return testTime.Add(time.Duration(seconds) * time.Second) }
	log := []chunker.Turn{
		{Role: "user", Text: "go on", Time: at(0)},
		{Role: "assistant", Text: "Earlier.", Time: at(1), Tools: []chunker.ToolUse{{Name: "Bash", Input: `{"command":"ls"}`, Output: "old.md"}}},
		{Role: "user", Text: "go  on", Time: at(100)},
		{Role: "assistant", Text: "Looking.", Time: at(101), Tools: []chunker.ToolUse{
			{Name: "Read", Input: `{"file_path":"a\nb.md","limit":20,"all":["x"]}`, Output: "5433"},
			{Name: "Edit", Input: `{"file_path":"denied.md"}`, Output: "no", Failed: true},
		}},
		{Role: "user", Text: "typed meanwhile", Time: at(102)},
		{Role: "assistant", Text: "Done.", Time: at(103)},
		{Role: "user", Text: "as the agent has changed it", Time: at(200)},
		{Role: "assistant", Text: "Last.", Time: at(201)},
	}
	turn := func(prompt string, seconds int) journal.Entry {
		e := turnOf(prompt, "a.md")
		e.At = at(seconds)
		return e
	}
	second, third, lost := turn("go on", 99), turn("as it was typed", 198), turn("not in the log", 300)
	answers := Answers([]journal.Entry{second, third, lost}, log, "And this.")

	require.Equal(t, []string{"go on", "Earlier.", "ls\n", "old.md", "go  on"}, answers[second.ID].Before, "of two alike the nearest in time")
	steps := answers[second.ID].Steps
	require.Equal(t, Step{Said: "Looking."}, steps[0])
	for _, value := range []string{"a\nb.md\n", "20\n", "x\n"} {
		require.Contains(t, steps[1].Call, value)
	}
	require.Equal(t, []Step{{Shown: "5433"}, {Shown: "no"}, {Shown: "typed meanwhile"}, {Said: "Done."}}, steps[2:], "a call that failed touched nothing")
	require.Equal(t, []Step{{Said: "Last."}}, answers[third.ID].Steps)
	require.Equal(t, []string{"not in the log"}, answers[lost.ID].Before)
	require.Equal(t, []Step{{Said: "And this."}}, answers[lost.ID].Steps, "the event says it")

	lost.Prompt = ""
	require.Empty(t, Answers([]journal.Entry{lost}, nil, "And this.")[lost.ID].Steps, "nobody knows what the prompt said")
	require.Empty(t, Answers([]journal.Entry{third}, log[:7], "")[third.ID].Steps, "not answered yet")
}

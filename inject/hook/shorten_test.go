package hook

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/inject/agents"
)

func TestShorten(t *testing.T) {
	paste := strings.Repeat(`{"a": "\\ \u00e9 ü 🚀"} `, 10_000)
	prompt := "what is wrong here?\n" + paste + "\nThat was it."
	event, err := json.Marshal(map[string]any{"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/p", "prompt": prompt, "tags": []string{"x"}})
	require.NoError(t, err)
	short, left, err := Shorten(strings.NewReader(string(event)), 1000, 1<<20)
	require.NoError(t, err)
	require.Less(t, len(short), 4000)
	require.EqualValues(t, len(prompt)-2*1000, left)
	e, err := Parse(agents.ClaudeCode, short)
	require.NoError(t, err)
	require.Equal(t, Event{Agent: agents.ClaudeCode, Name: "UserPromptSubmit", Kind: Prompt, Session: "s", Dir: "/p", Prompt: e.Prompt}, e)
	require.True(t, strings.HasPrefix(e.Prompt, "what is wrong here?\n"))
	require.True(t, strings.HasSuffix(e.Prompt, "\nThat was it."))
	require.NotContains(t, e.Prompt, "\ufffd")

	short, _, err = Shorten(strings.NewReader(" "+prompt), 1000, 1<<20)
	require.NoError(t, err)
	require.True(t, utf8.Valid(short))
	require.True(t, strings.HasSuffix(string(short), "\nThat was it."), "a text that is no JSON")

	_, _, err = Shorten(strings.NewReader(`{"hook_event_name": "Stop", "x": [`+strings.Repeat("1,", 5000)+`1]}`), 1000, 8000)
	require.ErrorIs(t, err, ErrLong)
	_, _, err = Shorten(strings.NewReader(" \n"), 1000, 8000)
	require.ErrorIs(t, err, ErrEvent)
}

// JSON keeps its keys and its short texts.
func FuzzShorten(f *testing.F) {
	for _, e := range events {
		f.Add(e.event)
	}
	f.Add(`{"a":"` + strings.Repeat(`\\`, 60) + `","b":"` + strings.Repeat(`\u00e9`, 30) + `"}`)
	f.Add(`{"a":"` + strings.Repeat(`é"`, 60))
	f.Fuzz(func(t *testing.T, event string) {
		short, left, err := Shorten(strings.NewReader(event), 20, 1<<20)
		if err != nil {
			return
		}
		if left == 0 && string(short) != strings.TrimSpace(event) && json.Valid([]byte(event)) {
			t.Errorf("%q was shortened to %q, and nothing left out", event, short)
		}
		if json.Valid([]byte(event)) && strings.HasPrefix(strings.TrimSpace(event), "{") && !json.Valid(short) {
			t.Errorf("%q is no JSON as %q", event, short)
		}
	})
}

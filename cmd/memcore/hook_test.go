package main

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/cmd/memcore/early"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/hook"
)

// A gate lets one answer through.
func TestGate(t *testing.T) {
	var g gate
	passed := 0
	require.True(t, g.pass(func() { passed++ }))
	require.False(t, g.pass(func() { passed++ }))
	require.Equal(t, 1, passed)
}

// A prompt of any size is an event; its beginning and its end count.
func TestReadEvent(t *testing.T) {
	short := `{"hook_event_name":"Stop"}`
	data, cut, err := readEvent(strings.NewReader(short))
	require.NoError(t, err)
	require.Equal(t, short, string(data))
	require.Empty(t, cut)

	long := io.MultiReader(strings.NewReader(`{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"What fails here? `),
		io.LimitReader(repeated("lines of a log "), 30<<20), strings.NewReader(` It began today.","cwd":"/p"}`))
	data, cut, err = readEvent(long)
	require.NoError(t, err)
	require.Equal(t, "the event was too long: 29.5 MB in the middle of its texts were left out", cut)
	e, err := hook.Parse(agents.ClaudeCode, data)
	require.NoError(t, err)
	require.Equal(t, "/p", e.Dir)
	require.True(t, strings.HasPrefix(e.Prompt, "What fails here? "))
	require.True(t, strings.HasSuffix(e.Prompt, " It began today."))

	_, _, err = readEvent(io.MultiReader(strings.NewReader("{"), io.LimitReader(repeated("[1],"), early.MaxEvent+1)))
	require.ErrorIs(t, err, hook.ErrLong)
}

// A daemon that refuses a hook may be an older one, which is replaced then.
func TestAnOlderDaemonRefuses(t *testing.T) {
	before := early.Asked
	t.Cleanup(func() { early.Asked = before })
	early.Asked = early.Answer{ID: "1", Release: "v1.0.0", Works: true, Err: errors.New("HTTP/1.1 404 Not Found")}
	_, release, err := (&hookRun{}).byDaemon(t.Context(), hook.Event{}, "/p", nil)
	require.Equal(t, early.Asked.Err, err)
	require.Equal(t, "v1.0.0", release)
}

// A note reports that a query was cut.
func TestQueryText(t *testing.T) {
	var told bytes.Buffer
	a := &terminal{stdin: io.LimitReader(repeated("é"), 3<<20), stderr: newScreen(&told)}
	text, err := a.queryText([]string{"-"})
	require.NoError(t, err)
	require.Len(t, text, 1<<20)
	require.Contains(t, told.String(), "the query is longer than 1 MB: the rest is ignored")

	told.Reset()
	a.stdin = strings.NewReader("which port?")
	text, err = a.queryText([]string{"-"})
	require.NoError(t, err)
	require.Equal(t, "which port?", text)
	require.Empty(t, told.String())
}

// repeated repeats a text forever.
type repeated string

func (r repeated) Read(p []byte) (n int, err error) {
	for n < len(p) {
		n += copy(p[n:], r)
	}
	return n, nil
}

// A closedPipe is the standard output of a hook whose agent has ended.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

// hookInProcess indexes a project, and returns what runs commands in this process, and a prompt.
func hookInProcess(t *testing.T, budget string) (run func(out io.Writer, stdin string, args ...string), prompt string) {
	home, project := t.TempDir(), t.TempDir()
	for name, value := range map[string]string{"HOME": home, "XDG_CACHE_HOME": "", "XDG_STATE_HOME": "", "MEMCORE_EMBEDDER": "none", "MEMCORE_HOOK_BUDGET": budget, "MEMCORE_DAEMON_START": "false"} {
		t.Setenv(name, value)
	}
	t.Cleanup(func() { // a hook runs without
		debug.SetGCPercent(100)
		debug.SetMemoryLimit(math.MaxInt64)
	})
	t.Chdir(project)
	require.NoError(t, os.WriteFile("staging.md", []byte("# Staging\n\nThe staging database listens on port 5433.\n"), 0o600))
	run = func(out io.Writer, stdin string, args ...string) {
		a := newCLI(strings.NewReader(stdin), out, io.Discard)
		root := newRoot(a)
		root.SetArgs(args)
		require.NoError(t, root.ExecuteContext(t.Context()))
	}
	run(io.Discard, "", "index")
	return run, `{"hook_event_name":"UserPromptSubmit","session_id":"s","prompt":"on which port does the staging database listen?"}`
}

// sentLater is the standard input of a hook whose agent sent the event long after it began the
// hook.
type sentLater struct{ io.Reader }

func (sentLater) Ended() time.Time { return time.Now() }

// The time that an agent takes to send an event is not the hook's.
func TestAnEventThatComesLate(t *testing.T) {
	run, prompt := hookInProcess(t, "1m")
	stdin, started := early.Stdin, early.Started
	t.Cleanup(func() { early.Stdin, early.Started = stdin, started })
	early.Stdin, early.Started = sentLater{}, started.Add(-time.Hour)
	var out bytes.Buffer
	run(&out, prompt, "hook", agents.ClaudeCode)
	require.Contains(t, out.String(), "5433")
}

// If a hook's answer cannot be written, the next prompt of the session gets the same passages.
func TestUndeliveredIsNotGiven(t *testing.T) {
	run, prompt := hookInProcess(t, "1h") // from the start of the process, here of all tests
	run(closedPipe{}, prompt, "hook", agents.ClaudeCode)
	var out bytes.Buffer
	run(&out, "", "explain", "--last")
	require.Contains(t, out.String(), "nothing was added: it could not be written: broken pipe")
	out.Reset()
	run(&out, prompt, "hook", agents.ClaudeCode)
	require.Contains(t, out.String(), "5433")
	out.Reset()
	run(&out, prompt, "hook", agents.ClaudeCode)
	require.Empty(t, out.String())
}

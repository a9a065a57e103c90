//go:build unix

package early

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/inject/daemon/address"
)

// left is what a hook's process leaves to the command.
type left struct {
	Answer
	Why   string // Answer.Err
	Stdin int    // bytes that the command can read
	Began int64  // Began, in nanoseconds of Unix
}

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "hook" { // Asked did not end the process
		text, _ := io.ReadAll(Stdin)
		l := left{Asked, fmt.Sprint(Asked.Err), len(text), Began(Started).UnixNano()}
		l.Err = nil
		_ = json.NewEncoder(os.Stderr).Encode(l)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// newHome returns a folder with a short path, since that of a socket is bounded.
func newHome(t *testing.T) string {
	home, err := os.MkdirTemp("", "home")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(home) })
	home, err = filepath.EvalSymlinks(home)
	require.NoError(t, err)
	return home
}

// hook runs this test as a hook with a daemon that answers by handle. It returns what the hook
// wrote if it ended before main, else what it leaves.
func hook(t *testing.T, home, event string, handle http.HandlerFunc, variables ...string) (wrote string, rest *left) {
	t.Helper()
	var out bytes.Buffer
	rest = hookTo(t, &out, home, event, handle, variables...)
	if rest != nil {
		require.Empty(t, out.String())
	}
	return out.String(), rest
}

// hookTo is hook with another standard output.
func hookTo(t *testing.T, out io.Writer, home, event string, handle http.HandlerFunc, variables ...string) (rest *left) {
	t.Helper()
	run := filepath.Join(home, "cache", "memcore", "run")
	require.NoError(t, os.MkdirAll(run, 0o700))
	listener, err := net.Listen("unix", address.Socket(run))
	require.NoError(t, err)
	server := &http.Server{Handler: handle}
	go server.Serve(listener)
	defer server.Close()
	command := exec.Command(os.Args[0], "hook", "claude-code")
	command.Dir, command.Stdin = home, strings.NewReader(event)
	command.Env = append([]string{"HOME=" + home, "XDG_CACHE_HOME=" + filepath.Join(home, "cache"),
		"GOCOVERDIR=" + os.Getenv("GOCOVERDIR")}, variables...) // without it, a program that counts coverage says so
	var said bytes.Buffer
	command.Stdout, command.Stderr = out, &said
	if command.Run() == nil {
		return nil
	}
	rest = &left{}
	require.NoError(t, json.Unmarshal(said.Bytes(), rest), said.String())
	return rest
}

const prompt = `{"session_id":"s","cwd":"/project","hook_event_name":"UserPromptSubmit","prompt":"which port?"}`

// answers replies to every request, as a daemon of this release does.
func answers(reply string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		w.Header().Set("X-Memcore-Version", release())
		w.Header().Set("Content-Length", fmt.Sprint(len(reply)))
		_, _ = io.WriteString(w, reply)
	}
}

func TestTheDaemonAnswersBeforeMain(t *testing.T) {
	for name, tt := range map[string]struct{ event, dir string }{
		"a prompt":                    {prompt, "/project"},
		"a workspace's first root":    {`{"workspace_roots":["/root"],"hook_event_name":"beforeSubmitPrompt"}`, "/root"},
		"no folder but the process's": {`{"hook_event_name":"Stop"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			home := newHome(t)
			var got request
			long := strings.Repeat("known ", 10_000)
			wrote, rest := hook(t, home, tt.event, func(w http.ResponseWriter, r *http.Request) {
				require.NoError(t, json.NewDecoder(r.Body).Decode(&got))
				answers(`{"reply":"`+long+`"}`)(w, r)
			})
			require.Nil(t, rest)
			require.Equal(t, long, wrote)
			if tt.dir == "" {
				tt.dir = home
			}
			require.Equal(t, request{tt.dir, "claude-code", json.RawMessage(tt.event), got.ID}, got)
			require.Len(t, got.ID, 16)
		})
	}
}

// Anything but a plain answer is left to the command, together with what was read from standard
// input and what the daemon said.
func TestTheRestIsLeftToTheCommand(t *testing.T) {
	asked := func(body string) func(*testing.T, *left) {
		return func(t *testing.T, l *left) {
			require.Len(t, l.ID, 16)
			require.Equal(t, body, string(l.Body))
		}
	}
	failed := func(why string, works bool) func(*testing.T, *left) {
		return func(t *testing.T, l *left) {
			require.Len(t, l.ID, 16)
			require.Empty(t, l.Body)
			require.Contains(t, l.Why, why)
			require.Equal(t, works, l.Works)
		}
	}
	unasked := func(t *testing.T, l *left) { require.Equal(t, Answer{}, l.Answer) }
	never := make(chan struct{})
	defer close(never)
	for name, tt := range map[string]struct {
		event     string
		handle    http.HandlerFunc
		variables []string
		check     func(*testing.T, *left)
	}{
		"what was told":      {prompt, answers(`{"reply":"a","told":["1"]}`), nil, asked(`{"reply":"a","told":["1"]}`)},
		"an index is wanted": {prompt, answers(`{"reply":"","index":"/p"}`), nil, asked(`{"reply":"","index":"/p"}`)},
		"another release": {prompt, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			w.Header().Set("X-Memcore-Version", "v0.0.1")
			_, _ = io.WriteString(w, "{}")
		}, nil, func(t *testing.T, l *left) { require.Equal(t, "v0.0.1", l.Release) }},
		"an error": {prompt, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			w.WriteHeader(http.StatusServiceUnavailable)
		}, nil, failed("503", true)},
		"an answer in pieces": {prompt, func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			_ = http.NewResponseController(w).Flush()
		}, nil, failed("200 OK", true)},
		"no sign of life": {prompt, func(http.ResponseWriter, *http.Request) { <-never }, nil, failed("timeout", false)},
		"too much work": {prompt, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
			<-never
		}, nil, failed("timeout", true)},
		"a setting":            {prompt, answers("{}"), []string{"MEMCORE_EMBEDDER=none"}, unasked},
		"another agent's hook": {prompt, answers("{}"), []string{"CURSOR_VERSION=1"}, unasked},
		"an unknown event":     {`{"hook_event_name":"Setup"}`, answers("{}"), nil, unasked},
		"no JSON":              {"which port?", answers("{}"), nil, unasked},
		"a long event":         {`{"hook_event_name":"Stop","x":"` + strings.Repeat("x", MaxEvent) + `"}`, answers("{}"), nil, unasked},
	} {
		t.Run(name, func(t *testing.T) {
			wrote, rest := hook(t, newHome(t), tt.event, tt.handle, tt.variables...)
			require.NotNil(t, rest, wrote)
			tt.check(t, rest)
			require.Equal(t, len(tt.event), rest.Stdin)
		})
	}
}

// A daemon that gives no sign of life twice in a row is not asked, nor one that another user may
// have replaced, nor one that asks a memory service.
func TestWhenTheDaemonIsNotAsked(t *testing.T) {
	plain := answers(`{"reply":"answered"}`)
	for name, prepare := range map[string]func(home, run string){
		"late": func(_, run string) { address.LatenessIn(run).Note(2 * address.Silent) },
		"open": func(_, run string) { require.NoError(t, os.Chmod(run, 0o777)) },
		"service": func(home, _ string) {
			state := filepath.Join(home, "state", "memcore")
			require.NoError(t, os.MkdirAll(state, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(state, "service.key"), nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := newHome(t)
			run := filepath.Join(home, "cache", "memcore", "run")
			require.NoError(t, os.MkdirAll(run, 0o700))
			state := "XDG_STATE_HOME=" + filepath.Join(home, "state")
			wrote, rest := hook(t, home, prompt, plain, state)
			require.Nil(t, rest)
			require.Equal(t, "answered", wrote)
			prepare(home, run)
			_, rest = hook(t, home, prompt, plain, state)
			require.NotNil(t, rest)
			require.Empty(t, rest.ID)
		})
	}
}

// A daemon may refuse before it reads what it is asked.
func TestARefusalAtOnce(t *testing.T) {
	_, rest := hook(t, newHome(t), prompt, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Memcore-Version", "v9.8.7")
		http.Error(w, "busy", http.StatusTooManyRequests)
	})
	require.NotNil(t, rest)
	require.Equal(t, "v9.8.7", rest.Release)
	require.Contains(t, rest.Why, "429")
	require.False(t, rest.Works)
}

// The time of a hook begins when its event is there.
func TestBegan(t *testing.T) {
	for name, variables := range map[string][]string{"read before main": nil, "read by the command": {"MEMCORE_EMBEDDER=none"}} {
		t.Run(name, func(t *testing.T) {
			read, write, err := os.Pipe()
			require.NoError(t, err)
			defer read.Close()
			home := newHome(t)
			command := exec.Command(os.Args[0], "hook", "claude-code")
			command.Env, command.Stdin = append([]string{"HOME=" + home, "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")}, variables...), read
			var said bytes.Buffer
			command.Stderr = &said
			require.NoError(t, command.Start())
			time.Sleep(100 * time.Millisecond) // by then it has begun
			sent := time.Now()
			_, err = io.WriteString(write, prompt)
			require.NoError(t, errors.Join(err, write.Close()))
			require.Error(t, command.Wait())
			var rest left
			require.NoError(t, json.Unmarshal(said.Bytes(), &rest), said.String())
			require.GreaterOrEqual(t, rest.Began, sent.UnixNano())
		})
	}
}

// An agent that reads no more gets no part of an answer, and the command knows.
func TestAnAnswerThatCannotBeWritten(t *testing.T) {
	read, write, err := os.Pipe()
	require.NoError(t, err)
	defer write.Close()
	require.NoError(t, read.Close())
	rest := hookTo(t, write, newHome(t), prompt, answers(`{"reply":"answered"}`))
	require.NotNil(t, rest)
	require.JSONEq(t, `{"reply":"answered"}`, string(rest.Body))
}

// An agent may give hooks a pipe that takes no more than has room in it.
func TestAnAnswerIsWrittenOnce(t *testing.T) {
	var fds [2]int
	require.NoError(t, syscall.Pipe(fds[:]))
	require.NoError(t, syscall.SetNonblock(fds[1], true))
	read, write := os.NewFile(uintptr(fds[0]), "read"), os.NewFile(uintptr(fds[1]), "write")
	defer read.Close()
	got := make(chan string)
	go func() {
		all, _ := io.ReadAll(read)
		got <- string(all)
	}()
	long := strings.Repeat("known ", 40_000) // several times what a pipe holds
	rest := hookTo(t, write, newHome(t), prompt, answers(`{"reply":"`+long+`"}`))
	require.NoError(t, write.Close())
	require.True(t, long == <-got)
	require.Nil(t, rest)
}

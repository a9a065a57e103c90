// Package stand is a home with workspaces in which the tests of load run memcore as processes: the daemon, watches, proxies, hooks and commands, each with
// what it uses of the system. Nothing outside of its folder is touched.
package stand

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/torture"
)

// A Stand is a home of its own. Its methods are safe for concurrent use.
type Stand struct {
	t       testing.TB
	dir     string
	Program string // memcore, of this tree
	// Client asks the daemon. Its connections are kept open, as many as are needed.
	Client *http.Client
}

// New makes a stand, which goes with its processes when the test ends.
func New(t testing.TB) *Stand {
	t.Helper()
	// The path of a test's own folder may be too long for a socket.
	dir, err := os.MkdirTemp("", "memcore-stand-")
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &Stand{t: t, dir: dir, Program: torture.Program(t)}
	for _, folder := range []string{s.Home(), s.Temp(), s.Runtime()} {
		require.NoError(t, os.MkdirAll(folder, 0o700))
	}
	transport := &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return s.Dial(ctx) }}
	s.Client = &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
	return s
}

// Folders of the stand: the home, and those for temporary files and for those of a session.
func (s *Stand) Home() string    { return filepath.Join(s.dir, "home") }
func (s *Stand) Temp() string    { return filepath.Join(s.dir, "tmp") }
func (s *Stand) Runtime() string { return filepath.Join(s.dir, "run") }

// Cache is where memcore keeps what it derives.
func (s *Stand) Cache() string { return filepath.Join(s.Home(), ".cache", "memcore") }

// Dial connects to the daemon.
func (s *Stand) Dial(ctx context.Context) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "unix", filepath.Join(s.Cache(), "run", "memcore.sock"))
}

// Environment is that of all processes of the stand, and more.
func (s *Stand) Environment(more ...string) []string {
	return append([]string{"HOME=" + s.Home(), "TMPDIR=" + s.Temp(), "XDG_RUNTIME_DIR=" + s.Runtime(), "PATH=" + os.Getenv("PATH")}, more...)
}

// Configure writes the user's configuration.
func (s *Stand) Configure(yaml string) {
	s.t.Helper()
	Write(s.t, filepath.Join(s.Home(), ".beans", "config.yaml"), yaml)
}

// Write makes a file, and the folders that it is in.
func Write(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// Workspace makes a workspace with so many notes, each of which says [Fact] of its number.
func (s *Stand) Workspace(name string, notes int) string {
	s.t.Helper()
	folder := filepath.Join(s.dir, name)
	require.NoError(s.t, os.MkdirAll(filepath.Join(folder, ".git"), 0o755))
	Write(s.t, filepath.Join(folder, "BEANS.md"), "# "+name+"\n\nNotes are in notes/, one service each.\n")
	for n := range notes {
		Write(s.t, filepath.Join(folder, "notes", fmt.Sprintf("%d.md", n)), Note(n))
	}
	return folder
}

var words = strings.Fields(`harbour ferry staging database port deploy release branch cache index token session gateway timeout retry worker queue
	metric alert backup restore schema migration customer invoice parser lexer window lantern island bridge river mountain engine compiler editor`)

// Note is the text of a note about service n.
func Note(n int) string {
	random := rand.New(rand.NewPCG(uint64(n), 7))
	var b strings.Builder
	question, answer := Fact(n)
	fmt.Fprintf(&b, "# Service%d\n\n", n)
	for range 30 {
		b.WriteString(words[random.IntN(len(words))] + " ")
	}
	fmt.Fprintf(&b, "\n\n## Where service%d listens\n\n%s On port %s.\n", n, question, answer)
	return b.String()
}

// Fact is what can be asked about service n, and what the answer has in it.
func Fact(n int) (question, answer string) {
	return fmt.Sprintf("Which port does service%d listen on?", n), fmt.Sprint(20_000 + 7*n)
}

// Command is a run of memcore in a folder.
func (s *Stand) Command(ctx context.Context, folder string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, s.Program, args...)
	command.Dir, command.Env = folder, s.Environment()
	command.WaitDelay = 5 * time.Second
	return command
}

// Run runs memcore in a folder to its end.
func (s *Stand) Run(ctx context.Context, folder, stdin string, args ...string) (stdout, stderr string, err error) {
	command := s.Command(ctx, folder, args...)
	command.Stdin = strings.NewReader(stdin)
	var out, errors bytes.Buffer
	command.Stdout, command.Stderr = &out, &errors
	err = command.Run()
	return out.String(), errors.String(), err
}

// Must is Run that has to succeed.
func (s *Stand) Must(folder string, args ...string) string {
	s.t.Helper()
	stdout, stderr, err := s.Run(s.t.Context(), folder, "", args...)
	require.NoError(s.t, err, "memcore %v: %s", args, stderr)
	return stdout
}

// An Answer is what the daemon says.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Post asks the daemon. An error means that there was no whole answer.
func (s *Stand) Post(ctx context.Context, path string, body any) (Answer, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return Answer{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://memcore"+path, bytes.NewReader(data))
	if err != nil {
		return Answer{}, err
	}
	return s.do(request)
}

// Get asks the daemon about itself.
func (s *Stand) Get(ctx context.Context, path string) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://memcore"+path, nil)
	if err != nil {
		return Answer{}, err
	}
	return s.do(request)
}

func (s *Stand) do(request *http.Request) (Answer, error) {
	response, err := s.Client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return Answer{response.StatusCode, response.Header, body}, err
}

// Error is what an answer that is not OK says, in words; it is an error of the test if it says nothing.
func (a Answer) Error() error {
	if a.Status == http.StatusOK {
		return nil
	}
	var said struct {
		Error struct {
			Status  int
			Message string
		}
	}
	if err := json.Unmarshal(a.Body, &said); err != nil || said.Error.Message == "" || said.Error.Status != a.Status {
		return fmt.Errorf("status %d without a clear word: %q", a.Status, a.Body)
	}
	return &Refusal{a.Status, said.Error.Message, a.Header.Get("Retry-After")}
}

// A Refusal is an answer that is not OK, with words.
type Refusal struct {
	Status     int
	Message    string
	RetryAfter string
}

func (r *Refusal) Error() string { return fmt.Sprintf("status %d: %s", r.Status, r.Message) }

// Busy tells whether an error is a refusal of a service that has too much to do, as a client has to be told it: by its status, and when to come again.
func Busy(err error) bool {
	var r *Refusal
	return errors.As(err, &r) && (r.Status == http.StatusTooManyRequests || r.Status == http.StatusServiceUnavailable) && r.RetryAfter != ""
}

// A Process runs until it is stopped.
type Process struct {
	Name string
	PID  int
	cmd  *exec.Cmd
	done chan struct{}
	err  error // once done is closed

	mu     sync.Mutex
	stderr bytes.Buffer
}

// Write takes what the process says on standard error, up to a megabyte.
func (p *Process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stderr.Len() < 1<<20 {
		p.stderr.Write(text)
	}
	return len(text), nil
}

// Said is what the process has said on standard error.
func (p *Process) Said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// Start starts a process that runs until Stop, or the end of the test.
func (s *Stand) Start(name string, command *exec.Cmd) *Process {
	s.t.Helper()
	p := &Process{Name: name, cmd: command, done: make(chan struct{})}
	command.Stderr = p
	if command.Stdout == nil {
		command.Stdout = p
	}
	require.NoError(s.t, command.Start())
	p.PID = command.Process.Pid
	go func() {
		p.err = command.Wait()
		close(p.done)
	}()
	s.t.Cleanup(func() {
		_ = command.Process.Kill()
		<-p.done
	})
	return p
}

// Serve starts the daemon, and waits until it answers.
func (s *Stand) Serve(args ...string) *Process {
	s.t.Helper()
	p := s.Start("daemon", s.Command(context.Background(), s.dir, append([]string{"serve"}, args...)...))
	s.Ready(p)
	return p
}

// Ready waits until the daemon answers.
func (s *Stand) Ready(p *Process) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		answer, err := s.Get(context.Background(), "/v1/ready")
		return err == nil && answer.Status == http.StatusOK
	}, 30*time.Second, 10*time.Millisecond, "%s does not answer: %s", p.Name, p.Said())
}

// Said waits for a text on standard error of a process, or output, and returns what follows it in its line.
func (s *Stand) Said(p *Process, text string) (rest string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		_, after, ok := strings.Cut(p.Said(), text)
		line, _, whole := strings.Cut(after, "\n")
		rest = line
		return ok && whole
	}, 30*time.Second, 10*time.Millisecond, "%s does not say %q", p.Name, text)
	return rest
}

// Alive tells whether the process runs.
func (p *Process) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Stop asks the process to end, and returns how it did.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.Wait()
}

// Wait waits for the end of a process that was asked to.
func (p *Process) Wait() error {
	select {
	case <-p.done:
		return p.err
	case <-time.After(30 * time.Second):
		return fmt.Errorf("%s does not end: %s", p.Name, p.Said())
	}
}

package harness

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
)

// A Load is a home with many processes of memcore. Its methods are safe for concurrent use.
type Load struct {
	*Home
	t testing.TB
	// Client keeps its connections to the daemon open.
	Client *http.Client
}

// NewLoad makes a load and removes it after the test.
func NewLoad(t testing.TB) *Load {
	t.Helper()
	l := &Load{Home: newHome(t, shortFolder(t), "workspace"), t: t}
	transport := &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return l.Dial(ctx) }}
	l.Client = &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
	return l
}

// Folders for temporary files, sockets and the cache.
func (l *Load) Temp() string    { return filepath.Join(l.Root, "tmp") }
func (l *Load) Runtime() string { return filepath.Join(l.Root, "run") }
func (l *Load) Cache() string   { return filepath.Join(l.Home.Home, ".cache", "memcore") }
func (l *Load) State() string   { return filepath.Join(l.Home.Home, ".local", "state", "memcore") }

// Dial connects to the daemon.
func (l *Load) Dial(ctx context.Context) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "unix", filepath.Join(l.Cache(), "run", "memcore.sock"))
}

// Configure writes the user's settings.
func (l *Load) Configure(yaml string) {
	l.t.Helper()
	Write(l.t, filepath.Join(l.Home.Home, ".beans", "config.yaml"), yaml)
}

// NewWorkspace makes a workspace with notes, one for each [Fact].
func (l *Load) NewWorkspace(name string, notes int) string {
	l.t.Helper()
	folder := filepath.Join(l.Root, name)
	require.NoError(l.t, os.MkdirAll(filepath.Join(folder, ".git"), 0o755))
	Write(l.t, filepath.Join(folder, "BEANS.md"), "# "+name+"\n\nNotes are in notes/, one service each.\n")
	for n := range notes {
		Write(l.t, filepath.Join(folder, "notes", fmt.Sprintf("%d.md", n)), Note(n))
	}
	return folder
}

var words = strings.Fields(`harbour ferry staging database port deploy release branch cache index token session gateway timeout retry worker queue
	metric alert backup restore schema migration customer invoice parser lexer window lantern island bridge river mountain engine compiler editor`)

// Note returns a note about service n.
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

// Fact returns a question about service n and the text that answers it.
func Fact(n int) (question, answer string) {
	return fmt.Sprintf("Which port does service%d listen on?", n), fmt.Sprint(20_000 + 7*n)
}

// Command returns a command of memcore in a folder.
func (l *Load) Command(ctx context.Context, folder string, args ...string) *exec.Cmd {
	return l.command(ctx, folder, args)
}

// Run runs memcore in a folder; it must exit with 0.
func (l *Load) Run(ctx context.Context, folder, stdin string, args ...string) (stdout, stderr string, err error) {
	cmd := l.Command(ctx, folder, args...)
	cmd.Stdin = strings.NewReader(stdin)
	r, err := finish(cmd)
	if err == nil && r.Code != 0 {
		err = fmt.Errorf("memcore %q: %s", args, cmd.ProcessState)
	}
	return r.Out, r.Errors, err
}

// Must is Run that fails the test.
func (l *Load) Must(folder string, args ...string) string {
	l.t.Helper()
	stdout, stderr, err := l.Run(l.t.Context(), folder, "", args...)
	require.NoError(l.t, err, "memcore %v: %s", args, stderr)
	return stdout
}

// An Answer is the daemon's.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Post asks the daemon. Missing or incomplete answers are errors.
func (l *Load) Post(ctx context.Context, path string, body any) (Answer, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return Answer{}, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://memcore"+path, bytes.NewReader(data))
	if err != nil {
		return Answer{}, err
	}
	return l.do(request)
}

// Get asks the daemon with GET.
func (l *Load) Get(ctx context.Context, path string) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://memcore"+path, nil)
	if err != nil {
		return Answer{}, err
	}
	return l.do(request)
}

func (l *Load) do(request *http.Request) (Answer, error) {
	response, err := l.Client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return Answer{response.StatusCode, response.Header, body}, err
}

// Error returns nil for status OK, else what the daemon said.
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
	return fmt.Errorf("status %d: %s", a.Status, said.Error.Message)
}

// A Process runs until Stop.
type Process struct {
	Name string
	PID  int
	cmd  *exec.Cmd
	done chan struct{}
	err  error // once done is closed

	mu     sync.Mutex
	stderr bytes.Buffer
}

// Write keeps standard error, up to a megabyte.
func (p *Process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stderr.Len() < 1<<20 {
		p.stderr.Write(text)
	}
	return len(text), nil
}

// Said returns standard error so far.
func (p *Process) Said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// Start starts a process that runs until Stop or the end of the test.
func (l *Load) Start(name string, command *exec.Cmd) *Process {
	l.t.Helper()
	p := &Process{Name: name, cmd: command, done: make(chan struct{})}
	command.Stderr = p
	if command.Stdout == nil {
		command.Stdout = p
	}
	require.NoError(l.t, command.Start())
	p.PID = command.Process.Pid
	go func() {
		p.err = command.Wait()
		close(p.done)
	}()
	l.t.Cleanup(func() {
		_ = command.Process.Kill()
		<-p.done
	})
	return p
}

// Serve starts the daemon and waits until it answers.
func (l *Load) Serve(args ...string) *Process {
	l.t.Helper()
	p := l.Start("daemon", l.Command(context.Background(), l.Root, append([]string{"serve"}, args...)...))
	l.Ready(p)
	return p
}

// Ready waits until the daemon answers.
func (l *Load) Ready(p *Process) {
	l.t.Helper()
	require.Eventually(l.t, func() bool {
		answer, err := l.Get(context.Background(), "/v1/health")
		return err == nil && answer.Status == http.StatusOK
	}, 2*time.Minute, 10*time.Millisecond, "%s does not answer: %s", p.Name, p.Said())
}

// Said waits until a process prints text and returns the rest of the line.
func (l *Load) Said(p *Process, text string) (rest string) {
	l.t.Helper()
	require.Eventually(l.t, func() bool {
		_, after, ok := strings.Cut(p.Said(), text)
		line, _, whole := strings.Cut(after, "\n")
		rest = line
		return ok && whole
	}, 2*time.Minute, 10*time.Millisecond, "%s does not say %q", p.Name, text)
	return rest
}

// Alive reports whether the process runs.
func (p *Process) Alive() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Stop interrupts the process and waits for its end.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.Wait()
}

// Wait waits for its end.
func (p *Process) Wait() error {
	select {
	case <-p.done:
		return p.err
	case <-time.After(2 * time.Minute):
		return fmt.Errorf("%s does not end: %s", p.Name, p.Said())
	}
}

package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/mod/semver"

	"github.com/memcore/memcore/inject/daemon/address"
	"github.com/memcore/memcore/internal/jsonfile"
)

// ErrAway means that no daemon answers.
var ErrAway = errors.New("no daemon answers")

// maxReply bounds an answer, in bytes.
const maxReply = 64 << 20

// Call sends a request, decodes the answer into out, if not nil, and returns the daemon's version.
// Without a daemon it returns ErrAway at once. An answer that is not OK is a *StatusError.
func (p Place) Call(ctx context.Context, method, path string, in, out any) (version string, err error) {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return "", err
		}
		body = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://memcore"+path, body)
	if err != nil {
		return "", err
	}
	if err := address.Owned(filepath.Dir(p.socket)); err != nil {
		return "", fmt.Errorf("%w: %w", ErrAway, err)
	}
	var dialer net.Dialer
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, "unix", p.socket)
		if err != nil {
			return nil, err
		}
		if err := checkPeer(conn, false); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return conn, nil
	}}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("%w at %s: %w", ErrAway, p.socket, err)
	}
	defer response.Body.Close()
	version = response.Header.Get("X-Memcore-Version")
	data, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	if err != nil {
		return version, fmt.Errorf("%w: %w", ErrAway, err)
	}
	if response.StatusCode != http.StatusOK {
		var said struct {
			Error struct{ Message string }
		}
		if json.Unmarshal(data, &said) != nil || said.Error.Message == "" {
			said.Error.Message = response.Status
		}
		return version, &StatusError{response.StatusCode, said.Error.Message}
	}
	if out == nil {
		return version, nil
	}
	return version, json.Unmarshal(data, out)
}

// A StatusError is an answer that is not OK.
type StatusError struct {
	Status  int
	Message string
}

func (e *StatusError) Error() string { return e.Message }

// A Starter says how the daemon is started.
type Starter struct {
	Binary  string   // absolute path of the program
	Args    []string // for the daemon
	Version string   // of the program, as "v1.2.3"; others have no order
	Env     []string // of the daemon; nil for that of this process
}

// startLock is held while a process starts the daemon.
const startLock = "start.lock"

// A noted release is the newest that ran here.
type noted struct {
	Version string `json:"version"`
	Binary  string `json:"binary"`
}

func (p Place) newestFile() string { return filepath.Join(p.dir, "newest.json") }

// IsNewer reports whether a is newer. Unknown versions are not.
func IsNewer(a, b string) bool {
	return semver.IsValid(a) && semver.IsValid(b) && semver.Compare(a, b) > 0
}

// startWait bounds a process's lock on starting.
const startWait = 2 * time.Second

// Start starts the daemon unless it runs or is being started, in the newest release that ran here
// and works. It returns before the daemon answers, or when ctx ends.
func (p Place) Start(ctx context.Context, s Starter) error {
	done, ok, err := lockFile(filepath.Join(p.dir, startLock))
	if err != nil || !ok {
		return err // another process starts it
	}
	defer done()
	if p.Running() {
		return nil
	}
	newest := p.newestOf(s)
	err = p.launch(ctx, newest)
	if err != nil && ctx.Err() == nil && newest.Binary != s.Binary {
		_ = jsonfile.Save(p.newestFile(), noted{s.Version, s.Binary}) // the newer one does not work any more
		err = p.launch(ctx, s)
	}
	return err
}

// launch waits until the daemon has the lock.
func (p Place) launch(ctx context.Context, s Starter) error {
	command := exec.Command(s.Binary, s.Args...)
	command.Dir, command.Env = p.dir, s.Env // not a workspace, which the user may want to remove
	detach(command)
	if err := command.Start(); err != nil { // standard streams are the null device
		return fmt.Errorf("start the daemon %s: %w", s.Binary, err)
	}
	gone := make(chan struct{})
	go func() {
		_ = command.Wait() // so that it does not stay a zombie
		close(gone)
	}()
	deadline := time.NewTimer(startWait)
	defer deadline.Stop()
	for !p.Running() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-gone:
			return fmt.Errorf("start the daemon: %s ended at once", s.Binary)
		case <-deadline.C:
			return nil
		case <-time.After(2 * time.Millisecond):
		}
	}
	return nil
}

// Run runs this program in the background with an input. It returns once the input is passed on.
func Run(input []byte, args ...string) error {
	binary, err := os.Executable()
	if err != nil {
		return err
	}
	command := exec.Command(binary, args...)
	detach(command)
	in, err := command.StdinPipe()
	if err != nil {
		return err
	}
	if err := command.Start(); err != nil {
		return err
	}
	_, err = in.Write(input)
	return errors.Join(err, in.Close())
}

// newestOf returns and notes the newer of s and the noted.
func (p Place) newestOf(s Starter) Starter {
	known, err := jsonfile.Load[noted](p.newestFile())
	if err == nil && IsNewer(known.Version, s.Version) && trustworthy(known.Binary) {
		s.Binary, s.Version = known.Binary, known.Version
		return s
	}
	if known != (noted{s.Version, s.Binary}) {
		_ = jsonfile.Save(p.newestFile(), noted{s.Version, s.Binary}) // without it, an older release may be started and replaced
	}
	return s
}

// Replace replaces an older daemon by this release.
func (p Place) Replace(ctx context.Context, running string, s Starter) error {
	if !IsNewer(s.Version, running) {
		return nil
	}
	if err := p.Stop(ctx); err != nil && !errors.Is(err, ErrAway) {
		return err
	}
	return p.Start(ctx, s)
}

// Stop ends the daemon and waits. Without one it returns ErrAway.
func (p Place) Stop(ctx context.Context) error {
	if _, err := p.Call(ctx, http.MethodPost, "/v1/shutdown", struct{}{}, nil); err != nil {
		return err
	}
	for p.Running() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
	return nil
}

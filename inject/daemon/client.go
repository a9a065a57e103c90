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
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/mod/semver"

	"github.com/memcore/memcore/internal/jsonfile"
)

// ErrAway means that no daemon answers.
var ErrAway = errors.New("no daemon answers")

// longestReply bounds what is read of an answer, in bytes.
const longestReply = 64 << 20

// Call sends a request to the daemon and reads its answer into out, if that is not nil. It returns the version of the daemon. Without a daemon the error is
// ErrAway, at once; errors of the daemon are those of its API, in words.
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
	if err := owned(filepath.Dir(p.socket)); err != nil {
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
	data, err := io.ReadAll(io.LimitReader(response.Body, longestReply))
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

// A StatusError is what the daemon answers if it does not do what was asked.
type StatusError struct {
	Status  int
	Message string
}

func (e *StatusError) Error() string { return e.Message }

// A Starter knows how the daemon is started.
type Starter struct {
	Binary  string   // absolute path of the program
	Args    []string // that make it the daemon
	Version string   // of the program, as "v1.2.3"; another is neither newer nor older than any
	Env     []string // of the daemon; nil is this process's
}

// startLock is held by whoever starts a daemon.
const startLock = "start.lock"

// A noted release is the newest one that has run.
type noted struct {
	Version string `json:"version"`
	Binary  string `json:"binary"`
}

func (p Place) newestFile() string { return filepath.Join(p.dir, "newest.json") }

// IsNewer tells whether a release is newer than another; it is not if either is of an unknown age.
func IsNewer(a, b string) bool {
	return semver.IsValid(a) && semver.IsValid(b) && semver.Compare(a, b) > 0
}

// startWait is how long whoever starts a daemon sees to it that nobody else does.
const startWait = 2 * time.Second

// Start starts the daemon in the background unless there is one, or somebody is starting it. Of the releases that were started here, that is the newest that is
// still installed. It returns before the daemon answers, at the latest when ctx ends.
func (p Place) Start(ctx context.Context, s Starter) error {
	done, ok, err := lockFile(filepath.Join(p.dir, startLock))
	if err != nil || !ok {
		return err // another is at it
	}
	defer done()
	if p.Running() {
		return nil
	}
	newest := p.newestOf(s)
	err = p.launch(ctx, newest)
	if err != nil && ctx.Err() == nil && newest.Binary != s.Binary {
		_ = jsonfile.Save(p.newestFile(), noted{s.Version, s.Binary}) // it is newer, and works no more
		err = p.launch(ctx, s)
	}
	return err
}

// launch starts a program as the daemon and waits until it has the lock.
func (p Place) launch(ctx context.Context, s Starter) error {
	command := exec.Command(s.Binary, s.Args...)
	command.Dir, command.Env = p.dir, s.Env // not a workspace, which somebody may want to remove
	detach(command)
	if err := command.Start(); err != nil { // standard streams are the null device
		return fmt.Errorf("start the daemon %s: %w", s.Binary, err)
	}
	gone := make(chan struct{})
	go func() {
		_ = command.Wait() // so that one that ends at once is no zombie while this process lives
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

// newestOf returns the newest of what was noted and s, and notes it.
func (p Place) newestOf(s Starter) Starter {
	known, err := jsonfile.Load[noted](p.newestFile())
	if err == nil && IsNewer(known.Version, s.Version) && trustworthy(known.Binary) {
		s.Binary, s.Version = known.Binary, known.Version
		return s
	}
	if known != (noted{s.Version, s.Binary}) {
		_ = jsonfile.Save(p.newestFile(), noted{s.Version, s.Binary}) // without it an older release may be started, and replaced
	}
	return s
}

// Replace ends a daemon of an older release and starts this one in its place.
func (p Place) Replace(ctx context.Context, running string, s Starter) error {
	if !IsNewer(s.Version, running) {
		return nil
	}
	if err := p.Stop(ctx); err != nil && !errors.Is(err, ErrAway) {
		return err
	}
	return p.Start(ctx, s)
}

// Stop asks the daemon to end and waits until it has. Without one it is ErrAway; one that does not answer is an error when ctx ends.
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

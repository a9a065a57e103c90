package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/memcore/memcore/inject/daemon"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/userdir"
)

const (
	// DaemonWait is how long commands wait for the daemon.
	DaemonWait = 3 * time.Second
	// hookWait is how long hooks wait for it; patientWait if it asks a memory service.
	hookWait    = 120 * time.Millisecond
	patientWait = 240 * time.Millisecond
	// maxMute is how long hooks avoid a daemon that hangs.
	maxMute = 30 * time.Second
)

// DaemonPlace is the place of the user's daemon.
func DaemonPlace() (daemon.Place, error) {
	cache, err := userdir.Cache()
	if err != nil {
		return daemon.Place{}, kind.Hint(fmt.Errorf("no folder for the daemon: %w", err), "set HOME")
	}
	return daemon.At(filepath.Join(cache, "run")), nil
}

// errUnasked means that the daemon was not asked.
var errUnasked = errors.New("the daemon was not asked")

// A SlowDaemonError says why a hook did the daemon's work itself.
type SlowDaemonError struct{ Why string }

func (e *SlowDaemonError) Error() string { return e.Why }

// callDaemon asks a daemon and returns its release. A daemon does not know flags and variables of
// its clients, so with an Override it is not asked.
func (w *Workspace) callDaemon(ctx context.Context, wait time.Duration, path string, request, answer any) (release string, err error) {
	if w.Override() != "" {
		return "", errUnasked
	}
	place, err := DaemonPlace()
	if err != nil {
		return "", err
	}
	ctx, stop := context.WithTimeout(ctx, wait)
	defer stop()
	return place.Call(ctx, http.MethodPost, path, request, answer)
}

// HookByDaemon lets the daemon answer a hook; data is the event as sent. It needs no Prepare. The
// error wraps daemon.ErrAway without a daemon, and is a *SlowDaemonError if it is late.
func (w *Workspace) HookByDaemon(ctx context.Context, e hook.Event, dir string, data []byte) (answer httpapi.HookReply, release string, err error) {
	place, err := DaemonPlace()
	if err != nil {
		return answer, "", err
	}
	late := readLateness(place.File("silent"))
	if wait := late.mute(time.Now()); wait > 0 {
		return answer, "", &SlowDaemonError{fmt.Sprintf("the daemon was late %d times in a row; it is asked again in %v", late.times, wait.Round(time.Second/10))}
	}
	event := json.RawMessage(data)
	if !json.Valid(data) { // the agent text
		if event, err = json.Marshal(string(data)); err != nil {
			return answer, "", err
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return answer, "", err
	}
	request := httpapi.HookRequest{Target: httpapi.Target{Workspace: dir}, Agent: e.Agent, Event: event, ID: e.ID, Cut: e.Cut}
	wait := hookWait
	if state, err := userdir.State(); err == nil { // reading the settings would take longer
		if _, err := os.Stat(filepath.Join(state, config.ServiceKeyFile)); err == nil {
			wait, request.Within = patientWait, int(patientWait.Milliseconds())
		}
	}
	release, err = w.callDaemon(ctx, wait, "/v1/hook", request, &answer)
	if errors.Is(err, context.DeadlineExceeded) {
		late.note()
		return answer, release, &SlowDaemonError{fmt.Sprintf("the daemon did not answer within %v", wait)}
	}
	if err == nil {
		late.forget()
	}
	return answer, release, err
}

// A lateness counts how often in a row the daemon was late for hooks.
type lateness struct {
	file  string
	times int
	last  time.Time
}

// readLateness reads the file that note writes. An unreadable file counts once.
func readLateness(file string) lateness {
	l := lateness{file: file}
	info, err := os.Stat(file)
	if err != nil {
		return l
	}
	l.times, l.last = 1, info.ModTime()
	if text, err := os.ReadFile(file); err == nil {
		if n, err := strconv.Atoi(string(text)); err == nil {
			l.times = max(n, 1)
		}
	}
	return l
}

// mute returns how long hooks avoid the daemon from now on: ever longer, but not after one late
// answer, when the daemon was opening the memory. A changed clock may put last into the future.
func (l lateness) mute(now time.Time) time.Duration {
	if l.times < 2 {
		return 0
	}
	whole := min(time.Second<<min(l.times-2, 10), maxMute)
	return max(whole-now.Sub(l.last).Abs(), 0)
}

// note counts a late answer.
func (l lateness) note() { _ = os.WriteFile(l.file, []byte(strconv.Itoa(l.times+1)), 0o600) }

// forget ends the count.
func (l lateness) forget() {
	if l.times > 0 {
		_ = os.Remove(l.file)
	}
}

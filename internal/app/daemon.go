package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/memcore/memcore/inject/daemon"
	"github.com/memcore/memcore/inject/daemon/address"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/userdir"
)

const (
	// DaemonWait is how long commands wait for the daemon.
	DaemonWait = 3 * time.Second
	// patientWait is how long hooks wait for it if it asks a memory service, else address.HookWait.
	patientWait = 240 * time.Millisecond
)

// DaemonPlace is the place of the user's daemon.
func DaemonPlace() (daemon.Place, error) {
	folder, err := address.Folder()
	if err != nil {
		return daemon.Place{}, kind.Hint(fmt.Errorf("no folder for the daemon: %w", err), "set HOME")
	}
	return daemon.At(folder), nil
}

// errUnasked means that the daemon was not asked.
var errUnasked = errors.New("the daemon was not asked")

// A SlowDaemonError says why a hook did the daemon's work itself.
type SlowDaemonError struct {
	Why string
	// Works says that the daemon had begun to.
	Works bool
}

func (e *SlowDaemonError) Error() string { return e.Why }

// DaemonWasLate is the error of a hook that has waited for the daemon.
func DaemonWasLate(wait time.Duration, works bool) error {
	return &SlowDaemonError{fmt.Sprintf("the daemon did not answer within %v", wait), works}
}

// callDaemon asks a daemon and returns its release. A daemon does not know flags and variables of
// its clients, so with an Override it is not asked.
func (w *Workspace) callDaemon(ctx context.Context, wait time.Duration, path string, request, answer any) (release string, err error) {
	if w.Override() != "" {
		return "", errUnasked
	}
	at, err := DaemonPlace()
	if err != nil {
		return "", err
	}
	ctx, stop := context.WithTimeout(ctx, wait)
	defer stop()
	return at.Call(ctx, http.MethodPost, path, request, answer)
}

// HookByDaemon lets the daemon answer a hook; data is the event as sent. It needs no Prepare. The
// error wraps daemon.ErrAway without a daemon, and is a *SlowDaemonError if it is late. new is how
// long to wait for a daemon that was just started; 0 if it was not.
func (w *Workspace) HookByDaemon(ctx context.Context, e hook.Event, dir string, data []byte, new time.Duration) (answer httpapi.HookReply, release string, err error) {
	folder, err := address.Folder()
	if err != nil {
		return answer, "", err
	}
	late := address.LatenessIn(folder)
	if wait := late.Mute(time.Now()); wait > 0 {
		return answer, "", &SlowDaemonError{Why: fmt.Sprintf("the daemon was late several times in a row; it is asked again in %v", wait.Round(time.Second/10))}
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
	wait := address.HookWait
	if state, err := userdir.State(); err == nil { // reading the settings would take longer
		if _, err := os.Stat(filepath.Join(state, userdir.ServiceKeyFile)); err == nil {
			wait, request.Within = patientWait, int(patientWait.Milliseconds())
		}
	}
	as := address.Silent
	if new > 0 {
		wait, as = max(wait, new), address.Working
	}
	release, err = w.callDaemon(ctx, wait, "/v1/hook", request, &answer)
	if errors.Is(err, context.DeadlineExceeded) {
		late.Note(as)
		return answer, release, DaemonWasLate(wait, as == address.Working)
	}
	if err == nil {
		late.Forget()
	}
	return answer, release, err
}

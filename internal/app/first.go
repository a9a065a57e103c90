package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/safefile"
)

// A FirstIndex is a workspace's first indexing. Hooks start it in the background.
type FirstIndex struct {
	w  *Workspace
	at config.Folders
}

// FirstIndex returns the first indexing of the workspace.
func (w *Workspace) FirstIndex() (FirstIndex, error) {
	at, err := w.Folders()
	return FirstIndex{w, at}, err
}

// A firstRun is what the last attempt left.
type firstRun struct {
	Began   time.Time `json:"began"`
	Starts  bool      `json:"starts,omitempty"` // a hook starts the process, which is not at it yet
	Problem string    `json:"problem,omitempty"`
}

const (
	// retryFirst is how long hooks leave a workspace alone after a failure.
	retryFirst = time.Hour
	// startOfFirst is how long the process may need to start.
	startOfFirst = 10 * time.Second
	// lockOfFirst is how long it waits for its lock, which others take for a moment.
	lockOfFirst = time.Second
)

// starts reports whether a process is starting.
func (r firstRun) starts() bool { return r.Starts && time.Since(r.Began).Abs() < startOfFirst }

// wanted reports whether a hook should start it: memory.hook.index is set, the workspace is a
// project and has no index.
func (f FirstIndex) wanted(e hook.Event) bool {
	if f.w.Settings.Hook.Index == config.IndexOff || e.Kind != agents.SessionStart && e.Kind != agents.Prompt {
		return false
	}
	if !f.missing() || f.w.AtHome() || !f.w.Settings.Enabled || !f.isProject() {
		return false
	}
	last, err := jsonfile.Load[firstRun](f.file("first.json"))
	return err == nil && (last.Problem == "" || time.Since(last.Began).Abs() > retryFirst) && !last.starts() && !f.running()
}

// missing reports whether there is no index. It is quick.
func (f FirstIndex) missing() bool {
	_, err := os.Stat(filepath.Join(f.at.Index, "CURRENT"))
	return os.IsNotExist(err)
}

// isProject reports whether the folder is marked as a project.
func (f FirstIndex) isProject() bool {
	for _, marker := range []string{".git", ".beans"} {
		if _, err := os.Lstat(filepath.Join(f.w.Project, marker)); err == nil {
			return true
		}
	}
	return false
}

func (f FirstIndex) file(name string) string { return filepath.Join(f.at.Own(), name) }

// running reports whether a process runs it.
func (f FirstIndex) running() bool {
	lock := flock.New(f.file("first.lock"), flock.SetPermissions(0o600))
	if _, err := os.Stat(lock.Path()); err != nil {
		return false
	}
	free, err := lock.TryLock()
	if free {
		err = lock.Unlock()
	}
	return err == nil && !free
}

// Begin notes for Text that a process is starting, which will Run.
func (f FirstIndex) Begin() error {
	if err := safefile.MkdirAll(f.at.Own(), 0o700); err != nil {
		return err
	}
	return jsonfile.Save(f.file("first.json"), firstRun{Began: time.Now(), Starts: true})
}

// Run indexes in this process, unless another one does, and notes a failure for Text and later
// hooks.
func (f FirstIndex) Run(ctx context.Context, index func(context.Context) error) error {
	if err := safefile.MkdirAll(f.at.Own(), 0o700); err != nil {
		return err
	}
	lock := flock.New(f.file("first.lock"), flock.SetPermissions(0o600))
	waiting, stop := context.WithTimeout(ctx, lockOfFirst)
	defer stop()
	if _, err := lock.TryLockContext(waiting, 5*time.Millisecond); errors.Is(err, context.DeadlineExceeded) {
		return nil
	} else if err != nil {
		return err
	}
	defer lock.Unlock()
	run := firstRun{Began: time.Now()}
	if err := jsonfile.Save(f.file("first.json"), run); err != nil {
		return err
	}
	err := index(ctx)
	if err == nil {
		return nil
	}
	run.Problem = err.Error()
	return errors.Join(err, jsonfile.Save(f.file("first.json"), run))
}

// Forget removes what the last attempt left, once the workspace was indexed otherwise.
func (f FirstIndex) Forget() error {
	if err := os.Remove(f.file("first.json")); !os.IsNotExist(err) {
		return err
	}
	return nil
}

// Text explains to a person why an answer found no index.
func (f FirstIndex) Text() string {
	running := f.running() // before the record: a process may end meanwhile
	last, err := jsonfile.Load[firstRun](f.file("first.json"))
	began := last.Began.Local().Format(time.TimeOnly)
	switch {
	case err != nil || last.Began.IsZero() && f.missing():
		return "nothing is indexed here yet; run 'memcore index'"
	case running && !f.missing():
		return "nothing was indexed here at that time; there is an index now, and a process in the background still adds to it"
	case running || last.starts() && f.missing():
		return "nothing was indexed here; a hook began to index in the background at " + began + ", so later prompts find more"
	case last.Problem != "":
		return "indexing in the background at " + began + " failed: " + last.Problem + "; run 'memcore index'"
	case f.missing():
		return "nothing is indexed here yet: indexing in the background at " + began + " was ended; run 'memcore index'"
	}
	return "nothing was indexed here at that time; there is an index now"
}

// Missing returns why an answer found no index, or "".
func (w *Workspace) Missing(state core.State) string {
	if state != core.StateMissing {
		return ""
	}
	first, err := w.FirstIndex()
	if err != nil {
		return err.Error()
	}
	return first.Text()
}

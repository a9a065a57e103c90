package core

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// A writerLock lets one writer into an index folder: one goroutine of this process, one process of
// this machine. The system drops the lock of a process that dies.
type writerLock struct {
	folder string
	turn   chan struct{}
}

func newWriterLock(folder string) writerLock {
	return writerLock{folder: folder, turn: make(chan struct{}, 1)}
}

// lockPoll is how often a waiting process looks whether the other one is done.
const lockPoll = 20 * time.Millisecond

// acquire waits for the lock until ctx ends. The caller calls release once.
func (l writerLock) acquire(ctx context.Context) (release func(), err error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	file, err := l.file()
	if err == nil {
		_, err = file.TryLockContext(ctx, lockPoll)
	}
	if err != nil {
		<-l.turn
		return nil, l.explain(err)
	}
	return l.releaser(file), nil
}

// try takes the lock if nobody has it.
func (l writerLock) try() (release func(), ok bool, err error) {
	select {
	case l.turn <- struct{}{}:
	default:
		return nil, false, nil
	}
	file, err := l.file()
	if err == nil {
		ok, err = file.TryLock()
	}
	if err != nil || !ok {
		<-l.turn
		return nil, false, l.explain(err)
	}
	return l.releaser(file), true, nil
}

// held tells whether somebody has the lock. It takes it for a moment to find out.
func (l writerLock) held() (bool, error) {
	if _, err := os.Stat(l.path()); errors.Is(err, fs.ErrNotExist) {
		return false, nil // nobody has ever written; looking must not leave a folder behind
	}
	release, ok, err := l.try()
	if ok {
		release()
	}
	return !ok, err
}

func (l writerLock) path() string { return filepath.Join(l.folder, "LOCK") }

func (l writerLock) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("lock index %s for writing: %w", l.folder, err)
}

func (l writerLock) file() (*flock.Flock, error) {
	if err := os.MkdirAll(l.folder, 0o700); err != nil {
		return nil, err
	}
	return flock.New(l.path(), flock.SetPermissions(0o600)), nil
}

func (l writerLock) releaser(file *flock.Flock) func() {
	return func() {
		file.Unlock() // closing the file, as the process's end does, frees it in any case
		<-l.turn
	}
}

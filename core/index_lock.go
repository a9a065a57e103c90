package core

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/memcore/memcore/internal/safefile"
)

// A writerLock admits one goroutine of one process. The end of the process frees it.
type writerLock struct {
	folder string
	local  chan struct{}
}

func newWriterLock(folder string) writerLock {
	return writerLock{folder: folder, local: make(chan struct{}, 1)}
}

// lockPoll is how often a waiting process retries.
const lockPoll = 20 * time.Millisecond

// acquire waits until ctx ends. Call release once.
func (l writerLock) acquire(ctx context.Context) (release func(), err error) {
	select {
	case l.local <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	file, err := l.file()
	if err == nil {
		_, err = file.TryLockContext(ctx, lockPoll)
	}
	if err != nil {
		<-l.local
		return nil, l.explain(err)
	}
	return l.releaser(file), nil
}

func (l writerLock) try() (release func(), ok bool, err error) {
	select {
	case l.local <- struct{}{}:
	default:
		return nil, false, nil
	}
	file, err := l.file()
	if err == nil {
		ok, err = file.TryLock()
	}
	if err != nil || !ok {
		<-l.local
		return nil, false, l.explain(err)
	}
	return l.releaser(file), true, nil
}

func (l writerLock) path() string { return filepath.Join(l.folder, "LOCK") }

func (l writerLock) explain(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("lock index %s for writing: %w", l.folder, err)
}

func (l writerLock) file() (*flock.Flock, error) {
	if err := safefile.MkdirAll(l.folder, 0o700); err != nil {
		return nil, err
	}
	return flock.New(l.path(), flock.SetPermissions(0o600)), nil
}

func (l writerLock) releaser(file *flock.Flock) func() {
	return func() {
		file.Unlock() // closing the file, as the process's end does, frees it in any case
		<-l.local
	}
}

package generation

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/memcore/memcore/internal/safefile"
)

// files are steps that tests interrupt and some file systems lack.
type files struct {
	link       func(from, to string) error
	rename     func(from, to string) error
	syncFile   func(path string) error
	syncFolder func(path string) error
}

var system = files{
	link:       os.Link,
	rename:     func(from, to string) error { return retry(func() error { return os.Rename(from, to) }) },
	syncFile:   syncFile,
	syncFolder: safefile.SyncFolder,
}

// syncFile opens for writing: Windows flushes no other file.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func readFile(path string) (text []byte, err error) {
	err = retry(func() error {
		text, err = os.ReadFile(path)
		return err
	})
	return text, err
}

// retries bounds the attempts at a step that another process disturbs.
const (
	retries        = 50
	betweenRetries = 2 * time.Millisecond
)

// retry repeats a step after transient errors: Windows does not replace a file that is being read,
// nor open one being replaced.
func retry(step func() error) error {
	for range retries {
		if err := step(); err == nil || !transient(err) {
			return err
		}
		time.Sleep(betweenRetries)
	}
	return step()
}

func copyFile(ctx context.Context, from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, &stoppable{ctx, in})
	return errors.Join(err, out.Close())
}

// A stoppable reads until its context ends.
type stoppable struct {
	ctx context.Context
	io.Reader
}

func (r *stoppable) Read(b []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(b)
}

package generation

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// files are the steps after which a test may want to stop, or which some file systems cannot do.
type files struct {
	link       func(from, to string) error
	rename     func(from, to string) error
	syncFile   func(path string) error
	syncFolder func(path string) error
}

var system = files{
	link:       os.Link,
	rename:     func(from, to string) error { return patiently(func() error { return os.Rename(from, to) }) },
	syncFile:   syncFile,
	syncFolder: syncFolder,
}

// syncFile opens for writing, because Windows flushes nothing else.
func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func readFile(path string) (text []byte, err error) {
	err = patiently(func() error {
		text, err = os.ReadFile(path)
		return err
	})
	return text, err
}

// patience is how often a step is repeated that another process stood in the way of.
const patience = 50

// patiently repeats a step while it fails for a reason that passes: Windows neither replaces a file
// that someone reads just then, nor opens one that is just being replaced.
func patiently(step func() error) error {
	for range patience {
		if err := step(); err == nil || !passing(err) {
			return err
		}
		time.Sleep(2 * time.Millisecond)
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

// A stoppable reader ends with the error of its context.
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

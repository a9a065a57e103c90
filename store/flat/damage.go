package flat

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime/debug"

	"github.com/memcore/memcore/store"
)

// damaged tells what is wrong with a file that must be there and be right. Errors that say nothing
// about its content, such as a lack of permission or of file handles, stay as they are.
func damaged(err error) error {
	var pathError *fs.PathError
	switch {
	case err == nil, errors.Is(err, store.ErrCorrupt), errors.Is(err, store.ErrFormat), errors.Is(err, store.ErrNewer):
		return err
	case errors.As(err, &pathError) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, io.EOF):
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
}

// corrupt is an error that wraps store.ErrCorrupt.
func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{store.ErrCorrupt}, args...)...)
}

// careful runs f. If somebody cut a mapped file short, touching what is gone is a fault, which would
// end the process; here it becomes ErrCorrupt.
func careful(f func() error) (err error) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		cause := recover()
		if cause == nil {
			return
		}
		if _, fault := cause.(interface{ Addr() uintptr }); !fault {
			panic(cause)
		}
		err = corrupt("vectors cannot be read: %v", cause)
	}()
	return f()
}

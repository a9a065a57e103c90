package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime/debug"

	"github.com/memcore/memcore/store"
)

// Damaged wraps a reading error in store.ErrCorrupt, unless the content is not the cause, as with a
// missing permission.
func Damaged(err error) error {
	for _, known := range []error{store.ErrCorrupt, store.ErrFormat, store.ErrNewer, store.ErrDimension} {
		if errors.Is(err, known) {
			return err
		}
	}
	var pathError *fs.PathError
	if err == nil || errors.As(err, &pathError) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, io.EOF) {
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
}

// Corrupt returns an error that wraps store.ErrCorrupt.
func Corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{store.ErrCorrupt}, args...)...)
}

// Careful runs f. A fault, from a mapped file that was cut short, returns store.ErrCorrupt; with
// panics, any panic does.
func Careful(panics bool, f func() error) (err error) {
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		cause := recover()
		if cause == nil {
			return
		}
		if _, fault := cause.(interface{ Addr() uintptr }); !fault && !panics {
			panic(cause)
		}
		err = Corrupt("files cannot be read: %v", cause)
	}()
	return f()
}

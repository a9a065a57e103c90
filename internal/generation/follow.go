package generation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/memcore/memcore/internal/filetime"
)

// ErrClosed is the error of a Follower after Close.
var ErrClosed = errors.New("follower is closed")

// A Snapshot is an open generation, safe for concurrent use.
type Snapshot interface {
	comparable
	// Unchanged reports whether the files in folder are still the opened ones. The Follower itself
	// compares the manifest.
	Unchanged(folder string) bool
	Close() error
}

// A Follower keeps the current generation open. It looks for a newer one before each read, and
// closes a snapshot after its last reader. It is safe for concurrent use.
type Follower[S Snapshot] struct {
	dir      *Dir
	manifest string
	open     func(ctx context.Context, last S, n uint64, folder string) (S, error)

	mu      sync.Mutex // held while open, Unchanged and Close of snapshots run
	closed  bool
	current *opened[S]
}

type opened[S Snapshot] struct {
	snapshot S
	number   uint64 // 0 if there was no generation
	folder   string
	manifest fs.FileInfo
	users    int
}

// Follow returns a Follower of dir. A generation is new if its number or manifest differs. open
// opens generation n; it may share files with last, the snapshot before, or S's zero value. If
// nothing is published, n is 0: open returns an error, an empty snapshot, or last.
func Follow[S Snapshot](dir *Dir, manifest string,
	open func(ctx context.Context, last S, n uint64, folder string) (S, error)) *Follower[S] {
	return &Follower[S]{dir: dir, manifest: manifest, open: open}
}

// Enter returns the current snapshot. The caller calls leave once. Errors: ErrClosed, ErrDamaged,
// open's.
func (f *Follower[S]) Enter(ctx context.Context) (snapshot S, leave func(), err error) {
	entered, err := f.enter(ctx)
	if err != nil {
		return snapshot, nil, err
	}
	return entered.snapshot, func() { f.leave(entered) }, nil
}

func (f *Follower[S]) enter(ctx context.Context) (*opened[S], error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return nil, ErrClosed
	}
	err := f.dir.View(func(n uint64, folder string) error { return f.follow(ctx, n, folder) })
	if errors.Is(err, ErrNone) {
		err = f.followNone(ctx)
	}
	if err != nil {
		return nil, err
	}
	f.current.users++
	return f.current, nil
}

func (f *Follower[S]) leave(entered *opened[S]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	entered.leave()
}

// rereads bounds how often Read tries again.
const rereads = 50

// Read calls read with the current snapshot. It tries again if that fails and another has become
// current: a writer may have removed files.
func (f *Follower[S]) Read(ctx context.Context, read func(S) error) error {
	for again := 0; ; again++ {
		entered, err := f.enter(ctx)
		if err != nil {
			return err
		}
		err = f.readOnce(entered, read)
		if err == nil || again == rereads || ctx.Err() != nil {
			return err
		}
		if now, _, currentErr := f.dir.Current(); currentErr != nil || now == entered.number {
			return err
		}
	}
}

func (f *Follower[S]) readOnce(entered *opened[S], read func(S) error) error {
	defer f.leave(entered)
	return read(entered.snapshot)
}

// follow makes a generation current. The caller holds f.mu.
func (f *Follower[S]) follow(ctx context.Context, n uint64, folder string) error {
	manifest, err := os.Stat(filepath.Join(folder, f.manifest))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c := f.current
	if c != nil && c.number == n && filetime.Same(c.manifest, manifest) && c.snapshot.Unchanged(folder) {
		return nil
	}
	return f.replace(ctx, &opened[S]{number: n, folder: folder, manifest: manifest})
}

// followNone is follow without a published generation.
func (f *Follower[S]) followNone(ctx context.Context) error {
	if f.current != nil && f.current.number > 0 {
		if _, err := os.Stat(f.current.folder); err == nil {
			return fmt.Errorf("%w: the file that names the current generation is gone", ErrDamaged)
		}
	}
	return f.replace(ctx, &opened[S]{})
}

func (f *Follower[S]) replace(ctx context.Context, next *opened[S]) (err error) {
	var last S
	if f.current != nil {
		last = f.current.snapshot
	}
	if next.snapshot, err = f.open(ctx, last, next.number, next.folder); err != nil {
		return err
	}
	if f.current != nil {
		if next.snapshot == last {
			return nil
		}
		f.current.leave()
	}
	next.users = 1
	f.current = next
	return nil
}

// leave ends one use; the last closes the snapshot. The caller holds the Follower's mu.
func (o *opened[S]) leave() error {
	if o.users--; o.users > 0 {
		return nil
	}
	return o.snapshot.Close()
}

// Close closes the snapshot after its last reader.
func (f *Follower[S]) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.current == nil {
		f.closed = true
		return nil
	}
	f.closed = true
	defer func() { f.current = nil }()
	return f.current.leave()
}

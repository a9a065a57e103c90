package generation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/memcore/memcore/internal/safefile"
)

// A Next is in preparation. It is not safe for concurrent use.
type Next struct {
	dir       *Dir
	n         uint64
	folder    string
	linked    map[string]bool // shared files, by path, without appends: durable already
	published bool
}

// Write prepares the generation after n, fills it by write, and publishes it. share is as for
// Begin.
func (d *Dir) Write(ctx context.Context, n uint64, share func(path string) bool, write func(*Next) error) error {
	next, err := d.BeginAfter(ctx, n, share)
	if err != nil {
		return err
	}
	if err := write(next); err != nil {
		next.Abandon()
		return err
	}
	return next.Publish()
}

// BeginAfter is Begin after reading generation n. It fails if another is current.
func (d *Dir) BeginAfter(ctx context.Context, n uint64, share func(path string) bool) (*Next, error) {
	next, err := d.Begin(ctx, share)
	if err == nil && next.n != n+1 {
		next.Abandon()
		return nil, fmt.Errorf("generation %d was read, now it would be %d: another process commits, or the index was removed", n, next.n)
	}
	return next, err
}

// Begin prepares the next generation and removes an unpublished one. share chooses, by
// slash-separated path, files to link (or copy) from the current one; nil chooses none. End with
// Publish or Abandon.
func (d *Dir) Begin(ctx context.Context, share func(path string) bool) (*Next, error) {
	n, current, err := d.Current()
	if err != nil && !errors.Is(err, ErrNone) {
		return nil, err
	}
	return d.begin(ctx, n, current, share)
}

// BeginAnew is Begin without shared files, even if CURRENT is damaged. It overwrites no generation.
func (d *Dir) BeginAnew(ctx context.Context) (*Next, error) {
	n, _, err := d.Current()
	if errors.Is(err, ErrDamaged) || errors.Is(err, ErrNone) {
		n, err = d.highest()
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return d.begin(ctx, n, "", nil)
}

func (d *Dir) highest() (n uint64, err error) {
	entries, err := os.ReadDir(d.root)
	for _, entry := range entries {
		if has, ok := number(entry.Name()); ok && has < math.MaxInt64 {
			n = max(n, has)
		}
	}
	return n, err
}

func (d *Dir) begin(ctx context.Context, n uint64, current string, share func(path string) bool) (*Next, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := safefile.MkdirAll(d.root, 0o700); err != nil {
		return nil, err
	}
	next := &Next{dir: d, n: n + 1, folder: d.folder(n + 1), linked: map[string]bool{}}
	if err := os.RemoveAll(next.folder); err != nil {
		return nil, err
	}
	if err := os.Mkdir(next.folder, 0o700); err != nil {
		return nil, err
	}
	if current == "" || share == nil {
		return next, nil
	}
	if err := next.share(ctx, current, share); err != nil {
		next.Abandon()
		return nil, err
	}
	return next, nil
}

func (x *Next) share(ctx context.Context, current string, share func(string) bool) error {
	return filepath.WalkDir(current, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		rel, err := filepath.Rel(current, path)
		if err != nil || rel == "." {
			return err
		}
		target := filepath.Join(x.folder, rel)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		if !share(filepath.ToSlash(rel)) {
			return nil
		}
		return x.takeFile(ctx, path, target)
	})
}

// Take takes over a file of the current generation under another slash-separated name.
func (x *Next) Take(ctx context.Context, from, to string) error {
	_, current, err := x.dir.Current()
	if err != nil {
		return err
	}
	target := filepath.Join(x.folder, filepath.FromSlash(to))
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	return x.takeFile(ctx, filepath.Join(current, filepath.FromSlash(from)), target)
}

func (x *Next) takeFile(ctx context.Context, path, target string) error {
	if x.dir.files.link(path, target) == nil {
		x.linked[target] = true
		return nil
	}
	return copyFile(ctx, path, target)
}

// Path is the folder to write into.
func (x *Next) Path() string { return x.folder }

// Number is the number the generation will have.
func (x *Next) Number() uint64 { return x.n }

// Append opens a file, by slash-separated name, for writing at the length that the current
// generation has recorded; 0 creates it. It overwrites what a failed writer left beyond.
func (x *Next) Append(name string, length int64) (*os.File, error) {
	path := filepath.Join(x.folder, filepath.FromSlash(name))
	flags := os.O_WRONLY
	if length == 0 {
		flags |= os.O_CREATE
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := seekInside(f, length); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	delete(x.linked, path)
	return f, nil
}

func seekInside(f *os.File, offset int64) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if info.Size() < offset {
		return fmt.Errorf("%s has %d bytes, want %d to append to", f.Name(), info.Size(), offset)
	}
	_, err = f.Seek(offset, io.SeekStart)
	return err
}

// Publish makes the generation durable and current, and removes all but the one before. After an
// error the generation is abandoned; if only the swap may not be durable, it is current.
func (x *Next) Publish() error {
	if err := x.swap(); err != nil {
		x.Abandon()
		return err
	}
	x.published = true
	if err := x.dir.files.syncFolder(x.dir.root); err != nil {
		return err
	}
	x.dir.sweep(x.n)
	return nil
}

// swap syncs the generation and renames CURRENT.
func (x *Next) swap() error {
	if err := x.sync(); err != nil {
		return err
	}
	temporary := filepath.Join(x.dir.root, currentFile+".new")
	if err := os.WriteFile(temporary, []byte(currentText(x.n)), 0o600); err != nil {
		return err
	}
	if err := x.dir.files.syncFile(temporary); err != nil {
		return err
	}
	return x.dir.files.rename(temporary, filepath.Join(x.dir.root, currentFile))
}

// syncs files are synced at once: journals take many for hardly more than one.
const syncs = 8

func (x *Next) sync() error {
	var group errgroup.Group
	group.SetLimit(syncs)
	group.Go(func() error { return x.dir.files.syncFolder(x.dir.root) })
	err := filepath.WalkDir(x.folder, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			group.Go(func() error { return x.dir.files.syncFolder(path) })
		case entry.Type().IsRegular() && !x.linked[path]:
			group.Go(func() error { return x.dir.files.syncFile(path) })
		}
		return nil
	})
	return errors.Join(err, group.Wait())
}

// Abandon removes an unpublished generation.
func (x *Next) Abandon() {
	if !x.published {
		os.RemoveAll(x.folder)
	}
}

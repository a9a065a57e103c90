// Package generation swaps the content of a folder in whole.
//
// A folder holds numbered generations, of which the file CURRENT names one. A writer prepares the
// next generation beside it, as a copy that shares files with the current one by hard link, and
// publishes it by one rename; a crash before that leaves the current one untouched. Readers never
// wait and never see half. One rule for writers: a file shared with the current generation is never
// written in place, except to append beyond the length that generation recorded.
package generation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const currentFile = "CURRENT"

// keep is how many generations survive a Publish: the new one and the one before it, which a reader
// may have been about to open.
const keep = 2

// ErrNone means that nothing has been published yet.
var ErrNone = errors.New("no generation yet")

// A Dir is a folder of generations. It holds no open files; its methods are safe for concurrent use
// by any number of readers and one writer, in any number of processes.
type Dir struct{ root string }

// New returns the folder of generations at root, which need not exist before the first Publish.
func New(root string) *Dir { return &Dir{root: root} }

// Root is the folder that holds the generations.
func (d *Dir) Root() string { return d.root }

// Current returns the number and the folder of the current generation, or ErrNone.
func (d *Dir) Current() (n uint64, path string, err error) {
	text, err := os.ReadFile(filepath.Join(d.root, currentFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, "", ErrNone
	}
	if err != nil {
		return 0, "", err
	}
	name := strings.TrimSpace(string(text))
	n, err = strconv.ParseUint(name, 10, 64)
	if err != nil {
		return 0, "", fmt.Errorf("%s holds %q, want a number", filepath.Join(d.root, currentFile), name)
	}
	return n, filepath.Join(d.root, name), nil
}

// View calls open with the folder of the current generation, again with the next one if a writer
// removed it while open was at work. open must return the error of what it could not find.
func (d *Dir) View(open func(n uint64, path string) error) error {
	for {
		n, path, err := d.Current()
		if err != nil {
			return err
		}
		err = open(n, path)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if now, _, currentErr := d.Current(); currentErr != nil || now == n {
			return err
		}
	}
}

// A Next is a generation in preparation.
type Next struct {
	dir    *Dir
	n      uint64
	folder string
}

// Begin prepares the next generation. share chooses, by slash-separated path inside a generation,
// the files of the current one that are taken over by hard link (by copy where links are not
// possible); all others are left behind; nil takes over nothing. Remains of a Begin that was never
// published are removed.
func (d *Dir) Begin(ctx context.Context, share func(path string) bool) (*Next, error) {
	n, current, err := d.Current()
	if err != nil && !errors.Is(err, ErrNone) {
		return nil, err
	}
	if err := os.MkdirAll(d.root, 0o700); err != nil {
		return nil, err
	}
	next := &Next{dir: d, n: n + 1, folder: filepath.Join(d.root, strconv.FormatUint(n+1, 10))}
	if err := os.RemoveAll(next.folder); err != nil {
		return nil, err
	}
	if err := os.Mkdir(next.folder, 0o700); err != nil {
		return nil, err
	}
	if current == "" || share == nil {
		return next, nil
	}
	if err := shareFiles(ctx, current, next.folder, share); err != nil {
		next.Abandon()
		return nil, err
	}
	return next, nil
}

func shareFiles(ctx context.Context, from, to string, share func(string) bool) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || rel == "." {
			return err
		}
		target := filepath.Join(to, rel)
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		if !share(filepath.ToSlash(rel)) {
			return nil
		}
		if os.Link(path, target) == nil {
			return nil
		}
		return copyFile(path, target)
	})
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		return errors.Join(err, out.Close())
	}
	return out.Close()
}

// Path is the folder to write into.
func (x *Next) Path() string { return x.folder }

// Number is the number the generation will have.
func (x *Next) Number() uint64 { return x.n }

// Publish makes everything in the folder durable and the generation current, then removes all but
// the one before it.
func (x *Next) Publish() error {
	if err := syncTree(x.folder); err != nil {
		return err
	}
	temporary := filepath.Join(x.dir.root, currentFile+".new")
	if err := writeSynced(temporary, strconv.FormatUint(x.n, 10)+"\n"); err != nil {
		return err
	}
	if err := os.Rename(temporary, filepath.Join(x.dir.root, currentFile)); err != nil {
		return err
	}
	if err := syncFile(x.dir.root); err != nil {
		return err
	}
	x.dir.sweep(x.n)
	return nil
}

// Abandon removes the generation in preparation.
func (x *Next) Abandon() { os.RemoveAll(x.folder) }

// sweep removes old generations. What cannot be removed now (open on some systems) is tried again
// by the next Publish.
func (d *Dir) sweep(current uint64) {
	entries, err := os.ReadDir(d.root)
	if err != nil {
		return
	}
	var old []uint64
	for _, entry := range entries {
		if n, err := strconv.ParseUint(entry.Name(), 10, 64); err == nil && n < current {
			old = append(old, n)
		}
	}
	slices.Sort(old)
	for len(old) >= keep {
		os.RemoveAll(filepath.Join(d.root, strconv.FormatUint(old[0], 10)))
		old = old[1:]
	}
}

func syncTree(root string) error {
	return filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return syncFile(path)
	})
}

func syncFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func writeSynced(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}

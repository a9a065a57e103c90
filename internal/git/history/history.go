// Package history reports when commits changed files last. It reads git's objects: git would run
// commands that a hostile repository configures.
//
// It reads loose objects and packs ("gitformat-pack"), with SHA-1 or SHA-256. It does not know
// objects that a repository borrows from others, branches in a reftable, what a shallow clone left
// out, and more than a hundred packs; files whose commit it cannot find have no date.
package history

import (
	"bytes"
	"container/heap"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/git/gitindex"
	"github.com/memcore/memcore/internal/git/repository"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
)

// A File is one of a working directory.
type File struct {
	Name     string // relative to the working directory, with slashes
	Size     int64
	Modified time.Time
}

// LastChanged returns when the last commit was made that changed each file in a working directory,
// by name, as "git log -1 -- NAME" finds it. Files that are not tracked, or not as they were
// committed, are left out, and those whose commit has no likely date or is not found before ctx
// ends. Where there is no repository there are none. An error names what is damaged; what was found
// is returned beside it.
func LastChanged(ctx context.Context, root string, files []File) (map[string]time.Time, error) {
	dir, err := repository.Dir(root)
	if r, ok := repository.Of(root); !ok || err != nil || dir == "" || r.Shared == "" {
		return nil, err
	}
	shared := paths.Resolve(repository.Common(dir))
	committed, err := unchanged(dir, files)
	if err != nil || len(committed) == 0 {
		return nil, err
	}
	head, err := headOf(dir, shared)
	if err != nil || head == "" {
		return nil, err
	}
	o, err := openObjects(filepath.Join(shared, "objects"), len(head))
	if err != nil {
		return nil, err
	}
	defer o.close()
	w := walk{objects: o, shallow: shallowIn(shared, len(head)), commits: map[string]commit{}, waiting: map[string]names{}, found: map[string]time.Time{}}
	err = w.from(ctx, head, committed)
	if errors.Is(err, fs.ErrNotExist) || ctx.Err() != nil {
		err = nil // a partial clone, objects of another repository, or no time
	}
	if err != nil {
		err = fmt.Errorf("history of %s: %w", root, err)
	}
	return w.found, err
}

// unchanged returns the hashes of files that look as git's index has them.
func unchanged(dir string, files []File) (map[string]string, error) {
	wanted := names{}
	for _, f := range files {
		wanted[f.Name] = true
	}
	entries, err := gitindex.Entries(dir, func(name string) bool { return wanted[name] })
	if err != nil {
		return nil, fmt.Errorf("index in %s: %w", dir, err)
	}
	same := map[string]string{}
	for _, f := range files {
		e, ok := entries[f.Name]
		if ok && e.Size == uint32(f.Size) && int64(e.Seconds) == f.Modified.Unix() && (e.Nanoseconds == 0 || int(e.Nanoseconds) == f.Modified.Nanosecond()) {
			same[f.Name] = e.Hash
		}
	}
	return same, nil
}

// Bounds of the files that are read, in bytes.
const (
	maxHead = 1 << 16
	maxRefs = 64 << 20
)

// headOf returns the ID of the commit that is checked out, or "".
func headOf(dir, shared string) (string, error) {
	text, _, err := safefile.ReadPath(filepath.Join(dir, "HEAD"), maxHead)
	if err != nil {
		return "", err
	}
	name, isBranch := strings.CutPrefix(strings.TrimSpace(string(text)), "ref: ")
	if !isBranch {
		return idOf(name), nil
	}
	if !strings.HasPrefix(name, "refs/") || !filepath.IsLocal(name) {
		return "", nil
	}
	text, _, err = safefile.ReadFile(shared, name, maxHead)
	if err == nil {
		return idOf(strings.TrimSpace(string(text))), nil
	}
	all, _, err := safefile.ReadFile(shared, "packed-refs", maxRefs)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // nothing is committed yet
	}
	for line := range strings.Lines(string(all)) {
		if id, ref, ok := strings.Cut(strings.TrimSpace(line), " "); ok && ref == name {
			return idOf(id), nil
		}
	}
	return "", err
}

// idOf decodes a hash, or returns "".
func idOf(text string) string {
	id, err := hex.DecodeString(text)
	if err != nil || len(id) != 20 && len(id) != 32 {
		return ""
	}
	return string(id)
}

// shallowIn returns the commits whose parents a shallow clone left out.
func shallowIn(shared string, hash int) map[string]bool {
	text, _, err := safefile.ReadFile(shared, "shallow", maxRefs)
	if err != nil {
		return nil
	}
	all := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if id := idOf(strings.TrimSpace(line)); len(id) == hash {
			all[id] = true
		}
	}
	return all
}

// names are those of files, in a set.
type names map[string]bool

// A commit as far as it is needed.
type commit struct {
	id, tree string
	parents  []string
	at       time.Time // zero if it says none
}

// A walk follows each file from commit to commit, to the first parent that has it with the same
// content, until no parent has. All files at a commit are compared at once.
type walk struct {
	*objects
	shallow map[string]bool
	commits map[string]commit
	waiting map[string]names // files by the commit that is asked next
	next    queue            // of these commits
	wanted  names
	folders names // of wanted files
	found   map[string]time.Time
	entries int // of trees that were read
}

func (w *walk) from(ctx context.Context, head string, files map[string]string) error {
	w.wanted, w.folders = names{}, names{}
	for name := range files {
		w.wanted[name] = true
		for at := strings.LastIndexByte(name, '/'); at > 0; at = strings.LastIndexByte(name[:at], '/') {
			w.folders[name[:at]] = true
		}
	}
	c, err := w.commit(ctx, head)
	if err != nil {
		return err
	}
	begin := names{}
	err = w.compare(ctx, "", c.tree, "", func(name, hash string) {
		if files[name] == hash { // else it is staged only
			begin[name] = true
		}
	})
	if err != nil {
		return err
	}
	if err := w.wait(ctx, head, begin); err != nil {
		return err
	}
	for len(w.next) > 0 && ctx.Err() == nil {
		c := heap.Pop(&w.next).(commit)
		files := w.waiting[c.id]
		delete(w.waiting, c.id)
		if err := w.ask(ctx, c, files); err != nil {
			return err
		}
	}
	return nil
}

// ask sends files to the parents of a commit that have them as it has. The others it has changed.
func (w *walk) ask(ctx context.Context, c commit, files names) error {
	if w.shallow[c.id] {
		return nil
	}
	for _, parent := range c.parents {
		p, err := w.commit(ctx, parent)
		if err != nil {
			return err
		}
		changed := names{}
		if err := w.compare(ctx, "", c.tree, p.tree, func(name, _ string) {
			if files[name] {
				changed[name] = true
			}
		}); err != nil {
			return err
		}
		for name := range changed {
			delete(files, name)
		}
		if err := w.wait(ctx, parent, files); err != nil {
			return err
		}
		files = changed
		if len(files) == 0 {
			return nil
		}
	}
	if c.at.IsZero() {
		return nil
	}
	for name := range files {
		w.found[name] = c.at
	}
	return nil
}

// wait lets files, which it keeps, wait for a commit.
func (w *walk) wait(ctx context.Context, id string, files names) error {
	if len(files) == 0 {
		return nil
	}
	if others, ok := w.waiting[id]; ok {
		maps.Copy(others, files)
		return nil
	}
	c, err := w.commit(ctx, id)
	if err != nil {
		return err
	}
	w.waiting[id] = files
	heap.Push(&w.next, c)
	return nil
}

// maxCommits bounds how many parsed commits are held.
const maxCommits = 10_000

func (w *walk) commit(ctx context.Context, id string) (commit, error) {
	if known, ok := w.commits[id]; ok {
		return known, nil
	}
	text, err := w.read(ctx, id, kindCommit)
	if err != nil {
		return commit{}, err
	}
	c := commit{id: id}
	for line := range bytes.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimRight(string(line), "\n"), " ")
		switch key {
		case "tree":
			c.tree = idOf(value)
		case "parent":
			c.parents = append(c.parents, idOf(value))
		case "committer":
			c.at = dateOf(value)
		}
		if key == "" {
			break // the message follows
		}
	}
	for _, needed := range append(c.parents, c.tree) {
		if len(needed) != w.hash {
			return commit{}, fmt.Errorf("commit %x: %w", id, errDamaged)
		}
	}
	if len(w.commits) == maxCommits {
		clear(w.commits)
	}
	w.commits[id] = c
	return c, nil
}

// dateOf reads the date that a committer ends with: seconds and a zone. It is zero if no one can
// have committed then: git keeps any number, also of years that JSON cannot have.
func dateOf(committer string) time.Time {
	const first, end = 24 * 60 * 60, 7258118400 // 1970-01-02 and 2200
	fields := strings.Fields(committer)
	if len(fields) < 2 {
		return time.Time{}
	}
	seconds, err := strconv.ParseInt(fields[len(fields)-2], 10, 64)
	if err != nil || seconds < first || seconds >= end {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

// maxDepth bounds how deep folders are.
const maxDepth = 200

// compare calls differ for each wanted file of a tree that another one has not or has otherwise,
// with its hash. No tree is "".
func (w *walk) compare(ctx context.Context, folder, tree, other string, differ func(name, hash string)) error {
	if tree == other || strings.Count(folder, "/") > maxDepth {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	now, err := w.tree(ctx, tree)
	if err != nil {
		return err
	}
	before, err := w.tree(ctx, other)
	if err != nil {
		return err
	}
	var e, passed treeEntry // the last ones of now and before
	for len(now) > 0 {
		if e, now, err = w.entry(ctx, now, e); err != nil {
			return err
		}
		was := treeEntry{}
		for len(before) > 0 {
			b, rest, err := w.entry(ctx, before, passed)
			if err != nil {
				return err
			}
			if order := bytes.Compare(b.sortedBy(), e.sortedBy()); order > 0 {
				break
			} else if before, passed = rest, b; order == 0 {
				was = b
				break
			}
		}
		if bytes.Equal(e.id, was.id) {
			continue
		}
		name := string(e.name)
		if folder != "" {
			name = folder + "/" + name
		}
		switch {
		case e.isTree && w.folders[name]:
			if err := w.compare(ctx, name, string(e.id), string(was.id), differ); err != nil {
				return err
			}
		case !e.isTree && w.wanted[name]:
			differ(name, string(e.id))
		}
	}
	return nil
}

func (w *walk) tree(ctx context.Context, id string) ([]byte, error) {
	if id == "" {
		return nil, nil
	}
	return w.read(ctx, id, kindTree)
}

// A treeEntry is a file or a folder.
type treeEntry struct {
	name, id []byte
	isTree   bool
}

// sortedBy returns what git sorts entries by.
func (e treeEntry) sortedBy() []byte {
	if e.isTree {
		return append(e.name[:len(e.name):len(e.name)], '/')
	}
	return e.name
}

// entry reads the next entry of a tree: mode, name and hash. One that git would not sort after the
// last one is refused: a tree that repeats a folder would have it compared each time.
func (w *walk) entry(ctx context.Context, tree []byte, last treeEntry) (e treeEntry, rest []byte, err error) {
	if w.entries++; w.entries%1024 == 0 && ctx.Err() != nil {
		return e, nil, ctx.Err()
	}
	mode, rest, ok := bytes.Cut(tree, []byte{' '})
	name, rest, named := bytes.Cut(rest, []byte{0})
	if !ok || !named || len(rest) < w.hash {
		return e, nil, fmt.Errorf("tree: %w", errDamaged)
	}
	// Some programs have written modes with zeros before.
	e = treeEntry{name, rest[:w.hash], string(bytes.TrimLeft(mode, "0")) == "40000"}
	if bytes.Compare(e.sortedBy(), last.sortedBy()) <= 0 {
		return e, nil, fmt.Errorf("tree: %w", errDamaged)
	}
	return e, rest[w.hash:], nil
}

// A queue has the newest commit first, so that few are asked twice.
type queue []commit

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].at.After(q[j].at) }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *queue) Push(c any) { *q = append(*q, c.(commit)) }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := len(*q) - 1
	c := (*q)[last]
	*q = (*q)[:last]
	return c
}

//go:build linux && (amd64 || arm64)

package powercut

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/memcore/memcore/lab/internal/intercept"
	"github.com/memcore/memcore/lab/torture/harness"
)

// A disk records how a folder changes during a command, and what is synced.
type disk struct {
	t     *testing.T
	root  string
	mu    sync.Mutex
	now   int // the calls so far
	nodes map[uint64]*node
}

// A node is a file, link or folder, whatever its names.
type node struct {
	held     int // a descriptor, so that no other node gets the inode
	folder   bool
	versions []version // the first is empty, unless the node was there from the start
	syncs    []int     // the calls that synced it, ascending
}

// A version is what a node is from one call on.
type version struct {
	from    int
	file    harness.File
	names   map[string]*node // of a folder
	changed time.Time
}

// record returns a disk with the folder as it is, all of it synced.
func record(t *testing.T, root string) *disk {
	t.Helper()
	d := &disk{t: t, root: root, nodes: map[uint64]*node{}}
	d.snapshot()
	for _, n := range d.nodes {
		n.versions, n.syncs = n.versions[len(n.versions)-1:], []int{0}
	}
	t.Cleanup(func() {
		for _, n := range d.nodes {
			unix.Close(n.held)
		}
	})
	return d
}

// before records what the disk holds before a call. It pretends to sync, which takes long.
func (d *disk) before(_ int, c intercept.Call) intercept.Action {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.now++
	d.snapshot()
	if c.Name != "fsync" && c.Name != "fdatasync" {
		return intercept.Action{}
	}
	var stat unix.Stat_t
	if err := unix.Lstat(c.Path, &stat); err == nil { // else it was removed
		n := d.nodes[stat.Ino]
		n.syncs = append(n.syncs, d.now)
	}
	return intercept.Action{Skip: true}
}

// calls returns how many calls were seen.
func (d *disk) calls() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now
}

// ended records what the disk holds at the end.
func (d *disk) ended() {
	d.now++
	d.snapshot()
}

func (d *disk) snapshot() {
	if _, err := d.look(d.root); err != nil {
		d.t.Errorf("record the disk: %v", err)
	}
}

// look records the versions of a path and of all below it.
func (d *disk) look(path string) (*node, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	stat := info.Sys().(*syscall.Stat_t)
	n := d.nodes[stat.Ino]
	if n == nil {
		n = &node{folder: info.IsDir()}
		if n.held, err = unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0); err != nil {
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		n.versions = []version{{from: d.now, file: harness.File{Mode: info.Mode(), Time: info.ModTime()}}}
		d.nodes[stat.Ino] = n
	}
	last := n.versions[len(n.versions)-1]
	next := version{from: d.now, file: harness.File{Mode: info.Mode(), Time: info.ModTime()}, changed: time.Unix(stat.Ctim.Unix())}
	if n.folder {
		next.names, err = d.names(path)
		if err == nil && !maps.Equal(next.names, last.names) {
			n.versions = append(n.versions, next)
		}
		return n, err
	}
	// The clock of the file system may be too coarse to show two changes in a row.
	if next.changed.Equal(last.changed) && next.file.Mode == last.file.Mode && time.Since(next.changed) > 50*time.Millisecond {
		return n, nil
	}
	switch {
	case info.Mode().IsRegular():
		var data []byte
		data, err = os.ReadFile(path)
		next.file.Data = string(data)
	case info.Mode()&fs.ModeSymlink != 0:
		next.file.Data, err = os.Readlink(path)
	}
	if err == nil && (next.file != last.file || !next.changed.Equal(last.changed)) {
		n.versions = append(n.versions, next)
	}
	return n, err
}

// names looks at a folder again if it changes meanwhile.
func (d *disk) names(path string) (map[string]*node, error) {
	for {
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		all := map[string]*node{}
		for _, entry := range entries {
			if all[entry.Name()], err = d.look(filepath.Join(path, entry.Name())); err != nil {
				break
			}
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return all, err
		}
	}
}

// at returns the versions before a call: from the one that was synced to the one that was there.
func (n *node) at(call int) []version {
	synced := -1
	for _, s := range n.syncs {
		if s < call {
			synced = s
		}
	}
	first, last := 0, 0
	for i, v := range n.versions {
		if v.from <= synced {
			first = i
		}
		if v.from <= call {
			last = i
		}
	}
	return n.versions[first : last+1]
}

// A loss says what a loss of power leaves of each file and folder that was not synced.
type loss struct {
	name   string
	folder func(n int) int // which of n versions
	file   func(possible []version) harness.File
}

// state returns what a loss of power before a call leaves.
func (d *disk) state(call int, l loss) harness.Tree {
	var stat unix.Stat_t
	tree := harness.Tree{}
	if err := unix.Lstat(d.root, &stat); err == nil {
		d.nodes[stat.Ino].state(tree, "", call, l)
	}
	return tree
}

func (n *node) state(tree harness.Tree, path string, call int, l loss) {
	possible := n.at(call)
	if !n.folder {
		tree[path] = l.file(possible)
		return
	}
	chosen := possible[l.folder(len(possible))]
	if path != "" {
		tree[path] = chosen.file
		path += "/"
	}
	for name, below := range chosen.names {
		below.state(tree, path+name, call, l)
	}
}

func oldest(possible []version) harness.File { return possible[0].file }
func newest(possible []version) harness.File { return possible[len(possible)-1].file }

// damaged returns the newest version of which some bytes did not reach the disk.
func damaged(possible []version, damage func(old, fresh string) string) harness.File {
	f, old := newest(possible), oldest(possible).Data
	if f.Data != old {
		f.Data = damage(old, f.Data)
	}
	return f
}

// cutShort keeps the first half of the bytes that were written last.
func cutShort(old, fresh string) string {
	if rest, ok := strings.CutPrefix(fresh, old); ok {
		return old + rest[:len(rest)/2]
	}
	return fresh[:len(fresh)/2]
}

// zeroed has the new length, but no new bytes.
func zeroed(old, fresh string) string {
	if len(old) > len(fresh) {
		return old
	}
	return old + strings.Repeat("\x00", len(fresh)-len(old))
}

func first(int) int  { return 0 }
func last(n int) int { return n - 1 }

// losses are the kinds of loss; of scattered takes the random ones.
var losses = []loss{
	{"all that was not synced", first, oldest},
	{"data that was not synced", last, oldest},
	{"data that was not synced, zeros instead", last, func(p []version) harness.File { return damaged(p, zeroed) }},
	{"half of the data that was not synced", last, func(p []version) harness.File { return damaged(p, cutShort) }},
	{"names that were not synced", first, newest},
}

// scattered returns a loss that differs from file to file; below returns a random number below n.
func scattered(below func(n int) int) loss {
	return loss{fmt.Sprint("some of what was not synced, ", below(1000)), below, func(possible []version) harness.File {
		switch below(4) {
		case 0:
			return damaged(possible, zeroed)
		case 1:
			return damaged(possible, cutShort)
		}
		return possible[below(len(possible))].file
	}}
}

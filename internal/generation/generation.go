// Package generation replaces the content of a folder as a whole.
//
// A folder holds numbered generations; the file CURRENT names one. A writer prepares the next,
// shares files by hard link, and publishes by one rename. A crash before that changes nothing.
// Readers never wait and never see half. Writers must not write to shared files, except by
// Next.Append beyond the recorded length.
package generation

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const currentFile = "CURRENT"

// keep generations survive a Publish: the new one, and the one before, which readers may be
// opening.
const keep = 2

// Errors of Current; test with errors.Is.
var (
	// ErrNone means that nothing is published.
	ErrNone = errors.New("no generation yet")
	// ErrDamaged means that CURRENT is unreadable, or without checksums. BeginAnew replaces it.
	ErrDamaged = errors.New("CURRENT is damaged or of an earlier release")
)

// currentText has a checksum: one wrong bit could name the previous generation.
func currentText(n uint64) string {
	number := strconv.FormatUint(n, 10)
	return fmt.Sprintf("%s %08x\n", number, crc32.ChecksumIEEE([]byte(number)))
}

// A Dir is a folder of generations. It is safe for concurrent use by readers and one writer, in any
// number of processes.
type Dir struct {
	root  string
	files files
}

// New takes a root, which need not exist.
func New(root string) *Dir { return &Dir{root: root, files: system} }

// Root is the folder of the generations.
func (d *Dir) Root() string { return d.root }

// Current returns the current generation: its number, at least 1, and folder. Errors: ErrNone,
// ErrDamaged, a *fs.PathError.
func (d *Dir) Current() (n uint64, path string, err error) {
	file := filepath.Join(d.root, currentFile)
	text, err := readFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, "", ErrNone
	}
	if err != nil {
		return 0, "", err
	}
	name, _, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	n, ok := number(name)
	if !ok || strings.TrimSpace(string(text)) != strings.TrimSpace(currentText(n)) {
		return 0, "", fmt.Errorf("%w: %s holds %.40q, want the number of a generation and its checksum", ErrDamaged, file, text)
	}
	return n, d.folder(n), nil
}

// number parses the name of a generation.
func number(name string) (n uint64, ok bool) {
	n, err := strconv.ParseUint(name, 10, 63)
	return n, err == nil && n > 0 && name == strconv.FormatUint(n, 10)
}

func (d *Dir) folder(n uint64) string { return filepath.Join(d.root, strconv.FormatUint(n, 10)) }

// View calls open with the current folder. It tries again if that fails and another generation has
// become current: a writer may have removed the folder.
func (d *Dir) View(open func(n uint64, path string) error) error {
	for tried := 0; ; {
		n, path, err := d.Current()
		if err != nil {
			return err
		}
		if err = open(n, path); err == nil {
			return nil
		}
		now, _, currentErr := d.Current()
		if currentErr != nil {
			return err
		}
		if now != n {
			continue
		}
		// On Windows, a file is not opened while the link to it in an older generation is removed.
		if tried++; tried > retries || !transient(err) {
			return err
		}
		time.Sleep(betweenRetries)
	}
}

// Prune removes all generations but the current one, also one that a killed writer has left. Only
// the writer may call it. A reader that is about to open a removed one opens the current one.
func (d *Dir) Prune() error {
	current, _, err := d.Current()
	if errors.Is(err, ErrNone) {
		return nil
	}
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(d.root)
	for _, entry := range entries {
		if n, ok := number(entry.Name()); ok && n != current {
			err = errors.Join(err, os.RemoveAll(d.folder(n)))
		}
	}
	return err
}

// sweep keeps the current generation and the last. The next Publish retries failures.
func (d *Dir) sweep(current uint64) {
	entries, err := os.ReadDir(d.root)
	if err != nil {
		return
	}
	var old []uint64
	for _, entry := range entries {
		if n, ok := number(entry.Name()); ok && n < current {
			old = append(old, n)
		}
	}
	slices.Sort(old)
	for len(old) >= keep {
		os.RemoveAll(d.folder(old[0]))
		old = old[1:]
	}
}

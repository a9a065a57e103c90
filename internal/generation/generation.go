// Package generation swaps the content of a folder in whole.
//
// A folder holds numbered generations, of which the file CURRENT names one. A writer prepares the
// next generation beside it, as a copy that shares files with the current one by hard link, and
// publishes it by one rename; a crash before that leaves the current one untouched. Readers never
// wait and never see half. One rule for writers: a file shared with the current generation is never
// written in place, except by Next.Append beyond the length that generation recorded.
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
)

const currentFile = "CURRENT"

// keep is how many generations survive a Publish: the new one and the one before it, which a reader
// may have been about to open.
const keep = 2

// Errors of Current and what is built on it; test with errors.Is.
var (
	// ErrNone means that nothing has been published yet.
	ErrNone = errors.New("no generation yet")
	// ErrDamaged means that CURRENT does not say which generation is current. A release that wrote no checksum into it has left such
	// a one, too. BeginAnew makes one that stands.
	ErrDamaged = errors.New("CURRENT is damaged or of an earlier release")
)

// currentText is what CURRENT holds: a number by itself could become that of the generation before, which is still there, by one bit.
func currentText(n uint64) string {
	number := strconv.FormatUint(n, 10)
	return fmt.Sprintf("%s %08x\n", number, crc32.ChecksumIEEE([]byte(number)))
}

// A Dir is a folder of generations. It holds no open files; its methods are safe for concurrent use
// by any number of readers and one writer, in any number of processes.
type Dir struct {
	root  string
	files files
}

// New returns the folder of generations at root, which need not exist before the first Begin.
func New(root string) *Dir { return &Dir{root: root, files: system} }

// Root is the folder that holds the generations.
func (d *Dir) Root() string { return d.root }

// Current returns the number, at least 1, and the folder of the current generation, or ErrNone, ErrDamaged, or a *fs.PathError.
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

// number reads the name of a generation: a number from 1, written in no other way than folder does.
func number(name string) (n uint64, ok bool) {
	n, err := strconv.ParseUint(name, 10, 63)
	return n, err == nil && n > 0 && name == strconv.FormatUint(n, 10)
}

func (d *Dir) folder(n uint64) string { return filepath.Join(d.root, strconv.FormatUint(n, 10)) }

// View calls open with the folder of the current generation. If open fails and a writer has
// published another generation meanwhile, the one at hand may have been removed under it: then open
// is called again with the new one.
func (d *Dir) View(open func(n uint64, path string) error) error {
	for {
		n, path, err := d.Current()
		if err != nil {
			return err
		}
		if err = open(n, path); err == nil {
			return nil
		}
		if now, _, currentErr := d.Current(); currentErr != nil || now == n {
			return err
		}
	}
}

// sweep removes all generations before the current one but the last. What cannot be removed now
// (open on some systems) is tried again by the next Publish.
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

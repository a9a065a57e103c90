// Package gitindex reports which files a git repository tracks, and as what. It reads the index:
// git would run commands that a hostile repository configures.
//
// It reads versions 2 to 4 of "gitformat-index", with SHA-1 or SHA-256. It ignores the checksum,
// which git may leave out, and refuses what a sparse or a split index does not say.
package gitindex

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/memcore/memcore/internal/git/repository"
	"github.com/memcore/memcore/internal/safefile"
)

// Limits above those of real repositories.
const (
	maxFile = 1 << 30
	maxName = 1 << 16
)

// errDamaged means that an index has no known format.
var errDamaged = errors.New("it is damaged, or of a newer git")

// Holds reports whether the repository in root tracks a file, whatever .gitignore says. name is
// relative to root, with slashes. No index tracks nothing.
func Holds(root, name string) (bool, error) {
	dir, err := repository.Dir(root)
	if err != nil || dir == "" {
		return false, err
	}
	path := filepath.Join(dir, "index")
	held, err := heldBy(path, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s cannot be read, so memcore cannot tell what git tracks: %w: see 'git status'; deleting the file and 'git reset' make a new one", path, err)
	}
	return held, nil
}

// An Entry is what an index says of a tracked file as it was when git looked last.
type Entry struct {
	Seconds, Nanoseconds uint32 // of the time of change; no nanoseconds if git was built without
	Size                 uint32 // the low bits
	Hash                 string // of the content, in bytes
}

// Entries returns what the index of a git folder says of those files that are wanted, by their
// names, which are relative to the working directory, with slashes. Files in conflict are left out.
// No index has none.
func Entries(dir string, wanted func(name string) bool) (map[string]Entry, error) {
	data, _, err := safefile.ReadPath(filepath.Join(dir, "index"), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, hash := range []int{20, 32} {
		p := parser{rest: data, hash: hash, wanted: wanted, all: map[string]Entry{}}
		if _, err = p.index(); err == nil {
			return p.all, nil
		}
		if !errors.Is(err, errDamaged) {
			return nil, err
		}
	}
	return nil, err
}

func heldBy(path, name string) (bool, error) {
	data, _, err := safefile.ReadPath(path, maxFile)
	if err != nil {
		return false, err
	}
	return holds(data, name)
}

// holds tries both hash lengths: no index names its hash.
func holds(data []byte, name string) (held bool, err error) {
	for _, hash := range []int{20, 32} {
		p := parser{rest: data, hash: hash, name: name}
		if held, err = p.index(); !errors.Is(err, errDamaged) {
			return held, err
		}
	}
	return false, err
}

// A parser reads an index from its start.
type parser struct {
	rest    []byte
	short   bool // the data ended too early
	hash    int  // length in bytes
	name    string
	version uint32
	current []byte                 // name of the last entry
	wanted  func(name string) bool // whether an entry enters all; nil for none
	all     map[string]Entry
}

// take returns n bytes, or zeros if there are fewer.
func (p *parser) take(n int) []byte {
	if n > len(p.rest) {
		p.short, p.rest = true, nil
		return make([]byte, min(n, maxName))
	}
	taken := p.rest[:n]
	p.rest = p.rest[n:]
	return taken
}

func (p *parser) uint32() uint32 { return binary.BigEndian.Uint32(p.take(4)) }

func (p *parser) index() (held bool, err error) {
	signature := string(p.take(4))
	p.version = p.uint32()
	if signature != "DIRC" || p.version < 2 || p.version > 4 {
		return false, errDamaged
	}
	for range p.uint32() {
		mode, ok := p.entry()
		if !ok || p.short {
			return false, errDamaged
		}
		if len(p.current) > 0 && same(string(p.current), p.name) { // in a split index it may be empty
			held = true
		}
		// Only a sparse index has folders.
		if mode>>12 == 4 && strings.HasPrefix(p.name, string(p.current)) {
			return false, fmt.Errorf("git keeps the folder %q as a whole there ('git sparse-checkout reapply --no-sparse-index' lists its files)", p.current)
		}
	}
	split, ok := p.extensions()
	switch {
	case !ok || p.short:
		return false, errDamaged
	case split && !held:
		return false, errors.New("half of it is in another file ('git update-index --no-split-index' puts it together)")
	}
	return held, nil
}

// same compares names like the file system.
func same(a, b string) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// Flags of an entry.
const (
	extended   = 1 << 14
	stageMask  = 3 << 12   // of conflicts
	lengthMask = 1<<12 - 1 // also means longer
)

// entry leaves an entry's name in current.
func (p *parser) entry() (mode uint32, ok bool) {
	before := len(p.rest)
	head := p.take(40 + p.hash + 2)
	mode = binary.BigEndian.Uint32(head[24:])
	flags := binary.BigEndian.Uint16(head[40+p.hash:])
	if flags&extended != 0 {
		p.take(2)
	}
	if p.short || flags&extended != 0 && p.version < 3 {
		return 0, false
	}
	keep := 0 // bytes shared with the previous name
	if p.version == 4 {
		if keep = len(p.current) - p.varint(); keep < 0 {
			return 0, false
		}
	}
	text, _, ended := bytes.Cut(p.rest[:min(len(p.rest), maxName)], []byte{0})
	p.take(len(text) + 1)
	p.current = append(p.current[:keep], text...)
	if length := len(p.current); !ended || int(flags&lengthMask) != min(length, lengthMask) {
		return 0, false
	}
	if p.wanted != nil && flags&stageMask == 0 && p.wanted(string(p.current)) {
		number := func(at int) uint32 { return binary.BigEndian.Uint32(head[at:]) }
		p.all[string(p.current)] = Entry{Seconds: number(8), Nanoseconds: number(12), Size: number(36), Hash: string(head[40 : 40+p.hash])}
	}
	if p.version == 4 {
		return mode, true
	}
	padding := p.take((8 - (before-len(p.rest))%8) % 8)
	return mode, len(bytes.Trim(padding, "\x00")) == 0
}

// varint reads groups of 7 bits, each but the last less by one.
func (p *parser) varint() int {
	for n := 0; n <= maxName; n++ {
		b := p.take(1)[0]
		if n = n<<7 + int(b&0x7f); b&0x80 == 0 {
			return n
		}
	}
	return maxName
}

// extensions reads up to the checksum. Those with a capital letter may be skipped.
func (p *parser) extensions() (split, ok bool) {
	for len(p.rest) > p.hash && !p.short {
		name, size := string(p.take(4)), int64(p.uint32())
		if size > int64(len(p.rest)-p.hash) {
			return false, false
		}
		data := p.take(int(size))
		switch {
		case name == "link" && len(data) < p.hash:
			return false, false
		case name == "link":
			split = len(bytes.Trim(data[:p.hash], "\x00")) > 0 // else there is no other half
		case name != "sdir" && (name[0] < 'A' || name[0] > 'Z'): // sdir marks a sparse index
			return false, false
		}
	}
	return split, len(p.rest) == p.hash
}

// Package gitindex tells what a git repository tracks, by reading its index. Running git is no way to ask: the configuration of a hostile repository
// names commands that git runs.
//
// The format is that of git's documentation, "gitformat-index", versions 2 to 4, with the extensions that keep names elsewhere: split and sparse indexes. Its
// checksum is not compared: git leaves it out if it is told to (index.skipHash), and does not look at it itself.
package gitindex

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/memcore/memcore/internal/beneath"
)

// Bounds beyond those of any real repository. What goes beyond them is not read, which is an error.
const (
	maxFile = 1 << 30
	maxName = 1 << 16
	maxLink = 1 << 24 // of the extension of a split index
)

// errDamaged means that an index is not what the format says, or more than this package knows of it.
var errDamaged = errors.New("it is damaged, or of a newer git")

// Holds tells whether the repository in the folder root tracks a file: git commits it whatever .gitignore says. name is relative to root and
// slash-separated. A repository without an index tracks nothing, and so does one whose .git leads nowhere, where git itself refuses to work. Any other index
// that cannot be read is an error: what it holds nobody can tell.
func Holds(root, name string) (bool, error) {
	dir, err := folderOf(root)
	if err != nil || dir == "" {
		return false, err
	}
	index := filepath.Join(dir, "index")
	held, err := heldBy(index, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s cannot be read, so that nobody can tell what git tracks: %w: see what 'git status' says; deleting the file and 'git reset' make it anew", index, err)
	}
	return held, nil
}

// folderOf returns the folder that .git is, or that it names if it is a file, as in worktrees and submodules; "" if there is none.
func folderOf(root string) (string, error) {
	path := filepath.Join(root, ".git")
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil || info.IsDir() {
		return path, err
	}
	file, _, err := open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxName))
	if err != nil {
		return "", err
	}
	dir, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
	if !ok || dir == "" {
		return "", nil
	}
	if dir = filepath.FromSlash(dir); !filepath.IsAbs(dir) {
		dir = filepath.Join(root, dir)
	}
	// On Windows, asking another machine tells it who the user is.
	if volume := filepath.VolumeName(dir); strings.HasPrefix(volume, `\\`) && volume != filepath.VolumeName(root) {
		return "", fmt.Errorf("%s leads to another machine", path)
	}
	return dir, nil
}

// open opens a regular file, and waits for no other.
func open(path string) (*os.File, fs.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|beneath.Nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no file", path)
	}
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("%s is larger than %d MB", path, maxFile>>20)
	}
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return file, info, nil
}

// heldBy looks into an index, and if it is half of one, into the other half.
func heldBy(path, name string) (bool, error) {
	own, err := readFile(path, name)
	if err != nil || own.at >= 0 || own.shared == "" {
		return own.at >= 0, err
	}
	shared, err := readFile(filepath.Join(filepath.Dir(path), "sharedindex."+own.shared), name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("the shared half of it is missing: %w", errDamaged)
	}
	if err != nil || shared.at < 0 {
		return false, err
	}
	gone, err := bitOf(own.deleted, shared.at)
	return !gone, err
}

// A reading is what was learned from an index.
type reading struct {
	at      int    // place of the name among the entries; -1 if it is not there
	shared  string // what the other half of a split index is called; "" if this is all
	deleted []byte // bitmap of the entries of the other half that are gone
}

func readFile(path, name string) (reading, error) {
	file, info, err := open(path)
	if err != nil {
		return reading{}, err
	}
	defer file.Close()
	return read(file, info.Size(), name)
}

// Lengths of an object's name: SHA-1, and SHA-256 in repositories that were made so. The index does not say which.
var hashes = []int{20, 32}

// read reads an index as one of either hash. No entry is taken for one with the other: each says how long its name is, and ends with zeros.
func read(file io.ReaderAt, size int64, name string) (r reading, err error) {
	for _, hash := range hashes {
		p := parser{in: bufio.NewReaderSize(io.NewSectionReader(file, 0, size), 1<<16), left: size, hash: hash, name: name}
		if r, err = p.parse(); !errors.Is(err, errDamaged) {
			return r, err
		}
	}
	return reading{}, err
}

// A parser reads an index from its start.
type parser struct {
	in       *bufio.Reader
	left     int64 // bytes that were not read yet
	hash     int
	name     string // that is looked for
	version  uint32
	previous []byte // name of the entry before
}

func (p *parser) parse() (reading, error) {
	r := reading{at: -1}
	var header [12]byte
	if err := p.fill(header[:]); err != nil {
		return r, err
	}
	p.version = binary.BigEndian.Uint32(header[4:])
	if string(header[:4]) != "DIRC" || p.version < 2 || p.version > 4 {
		return r, errDamaged
	}
	for i := range binary.BigEndian.Uint32(header[8:]) {
		mode, err := p.entry()
		if err != nil {
			return r, err
		}
		if len(p.previous) > 0 && same(string(p.previous), p.name) { // in a split index some have no name
			r.at = int(i)
		}
		// A folder is an entry only in a sparse index, for all that is in it.
		if mode>>12 == 4 && strings.HasPrefix(p.name, string(p.previous)) {
			return r, fmt.Errorf("git keeps the folder %q as a whole there ('git sparse-checkout reapply --no-sparse-index' lists its files)", p.previous)
		}
	}
	return r, p.extensions(&r)
}

// same compares names as the file system does.
func same(a, b string) bool {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// Of an entry's flags.
const (
	extended   = 1 << 14
	lengthMask = 1<<12 - 1 // a name that is longer has this length
)

// entry reads an entry, and leaves its name in previous.
func (p *parser) entry() (mode uint32, err error) {
	head := make([]byte, 40+p.hash+2)
	if err := p.fill(head); err != nil {
		return 0, err
	}
	mode = binary.BigEndian.Uint32(head[24:])
	flags := binary.BigEndian.Uint16(head[40+p.hash:])
	size := len(head)
	if flags&extended != 0 {
		if p.version < 3 {
			return 0, errDamaged
		}
		if err := p.fill(make([]byte, 2)); err != nil {
			return 0, err
		}
		size += 2
	}
	keep := 0
	if p.version == 4 {
		strip, err := p.varint()
		if err != nil {
			return 0, err
		}
		if strip > len(p.previous) {
			return 0, errDamaged
		}
		keep = len(p.previous) - strip
	}
	rest, err := p.text()
	if err != nil {
		return 0, err
	}
	p.previous = append(p.previous[:keep], rest...)
	if length := len(p.previous); length > maxName || int(flags&lengthMask) != min(length, lengthMask) {
		return 0, errDamaged
	}
	if p.version < 4 {
		return mode, p.zeros(7 - (size+len(rest))%8) // the first has ended the name
	}
	return mode, nil
}

// text reads what a zero ends.
func (p *parser) text() ([]byte, error) {
	var all []byte
	for {
		part, err := p.in.ReadSlice(0)
		p.left -= int64(len(part))
		all = append(all, part...)
		switch {
		case err == nil:
			return all[:len(all)-1], nil
		case errors.Is(err, io.EOF) || len(all) > maxName:
			return nil, errDamaged
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func (p *parser) zeros(n int) error {
	padding := make([]byte, n)
	if err := p.fill(padding); err != nil {
		return err
	}
	if len(bytes.Trim(padding, "\x00")) > 0 {
		return errDamaged
	}
	return nil
}

// varint reads a number as git writes it: groups of 7 bits, the highest first, each but the last one less than what it stands for.
func (p *parser) varint() (int, error) {
	n := 0
	for {
		var b [1]byte
		if err := p.fill(b[:]); err != nil {
			return 0, err
		}
		n = n<<7 + int(b[0]&0x7f)
		if n > maxName {
			return 0, errDamaged
		}
		if b[0]&0x80 == 0 {
			return n, nil
		}
		n++
	}
}

// fill reads all of b; what ends before is damaged.
func (p *parser) fill(b []byte) error {
	n, err := io.ReadFull(p.in, b)
	p.left -= int64(n)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errDamaged
	}
	return err
}

// extensions reads what comes between the entries and the checksum. Those with names of capital letters may be passed over; of the others, "link" names the
// other half of a split index, and "sdir" says that the index is sparse, which its entries say, too.
func (p *parser) extensions(r *reading) error {
	for p.left > int64(p.hash) {
		var head [8]byte
		if err := p.fill(head[:]); err != nil {
			return err
		}
		name, size := string(head[:4]), int64(binary.BigEndian.Uint32(head[4:]))
		if size > p.left-int64(p.hash) {
			return errDamaged
		}
		switch {
		case name == "link":
			if size < int64(p.hash) || size > maxLink {
				return errDamaged
			}
			data := make([]byte, size)
			if err := p.fill(data); err != nil {
				return err
			}
			if id := data[:p.hash]; len(bytes.Trim(id, "\x00")) > 0 { // else all is here
				r.shared, r.deleted = hex.EncodeToString(id), data[p.hash:]
			}
			continue
		case name != "sdir" && (name[0] < 'A' || name[0] > 'Z'):
			return errDamaged
		}
		n, err := p.in.Discard(int(size))
		p.left -= int64(n)
		if err != nil {
			return errDamaged
		}
	}
	if p.left != int64(p.hash) {
		return errDamaged
	}
	return nil
}

// bitOf tells a bit of a bitmap in EWAH's compression: the number of its bits, that of its words, then the words, each run of which begins with one that says how
// many words of equal bits, and how many as they are, follow. No bitmap at all has no bit.
func bitOf(bitmap []byte, at int) (bool, error) {
	if len(bitmap) == 0 {
		return false, nil
	}
	if len(bitmap) < 8 {
		return false, errDamaged
	}
	n := int64(binary.BigEndian.Uint32(bitmap[4:]))
	if n*8 > int64(len(bitmap)-8) {
		return false, errDamaged
	}
	words := bitmap[8 : 8+n*8]
	word := func() uint64 {
		w := binary.BigEndian.Uint64(words)
		words = words[8:]
		return w
	}
	for wanted := uint64(at / 64); len(words) > 0; {
		run := word()
		equal, literal := run>>1&(1<<32-1), run>>33
		if wanted < equal {
			return run&1 != 0, nil
		}
		wanted -= equal
		if literal*8 > uint64(len(words)) {
			return false, errDamaged
		}
		if wanted < literal {
			words = words[wanted*8:]
			return word()>>(at%64)&1 != 0, nil
		}
		wanted -= literal
		words = words[literal*8:]
	}
	return false, nil
}

// Package dataset finds the live files of a Lance dataset on local disk.
//
// A dataset is a folder of files, written once: data, deletion vectors, indexes, and for each
// version a manifest of its files (see table.proto of lance-table 0.37). Others than the newest
// one's belong to older versions.
package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	versionsFolder  = "_versions"
	deletionsFolder = "_deletions"
	indexFolder     = "_indices"
	dataFolder      = "data"
)

// ErrFormat means that this package cannot read a manifest.
var ErrFormat = errors.New("not a Lance manifest of a known format")

// A Dataset is the newest manifest's content.
type Dataset struct {
	Version   uint64
	Fragments []Fragment
	Indexes   []Index

	folder   string
	manifest string // its name in _versions
	message  []byte // the manifest as read
	format   [4]byte
}

// A Fragment holds the rows of one append.
type Fragment struct {
	ID       uint64
	Rows     uint64 // including dead ones
	Deleted  uint64
	files    []string // in the dataset's folder, slash-separated
	external bool     // has files outside of the folder
}

// An Index is an index on a column.
type Index struct {
	Name    string
	Covered map[uint64]bool // IDs of the fragments whose rows it holds
	folder  string
	message []byte // as read
}

// Read reads the newest manifest. Errors: ErrFormat, file errors.
func Read(folder string) (*Dataset, error) {
	name, err := newest(filepath.Join(folder, versionsFolder))
	if err != nil {
		return nil, err
	}
	file := filepath.Join(folder, versionsFolder, name)
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	d := &Dataset{folder: folder, manifest: name}
	if err := d.parse(data); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return d, nil
}

// newest returns the manifest of the highest version. Its name is the version, or 2^64-1 less it in
// 20 digits.
func newest(folder string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	name, best := "", uint64(0)
	for _, entry := range entries {
		digits, ok := strings.CutSuffix(entry.Name(), ".manifest")
		n, err := strconv.ParseUint(digits, 10, 64)
		if !ok || err != nil {
			continue
		}
		if len(digits) == 20 {
			n = ^n
		}
		if name == "" || n > best {
			name, best = entry.Name(), n
		}
	}
	if name == "" {
		return "", fmt.Errorf("%s holds no manifest: %w", folder, ErrFormat)
	}
	return name, nil
}

const (
	magic      = "LANC"
	footerSize = 16 // position of the manifest (8 bytes), two versions of the format (4), magic (4)
	lengthSize = 4
)

// section returns the message at position, after its length.
func section(file []byte, position uint64) ([]byte, error) {
	if uint64(len(file)) < lengthSize || position > uint64(len(file))-lengthSize {
		return nil, ErrFormat
	}
	length := uint64(binary.LittleEndian.Uint32(file[position:]))
	rest := file[position+lengthSize:]
	if length > uint64(len(rest)) {
		return nil, ErrFormat
	}
	return rest[:length], nil
}

func (d *Dataset) parse(file []byte) error {
	if len(file) < footerSize || string(file[len(file)-len(magic):]) != magic {
		return ErrFormat
	}
	footer := file[len(file)-footerSize:]
	message, err := section(file[:len(file)-footerSize], binary.LittleEndian.Uint64(footer))
	if err != nil {
		return err
	}
	d.message, d.format = message, [4]byte(footer[8:])
	indexes, err := d.parseManifest(message)
	if err != nil || indexes == nil {
		return err
	}
	if message, err = section(file, *indexes); err != nil {
		return err
	}
	return d.parseIndexes(message)
}

// Rows counts the rows of all fragments.
func (d *Dataset) Rows() (live, dead uint64) {
	for _, f := range d.Fragments {
		live += f.Rows - f.Deleted
		dead += f.Deleted
	}
	return live, dead
}

// Index returns the index of this name.
func (d *Dataset) Index(name string) (Index, bool) {
	for _, index := range d.Indexes {
		if index.Name == name {
			return index, true
		}
	}
	return Index{}, false
}

// Uncovered counts the live rows that the index lacks.
func (d *Dataset) Uncovered(index Index) uint64 {
	n := uint64(0)
	for _, f := range d.Fragments {
		if !index.Covered[f.ID] {
			n += f.Rows - f.Deleted
		}
	}
	return n
}

// Walk calls do for each file, slash-separated. alive is set if the newest version uses it.
func (d *Dataset) Walk(do func(file string, alive bool) error) error {
	files := map[string]bool{path.Join(versionsFolder, d.manifest): true}
	for _, f := range d.Fragments {
		if f.external {
			return fmt.Errorf("fragment %d is kept outside of %s", f.ID, d.folder)
		}
		for _, file := range f.files {
			files[file] = true
		}
	}
	return filepath.WalkDir(d.folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		file, err := filepath.Rel(d.folder, name)
		if err != nil {
			return err
		}
		file = filepath.ToSlash(file)
		inIndex := slices.ContainsFunc(d.Indexes, func(x Index) bool { return strings.HasPrefix(file, x.folder+"/") })
		return do(file, files[file] || inIndex)
	})
}

// Versions counts the manifests in the folder.
func (d *Dataset) Versions() int {
	entries, err := filepath.Glob(filepath.Join(d.folder, versionsFolder, "*.manifest"))
	if err != nil {
		return 1
	}
	return len(entries)
}

// Missing returns a missing file of the newest version, or "".
func (d *Dataset) Missing() string {
	for _, f := range d.Fragments {
		for _, file := range f.files {
			if _, err := os.Stat(filepath.Join(d.folder, filepath.FromSlash(file))); err != nil {
				return file
			}
		}
	}
	for _, index := range d.Indexes {
		if _, err := os.Stat(filepath.Join(d.folder, filepath.FromSlash(index.folder))); err != nil {
			return index.folder
		}
	}
	return ""
}

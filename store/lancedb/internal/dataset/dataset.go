// Package dataset knows which files of a Lance dataset on local disk are alive.
//
// A Lance dataset is a folder of files that are written once: data, deletion vectors, indexes, and a
// manifest for each version, which names all that the version consists of (the format is described
// by table.proto of lance-table 0.37 and "Table layout" of Lance's documentation). What the newest
// manifest does not name serves older versions only.
package dataset

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

const (
	versionsFolder  = "_versions"
	deletionsFolder = "_deletions"
	indexFolder     = "_indices"
	dataFolder      = "data"
)

// ErrFormat means a manifest that this package cannot read.
var ErrFormat = errors.New("not a Lance manifest of a known format")

// A Dataset is what the newest manifest of a dataset says.
type Dataset struct {
	Version   uint64
	Fragments []Fragment
	Indexes   []Index

	folder   string
	manifest string // its name in _versions
	message  []byte // the manifest as it was read
	format   [4]byte
}

// A Fragment is a part of the rows: what one append has written.
type Fragment struct {
	ID       uint64
	Rows     uint64 // including dead ones
	Deleted  uint64
	files    []string // in the dataset's folder, slash-separated
	external bool     // names files outside of the folder
}

// An Index is an index on a column.
type Index struct {
	Name    string
	Covered map[uint64]bool // IDs of the fragments whose rows it holds
	folder  string
	message []byte // as it was read
}

// Read reads the newest manifest of the dataset in folder. Errors: those of the file system, ErrFormat.
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

// newest returns the name of the manifest with the highest version. Names are the version, or, so
// that the newest is listed first, 2^64-1 less the version in 20 digits.
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

// section returns the message that begins, after its length, at position.
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

// Rows are those of all fragments: living and dead.
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

// Uncovered is the number of living rows that the index does not hold.
func (d *Dataset) Uncovered(index Index) uint64 {
	n := uint64(0)
	for _, f := range d.Fragments {
		if !index.Covered[f.ID] {
			n += f.Rows - f.Deleted
		}
	}
	return n
}

// Alive tells which files, by slash-separated path in the dataset's folder, the newest version
// consists of.
func (d *Dataset) Alive() (func(path string) bool, error) {
	files := map[string]bool{path.Join(versionsFolder, d.manifest): true}
	for _, f := range d.Fragments {
		if f.external {
			return nil, fmt.Errorf("fragment %d is kept outside of %s", f.ID, d.folder)
		}
		for _, file := range f.files {
			files[file] = true
		}
	}
	return func(file string) bool {
		if files[file] {
			return true
		}
		for _, index := range d.Indexes {
			if strings.HasPrefix(file, index.folder+"/") {
				return true
			}
		}
		return false
	}, nil
}

// Versions is the number of versions that the folder still has manifests of.
func (d *Dataset) Versions() int {
	entries, err := filepath.Glob(filepath.Join(d.folder, versionsFolder, "*.manifest"))
	if err != nil {
		return 1
	}
	return len(entries)
}

// Missing returns the first file of the newest version that is not in the folder; "" if all are.
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

package dataset

import (
	"fmt"
	"path"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
)

// Numbers of fields of table.proto.
const (
	manifestFragments    = 2
	manifestVersion      = 3
	manifestIndexSection = 6

	fragmentID       = 1
	fragmentFiles    = 2
	fragmentDeletion = 3
	fragmentRows     = 4
	fragmentRowIDs   = 6 // in a file of their own

	filePath = 1
	fileBase = 7 // outside of the dataset

	deletionKind    = 1
	deletionVersion = 2
	deletionID      = 3
	deletionRows    = 4
	deletionBase    = 7

	sectionIndexes = 1

	indexUUID    = 1
	indexName    = 3
	indexCovered = 5
	indexBase    = 9

	uuidBytes = 1
)

type value struct {
	number uint64
	bytes  []byte
}

// fields calls f for every field of a message.
func fields(message []byte, f func(number protowire.Number, v value) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return fmt.Errorf("%w: %v", ErrFormat, protowire.ParseError(n))
		}
		message = message[n:]
		var v value
		switch kind {
		case protowire.VarintType:
			v.number, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			v.bytes, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return fmt.Errorf("%w: %v", ErrFormat, protowire.ParseError(n))
		}
		message = message[n:]
		if err := f(number, v); err != nil {
			return err
		}
	}
	return nil
}

// parseManifest returns the position of the indexes, or nil.
func (d *Dataset) parseManifest(message []byte) (indexes *uint64, err error) {
	err = fields(message, func(number protowire.Number, v value) error {
		switch number {
		case manifestVersion:
			d.Version = v.number
		case manifestIndexSection:
			indexes = &v.number
		case manifestFragments:
			f, err := parseFragment(v.bytes)
			if err != nil {
				return err
			}
			d.Fragments = append(d.Fragments, f)
		}
		return nil
	})
	return indexes, err
}

func parseFragment(message []byte) (f Fragment, err error) {
	var deletion []byte
	err = fields(message, func(number protowire.Number, v value) error {
		switch number {
		case fragmentID:
			f.ID = v.number
		case fragmentRows:
			f.Rows = v.number
		case fragmentFiles:
			return f.parseFile(v.bytes)
		case fragmentDeletion:
			deletion = v.bytes
		case fragmentRowIDs:
			f.external = true
		}
		return nil
	})
	if err == nil && deletion != nil {
		err = f.parseDeletion(deletion)
	}
	if err == nil && f.Deleted > f.Rows {
		err = fmt.Errorf("%w: fragment %d has %d rows, %d of them deleted", ErrFormat, f.ID, f.Rows, f.Deleted)
	}
	return f, err
}

func (f *Fragment) parseFile(message []byte) error {
	return fields(message, func(number protowire.Number, v value) error {
		switch number {
		case filePath:
			name := path.Join(dataFolder, string(v.bytes))
			if !strings.HasPrefix(name, dataFolder+"/") {
				return fmt.Errorf("%w: data file %q", ErrFormat, v.bytes)
			}
			f.files = append(f.files, name)
		case fileBase:
			f.external = true
		}
		return nil
	})
}

func (f *Fragment) parseDeletion(message []byte) error {
	var version, id uint64
	suffix := "arrow"
	err := fields(message, func(number protowire.Number, v value) error {
		switch number {
		case deletionKind:
			if v.number == 1 {
				suffix = "bin"
			}
		case deletionVersion:
			version = v.number
		case deletionID:
			id = v.number
		case deletionRows:
			f.Deleted = v.number
		case deletionBase:
			f.external = true
		}
		return nil
	})
	f.files = append(f.files, fmt.Sprintf("%s/%d-%d-%d.%s", deletionsFolder, f.ID, version, id, suffix))
	return err
}

func (d *Dataset) parseIndexes(message []byte) error {
	return fields(message, func(number protowire.Number, v value) error {
		if number != sectionIndexes {
			return nil
		}
		index, err := parseIndex(v.bytes)
		if err == nil {
			d.Indexes = append(d.Indexes, index)
		}
		return err
	})
}

func parseIndex(message []byte) (index Index, err error) {
	index.Covered, index.message = map[uint64]bool{}, message
	err = fields(message, func(number protowire.Number, v value) error {
		switch number {
		case indexName:
			index.Name = string(v.bytes)
		case indexCovered:
			return index.parseCovered(v.bytes)
		case indexUUID:
			return index.parseUUID(v.bytes)
		case indexBase:
			return fmt.Errorf("%w: index kept outside of the dataset", ErrFormat)
		}
		return nil
	})
	if err == nil && index.folder == "" {
		err = fmt.Errorf("%w: index %q has no UUID", ErrFormat, index.Name)
	}
	return index, err
}

func (x *Index) parseCovered(bitmap []byte) error {
	covered := roaring.New()
	if err := covered.UnmarshalBinary(bitmap); err != nil {
		return fmt.Errorf("%w: fragments of an index: %v", ErrFormat, err)
	}
	for ids := covered.Iterator(); ids.HasNext(); {
		x.Covered[uint64(ids.Next())] = true
	}
	return nil
}

func (x *Index) parseUUID(message []byte) error {
	return fields(message, func(number protowire.Number, v value) error {
		if number != uuidBytes {
			return nil
		}
		id, err := uuid.FromBytes(v.bytes)
		if err != nil {
			return fmt.Errorf("%w: %v", ErrFormat, err)
		}
		x.folder = path.Join(indexFolder, id.String())
		return nil
	})
}

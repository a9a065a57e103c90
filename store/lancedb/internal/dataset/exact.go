package dataset

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protowire"
)

// WriteWithout makes a view of the version without the indexes of this name: a manifest beside
// links to the data. Without an index on vectors, a search is exact.
func (d *Dataset) WriteWithout(name, folder string) error {
	if err := os.MkdirAll(filepath.Join(folder, versionsFolder), 0o700); err != nil {
		return err
	}
	for _, part := range []string{dataFolder, deletionsFolder, indexFolder} {
		target, err := filepath.Rel(folder, filepath.Join(d.folder, part))
		if err != nil {
			return err
		}
		if err := os.Symlink(target, filepath.Join(folder, part)); err != nil {
			return err
		}
	}
	message, err := without(d.message, manifestIndexSection)
	if err != nil {
		return fmt.Errorf("%s: %w", d.manifest, err)
	}
	var indexes []byte
	for _, index := range d.Indexes {
		if index.Name != name {
			indexes = protowire.AppendTag(indexes, sectionIndexes, protowire.BytesType)
			indexes = protowire.AppendBytes(indexes, index.message)
		}
	}
	return os.WriteFile(filepath.Join(folder, versionsFolder, d.manifest), d.file(message, indexes), 0o600)
}

// without copies a message without one field.
func without(message []byte, field protowire.Number) ([]byte, error) {
	var rest []byte
	for len(message) > 0 {
		number, _, n := protowire.ConsumeField(message)
		if n < 0 {
			return nil, fmt.Errorf("%w: %v", ErrFormat, protowire.ParseError(n))
		}
		if number != field {
			rest = append(rest, message[:n]...)
		}
		message = message[n:]
	}
	return rest, nil
}

// file returns a manifest like d's. message lacks the position of the indexes yet.
func (d *Dataset) file(message, indexes []byte) []byte {
	var file []byte
	if len(indexes) > 0 {
		message = protowire.AppendTag(message, manifestIndexSection, protowire.VarintType)
		message = protowire.AppendVarint(message, uint64(len(file)))
		file = appendSection(file, indexes)
	}
	position := len(file)
	file = appendSection(file, message)
	file = binary.LittleEndian.AppendUint64(file, uint64(position))
	file = append(file, d.format[:]...)
	return append(file, magic...)
}

func appendSection(file, message []byte) []byte {
	return append(binary.LittleEndian.AppendUint32(file, uint32(len(message))), message...)
}

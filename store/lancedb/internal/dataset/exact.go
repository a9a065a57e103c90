package dataset

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"

	"google.golang.org/protobuf/encoding/protowire"
)

// WriteWithoutIndexes makes, at folder, a view of the same version that has no index: a manifest of its
// own beside links to the data of d. A search in it is exact.
func (d *Dataset) WriteWithoutIndexes(folder string) error {
	if err := os.MkdirAll(filepath.Join(folder, versionsFolder), 0o700); err != nil {
		return err
	}
	for _, part := range []string{dataFolder, deletionsFolder} {
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
	return os.WriteFile(filepath.Join(folder, versionsFolder, d.manifest), d.envelope(message), 0o600)
}

// without copies a message, less one field.
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

// envelope is a manifest file that holds nothing but the manifest, in the format of the file d was read
// from.
func (d *Dataset) envelope(message []byte) []byte {
	file := binary.LittleEndian.AppendUint32(nil, uint32(len(message)))
	file = append(file, message...)
	file = binary.LittleEndian.AppendUint64(file, 0) // where the manifest begins
	file = append(file, d.format[:]...)
	return append(file, magic...)
}

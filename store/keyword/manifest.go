package keyword

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"

	"github.com/RoaringBitmap/roaring/v2"
	zap "github.com/blevesearch/zapx/v17"

	"github.com/memcore/memcore/store"
)

// manifestName is the file that says what a generation consists of. Segments never change once
// written; what is deleted from them is told here.
const manifestName = "keywords"

// mappingVersion grows whenever the same record would be indexed or stored in another way: another
// analysis, another field, another encoding. An index of another version has to be rebuilt.
//
//	3: the checksum is of the version, too; the number of the generation.
//	4: the day of a record is a facet.
const mappingVersion = 4

// unsummedMapping is the last version whose checksum was of the body alone.
const unsummedMapping = 2

// A manifest is its content.
type manifest struct {
	Generation uint64         `json:"generation"` // that it is of: the one before is still there, and has segments in common
	Segments   []segmentEntry `json:"segments"`
	Lengths    lengths        `json:"lengths"` // of all live records together
}

type segmentEntry struct {
	File    string          `json:"file"`
	Bytes   int64           `json:"bytes"`
	CRC     uint32          `json:"crc"`     // as the file says at its end
	Records int             `json:"records"` // dead ones too
	Deleted *roaring.Bitmap `json:"-"`       // numbers of the dead ones; never nil
	Dead    []byte          `json:"dead,omitempty"`
}

func (e segmentEntry) live() int { return e.Records - int(e.Deleted.GetCardinality()) }

func (m manifest) live() int {
	n := 0
	for _, entry := range m.Segments {
		n += entry.live()
	}
	return n
}

// manifestHead begins the file in every version, so that a release knows a newer one from a damaged file: the checksum is of
// the versions, too.
const manifestHead = "memcore keywords, mapping %d, segments %d, checksum %08x\n"

func manifestSum(mapping, segments int, body []byte) uint32 {
	return crc32.Update(crc32.ChecksumIEEE(fmt.Appendf(nil, "%d %d", mapping, segments)), crc32.IEEETable, body)
}

func writeManifest(folder string, m manifest) error {
	for i := range m.Segments {
		if err := m.Segments[i].packDeleted(); err != nil {
			return err
		}
	}
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	head := fmt.Sprintf(manifestHead, mappingVersion, zap.Version, manifestSum(mappingVersion, int(zap.Version), body))
	return os.WriteFile(filepath.Join(folder, manifestName), append([]byte(head), body...), 0o600)
}

// readManifest returns an error wrapping ErrFormat or ErrCorrupt for what it cannot use.
func readManifest(folder string) (m manifest, err error) {
	text, err := os.ReadFile(filepath.Join(folder, manifestName))
	if err != nil {
		return m, err
	}
	head, body, _ := bytes.Cut(text, []byte("\n"))
	if err := checkHead(string(head)+"\n", body); err != nil {
		return m, err
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return m, fmt.Errorf("%w: %s: %w", store.ErrCorrupt, manifestName, err)
	}
	for i := range m.Segments {
		if err := m.Segments[i].unpackDeleted(); err != nil {
			return m, fmt.Errorf("%w: %s: %w", store.ErrCorrupt, manifestName, err)
		}
	}
	return m, nil
}

func checkHead(head string, body []byte) error {
	var mapping, segments int
	var checksum uint32
	_, err := fmt.Sscanf(head, manifestHead, &mapping, &segments, &checksum)
	if err != nil || fmt.Sprintf(manifestHead, mapping, segments, checksum) != head {
		return fmt.Errorf("%w: %s begins with %q", store.ErrCorrupt, manifestName, cut([]byte(head)))
	}
	switch {
	case mapping <= unsummedMapping:
		return store.OtherFormat(manifestName, mapping, mappingVersion)
	case manifestSum(mapping, segments, body) != checksum:
		return fmt.Errorf("%w: %s has the wrong checksum", store.ErrCorrupt, manifestName)
	case mapping != mappingVersion:
		return store.OtherFormat(manifestName, mapping, mappingVersion)
	case segments != int(zap.Version):
		return store.OtherFormat("segments of the keyword index", segments, int(zap.Version))
	}
	return nil
}

func (e *segmentEntry) packDeleted() (err error) {
	e.Dead = nil
	if !e.Deleted.IsEmpty() {
		e.Dead, err = e.Deleted.ToBytes()
	}
	return err
}

func (e *segmentEntry) unpackDeleted() error {
	e.Deleted = roaring.New()
	if len(e.Dead) == 0 {
		return nil
	}
	return e.Deleted.UnmarshalBinary(e.Dead)
}

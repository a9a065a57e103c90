package keyword

import (
	"os"
	"path/filepath"

	"github.com/RoaringBitmap/roaring/v2"
	zap "github.com/blevesearch/zapx/v17"

	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
)

// mapping grows when analysis, fields or encoding of records change: other indexes are rebuilt.
//
//	4: the day of a record is a facet
//	5: the manifest and the records are written as in the other indexes
//	6: languages that only their letters show are a facet
//	7: the text of a record is a facet
//	8: a record has aliases
//	9: words in Vietnamese are terms with their accents, too
const mapping = 9

var format = store.ManifestFormat{Kind: "keywords", Number: 100*mapping + int(zap.Version)}

// A manifest says what a generation consists of.
type manifest struct {
	Segments []segmentEntry `json:"segments"`
	Lengths  lengths        `json:"lengths"` // sums over all live records
}

type segmentEntry struct {
	File    string          `json:"file"`
	Bytes   int64           `json:"bytes"`
	CRC     uint32          `json:"crc"`     // as at the end of the file
	Records int             `json:"records"` // dead ones too
	Deleted *roaring.Bitmap `json:"-"`       // numbers of dead records; never nil
	Dead    []byte          `json:"dead,omitempty"`
}

func (e segmentEntry) live() int { return e.Records - int(e.Deleted.GetCardinality()) }

func (m manifest) write(folder string) error {
	for i, e := range m.Segments {
		if e.Deleted.IsEmpty() {
			continue
		}
		var err error
		if m.Segments[i].Dead, err = e.Deleted.ToBytes(); err != nil {
			return err
		}
	}
	text, err := format.Encode(folder, m)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, store.ManifestFile), text, 0o600)
}

func readManifest(folder string) (m manifest, err error) {
	if err := format.Read(folder, &m); err != nil {
		return m, disk.Damaged(err)
	}
	for i, e := range m.Segments {
		m.Segments[i].Deleted = roaring.New()
		if len(e.Dead) > 0 {
			err = m.Segments[i].Deleted.UnmarshalBinary(e.Dead)
		}
		if err != nil {
			return m, disk.Corrupt("dead records of %s: %w", e.File, err)
		}
	}
	return m, nil
}

package keyword

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"

	"github.com/memcore/memcore/internal/filetime"
	"github.com/memcore/memcore/store"
)

// A snapshot is a generation opened for reading. It never changes and may be read by many.
type snapshot struct {
	number   uint64
	folder   string
	identity fs.FileInfo // of folder; nil for the snapshot of an index that has none
	manifest manifest
	parts    []*part
	rows     int // records in all parts, dead ones too
	live     int
	users    int // guarded by Index.mu

	laidOut      sync.Once
	documents    *layout
	documentsErr error

	mu   sync.Mutex
	last answer
}

// An answer is the scores of a query: those of the last one are kept, since Match is followed by
// Scores for what only other indexes have found.
type answer struct {
	query   string
	options Options
	scores  *scores
}

// A part is one open segment.
type part struct {
	*zap.Segment
	entry    segmentEntry
	file     fs.FileInfo     // as it was when its bytes were verified
	verified time.Time       // guarded by Index.mu once it is open
	deleted  *roaring.Bitmap // nil if nothing is, which Bleve reads faster
	first    int             // number of its first record in the snapshot
}

// openSnapshot opens the generation in folder. Errors wrap ErrFormat or ErrCorrupt where they are;
// one that also wraps fs.ErrNotExist may mean that the generation was just swept away. What last, which may be nil, has verified is not
// verified again.
func openSnapshot(last *snapshot, number uint64, folder string) (*snapshot, error) {
	s := &snapshot{number: number, folder: folder}
	var err error
	if s.identity, err = os.Stat(folder); err != nil {
		return nil, damaged(err)
	}
	if s.manifest, err = readManifest(folder); err != nil {
		return nil, damaged(err)
	}
	if s.manifest.Generation != number {
		return nil, fmt.Errorf("%w: %s is of generation %d, not %d", store.ErrCorrupt, manifestName, s.manifest.Generation, number)
	}
	for _, entry := range s.manifest.Segments {
		p, err := openPart(last, filepath.Join(folder, entry.File), entry)
		if err != nil {
			s.close()
			return nil, err
		}
		p.first = s.rows
		s.parts = append(s.parts, p)
		s.rows += entry.Records
	}
	s.live = s.manifest.live()
	return s, nil
}

func openPart(last *snapshot, path string, entry segmentEntry) (*part, error) {
	p := &part{entry: entry, verified: time.Now()}
	info, err := os.Stat(path)
	if err != nil {
		return nil, damaged(err)
	}
	if info.Size() != entry.Bytes {
		return nil, fmt.Errorf("%w: %s has %d bytes, want %d", store.ErrCorrupt, entry.File, info.Size(), entry.Bytes)
	}
	opened, err := openSegment(path)
	if err != nil {
		return nil, err
	}
	if int(opened.Count()) != entry.Records || opened.CRC() != entry.CRC {
		opened.Close()
		return nil, fmt.Errorf("%w: %s is another segment than the one recorded", store.ErrCorrupt, entry.File)
	}
	p.Segment, p.file = opened, info
	if known := last.part(info); known != nil {
		p.verified = known.verified
	} else if err := verify(opened); err != nil {
		opened.Close()
		return nil, fmt.Errorf("%s: %w", entry.File, err)
	}
	if !entry.Deleted.IsEmpty() {
		p.deleted = entry.Deleted
	}
	return p, nil
}

// verify reads all bytes of a segment: Bleve's readers look at no checksum, and would answer from what is damaged. A megabyte
// takes about 0.1 ms.
func verify(opened *zap.Segment) (err error) {
	defer recoverDamage(&err)()
	content := opened.Data()
	if crc32.ChecksumIEEE(content[:len(content)-checksumSize]) != opened.CRC() {
		return fmt.Errorf("%w: wrong checksum", store.ErrCorrupt)
	}
	return nil
}

// unchanged tells whether the file is still the one that was verified; if its time cannot tell, it is verified again. One that is
// gone is no other: it is mapped. The caller holds Index.mu.
func (p *part) unchanged(folder string) bool {
	looked := time.Now()
	now, err := os.Stat(filepath.Join(folder, p.entry.File))
	switch {
	case err != nil:
		return true
	case !p.isFile(now):
		return false
	case !p.hasty():
		return true
	case verify(p.Segment) != nil:
		return false
	}
	p.verified = looked
	return true
}

// hasty tells whether the file was verified so soon after a writing that its time may not tell of another one.
func (p *part) hasty() bool { return filetime.Doubtful(p.file.ModTime(), p.verified) }

// isFile tells whether a file is the one that was verified, under whatever name.
func (p *part) isFile(f fs.FileInfo) bool {
	return os.SameFile(f, p.file) && f.Size() == p.file.Size() && f.ModTime().Equal(p.file.ModTime())
}

func openSegment(path string) (_ *zap.Segment, err error) {
	defer recoverDamage(&err)()
	opened, err := (&zap.ZapPlugin{}).Open(path)
	if err != nil {
		return nil, damaged(err)
	}
	return opened.(*zap.Segment), nil
}

// damaged tells what is wrong with a file that must be there and be right. Errors that say nothing
// about its content, such as a lack of permission or of file handles, stay as they are.
func damaged(err error) error {
	var pathError *fs.PathError
	switch {
	case errors.Is(err, store.ErrCorrupt), errors.Is(err, store.ErrFormat), errors.Is(err, store.ErrNewer):
		return err
	case errors.As(err, &pathError) && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	return fmt.Errorf("%w: %w", store.ErrCorrupt, err)
}

func (s *snapshot) close() {
	for _, p := range s.parts {
		p.Close()
	}
}

// part returns that of a file as it is now; nil if it is none's.
func (s *snapshot) part(file fs.FileInfo) *part {
	if s == nil {
		return nil
	}
	if i := slices.IndexFunc(s.parts, func(p *part) bool { return p.isFile(file) && !p.hasty() }); i >= 0 {
		return s.parts[i]
	}
	return nil
}

// row finds a record by its number in the snapshot.
func (s *snapshot) row(number int) (*part, uint64) {
	at := len(s.parts) - 1
	for s.parts[at].first > number {
		at--
	}
	return s.parts[at], uint64(number - s.parts[at].first)
}

// record reads a record by its number in the snapshot.
func (s *snapshot) record(number int) (store.Record, error) {
	p, local := s.row(number)
	rec, _, err := p.record(local)
	return rec, err
}

// id reads a record's ID by its number in the snapshot.
func (s *snapshot) id(number int) (string, error) {
	p, local := s.row(number)
	id, err := p.DocID(local)
	return string(id), err
}

func (p *part) record(local uint64) (rec store.Record, size lengths, err error) {
	var id string
	found := false
	// The visitor always asks for more: zapx v17.2.3 gives its buffer back twice if it does not.
	visitErr := p.VisitStoredFields(local, func(field string, _ byte, value []byte, _ []uint64) bool {
		switch field {
		case idField:
			id = string(value)
		case recordField:
			found = true
			rec, size, err = decodeRecord(id, value)
		}
		return true
	})
	if visitErr == nil && !found {
		visitErr = fmt.Errorf("row %d holds no record", local)
	}
	if err = errors.Join(visitErr, err); err != nil {
		err = fmt.Errorf("%w: %s: %w", store.ErrCorrupt, p.entry.File, err)
	}
	return rec, size, err
}

// rows returns the numbers inside the part of the live records with the given facet. The bitmap is
// not the caller's to change.
func (p *part) rows(facet string) (*roaring.Bitmap, error) {
	dictionary, err := p.Dictionary(facetField)
	if err != nil {
		return nil, err
	}
	postings, err := dictionary.PostingsList([]byte(facet), p.deleted, nil)
	if err != nil {
		return nil, err
	}
	return bitmapOf(postings.Iterator(false, false, false, nil))
}

func bitmapOf(postings segment.PostingsIterator) (*roaring.Bitmap, error) {
	if whole, ok := postings.(segment.OptimizablePostingsIterator); ok {
		if rows := whole.ActualBitmap(); rows != nil {
			return rows, nil
		}
	}
	rows := roaring.New()
	for {
		posting, err := postings.Next()
		if err != nil || posting == nil {
			return rows, err
		}
		rows.Add(uint32(posting.Number()))
	}
}

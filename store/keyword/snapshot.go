package keyword

import (
	"cmp"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"

	"github.com/memcore/memcore/internal/filetime"
	"github.com/memcore/memcore/internal/varint"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
)

// A snapshot is an open generation, safe for concurrent use.
type snapshot struct {
	number   uint64 // 0 if there is no generation
	manifest manifest
	parts    []*part
	rows     int // records in all parts, dead ones too
	live     int

	laidOut      sync.Once
	documents    *layout
	documentsErr error

	answers answers
}

var _ source = (*snapshot)(nil)

// A reader is what answers need of a segment.
type reader interface {
	segment.Segment
	CRC() uint32
	Data() []byte
}

// A part is one open segment.
type part struct {
	reader
	entry    segmentEntry
	file     fs.FileInfo     // when its bytes were verified
	verified time.Time       // changed only by Unchanged
	deleted  *roaring.Bitmap // nil if empty, which Bleve reads faster
	first    int             // number of its first record in the snapshot
}

// openSnapshot opens a generation. It does not verify again what last, if not nil, has verified.
func openSnapshot(_ context.Context, last *snapshot, number uint64, folder string) (*snapshot, error) {
	s := &snapshot{number: number}
	s.answers.source = s
	if number == 0 {
		return s, nil
	}
	var err error
	if s.manifest, err = readManifest(folder); err != nil {
		return nil, err
	}
	for _, entry := range s.manifest.Segments {
		p, err := openPart(last, filepath.Join(folder, entry.File), entry)
		if err != nil {
			s.Close()
			return nil, err
		}
		p.first = s.rows
		s.parts = append(s.parts, p)
		s.rows += entry.Records
		s.live += entry.live()
	}
	return s, nil
}

func openPart(last *snapshot, path string, entry segmentEntry) (*part, error) {
	p := &part{entry: entry, verified: time.Now()}
	var err error
	if p.file, err = os.Stat(path); err != nil {
		return nil, disk.Damaged(err)
	}
	if p.file.Size() != entry.Bytes {
		return nil, disk.Corrupt("%s has %d bytes, want %d", entry.File, p.file.Size(), entry.Bytes)
	}
	if known := last.part(p.file); known != nil {
		p.verified = known.verified
	} else if err := verifyFile(path, entry); err != nil {
		return nil, err
	}
	if p.reader, err = openSegment(path); err != nil {
		return nil, err
	}
	if int(p.Count()) != entry.Records || p.CRC() != entry.CRC {
		p.Close()
		return nil, disk.Corrupt("%s is another segment than the one recorded", entry.File)
	}
	if !entry.Deleted.IsEmpty() {
		p.deleted = entry.Deleted
	}
	return p, nil
}

// verifyFile checks a file for Bleve, which believes every length in it.
func verifyFile(path string, entry segmentEntry) error {
	file, err := os.Open(path)
	if err != nil {
		return disk.Damaged(err)
	}
	defer file.Close()
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, io.LimitReader(file, entry.Bytes-checksumSize)); err != nil {
		return disk.Damaged(err)
	}
	if sum.Sum32() != entry.CRC {
		return disk.Corrupt("%s: wrong checksum", entry.File)
	}
	return nil
}

// verify checks a segment's bytes, in 0.1 ms a megabyte. Bleve does not.
func (p *part) verify() error {
	return disk.Careful(true, func() error {
		content := p.Data()
		if crc32.ChecksumIEEE(content[:len(content)-checksumSize]) != p.CRC() {
			return disk.Corrupt("%s: wrong checksum", p.entry.File)
		}
		return nil
	})
}

const checksumSize = 4

// Unchanged implements generation.Snapshot.
func (s *snapshot) Unchanged(folder string) bool {
	return !slices.ContainsFunc(s.parts, func(p *part) bool { return !p.unchanged(folder) })
}

// unchanged reports whether the file is the verified one, by its time or else its bytes. A deleted
// file counts as unchanged: it is still mapped.
func (p *part) unchanged(folder string) bool {
	looked := time.Now()
	now, err := os.Stat(filepath.Join(folder, p.entry.File))
	switch {
	case err != nil:
		return true
	case !filetime.Same(now, p.file):
		return false
	case !p.doubtful():
		return true
	case p.verify() != nil:
		return false
	}
	p.verified = looked
	return true
}

// doubtful reports whether the file may have changed with the same time.
func (p *part) doubtful() bool { return filetime.Doubtful(p.file.ModTime(), p.verified) }

func openSegment(path string) (opened *zap.Segment, err error) {
	err = disk.Careful(true, func() error {
		segment, err := (&zap.ZapPlugin{}).Open(path)
		if err == nil {
			opened = segment.(*zap.Segment)
		}
		return disk.Damaged(err)
	})
	return opened, err
}

// Close implements generation.Snapshot.
func (s *snapshot) Close() error {
	for _, p := range s.parts {
		p.Close()
	}
	return nil
}

// part returns the open part of a file; nil if new or changed.
func (s *snapshot) part(file fs.FileInfo) *part {
	if s == nil {
		return nil
	}
	if i := slices.IndexFunc(s.parts, func(p *part) bool { return filetime.Same(p.file, file) && !p.doubtful() }); i >= 0 {
		return s.parts[i]
	}
	return nil
}

// row returns a record's part and its number there.
func (s *snapshot) row(number int) (*part, uint64) {
	at := len(s.parts) - 1
	for s.parts[at].first > number {
		at--
	}
	return s.parts[at], uint64(number - s.parts[at].first)
}

// records implements source.
func (s *snapshot) records(ctx context.Context, numbers []int) ([]store.Record, error) {
	all := make([]store.Record, len(numbers))
	for i, number := range numbers {
		p, local := s.row(number)
		rec, _, err := p.record(local)
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return nil, err
		}
		all[i] = rec
	}
	return all, nil
}

func (s *snapshot) id(number int) (string, error) {
	p, local := s.row(number)
	id, err := p.DocID(local)
	return string(id), disk.Damaged(err)
}

func (p *part) record(local uint64) (r store.Record, size lengths, err error) {
	var decodeErr error = varint.ErrShort // unless the visitor runs
	// Stopping early makes zapx v17.2.3 return its buffer twice.
	err = p.VisitStoredFields(local, func(field string, _ byte, value []byte, _ []uint64) bool {
		switch field {
		case idField:
			r.ID = string(value)
		case recordField:
			size, decodeErr = decodeRecord(&r, value)
		}
		return true
	})
	if err = errors.Join(err, decodeErr); err != nil {
		err = disk.Corrupt("row %d of %s: %w", local, p.entry.File, err)
	}
	return r, size, err
}

func encodeRecord(r *store.Record, size lengths) []byte {
	var e varint.Encoder
	e.Numbers(size[:]...)
	e.Texts(r.Scope, r.Kind, r.Path, strings.Join(r.Aliases, "\n"))
	disk.AppendRecord(&e, r)
	return e
}

// decodeRecord reads all but the ID, and keeps no reference to b.
func decodeRecord(r *store.Record, b []byte) (size lengths, err error) {
	d := varint.Decoder{Rest: b}
	for i := range size {
		size[i] = d.Number()
	}
	r.Scope, r.Kind, r.Path = d.Text(), d.Text(), d.Text()
	if aliases := d.Text(); aliases != "" {
		r.Aliases = strings.Split(aliases, "\n")
	}
	disk.ReadRecord(&d, r)
	return size, d.End()
}

// Document implements disk.Snapshot.
func (s *snapshot) Document(ctx context.Context, path string) (records []store.Record, err error) {
	for _, p := range s.parts {
		rows, err := p.rows(documentFacet(path))
		if err != nil {
			return nil, err
		}
		for row := rows.Iterator(); row.HasNext(); {
			r, _, err := p.record(uint64(row.Next()))
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return nil, err
			}
			records = append(records, r)
		}
	}
	return records, nil
}

// Count implements disk.Snapshot.
func (s *snapshot) Count() int { return s.live }

// Stats implements disk.Snapshot.
func (s *snapshot) Stats() (store.Stats, error) {
	stats := store.Stats{Engine: "bleve", Records: s.live, Fragments: len(s.parts), Deleted: s.rows - s.live}
	for _, p := range s.parts {
		stats.Bytes += p.entry.Bytes
	}
	return stats, nil
}

// rows returns a facet's live records in the part, not to be changed.
func (p *part) rows(facet string) (*roaring.Bitmap, error) {
	dictionary, err := p.Dictionary(facetField)
	if err != nil {
		return nil, disk.Damaged(err)
	}
	postings, err := dictionary.PostingsList([]byte(facet), p.deleted, nil)
	if err != nil {
		return nil, disk.Damaged(err)
	}
	rows, err := bitmapOf(postings.Iterator(false, false, false, nil))
	if err != nil {
		return nil, disk.Damaged(err)
	}
	return rows, nil
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

package keyword

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	index "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
	"golang.org/x/sync/errgroup"

	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/internal/disk"
)

// Commit implements disk.Snapshot.
func (s *snapshot) Commit(ctx context.Context, dir *generation.Dir, changes []disk.Change) error {
	slices.SortFunc(changes, func(a, b disk.Change) int { return strings.Compare(a.ID, b.ID) })
	c := &commit{ctx: ctx, lengths: s.manifest.Lengths}
	if err := c.remove(s, changes); err != nil {
		return err
	}
	if err := c.add(changes); err != nil {
		return err
	}
	if !c.changed {
		return nil
	}
	slices.SortStableFunc(c.pieces, func(a, b *piece) int { return cmp.Compare(a.live(), b.live()) })
	merged, kept := divide(c.pieces)
	return c.publish(dir, s.number, merged, kept)
}

// Purge implements disk.Snapshot.
func (s *snapshot) Purge(ctx context.Context, dir *generation.Dir) error {
	c := &commit{ctx: ctx, lengths: s.manifest.Lengths}
	var merged, kept []*piece
	for _, p := range s.parts {
		one := &piece{segment: p.reader, entry: p.entry, stored: true}
		if p.deleted == nil {
			kept = append(kept, one)
		} else {
			merged = append(merged, one)
		}
	}
	if len(merged) == 0 {
		return nil
	}
	return c.publish(dir, s.number, merged, kept)
}

// publish writes what follows generation n.
func (c *commit) publish(dir *generation.Dir, n uint64, merged, kept []*piece) error {
	share := func(path string) bool {
		return slices.ContainsFunc(kept, func(p *piece) bool { return p.stored && p.entry.File == path })
	}
	return dir.Write(c.ctx, n, share, func(next *generation.Next) error { return c.finish(next, merged, kept) })
}

// A commit writes the generation that follows a snapshot.
type commit struct {
	ctx     context.Context
	pieces  []*piece // what the next generation is made of
	lengths lengths
	changed bool
}

// A piece is a segment, old or new.
type piece struct {
	segment segment.Segment
	entry   segmentEntry
	stored  bool // it is a file of the last generation
}

func (p *piece) live() int    { return p.entry.live() }
func (p *piece) records() int { return p.entry.Records }

// remove marks old versions of records as deleted.
func (c *commit) remove(s *snapshot, changes []disk.Change) error {
	ids := make([]string, len(changes))
	for i, change := range changes {
		ids[i] = change.ID
	}
	for _, p := range s.parts {
		rows, err := p.live(ids)
		if err != nil {
			return err
		}
		if err := c.forget(p, rows); err != nil {
			return err
		}
		entry := p.entry
		entry.Deleted = roaring.Or(p.entry.Deleted, rows)
		if entry.live() > 0 {
			c.pieces = append(c.pieces, &piece{segment: p.reader, entry: entry, stored: true})
		}
	}
	return c.ctx.Err()
}

func (c *commit) forget(p *part, rows *roaring.Bitmap) error {
	for row := rows.Iterator(); row.HasNext(); {
		_, size, err := p.record(uint64(row.Next()))
		if err != nil {
			return err
		}
		c.lengths.subtract(size)
		c.changed = true
	}
	return nil
}

// most bounds the records of a new segment: about 60 MB of memory.
const most = 2_000

// add builds segments of the new records.
func (c *commit) add(changes []disk.Change) error {
	var records []*store.Record
	for _, change := range changes {
		if change.Record != nil {
			records = append(records, change.Record)
		}
	}
	for some := range slices.Chunk(records, most) {
		if err := c.addSegment(some); err != nil {
			return err
		}
	}
	return nil
}

func (c *commit) addSegment(recs []*store.Record) error {
	docs, err := c.analyse(recs)
	if err != nil {
		return err
	}
	built, _, err := (&zap.ZapPlugin{}).New(docs)
	if err != nil {
		return fmt.Errorf("segment of %d records: %w", len(docs), err)
	}
	c.changed = true
	c.pieces = append(c.pieces, &piece{
		segment: built, entry: segmentEntry{Records: len(docs), Deleted: roaring.New()},
	})
	return nil
}

// analyse makes documents on all processors.
func (c *commit) analyse(recs []*store.Record) ([]index.Document, error) {
	docs, sizes := make([]index.Document, len(recs)), make([]lengths, len(recs))
	group, ctx := errgroup.WithContext(c.ctx)
	workers := min(runtime.GOMAXPROCS(0), len(recs))
	for worker := range workers {
		group.Go(func() error {
			analyzer := newTextAnalyzer()
			for i := worker; i < len(recs) && ctx.Err() == nil; i += workers {
				docs[i], sizes[i] = newDocument(recs[i], analyzer)
			}
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for _, size := range sizes {
		c.lengths.add(size)
	}
	return docs, nil
}

// Segments are kept growth times larger than all smaller ones together. So n records are in about
// log4(n) segments, and each was rewritten about as often.
const growth = 3

// divide chooses what to merge of segments; they are sorted by size.
func divide[P interface {
	live() int
	records() int
}](pieces []P) (merged, kept []P) {
	smaller, last := 0, 0
	for i, p := range pieces {
		if i > 0 && p.live() < growth*smaller {
			last = i
		}
		smaller += p.live()
	}
	for i, p := range pieces {
		if i <= last && last > 0 || p.live() < p.records()/2 {
			merged = append(merged, p)
		} else {
			kept = append(kept, p)
		}
	}
	return merged, kept
}

// finish writes the files that the last generation does not share.
func (c *commit) finish(next *generation.Next, merged, kept []*piece) error {
	m := manifest{Lengths: c.lengths}
	for i, p := range kept {
		entry := p.entry
		if !p.stored {
			var err error
			if entry, err = persist(p, next.Path(), segmentName(next, i)); err != nil {
				return err
			}
		}
		m.Segments = append(m.Segments, entry)
	}
	if len(merged) > 0 {
		entry, err := c.merge(merged, next.Path(), segmentName(next, len(kept)))
		if err != nil {
			return err
		}
		m.Segments = append(m.Segments, entry)
	}
	return m.write(next.Path())
}

// segmentName returns a name that no generation has used.
func segmentName(next *generation.Next, i int) string {
	return fmt.Sprintf("%d-%d.zap", next.Number(), i)
}

func persist(p *piece, folder, name string) (segmentEntry, error) {
	path := filepath.Join(folder, name)
	if err := p.segment.(segment.UnpersistedSegment).Persist(path); err != nil {
		return segmentEntry{}, err
	}
	return entryOf(path)
}

func (c *commit) merge(pieces []*piece, folder, name string) (segmentEntry, error) {
	if err := c.ctx.Err(); err != nil {
		return segmentEntry{}, err // a small merge may end before stop is closed
	}
	path := filepath.Join(folder, name)
	var segments []segment.Segment
	var dead []*roaring.Bitmap
	for _, p := range pieces {
		segments = append(segments, p.segment)
		dead = append(dead, p.entry.Deleted)
	}
	stop, release := c.stopped()
	defer release()
	if _, _, err := (&zap.ZapPlugin{}).Merge(segments, dead, path, stop, nil); err != nil {
		return segmentEntry{}, cmp.Or(c.ctx.Err(), err)
	}
	return entryOf(path)
}

// stopped adapts ctx to Bleve's merge.
func (c *commit) stopped() (stop chan struct{}, release func()) {
	stop = make(chan struct{})
	cancel := context.AfterFunc(c.ctx, func() { close(stop) })
	return stop, func() { cancel() }
}

// entryOf opens a new segment: an unreadable one must not be committed.
func entryOf(path string) (segmentEntry, error) {
	info, err := os.Stat(path)
	if err != nil {
		return segmentEntry{}, err
	}
	written, err := openSegment(path)
	if err != nil {
		return segmentEntry{}, err
	}
	defer written.Close()
	return segmentEntry{
		File: filepath.Base(path), Bytes: info.Size(), CRC: written.CRC(),
		Records: int(written.Count()), Deleted: roaring.New(),
	}, nil
}

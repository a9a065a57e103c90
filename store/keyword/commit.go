package keyword

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	index "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
	"golang.org/x/sync/errgroup"

	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/store"
)

// Commit implements store.Index.
func (ix *Index) Commit(ctx context.Context) error {
	ix.committing.Lock()
	defer ix.committing.Unlock()
	batch, err := ix.takeBatch()
	if err != nil {
		return ix.fail("commit", err)
	}
	if len(batch) == 0 {
		return nil
	}
	return ix.read(ctx, "commit", func(s *snapshot) error { return ix.write(ctx, s, batch) })
}

// write makes the next generation out of the snapshot and a batch, and publishes it.
func (ix *Index) write(ctx context.Context, s *snapshot, batch map[string]*store.Record) error {
	c := &change{ctx: ctx, lengths: s.manifest.Lengths}
	if err := c.remove(s, batch); err != nil {
		return err
	}
	if err := c.add(batch); err != nil {
		return err
	}
	if !c.changed {
		return nil
	}
	slices.SortStableFunc(c.pieces, func(a, b *piece) int { return cmp.Compare(a.live(), b.live()) })
	merged, kept := divide(c.pieces)
	next, err := ix.root.Begin(ctx, func(path string) bool {
		return slices.ContainsFunc(kept, func(p *piece) bool { return p.stored && p.entry.File == path })
	})
	if err != nil {
		return err
	}
	if err := c.finish(next, merged, kept); err != nil {
		next.Abandon()
		return err
	}
	return next.Publish()
}

// A change is a commit at work.
type change struct {
	ctx     context.Context
	pieces  []*piece // what the next generation is made of
	lengths lengths
	changed bool // is there anything to commit?
}

// A piece is a segment of the last generation or the new one, which is still in memory.
type piece struct {
	segment segment.Segment
	entry   segmentEntry
	stored  bool // is it a file of the last generation?
}

func (p *piece) live() int { return p.entry.live() }

// remove marks all records of the batch as deleted where the snapshot has them: those to be put
// come back in a new segment.
func (c *change) remove(s *snapshot, batch map[string]*store.Record) error {
	ids := slices.Sorted(maps.Keys(batch))
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
			c.pieces = append(c.pieces, &piece{segment: p.Segment, entry: entry, stored: true})
		}
	}
	return c.ctx.Err()
}

func (c *change) forget(p *part, rows *roaring.Bitmap) error {
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

// most is how many records are analysed and built into one segment at a time: about 60 MB.
const most = 2_000

// add builds segments of the batch's new records.
func (c *change) add(batch map[string]*store.Record) error {
	maps.DeleteFunc(batch, func(_ string, rec *store.Record) bool { return rec == nil })
	for ids := range slices.Chunk(slices.Sorted(maps.Keys(batch)), most) {
		recs := make([]*store.Record, len(ids))
		for i, id := range ids {
			recs[i] = batch[id]
		}
		if err := c.addSegment(recs); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) addSegment(recs []*store.Record) error {
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

// analyse makes documents of records, on all processors.
func (c *change) analyse(recs []*store.Record) ([]index.Document, error) {
	docs, sizes := make([]index.Document, len(recs)), make([]lengths, len(recs))
	group, ctx := errgroup.WithContext(c.ctx)
	workers := min(runtime.GOMAXPROCS(0), len(recs))
	for worker := range workers {
		group.Go(func() error {
			analyzer := newTextAnalyzer()
			for i := worker; i < len(recs) && ctx.Err() == nil; i += workers {
				docs[i], sizes[i] = newDocument(*recs[i], analyzer)
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

// growth is how many times larger a segment has to be than all smaller ones together, to be left
// alone by a commit. Sizes then form a geometric series: n records are in about log4(n) segments,
// and each is rewritten about as often, however small the commits are.
const growth = 3

// divide chooses, among pieces by rising size, those to be merged into one.
func divide(pieces []*piece) (merged, kept []*piece) {
	smaller, last := 0, 0
	for i, p := range pieces {
		if i > 0 && p.live() < growth*smaller {
			last = i
		}
		smaller += p.live()
	}
	for i, p := range pieces {
		if i <= last && last > 0 || mostlyDead(p) {
			merged = append(merged, p)
		} else {
			kept = append(kept, p)
		}
	}
	return merged, kept
}

func mostlyDead(p *piece) bool { return p.live() < p.entry.Records/2 }

// finish writes all files of the next generation that are not shared with the last one.
func (c *change) finish(next *generation.Next, merged, kept []*piece) error {
	m := manifest{Generation: next.Number(), Lengths: c.lengths}
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
	return writeManifest(next.Path(), m)
}

// segmentName is unlike all names of earlier generations.
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

func (c *change) merge(pieces []*piece, folder, name string) (segmentEntry, error) {
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

// stopped is ctx in the form that Bleve's merge wants.
func (c *change) stopped() (stop chan struct{}, release func()) {
	stop = make(chan struct{})
	cancel := context.AfterFunc(c.ctx, func() { close(stop) })
	return stop, func() { cancel() }
}

// entryOf opens a segment that was just written: what cannot be read back is not committed.
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

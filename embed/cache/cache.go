// Package cache keeps the vectors of documents on disk, so that no text is embedded twice.
//
// A Cache is an embed.Embedder around another one. Vectors are found by the SHA-256 of their text
// in a file that belongs to one fingerprint; restarts and other processes find them too. The files
// are derived data: they can be deleted at any time, and what is damaged in them is embedded again,
// never served. Texts are not stored, and of queries not even the vectors: what a person asks stays
// in memory.
//
// The rule for its users: a Cache holds nothing open between calls and has nothing to close, but
// its folder must be on a file system with file locks; elsewhere it works without storing.
package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/memcore/memcore/embed"
)

// Defaults for what Options leaves zero.
const (
	DefaultMaxBytes  = 512 << 20 // 340,000 vectors of 384 numbers
	DefaultQueries   = 1024
	DefaultBatchSize = 32
)

// Options are the settings of a Cache; the zero value works.
type Options struct {
	// MaxBytes bounds the folder. 0 is DefaultMaxBytes, negative is no bound. When the file of this
	// fingerprint would pass it, its oldest vectors go, a quarter of the bound at once; on Open, files
	// of other fingerprints go, those first that were opened longest ago.
	MaxBytes int64
	// Queries is how many query vectors are kept in memory; 0 is DefaultQueries, negative is none.
	Queries int
	// BatchSize is how many texts go to the inner embedder at once, and so how much work is lost at
	// most when it fails; 0 is DefaultBatchSize.
	BatchSize int
	// Logger gets one warning when nothing can be stored; nil is slog.Default().
	Logger *slog.Logger
}

// A Cache is an embed.Embedder that asks its inner one only for what it does not know. It is safe
// for concurrent use, by any number of processes with the same folder.
type Cache struct {
	inner   embed.Embedder
	print   string
	batch   int
	disk    *disk
	queries memory
	flights flights
	warned  sync.Once
	log     *slog.Logger

	told         atomic.Int64 // the dimension callers were told, in whatever way; 0: none yet
	hits, misses atomic.Int64
}

var _ embed.Keeper = (*Cache)(nil)

// Stats says what a Cache did since Open, and how large its file is.
type Stats struct {
	Hits    int64 // texts answered without the inner embedder
	Misses  int64 // texts the inner embedder was asked for, successfully
	Corrupt int64 // damaged records met; each was, or will be, embedded again
	Evicted int64 // records dropped because of MaxBytes
	Records int64 // vectors that can be found now
	Bytes   int64 // length of the file now
}

// Open returns a Cache around inner that stores in dir, which it makes. A folder that cannot be
// written to is no error: the Cache then reads what there is and warns once. It is an error if
// inner is nil, dir is "", or a part of dir is not a folder.
func Open(inner embed.Embedder, dir string, opts Options) (*Cache, error) {
	if inner == nil || dir == "" {
		return nil, errors.New("cache: an embedder and a folder are needed")
	}
	opts = opts.withDefaults()
	print := inner.Fingerprint()
	c := &Cache{inner: inner, print: print, batch: opts.BatchSize, log: opts.Logger}
	if opts.Queries > 0 {
		c.queries.lru, _ = lru.New[key, []float32](opts.Queries) // only a size below 1 is an error
	}
	err := os.MkdirAll(dir, 0o700)
	if err != nil && !unwritable(err) {
		return nil, fmt.Errorf("cache: %w", err)
	}
	c.disk = newDisk(dir, print, opts.MaxBytes, c.known)
	c.disk.tidy()
	if err != nil {
		c.warn(err)
	}
	return c, nil
}

func (o Options) withDefaults() Options {
	if o.MaxBytes == 0 {
		o.MaxBytes = DefaultMaxBytes
	}
	if o.Queries == 0 {
		o.Queries = DefaultQueries
	}
	if o.BatchSize <= 0 {
		o.BatchSize = DefaultBatchSize
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

func unwritable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOSPC)
}

func (c *Cache) warn(err error) {
	c.warned.Do(func() {
		c.log.Warn("embedding cache does not store; texts will be embedded again", "file", c.disk.path, "reason", err)
	})
}

// Unwrap returns the inner embedder.
func (c *Cache) Unwrap() embed.Embedder { return c.inner }

// Fingerprint is the inner embedder's, as it was on Open.
func (c *Cache) Fingerprint() string { return c.print }

// MaxTokens is the inner embedder's.
func (c *Cache) MaxTokens() int { return c.inner.MaxTokens() }

// CountTokens is the inner embedder's.
func (c *Cache) CountTokens(text string) int { return c.inner.CountTokens(text) }

// Dimension is the inner embedder's, or that of the stored vectors while the inner one does not
// know it yet.
func (c *Cache) Dimension() int {
	dim := c.known()
	if dim == 0 {
		dim = c.disk.dimension()
		c.told.CompareAndSwap(0, int64(dim))
	}
	return dim
}

// known is the dimension that stored vectors must have, 0 if any will do.
func (c *Cache) known() int {
	if dim := c.inner.Dimension(); dim > 0 {
		return dim
	}
	return int(c.told.Load())
}

// Stats returns the figures as of now.
func (c *Cache) Stats() Stats {
	s := c.disk.stats()
	s.Hits, s.Misses = c.hits.Load(), c.misses.Load()
	return s
}

// Embed is as embed.Embedder has it. Equal texts are embedded once, also if they are in calls that
// run at the same time; of two processes that embed the same text at the same time, the second
// waits for a moment. What was embedded before an error is stored.
//
// If the inner embedder answers with vectors of another length than the stored ones had, those are
// dropped, and the error is embed.ErrDimension, once: the index has to be rebuilt.
func (c *Cache) Embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(texts) == 0 {
		return nil, nil
	}
	j := &job{cache: c, kind: kind, shelf: c.shelf(kind), found: make(map[key][]float32, len(texts))}
	keys, wanted := unique(kind, texts)
	if err := j.run(ctx, wanted); err != nil {
		return nil, err
	}
	c.misses.Add(int64(j.asked))
	c.hits.Add(int64(len(texts) - j.asked))
	vecs, err := hand(keys, j.found)
	if err == nil {
		c.told.CompareAndSwap(0, int64(len(vecs[0])))
	}
	return vecs, err
}

// Kept implements embed.Keeper.
func (c *Cache) Kept(texts []string) [][]float32 {
	keys, wanted := unique(embed.Document, texts)
	found := make(map[key][]float32, len(wanted))
	c.disk.get(wanted, found)
	vecs := make([][]float32, len(texts))
	given := make(map[key]bool, len(found))
	for i, k := range keys {
		if vecs[i] = found[k]; given[k] {
			vecs[i] = slices.Clone(found[k])
		}
		given[k] = true
	}
	return vecs
}

func (c *Cache) shelf(kind embed.Kind) shelf {
	if kind == embed.Document {
		return c.disk
	}
	return &c.queries
}

// unique returns the key of each text, and each text that differs once, in order.
func unique(kind embed.Kind, texts []string) ([]key, []item) {
	keys, wanted := make([]key, len(texts)), make([]item, 0, len(texts))
	seen := make(map[key]bool, len(texts))
	for i, text := range texts {
		keys[i] = keyOf(kind, text)
		if !seen[keys[i]] {
			seen[keys[i]] = true
			wanted = append(wanted, item{key: keys[i], text: text})
		}
	}
	return keys, wanted
}

// hand returns the vector of each key, each the caller's own.
func hand(keys []key, found map[key][]float32) ([][]float32, error) {
	vecs := make([][]float32, len(keys))
	given := make(map[key]bool, len(keys))
	for i, k := range keys {
		v := found[k]
		if len(v) != len(found[keys[0]]) {
			return nil, fmt.Errorf("cache: vectors of %d and %d numbers: %w", len(found[keys[0]]), len(v), embed.ErrDimension)
		}
		if given[k] {
			v = slices.Clone(v)
		}
		vecs[i], given[k] = v, true
	}
	return vecs, nil
}

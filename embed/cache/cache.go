// Package cache keeps the vectors of documents on disk.
//
// A file for each fingerprint holds vectors by the SHA-256 of their text, for all processes. Texts
// are not stored. Damaged vectors are embedded again, never returned. The files can be deleted at
// any time. Vectors of queries stay in memory.
//
// A Cache needs no Close. On a file system without file locks it does not store.
package cache

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/memcore/memcore/embed"
)

// Defaults of Options.
const (
	DefaultMaxBytes  = 512 << 20 // 340,000 vectors of 384 numbers
	DefaultQueries   = 1024
	DefaultBatchSize = 32
)

// Options are the settings of a Cache; the zero value works.
type Options struct {
	// MaxBytes bounds the folder. 0 is DefaultMaxBytes, negative is no bound. If this fingerprint's
	// file would exceed it, the file starts over. On Open, other files go, the least recently
	// opened first.
	MaxBytes int64
	// Queries is how many query vectors stay in memory; 0 is DefaultQueries, negative is no
	// vectors.
	Queries int
	// BatchSize is how many texts the inner embedder gets at once, and an error loses; 0 is
	// DefaultBatchSize.
	BatchSize int
	// Logger gets one warning if storing fails; nil is slog.Default().
	Logger *slog.Logger
}

// A Cache asks its inner embedder only for missing vectors. It is safe for concurrent use by any
// number of processes.
type Cache struct {
	inner   embed.Embedder
	print   string
	batch   int
	disk    *disk
	queries *lru.Cache[key, []float32] // nil: none are kept
	warned  sync.Once
	log     *slog.Logger

	dim atomic.Int64 // that callers have seen; 0 before
}

var _ embed.Keeper = (*Cache)(nil)

// Stats describes a Cache's file.
type Stats struct {
	Corrupt int64 // damaged records found since Open; they are embedded again
	Records int64 // vectors in the file
	Bytes   int64 // length of the file
}

// Open returns a Cache around inner in dir, which it makes. If it cannot write there, it warns once
// and only reads. It is an error if inner is nil, dir is "", or a part of dir is not a folder.
func Open(inner embed.Embedder, dir string, opts Options) (*Cache, error) {
	if inner == nil || dir == "" {
		return nil, errors.New("cache: an embedder and a folder are needed")
	}
	opts = opts.withDefaults()
	print := inner.Fingerprint()
	c := &Cache{inner: inner, print: print, batch: opts.BatchSize, log: opts.Logger}
	if opts.Queries > 0 {
		c.queries, _ = lru.New[key, []float32](opts.Queries) // only a size below 1 is an error
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

// Fingerprint is the inner embedder's on Open.
func (c *Cache) Fingerprint() string { return c.print }

// MaxTokens is the inner embedder's.
func (c *Cache) MaxTokens() int { return c.inner.MaxTokens() }

// CountTokens is the inner embedder's.
func (c *Cache) CountTokens(text string) int { return c.inner.CountTokens(text) }

// Dimension is the inner embedder's or, until that knows it, that of stored vectors.
func (c *Cache) Dimension() int {
	dim := c.known()
	if dim == 0 {
		dim = c.disk.dimension()
		c.dim.CompareAndSwap(0, int64(dim))
	}
	return dim
}

// known is the dimension of stored vectors, 0 for any.
func (c *Cache) known() int {
	if dim := c.inner.Dimension(); dim > 0 {
		return dim
	}
	return int(c.dim.Load())
}

// Stats returns the current figures.
func (c *Cache) Stats() Stats { return c.disk.stats() }

// Embed implements embed.Embedder. It embeds equal texts once. Vectors made before an error are
// stored.
//
// If the inner embedder's vectors get another length, the stored ones are dropped and the error is
// embed.ErrDimension, once.
func (c *Cache) Embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(texts) == 0 {
		return nil, nil
	}
	keys, wanted := unique(kind, texts)
	found := make(map[key][]float32, len(wanted))
	c.get(kind, wanted, found)
	missing := slices.DeleteFunc(wanted, func(it item) bool { return found[it.key] != nil })
	for batch := range slices.Chunk(missing, c.batch) {
		if err := c.make(ctx, kind, batch, found); err != nil {
			return nil, err
		}
	}
	vecs := inOrder(keys, found)
	for _, v := range vecs {
		if len(v) != len(vecs[0]) {
			return nil, wrongLength(len(v), len(vecs[0]))
		}
	}
	c.dim.CompareAndSwap(0, int64(len(vecs[0])))
	return vecs, nil
}

// get adds the known vectors of items to found. The caller owns them.
func (c *Cache) get(kind embed.Kind, items []item, found map[key][]float32) {
	if kind == embed.Document {
		c.disk.get(items, found)
		return
	}
	if c.queries == nil {
		return
	}
	for _, it := range items {
		if v, ok := c.queries.Get(it.key); ok {
			found[it.key] = slices.Clone(v)
		}
	}
}

// make embeds a batch, adds its vectors to found, and stores them.
func (c *Cache) make(ctx context.Context, kind embed.Kind, batch []item, found map[key][]float32) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	texts := make([]string, len(batch))
	for i, it := range batch {
		texts[i] = it.text
	}
	vecs, err := c.inner.Embed(ctx, kind, texts)
	if err != nil {
		return err
	}
	if len(vecs) != len(batch) {
		return fmt.Errorf("cache: %d vectors for %d texts: %w", len(vecs), len(batch), embed.ErrUnavailable)
	}
	if err := c.sameLength(vecs); err != nil {
		return err
	}
	for i, it := range batch {
		found[it.key] = vecs[i]
	}
	if !slices.ContainsFunc(vecs, broken) { // the caller judges broken ones, but they are not stored
		c.put(kind, batch, vecs)
	}
	return nil
}

func (c *Cache) put(kind embed.Kind, items []item, vecs [][]float32) {
	if kind == embed.Document {
		if err := c.disk.put(items, vecs); err != nil {
			c.warn(err)
		}
		return
	}
	if c.queries == nil {
		return
	}
	for i, it := range items {
		c.queries.Add(it.key, slices.Clone(vecs[i]))
	}
}

// broken reports whether v is not a unit vector.
func broken(v []float32) bool {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	return !(math.Abs(sum-1) < 0.01) // also for NaN
}

// sameLength compares new vectors with each other and with earlier ones. If lengths differ, the
// model was replaced under its fingerprint: the new length counts, and the next write removes
// stored vectors.
func (c *Cache) sameLength(vecs [][]float32) error {
	dim := len(vecs[0])
	for _, v := range vecs {
		if len(v) != dim || dim == 0 {
			return wrongLength(len(v), dim)
		}
	}
	if says := c.inner.Dimension(); says > 0 && says != dim {
		return wrongLength(dim, says) // one text's, for which the others do not go
	}
	known := int(c.dim.Swap(int64(dim)))
	if known == 0 || known == dim {
		return nil
	}
	if c.queries != nil {
		c.queries.Purge()
	}
	return wrongLength(dim, known)
}

// Kept implements embed.Keeper.
func (c *Cache) Kept(texts []string) [][]float32 {
	keys, wanted := unique(embed.Document, texts)
	found := make(map[key][]float32, len(wanted))
	c.disk.get(wanted, found)
	return inOrder(keys, found)
}

// An item is a text to embed.
type item struct {
	key  key
	text string
}

// unique returns each text's key, and the distinct texts in order.
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

func inOrder(keys []key, found map[key][]float32) [][]float32 {
	vecs := make([][]float32, len(keys))
	taken := make(map[key]bool, len(found))
	for i, k := range keys {
		if vecs[i] = found[k]; taken[k] {
			vecs[i] = slices.Clone(found[k])
		}
		taken[k] = true
	}
	return vecs
}

func wrongLength(got, want int) error {
	return fmt.Errorf("cache: vectors have %d numbers, they had %d: %w", got, want, embed.ErrDimension)
}

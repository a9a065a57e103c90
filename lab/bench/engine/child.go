package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/cputime"
	"github.com/memcore/memcore/store"
)

const (
	k        = 50
	batch    = 5000 // rows of a commit
	perTopic = 20   // rows of a document
)

// openers by engine.
var openers = map[string]func(ctx context.Context, dir string) (stored, error){}

// runChild makes one measurement and prints it.
func runChild() error {
	ctx := context.Background()
	if *child == "truth" {
		return truth()
	}
	name, updating := strings.CutPrefix(*child, "updates-")
	open, ok := openers[name]
	if !ok {
		return fmt.Errorf("engine %q is not in this build (lancedb needs -tags lancedb)", name)
	}
	dir, err := os.MkdirTemp("", "enginebench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	e, err := open(ctx, dir)
	if err != nil {
		return err
	}
	defer e.Close()
	if updating {
		return measureUpdates(ctx, e, name)
	}
	return measure(ctx, e)
}

func measure(ctx context.Context, e stored) error {
	vectors, err := newSet(*childRow)
	if err != nil {
		return err
	}
	r := result{Engine: *child, Rows: *childRow}
	if r.Ingest, r.Index, err = fill(ctx, e, vectors, *childRow); err != nil {
		return err
	}
	if r.Bytes, err = size(ctx, e); err != nil {
		return err
	}
	best, err := readTruth()
	if err != nil {
		return err
	}
	r.Processor = cputime.Least(1, func() {
		r.P50, r.P95, r.Recall, r.Queries, err = ask(ctx, e, vectors.queries, store.Filter{}, best)
	})
	if err != nil {
		return err
	}
	r.Processor /= time.Duration(r.Queries)
	if r.FilterP50, r.FilterP95, _, _, err = ask(ctx, e, vectors.queries, store.Filter{Scope: "global"}, nil); err != nil {
		return err
	}
	if r.NarrowP50, _, _, _, err = ask(ctx, e, vectors.queries, store.Filter{Path: "notes/7.md"}, nil); err != nil {
		return err
	}
	r.PeakMemory = peakMemory()
	return write(os.Stdout, r)
}

func fill(ctx context.Context, e stored, vectors *set, rows int) (ingest, index time.Duration, err error) {
	for lo := 0; lo < rows; lo += batch {
		var recs []store.Record
		for n := lo; n < min(lo+batch, rows); n++ {
			recs = append(recs, record(n, vectors.next()))
		}
		started := time.Now()
		if err := e.add(ctx, recs); err != nil {
			return 0, 0, err
		}
		ingest += time.Since(started)
	}
	started := time.Now()
	err = e.finish(ctx)
	return ingest, time.Since(started), err
}

// record returns a record with about 300 bytes of text.
func record(n int, vector []float32) store.Record {
	text := fmt.Sprintf("Entry %d. ", n) + strings.Repeat("What was decided, when, by whom and why, in a few words. ", 5)
	return store.Record{ID: id(n), Scope: []string{"project", "global"}[n%2], Kind: "markdown",
		Path: fmt.Sprintf("notes/%d.md", n/perTopic), StartLine: n%perTopic*3 + 1, EndLine: n%perTopic*3 + 3,
		Headings: []string{"Decisions", fmt.Sprint("Week ", n%52)}, Text: text, Time: time.Unix(1_700_000_000+int64(n), 0),
		Hash: id(n), Tokens: 70, Vector: vector}
}

// id returns evenly spread IDs, as hashes are.
func id(n int) string { return fmt.Sprintf("%016x", uint64(n+1)*0x9E3779B97F4A7C15) }

// roundTime limits a round; slow engines answer fewer queries.
const roundTime = 60 * time.Second

// ask measures queries after a warm-up.
func ask(ctx context.Context, e stored, queries [][]float32, f store.Filter, best [][]string) (p50, p95 time.Duration, recall float64, asked int, err error) {
	for _, query := range queries[:min(5, len(queries))] {
		if _, err := e.query(ctx, query, f); err != nil {
			return 0, 0, 0, 0, err
		}
	}
	var took []time.Duration
	found, wanted := 0, 0
	begun := time.Now()
	for i, query := range queries {
		if time.Since(begun) > roundTime {
			break
		}
		started := time.Now()
		ids, err := e.query(ctx, query, f)
		if err != nil {
			return 0, 0, 0, 0, err
		}
		took = append(took, time.Since(started))
		if best != nil {
			wanted += len(best[i])
			for _, id := range best[i] {
				if slices.Contains(ids, id) {
					found++
				}
			}
		}
	}
	slices.Sort(took)
	return took[len(took)/2], took[len(took)*95/100], float64(found) / float64(max(wanted, 1)), len(took), nil
}

// size returns the bytes on disk.
func size(ctx context.Context, e stored) (int64, error) {
	stats, err := e.Stats(ctx)
	return stats.Bytes, err
}

// truth prints the nearest IDs for every query by exhaustive search.
func truth() error {
	vectors, err := newSet(*childRow)
	if err != nil {
		return err
	}
	type hit struct {
		n   int
		dot float32
	}
	best := make([][]hit, len(vectors.queries))
	for n := range *childRow {
		v := vectors.next()
		for q, query := range vectors.queries {
			dot := float32(0)
			for i, x := range query {
				dot += x * v[i]
			}
			if len(best[q]) == k && dot <= best[q][k-1].dot {
				continue
			}
			at, _ := slices.BinarySearchFunc(best[q], dot, func(h hit, dot float32) int { return -cmp.Compare(h.dot, dot) })
			best[q] = slices.Insert(best[q], at, hit{n, dot})
			best[q] = best[q][:min(k, len(best[q]))]
		}
	}
	ids := make([][]string, len(best))
	for q, hits := range best {
		for _, h := range hits {
			ids[q] = append(ids[q], id(h.n))
		}
	}
	return write(os.Stdout, ids)
}

func readTruth() (ids [][]string, err error) {
	name := "truth-" + strconv.Itoa(*childRow)
	if *texts != "" {
		name += "-texts"
	}
	data, err := os.ReadFile(filepath.Join(*out, name+".json"))
	if err != nil {
		return nil, err
	}
	return ids, json.Unmarshal(data, &ids)
}

func measureUpdates(ctx context.Context, e stored, name string) error {
	vectors, err := newSet(*childRow)
	if err != nil {
		return err
	}
	u := updatesResult{Engine: name, Rows: *childRow, Updates: *updates}
	if _, _, err := fill(ctx, e, vectors, *childRow); err != nil {
		return err
	}
	if u.Fresh, u.FreshBytes, err = look(ctx, e, vectors); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(5, 5))
	started := time.Now()
	for range *updates {
		if err := e.add(ctx, []store.Record{record(random.IntN(*childRow), vectors.next())}); err != nil {
			return err
		}
	}
	u.PerUpdate = time.Since(started) / time.Duration(*updates)
	stats, err := e.Stats(ctx)
	if err != nil {
		return err
	}
	u.Fragments = stats.Fragments
	if u.Updated, u.UpdatedBytes, err = look(ctx, e, vectors); err != nil {
		return err
	}
	started = time.Now()
	if err := e.finish(ctx); err != nil {
		return err
	}
	u.CompactDuration = time.Since(started)
	if u.Compacted, u.CompactedBytes, err = look(ctx, e, vectors); err != nil {
		return err
	}
	return write(os.Stdout, u)
}

func look(ctx context.Context, e stored, vectors *set) (p50 time.Duration, bytes int64, err error) {
	if p50, _, _, _, err = ask(ctx, e, vectors.queries, store.Filter{}, nil); err != nil {
		return 0, 0, err
	}
	bytes, err = size(ctx, e)
	return p50, bytes, err
}

package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

const batchSize = 10

// Readers of two indexes run while a writer writes batches of ten.
func testConcurrent(x *fixture) {
	writer, other := x.open(), x.open()
	var wait sync.WaitGroup
	ctx, cancel := context.WithCancel(x.Context())
	defer cancel()
	for i := range 4 {
		ix := []*index{writer, other}[i%2]
		wait.Go(func() {
			if err := readBatches(ctx, ix); err != nil {
				x.Errorf("reading beside a writer: %v", err)
			}
		})
	}
	for n := range 30 {
		x.put(writer, x.records(n*batchSize, (n+1)*batchSize)...)
		if n >= 20 { // from here on each batch replaces another
			for i := range batchSize {
				x.delete(writer, id((n-20)*batchSize+i))
			}
		}
		x.commit(writer)
	}
	cancel()
	wait.Wait()
	x.holds(other, numbers(100, 300)...)
}

// readBatches reads until ctx ends. Vanished records or half a batch are an error.
func readBatches(ctx context.Context, ix *index) error {
	seen := 0
	for ctx.Err() == nil {
		hits, err := ix.search(context.Background(), 1000, store.Filter{})
		if err != nil {
			return err
		}
		n, err := ix.Count(context.Background())
		if err != nil {
			return err
		}
		recs, err := ix.Document(context.Background(), "notes/a.md")
		if err != nil {
			return err
		}
		if len(hits)%batchSize != 0 || len(hits) < seen || n < len(hits) || len(recs) < n || len(recs)%batchSize != 0 {
			return errors.New("a reader saw less than the last commit or half of one")
		}
		seen = len(recs)
	}
	return nil
}

// Each commit replaces all records, so an answer must be of one.
func testWholeCommits(x *fixture) {
	ix, other := x.open(), x.open()
	write := func(version string) {
		for n := range batchSize {
			rec := x.record(n, "notes/a.md")
			rec.Session = version
			x.put(ix, rec)
		}
		x.commit(ix)
	}
	write("0")
	var wait sync.WaitGroup
	ctx, cancel := context.WithCancel(x.Context())
	defer cancel()
	for range 2 {
		wait.Go(func() {
			for ctx.Err() == nil {
				hits, err := other.search(context.Background(), 100, store.Filter{})
				if err != nil || len(hits) != batchSize {
					x.Errorf("%d hits, error %v, want %d", len(hits), err, batchSize)
					return
				}
				mixed := slices.ContainsFunc(hits, func(h store.Hit) bool { return h.Record.Session != hits[0].Record.Session })
				if mixed {
					x.Errorf("an answer mixes two commits: %v", hits)
					return
				}
			}
		})
	}
	for n := range 40 {
		write(strings.Repeat("x", n))
	}
	cancel()
	wait.Wait()
}

func testCancelled(x *fixture) {
	ix := x.open()
	x.add(ix, x.records(0, 10)...)
	ctx := cancelled()
	for name, err := range map[string]error{
		"Put":      ix.Put(ctx, x.records(10, 11)),
		"Delete":   ix.Delete(ctx, []string{id(0)}),
		"search":   second(ix.search(ctx, 5, store.Filter{})),
		"scores":   second(ix.scores(ctx, []string{id(0)})),
		"Document": second(ix.Document(ctx, "notes/a.md")),
		"Count":    second(ix.Count(ctx)),
		"Check":    ix.Check(ctx),
	} {
		if !errors.Is(err, context.Canceled) {
			x.Errorf("%s with a cancelled context: error %v, want context.Canceled", name, err)
		}
	}
	expired, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	if err := second(ix.search(expired, 5, store.Filter{})); !errors.Is(err, context.DeadlineExceeded) {
		x.Errorf("a search after its deadline: error %v, want context.DeadlineExceeded", err)
	}
	ix.Discard()
	x.holds(ix, numbers(0, 10)...)
}

func second[T any](_ T, err error) error { return err }

// Cancelled searches end soon.
func testCancelRunning(x *fixture) {
	ix := x.open()
	x.add(ix, x.records(0, 500)...)
	for i := range 5 {
		ctx, cancel := context.WithCancel(x.Context())
		ended := make(chan error, 1)
		go func() {
			for {
				if _, err := ix.search(ctx, 500, store.Filter{}); err != nil {
					ended <- err
					return
				}
			}
		}()
		time.Sleep(time.Duration(i*3) * time.Millisecond)
		cancel()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				x.Errorf("a search cancelled while it ran: error %v, want context.Canceled", err)
			}
		case <-time.After(20 * time.Second):
			x.Fatalf("a search still runs 20 s after it was cancelled")
		}
	}
}

func testClosed(x *fixture) {
	ix := x.open()
	x.add(ix, x.records(0, 3)...)
	x.put(ix, x.records(3, 4)...)
	require.NoError(x, ix.Close())
	require.NoError(x, ix.Close())
	ctx := x.Context()
	for name, err := range map[string]error{
		"Put":      ix.Put(ctx, x.records(5, 6)),
		"Delete":   ix.Delete(ctx, []string{id(0)}),
		"Commit":   ix.Commit(ctx),
		"search":   second(ix.search(ctx, 5, store.Filter{})),
		"scores":   second(ix.scores(ctx, []string{id(0)})),
		"Document": second(ix.Document(ctx, "notes/a.md")),
		"Count":    second(ix.Count(ctx)),
		"Stats":    second(ix.Stats(ctx)),
		"Check":    ix.Check(ctx),
	} {
		if !errors.Is(err, store.ErrClosed) {
			x.Errorf("%s after Close: error %v, want ErrClosed", name, err)
		}
	}
	ix.Discard()
	x.holds(x.open(), 0, 1, 2)
}

func testErrorText(x *fixture) {
	ix := x.open()
	require.NoError(x, ix.Close())
	for op, err := range map[string]error{
		"put":      ix.Put(x.Context(), x.records(0, 1)),
		"commit":   ix.Commit(x.Context()),
		"document": second(ix.Document(x.Context(), "notes/a.md")),
		"check":    ix.Check(x.Context()),
	} {
		var wrapped *store.Error
		if !errors.As(err, &wrapped) || wrapped.Op != op || wrapped.Path == "" {
			x.Errorf("%s: error %#v, want a store.Error that names the operation and the index", op, err)
		}
	}
}

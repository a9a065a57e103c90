package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

const batchSize = 10

// Each commit replaces all records, so an answer must be of one. Readers of two indexes run beside
// the writer.
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
	for i := range 4 {
		reader := []*index{ix, other}[i%2]
		wait.Go(func() {
			for ctx.Err() == nil {
				if err := readWhole(reader); err != nil {
					x.Errorf("reading beside a writer: %v", err)
					return
				}
			}
		})
	}
	for n := range 40 {
		write(strings.Repeat("x", n))
		require.NoError(x, ix.Purge(ctx))
	}
	cancel()
	wait.Wait()
}

// readWhole returns an error if an answer is not of one commit.
func readWhole(ix *index) error {
	ctx := context.Background()
	hits, err := ix.search(ctx, 100, store.Filter{})
	if err != nil {
		return err
	}
	recs, err := ix.Document(ctx, "notes/a.md")
	if err != nil {
		return err
	}
	n, err := ix.Count(ctx)
	if err != nil {
		return err
	}
	if len(hits) != batchSize || len(recs) != batchSize || n != batchSize {
		return fmt.Errorf("%d hits, %d records, a count of %d, want %d of each", len(hits), len(recs), n, batchSize)
	}
	for i := range batchSize {
		if hits[i].Record.Session != hits[0].Record.Session || recs[i].Session != recs[0].Session {
			return fmt.Errorf("an answer mixes two commits: %v, %v", hits, recs)
		}
	}
	return nil
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
		"Purge":    ix.Purge(ctx),
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
		"Purge":    ix.Purge(ctx),
	} {
		if !errors.Is(err, store.ErrClosed) {
			x.Errorf("%s after Close: error %v, want ErrClosed", name, err)
		}
		var wrapped *store.Error
		if !errors.As(err, &wrapped) || wrapped.Op == "" || wrapped.Path == "" {
			x.Errorf("%s after Close: error %#v, want a store.Error that names the operation and the index", name, err)
		}
	}
	ix.Discard()
	x.holds(x.open(), 0, 1, 2)
}

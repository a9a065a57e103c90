package postgres

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// However many statements tenants have, the next tenant gets a connection at once.
func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shares{most: 16, held: map[int64]int{}}
		end := make(chan struct{})
		many := func(tenant int64) {
			for range 20 {
				go func() {
					_ = s.within(context.Background(), tenant, func() error { <-end; return nil }) // it may be refused
				}()
			}
			synctest.Wait()
		}
		many(1)
		require.Equal(t, map[int64]int{1: 8}, s.held)
		many(2)
		require.Equal(t, map[int64]int{1: 8, 2: 4}, s.held)
		for tenant := range int64(2) {
			at := false
			require.NoError(t, s.within(t.Context(), 3+tenant, func() error { at = true; return nil }))
			require.True(t, at)
		}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		require.ErrorIs(t, s.within(ctx, 1, func() error { return nil }), context.Canceled)
		require.ErrorIs(t, s.within(t.Context(), 1, func() error { return nil }), ErrBusy)
		close(end)
		synctest.Wait()
		require.Empty(t, s.held)
		require.Empty(t, s.waiting)
		require.NoError(t, s.within(t.Context(), 1, func() error { return nil }))
	})
}

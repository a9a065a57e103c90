package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A proxy answers without memory that is slow to open, and leaves nothing behind when it ends.
func TestServesWhileMemoryGetsReady(t *testing.T) {
	ended := errors.New("ended")
	stopped := false
	err := afterWarmUp(t.Context(), time.Millisecond, func(ctx context.Context) {
		<-ctx.Done()
		stopped = true
	}, func(ctx context.Context) error {
		require.NoError(t, ctx.Err())
		return ended
	})
	require.ErrorIs(t, err, ended)
	require.True(t, stopped)

	warm := false
	err = afterWarmUp(t.Context(), time.Hour, func(context.Context) { warm = true }, func(context.Context) error {
		require.True(t, warm, "the first question has memory if it can")
		return nil
	})
	require.NoError(t, err)
}

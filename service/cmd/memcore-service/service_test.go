package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Who deletes a tenant can say how long nodes may still take its keys.
func TestDeletionWaitsForNodes(t *testing.T) {
	var o serviceOptions
	cmd := deleteTenantCommand(&cli{}, &o)
	require.NoError(t, cmd.ParseFlags([]string{"--yes"}))
	require.Equal(t, defaultFreshness, o.freshness)
	require.NoError(t, cmd.ParseFlags([]string{"--freshness", "90s"}))
	require.Equal(t, 90*time.Second, o.freshness)
}

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/use"
)

// A document that agents were given is not "never retrieved", also before it is counted.
func TestGivenIsNotNeverRetrieved(t *testing.T) {
	s := core.Statistics{Never: []core.Aged{{Path: "a.md"}, {Path: "b.md"}}, Stale: []core.Aged{{Path: "a.md"}}}
	withoutGiven(&s, use.Summary{Documents: []use.Document{{Path: "a.md"}}})
	require.Equal(t, []core.Aged{{Path: "b.md"}}, s.Never)
	require.Empty(t, s.Stale)
}

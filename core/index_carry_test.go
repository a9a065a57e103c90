package core_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/store"
)

// unreadable is an index whose vectors come to an early end.
type unreadable struct{ store.VectorIndex }

func (u unreadable) Each(ctx context.Context, do func(store.Record) error) error {
	n := 0
	return u.VectorIndex.(store.VectorReader).Each(ctx, func(r store.Record) error {
		if n++; n > 3 {
			return store.ErrCorrupt
		}
		return do(r)
	})
}

// Another engine takes the vectors as they are: what has changed since is embedded, what is gone
// goes. An index that cannot be read costs embeddings only.
func TestVectorsMoveToAnotherEngine(t *testing.T) {
	for _, tt := range []struct {
		name     string
		former   func(store.VectorIndex) (store.VectorIndex, error)
		rebuild  bool
		embedded int
	}{
		{"moved", func(x store.VectorIndex) (store.VectorIndex, error) { return x, nil }, false, 1},
		{"not asked for by a rebuild", func(x store.VectorIndex) (store.VectorIndex, error) { return x, nil }, true, 3},
		{"the former index is damaged in the middle", func(x store.VectorIndex) (store.VectorIndex, error) { return unreadable{x}, nil }, false, 2},
		{"the former index does not open", func(x store.VectorIndex) (store.VectorIndex, error) {
			return nil, errors.Join(store.ErrCorrupt, x.Close())
		}, false, 3},
		{"the former engine is not there", nil, false, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mem := newMemory(t)
			m := mem.open()
			index(t, m)
			require.NoError(t, m.Close())
			require.NoError(t, os.Remove(filepath.Join(mem.notes, "staging.md")))
			mem.write("new.md", "# Airships\n\nThe zeppelin lands at noon.\n")

			former := mem.options.Engine
			open := former.Vectors
			mem.options.Engine.Name = "other"
			mem.options.Engines = func(string) (store.Engine, bool) { return store.Engine{}, false }
			if tt.former != nil {
				mem.options.Engines = func(name string) (store.Engine, bool) {
					former.Vectors = func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
						x, err := open(ctx, dir, dimension)
						require.NoError(t, err)
						return tt.former(x)
					}
					return former, name == defaultEngine
				}
			}
			moved := mem.open()
			report, err := moved.Index(t.Context(), core.IndexOptions{Rebuild: tt.rebuild})
			require.NoError(t, err)
			require.NotEmpty(t, report.Rebuilt)
			require.Equal(t, tt.embedded, report.Embedded)
			require.Equal(t, "notes/new.md#L1-L3", first(search(t, moved, "zeppelin")))
			require.NotContains(t, first(search(t, moved, "staging postgres port")), "staging.md")
			status, err := moved.Status(t.Context())
			require.NoError(t, err)
			require.Equal(t, report.Chunks, status.Vectors.Records, "vectors of nothing else")
			require.NoError(t, moved.Check(t.Context()))
		})
	}
}

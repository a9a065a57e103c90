package core

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/digest"
	"github.com/memcore/memcore/core/source"
)

// With returns the same layer as NewLayer of the changed documents, and leaves the former one alone.
func TestLayerWith(t *testing.T) {
	chance := rand.New(rand.NewPCG(1, 2))
	names := []string{"a%d.md", "AGENTS%d/AGENTS.md", "%d/about-me.md"}
	document := func() Indexed {
		d := Indexed{entry: entry{Kind: source.Kinds[chance.IntN(2)], Chunks: chance.IntN(9), ModTime: time.Unix(chance.Int64N(100), 0)}}
		if chance.IntN(3) == 0 {
			d.said.Standing = []digest.Statement{{Line: chance.IntN(99)}}
		}
		return d.WithPending(chance.IntN(4))
	}
	path := func() string { return fmt.Sprintf(names[chance.IntN(len(names))], chance.IntN(400)) }
	all := map[string]Indexed{}
	for range 500 {
		all[path()] = document()
	}
	layer := NewLayer(all)
	for range 300 {
		before, was := layer, maps.Clone(all)
		var gone []string
		more := map[string]Indexed{}
		for range chance.IntN(4) {
			gone = append(gone, path())
		}
		for range chance.IntN(4) {
			more[path()] = document()
		}
		for _, path := range gone {
			delete(all, path)
		}
		maps.Copy(all, more)
		layer = layer.With(gone, more)
		equalLayer(t, all, layer)
		equalLayer(t, was, before)
	}
	require.Less(t, len(layer.over), 500, "changes are merged")
}

func equalLayer(t *testing.T, want map[string]Indexed, got *Layer) {
	t.Helper()
	has := map[string]Indexed{}
	for path, d := range got.all {
		has[path] = *d
		require.Equal(t, d, got.of(path))
	}
	require.Equal(t, want, has)
	fresh := NewLayer(want)
	require.Equal(t, [4]int{len(want), fresh.chunks, fresh.pending, int(fresh.bytes)}, [4]int{got.documents, got.chunks, got.pending, int(got.Bytes())})
	said, freshSaid := map[string]Said{}, map[string]Said{}
	got.addSaid(said)
	fresh.addSaid(freshSaid)
	require.Equal(t, freshSaid, said)
	isLate := func(at time.Time) bool { return at.Unix() > 50 }
	files, then := got.countFiles(isLate)
	ofFolder := &manifest{Documents: map[string]entry{}}
	for path, d := range want {
		ofFolder.Documents[path] = d.entry
	}
	wantFiles, wantThen := ofFolder.countFiles(isLate)
	require.Equal(t, [2]int{wantFiles, wantThen}, [2]int{files, then})
	require.Equal(t, slices.Sorted(slices.Values(fresh.named())), slices.Sorted(slices.Values(got.named())))
	require.Nil(t, got.of("nothing.md"))
}

// Of digests that are read at once, one that is damaged costs only itself.
func TestOneDamagedDigest(t *testing.T) {
	layer := NewLayer(map[string]Indexed{"a": {entry: entry{Digest: "1"}}, "b": {entry: entry{Digest: "2"}}})
	v := newView(&manifest{layers: []*Layer{layer}}, &indexes{digests: &digestCache{}})
	asked := 0
	v.readDigests = func(_ context.Context, paths []string) (map[string][]byte, error) {
		asked++
		return map[string][]byte{"a": []byte("{"), "b": []byte("{}")}, nil
	}
	all, err := v.fetchDigests(t.Context(), []string{"a", "b"})
	require.ErrorContains(t, err, "digest of a")
	require.Len(t, all, 1)
	_, err = v.digests.of(t.Context(), v, "b")
	require.NoError(t, err)
	require.Equal(t, 1, asked)
}

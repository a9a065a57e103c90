package cache

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
)

// large returns a folder with n vectors of 384 numbers, written directly.
func large(b *testing.B, n int) (string, *fake) {
	b.Helper()
	inner := newFake()
	inner.dim = 384
	dir := b.TempDir()
	d := newDisk(dir, inner.print, -1, inner.Dimension)
	data := encodeHeader(d.sum, 384)
	v := vector(embed.Document, "any", 384)
	for _, text := range numbered(n) {
		data = appendRecord(data, keyOf(embed.Document, text), v)
	}
	require.NoError(b, os.WriteFile(d.path, data, 0o600))
	return dir, inner
}

func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{1_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			dir, inner := large(b, n)
			for b.Loop() {
				open(b, inner, dir, Options{MaxBytes: -1})
			}
		})
	}
}

// A batch of 32 texts that are all stored.
func BenchmarkHit(b *testing.B) {
	dir, inner := large(b, 10_000)
	c := open(b, inner, dir, Options{})
	texts := numbered(32)
	for b.Loop() {
		if _, err := c.Embed(b.Context(), embed.Document, texts); err != nil {
			b.Fatal(err)
		}
	}
}

// A batch of 32 new texts, without the time that a model takes.
func BenchmarkStore(b *testing.B) {
	inner := newFake()
	inner.dim = 384
	c := open(b, inner, b.TempDir(), Options{})
	texts := numbered(32)
	n := 0
	for b.Loop() {
		n++
		for i := range texts {
			texts[i] = fmt.Sprint(n, i)
		}
		if _, err := c.Embed(b.Context(), embed.Document, texts); err != nil {
			b.Fatal(err)
		}
	}
}

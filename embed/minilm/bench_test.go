package minilm

import (
	"fmt"
	"strings"
	"testing"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/internal/encoder/kernel"
)

// sentence returns a text of n tokens, with [CLS] and [SEP].
func sentence(n int) string { return strings.TrimSpace(strings.Repeat("memory ", n-2)) }

// BenchmarkEmbed: run with -cpu 1 for the speed of one core.
func BenchmarkEmbed(b *testing.B) {
	for _, s := range kernel.Sets() {
		for _, tokens := range []int{14, 64, 206} {
			for _, batch := range []int{1, 64} {
				if s.Name() == "portable" && batch > 1 {
					continue
				}
				b.Run(fmt.Sprintf("%s/tokens=%d/batch=%d", s.Name(), tokens, batch), func(b *testing.B) {
					benchmark(b, withKernel(s), tokens, batch)
				})
			}
		}
	}
}

func benchmark(b *testing.B, m *Model, tokens, batch int) {
	texts := make([]string, batch)
	for i := range texts {
		texts[i] = sentence(tokens)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Embed(b.Context(), embed.Document, texts); err != nil {
			b.Fatal(err)
		}
	}
	done := float64(batch*b.N) / b.Elapsed().Seconds()
	b.ReportMetric(done, "texts/s")
	b.ReportMetric(done*float64(tokens), "tokens/s")
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New()
	}
}

// BenchmarkUnpack measures the extra cost of a process's first text.
func BenchmarkUnpack(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		open(kernel.Best())
	}
}

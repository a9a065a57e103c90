package app

import (
	"context"
	"fmt"
	"hash/crc32"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/cputime"
)

// A topicEmbedder gives texts with a first word in common near vectors.
type topicEmbedder struct{}

func (topicEmbedder) Embed(_ context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	all := make([][]float32, len(texts))
	for i, text := range texts {
		topic, _, _ := strings.Cut(strings.TrimLeft(text, "# "), " ")
		centre := rand.New(rand.NewPCG(uint64(crc32.ChecksumIEEE([]byte(topic))), 1))
		own := rand.New(rand.NewPCG(uint64(crc32.ChecksumIEEE([]byte(text))), 2))
		v, sum := make([]float32, 384), 0.0
		for j := range v {
			x := centre.NormFloat64() + .6*own.NormFloat64()
			v[j] = float32(x)
			sum += x * x
		}
		for j := range v {
			v[j] /= float32(math.Sqrt(sum))
		}
		all[i] = v
	}
	return all, nil
}

func (topicEmbedder) Dimension() int              { return 384 }
func (topicEmbedder) Fingerprint() string         { return "topics" }
func (topicEmbedder) MaxTokens() int              { return 256 }
func (topicEmbedder) CountTokens(text string) int { return len(strings.Fields(text)) }

// indexed returns a memory of about n chunks in documents of 100.
func indexed(b *testing.B, n int) (*core.Manager, string) {
	dir := b.TempDir()
	notes := filepath.Join(dir, "notes")
	require.NoError(b, os.Mkdir(notes, 0o700))
	for f := range n / 100 {
		var text strings.Builder
		for s := range 100 {
			fmt.Fprintf(&text, "# topic%d note %d of %d\n\nThe value of this one is %d, and nobody may change it before noon.\n\n", (f*31+s)%(n/50), s, f, f*s)
		}
		require.NoError(b, os.WriteFile(filepath.Join(notes, fmt.Sprintf("%04d.md", f)), []byte(text.String()), 0o600))
	}
	m, err := core.Open(b.Context(), core.Options{
		Folder: filepath.Join(dir, "index"), Sources: []source.Source{source.NewFolder(source.FolderOptions{Path: notes, Workspace: dir})},
		Engine: EngineNamed(config.EngineFlat), Embedder: topicEmbedder{}, Freshness: -1, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(b, err)
	b.Cleanup(func() { m.Close() })
	_, err = m.Index(b.Context(), core.IndexOptions{})
	require.NoError(b, err)
	return m, filepath.Join(dir, mapFile)
}

// BenchmarkMap makes the map of an index on disk. live is the most memory in use meanwhile.
func BenchmarkMap(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m, file := indexed(b, n)
			runtime.GC()
			var before, now runtime.MemStats
			runtime.ReadMemStats(&before)
			most, sketch, work := uint64(0), time.Duration(0), time.Duration(0)
			for b.Loop() {
				began := time.Now()
				work = cputime.Least(1, func() {
					require.NoError(b, makeChart(b.Context(), m, file, func(_ int, rough *chart) {
						if rough != nil {
							sketch = time.Since(began)
						}
						runtime.ReadMemStats(&now)
						most = max(most, now.HeapInuse)
					}))
				})
			}
			info, err := os.Stat(file)
			require.NoError(b, err)
			b.ReportMetric(float64(most-min(most, before.HeapInuse))/1e6, "live-MB")
			b.ReportMetric(work.Seconds(), "cpu-s")
			b.ReportMetric(sketch.Seconds(), "s-to-sketch")
			b.ReportMetric(float64(info.Size())/1e6, "file-MB")
		})
	}
}

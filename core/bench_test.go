package core_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

var vocabulary = strings.Fields("ferry harbour ticket sailing timetable postgres redis nginx deploy rollout incident barcode voucher refund invoice export cache counter proxy gateway session migration schema replica pooler")

func prose(seed int) string {
	words := make([]string, 60)
	for i := range words {
		words[i] = vocabulary[(seed*31+i*i*7+seed*i)%len(vocabulary)] + fmt.Sprint((seed*i)%97)
		if i%3 == 0 {
			words[i] = vocabulary[(seed+i*13)%len(vocabulary)]
		}
	}
	return strings.Join(words, " ") + "."
}

// writeBig writes files notes with some sections, one chunk each.
func writeBig(b *testing.B, dir string, files, sections int) {
	for f := range files {
		var text strings.Builder
		for s := range sections {
			fmt.Fprintf(&text, "## Section %d of %d\n\n%s\n\n", s, f, prose(f*sections+s))
		}
		require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.md", f)), []byte(text.String()), 0o644))
	}
}

func openBig(b *testing.B, files, sections int) *core.Manager {
	b.Helper()
	options, notes := optionsFor(b)
	writeBig(b, notes, files, sections)
	m, err := core.Open(b.Context(), options)
	require.NoError(b, err)
	b.Cleanup(func() { m.Close() })
	started := time.Now()
	report, err := m.Index(b.Context(), core.IndexOptions{})
	require.NoError(b, err)
	require.GreaterOrEqual(b, report.Chunks, files*sections)
	b.Logf("indexed %d chunks of %d files in %v, %d MB of memory from the system", report.Chunks, files, time.Since(started).Round(time.Millisecond), memoryMB())
	return m
}

// memoryMB is the runtime's memory that it has not given back.
func memoryMB() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return (samples[0].Value.Uint64() - samples[1].Value.Uint64()) >> 20
}

// BenchmarkRetrieve measures a warm memory of 10,000 chunks, without embedding: p50 and p95 of all
// and of both searches, in µs.
func BenchmarkRetrieve(b *testing.B) {
	m := openBig(b, 1000, 10)
	took := map[string][]time.Duration{}
	n := 0
	for b.Loop() {
		result, err := m.RetrieveRelevant(b.Context(), fmt.Sprintf("which port does the %s of section %d use", vocabulary[n%len(vocabulary)], n%1000), core.RetrieveOptions{MinSimilarity: -1})
		if err != nil || len(result.Hits) == 0 {
			b.Fatalf("%d hits, %v", len(result.Hits), err)
		}
		for _, stage := range []string{"keywords", "vectors", "total"} {
			took[stage] = append(took[stage], result.Took[stage]-map[bool]time.Duration{true: result.Took["embed"]}[stage == "total"])
		}
		n++
	}
	for stage, times := range took {
		slices.Sort(times)
		b.ReportMetric(float64(times[len(times)/2].Microseconds()), stage+"-p50-µs")
		b.ReportMetric(float64(times[len(times)*95/100].Microseconds()), stage+"-p95-µs")
	}
}

// BenchmarkReindexUnchanged is Index over 1,000 unchanged files.
func BenchmarkReindexUnchanged(b *testing.B) {
	m := openBig(b, 1000, 2)
	for b.Loop() {
		report, err := m.Index(b.Context(), core.IndexOptions{})
		if err != nil || report.Unchanged != 1000 {
			b.Fatalf("%+v, %v", report, err)
		}
	}
}

package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/memcore/memcore/core"
)

// BenchmarkSums measures what the first page asks of memories of 10,000 and 100,000 chunks. Status
// compares the files, which a watch spares.
func BenchmarkSums(b *testing.B) {
	for _, files := range []int{1000, 10_000} {
		m := openBig(b, files, 10)
		chunks := fmt.Sprintf("chunks=%d/", 10*files)
		for name, ask := range map[string]func() error{
			"sums":      func() error { _, err := m.Sums(b.Context()); return err },
			"documents": func() error { _, _, err := m.Documents(b.Context(), core.DocumentsOptions{Find: "99"}); return err },
			"languages": func() error { _, err := m.Languages(b.Context()); return err },
			"status":    func() error { _, err := m.Status(b.Context()); return err },
			"within":    func() error { _, err := m.StatusWithin(b.Context(), 30*time.Millisecond); return err },
		} {
			b.Run(chunks+name, func(b *testing.B) {
				for b.Loop() {
					if err := ask(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

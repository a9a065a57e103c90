package prompt_test

import (
	"strings"
	"testing"

	"github.com/memcore/memcore/internal/text/prompt"
)

// BenchmarkParse parses a request, also with 200 lines of pasted output or a long plan.
func BenchmarkParse(b *testing.B) {
	const request = "The sync of sessions fails since yesterday, see @internal/sync/worker.go and issue #170.\nPlease find out why, and never retry more than twice.\n"
	for name, text := range map[string]string{
		"request": request,
		"pasted":  request + strings.Repeat("2026-05-01 09:00:00 ERROR worker.go:12: cannot open session: no such file\n    at sync (worker.go:40)\n", 100),
		"plan":    request + strings.Repeat("- move the worker out of the loop, so that it ends when the session does\n\n", 100),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				prompt.Parse(text)
			}
		})
	}
}

package digest_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/digest"
)

func TestSupersedes(t *testing.T) {
	data, err := os.ReadFile("testdata/superseded.txt")
	require.NoError(t, err)
	pairs := 0
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		earlier, later, want := strings.Cut(line, " => ")
		if !want {
			var ok bool
			earlier, later, ok = strings.Cut(line, " || ")
			require.True(t, ok, line)
		}
		pairs++
		if got := digest.ClaimOf(later).Supersedes(digest.ClaimOf(earlier)); got != want {
			t.Errorf("%s: got %v, want %v\n %+v\n %+v", line, got, want, digest.ClaimOf(later), digest.ClaimOf(earlier))
		}
	}
	require.Equal(t, 40, pairs)
}

// Whatever a text says, it is taken apart, and what is not a sentence supersedes nothing.
func FuzzClaim(f *testing.F) {
	for _, text := range []string{"use tofu, not terraform", "from now on 3055", "图片改回 JPEG，不要 webp 了", "am 28. nicht mehr", "v1.2: from a to b?", "\x00not\x00now", "_ - : , 1st"} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, later, earlier string) {
		digest.ClaimOf(later).Replaces(digest.ClaimOf(earlier))
		if c := digest.ClaimOf(later); c.Supersedes(digest.ClaimOf("?")) || c.Supersedes(digest.ClaimOf("")) {
			t.Errorf("%q supersedes nothing", later)
		}
	})
}

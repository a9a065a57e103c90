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

// A withdrawal supersedes the rule that it names. Other sentences about the same thing, such as an
// order to go on with it, supersede nothing.
func TestWithdraws(t *testing.T) {
	for later, earlier := range map[string]string{
		"and forget about make gen, CI does that itself now": "please run make gen before you commit, otherwise CI fails",
		"ok forget about the changelog":                      "update the changelog with each fix",
		"deploying from main is fine again":                  "never deploy straight from main, always from a tag",
		"emojis in commit messages are okay again":           "no emojis in commit messages",
		"direkt auf main pushen ist wieder ok":               "bitte nie direkt auf main pushen",
	} {
		require.True(t, digest.ClaimOf(later).Withdraws(), later)
		require.True(t, digest.ClaimOf(later).Supersedes(digest.ClaimOf(earlier)), "%s => %s", earlier, later)
	}
	require.True(t, digest.ClaimOf("json fields are snake_case from now on").Supersedes(digest.ClaimOf("always use camelCase for json fields")))
	for later, earlier := range map[string]string{
		"forget about it, let's move on":        "always use tabs",
		"forget about the login page":           "run the tests before you push",
		"don't forget about the changelog":      "update the changelog with each fix",
		"you always forget about the changelog": "update the changelog with each fix",
		"the build is fine again":               "never push to main",
		"run make gen again":                    "please run make gen before you commit",
	} {
		require.False(t, digest.ClaimOf(later).Supersedes(digest.ClaimOf(earlier)), "%s => %s", earlier, later)
	}
}

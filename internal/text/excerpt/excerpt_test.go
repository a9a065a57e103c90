package excerpt_test

import (
	"testing"

	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/stretchr/testify/require"
)

func TestCuts(t *testing.T) {
	for _, c := range []struct {
		text                  string
		max                   int
		head, tail, of, words string
	}{
		{"", 0, "", "", "", ""},
		{"abcd", 4, "abcd", "abcd", "abcd", "abcd"},
		{"abcdef", 5, "abcde", "bcdef", "ab…", "ab…"},
		{"äöüß", 5, "äö", "üß", "ä…", "ä…"},
		{"from the harbour to the mill", 20, "from the harbour to ", " harbour to the mill", "from the harbour …", "from the harbour…"},
		{"the harbour, (as it was) then", 18, "the harbour, (as i", ", (as it was) then", "the harbour, (a…", "the harbour…"},
		{"a Donaudampfschifffahrt", 12, "a Donaudampf", "fschifffahrt", "a Donauda…", "a Donauda…"},
		{"abc", 1, "a", "c", "…", "…"},
		{"\x80\x80\x80", 2, "", "", "…", "…"},
	} {
		require.Equal(t, c.head, excerpt.Head(c.text, c.max), "head of %q", c.text)
		require.Equal(t, c.tail, excerpt.Tail(c.text, c.max), "tail of %q", c.text)
		require.Equal(t, c.of, excerpt.Of(c.text, c.max), "%q", c.text)
		require.Equal(t, c.words, excerpt.Words(c.text, c.max), "words of %q", c.text)
	}
	require.Equal(t, "abc\n…\nxyz", excerpt.Ends("abc and more xyz", 3))
	require.Equal(t, "abc or xyz", excerpt.Ends("abc or xyz", 3))
}

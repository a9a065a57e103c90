package excerpt_test

import (
	"testing"

	"github.com/memcore/memcore/internal/text/excerpt"
	"github.com/stretchr/testify/require"
)

func TestOf(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc…"},
		{"äöü", 3, "ä…"},
		{"äöü", 4, "äö…"},
	} {
		require.Equal(t, c.want, excerpt.Of(c.text, c.most), "%q, %d", c.text, c.most)
	}
}

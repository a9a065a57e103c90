package app

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnknownLanguages(t *testing.T) {
	for _, tt := range []struct {
		unknown map[string]int
		chunks  int
		want    string
	}{
		{nil, 100, ""},
		{map[string]int{"de": 2}, 4, ""},
		{map[string]int{"de": 4}, 100, ""},
		{map[string]int{"zh": 3, "de": 9}, 48, "25 % of the chunks are in languages that the model does not know (de, zh): only their words find them"},
		{map[string]int{"zh": 3, "de": 9, "fr": 3, "es": 3}, 18, "100 % of the chunks are in languages that the model does not know (de, es, fr, …): only their words find them"},
		{map[string]int{"vi": 9, "und": 3}, 48, "25 % of the chunks are in languages that the model does not know (vi, others): only their words find them"},
	} {
		require.Equal(t, tt.want, UnknownLanguages(tt.unknown, tt.chunks))
	}
}

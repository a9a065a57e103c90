package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/text/stated"
)

func TestRead(t *testing.T) {
	read := func(text string) ([]sentence, error) {
		name := filepath.Join(t.TempDir(), "a.txt")
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		return read(name)
	}
	all, err := read("@ en new\nN| add a button\nR*| never push to main\n\n@ de follow\nF| der Port ist 8081\n")
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, []bool{false, true, true}, []bool{all[0].states(), all[1].states(), all[2].states()})
	require.True(t, all[1].stands())
	require.Equal(t, stated.Fact, all[2].kind())
	require.Equal(t, stated.Features("add a button", stated.Place{Opens: true, First: true}), all[0].features)
	for _, text := range []string{"@ en\nN| a", "@ en new\nX| a", "@ en new\nN*| a", "@ en new\na", "@ en new\nRP| a"} {
		_, err := read(text)
		require.ErrorContains(t, err, "a.txt:", text)
	}
}

// The shipped model is of the data: it knows what is in it.
func TestShippedModel(t *testing.T) {
	names, err := filepath.Glob("data/*.txt")
	require.NoError(t, err)
	all, err := readAll(names)
	require.NoError(t, err)
	shipped, found, right, wanted := stated.Shipped(), 0.0, 0.0, 0.0
	for _, s := range all {
		given := stated.Logistic(shipped.Score(s.features)[stated.States]) >= shipped.Thresholds[stated.States]
		found, wanted, right = found+one(given), wanted+one(s.states()), right+one(given && s.states())
	}
	require.Greater(t, right/found, 0.9)
	require.Greater(t, right/wanted, 0.8)
}

package wheel

import (
	"archive/zip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFiles(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.whl")
	f, err := os.Create(name)
	require.NoError(t, err)
	z := zip.NewWriter(f)
	w, err := z.Create("some/folder/vocab.txt")
	require.NoError(t, err)
	_, err = w.Write([]byte("words"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
	files, err := Files(name, "vocab.txt")
	require.NoError(t, err)
	require.Equal(t, "words", string(files["vocab.txt"]))
	_, err = Files(name, "vocab.txt", "model.safetensors")
	require.ErrorContains(t, err, "model.safetensors")
	_, err = Files(name+".no", "vocab.txt")
	require.Error(t, err)
}

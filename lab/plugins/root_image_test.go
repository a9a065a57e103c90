package main

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"
)

// The image of a service can be read as a layout and as what docker load reads, and is the same in
// both.
func TestServiceImage(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, nodeFolder), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, "memcore-service"), []byte("the program"), 0o755))
	file := filepath.Join(t.TempDir(), "image.tar")
	require.NoError(t, writeServiceImage(root, file, "1.2.3"))

	tag, err := name.NewTag("memcore-service:1.2.3")
	require.NoError(t, err)
	loaded, err := tarball.ImageFromPath(file, &tag)
	require.NoError(t, err)
	require.NoError(t, validate.Image(loaded))

	folder := t.TempDir()
	archive, err := os.Open(file)
	require.NoError(t, err)
	defer archive.Close()
	for in := tar.NewReader(archive); ; {
		header, err := in.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		path := filepath.Join(folder, header.Name)
		if header.Typeflag == tar.TypeDir {
			require.NoError(t, os.MkdirAll(path, 0o755))
			continue
		}
		data, err := io.ReadAll(in)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, data, 0o644))
	}
	index, err := layout.ImageIndexFromPath(folder)
	require.NoError(t, err)
	require.NoError(t, validate.Index(index))
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 1)
	image, err := index.Image(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	for _, one := range []v1.Image{image, loaded} {
		config, err := one.ConfigFile()
		require.NoError(t, err)
		require.Equal(t, imageUser, config.Config.User)
		require.Equal(t, []string{"/memcore-service"}, config.Config.Entrypoint)
		modes := map[string]int64{}
		files := mutate.Extract(one)
		for in := tar.NewReader(files); ; {
			header, err := in.Next()
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			modes[header.Name] = header.Mode
		}
		require.NoError(t, files.Close())
		require.EqualValues(t, 0o755, modes["memcore-service"])
		require.EqualValues(t, 0o1777, modes["var/lib/memcore"], "everybody may write: %v", modes)
	}
}

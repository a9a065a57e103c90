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

// An image of a root folder can be read as a layout and as what docker load reads, and is the same
// in both.
func TestRootImage(t *testing.T) {
	for _, tt := range []struct{ name, program, shared string }{
		{"memcore-service", "memcore-service", "/tmp"},
		{"memcore-lancedb", "memcore", imageWork},
	} {
		t.Run(tt.name, func(t *testing.T) { testRootImage(t, tt.name, tt.program, tt.shared) })
	}
	require.Error(t, writeRootImage(t.TempDir(), filepath.Join(t.TempDir(), "image.tar"), "1.2.3"), "of an empty folder")
}

func testRootImage(t *testing.T, image, program, shared string) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, shared), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, program), []byte("the program"), 0o755))
	file := filepath.Join(t.TempDir(), "image.tar")
	require.NoError(t, writeRootImage(root, file, "1.2.3"))

	tag, err := name.NewTag(image + ":1.2.3")
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
	laid, err := index.Image(manifest.Manifests[0].Digest)
	require.NoError(t, err)
	for _, one := range []v1.Image{laid, loaded} {
		config, err := one.ConfigFile()
		require.NoError(t, err)
		require.Equal(t, imageUser, config.Config.User)
		require.Equal(t, []string{"/" + program}, config.Config.Entrypoint)
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
		require.EqualValues(t, 0o755, modes[program])
		require.EqualValues(t, 0o1777, modes[shared[1:]], "everybody may write: %v", modes)
	}
}

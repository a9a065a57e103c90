package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"
)

// The image is whole, and its root folder runs as the image says: with nothing else in it.
func TestImage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux runs the image")
	}
	_, out := ofProgram(t)
	index, err := layout.ImageIndexFromPath(filepath.Join(out, "oci"))
	require.NoError(t, err)
	require.NoError(t, validate.Index(index))
	manifest, err := index.IndexManifest()
	require.NoError(t, err)
	require.Len(t, manifest.Manifests, 2)
	var image v1.Image
	for _, one := range manifest.Manifests {
		if one.Platform.Architecture == runtime.GOARCH {
			image, err = index.Image(one.Digest)
			require.NoError(t, err)
		}
	}
	require.NotNil(t, image)
	config, err := image.ConfigFile()
	require.NoError(t, err)
	layers, err := image.Layers()
	require.NoError(t, err)
	require.Len(t, layers, 1)
	size, err := layers[0].Size()
	require.NoError(t, err)
	t.Logf("%.1f MB to download", float64(size)/1e6)

	root := t.TempDir()
	unpack(t, image, root)
	note := "# Staging\n\nThe staging database listens on port 5433.\n"
	require.NoError(t, os.WriteFile(filepath.Join(root, "work", "notes.md"), []byte(note), 0o644))
	run := func(args ...string) *exec.Cmd {
		chroot := []string{"--root", root, "--wd", config.Config.WorkingDir}
		if os.Getuid() != 0 {
			chroot = append([]string{"--map-root-user"}, chroot...)
		} else {
			user := strings.Split(config.Config.User, ":")
			chroot = append(chroot, "--setuid", user[0], "--setgid", user[1])
		}
		chroot = append(append(chroot, config.Config.Entrypoint...), args...)
		cmd := exec.CommandContext(t.Context(), need(t, "unshare"), chroot...)
		cmd.Env = append([]string{"MEMCORE_FRESHNESS="}, config.Config.Env...)
		return cmd
	}
	output, err := run("index").CombinedOutput()
	require.NoError(t, err, string(output))
	output, err = run("search", "port of the staging database").CombinedOutput()
	require.NoError(t, err, string(output))
	require.Contains(t, string(output), "5433")
	require.Contains(t, ask(t, run(config.Config.Cmd...)), "5433")
}

func unpack(t *testing.T, image v1.Image, root string) {
	t.Helper()
	require.NoError(t, os.Chmod(root, 0o755))
	require.NoError(t, os.Chmod(filepath.Dir(root), 0o755)) // another user enters it
	files := mutate.Extract(image)
	defer files.Close()
	for r := tar.NewReader(files); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		path, mode := filepath.Join(root, header.Name), header.FileInfo().Mode()
		if header.Typeflag == tar.TypeDir {
			require.NoError(t, os.Mkdir(path, 0o755))
		} else {
			data, err := io.ReadAll(r)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(path, data, 0o600))
		}
		require.NoError(t, os.Chmod(path, mode))
	}
}

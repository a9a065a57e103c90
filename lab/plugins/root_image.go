package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// A rootImage runs a program that needs libraries, which its root folder has.
type rootImage struct {
	name, program string
	config        v1.Config
}

var rootImages = []rootImage{
	{"memcore-service", "memcore-service", v1.Config{
		Cmd:          []string{"--listen", ":7475", "--metrics", ":9090"},
		ExposedPorts: map[string]struct{}{"7475/tcp": {}, "9090/tcp": {}}, WorkingDir: imageHome,
	}},
	{"memcore-lancedb", "memcore", v1.Config{Cmd: []string{"mcp"}, WorkingDir: imageWork}},
}

// writeRootImage writes an archive of a layout with an image of this machine's platform, which runs
// the program in root. Its root folder is a copy of root, with dates of 1970.
func writeRootImage(root, file, version string) error {
	i := slices.IndexFunc(rootImages, func(of rootImage) bool {
		_, err := os.Stat(filepath.Join(root, of.program))
		return err == nil
	})
	if i < 0 {
		return fmt.Errorf("%s has no program of an image", root)
	}
	of := rootImages[i]
	files, err := folderTar(root)
	if err != nil {
		return err
	}
	of.config.Entrypoint, of.config.Labels = []string{"/" + of.program}, labels(version)
	of.config.Env = []string{"HOME=" + imageHome, "PATH=/"}
	image, err := imageOf(files, runtime.GOARCH, of.config)
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "memcore-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{
		Platform: &v1.Platform{OS: "linux", Architecture: runtime.GOARCH},
		// The first is what skopeo and podman call it, the second what containerd and Docker do.
		Annotations: map[string]string{"org.opencontainers.image.ref.name": version, "io.containerd.image.name": "docker.io/library/" + of.name + ":" + version},
	}})
	if _, err := layout.Write(folder, index); err != nil {
		return err
	}
	if err := describeForDocker(image, filepath.Join(folder, "manifest.json"), of.name+":"+version); err != nil {
		return err
	}
	archive, err := folderTar(folder)
	if err != nil {
		return err
	}
	digest, err := image.Digest()
	if err != nil {
		return err
	}
	fmt.Printf("%s: %s:%s %s, %.0f MB, %.0f MB unpacked\n", filepath.Base(file), of.name, version, digest, float64(len(archive))/1e6, float64(len(files))/1e6)
	return os.WriteFile(file, archive, 0o644)
}

// describeForDocker writes what docker load reads in the place of the layout's index.
func describeForDocker(image v1.Image, file, name string) error {
	config, err := image.ConfigName()
	if err != nil {
		return err
	}
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	blob := func(h v1.Hash) string { return "blobs/" + h.Algorithm + "/" + h.Hex }
	described := tarball.Descriptor{Config: blob(config), RepoTags: []string{name}}
	for _, layer := range layers {
		digest, err := layer.Digest()
		if err != nil {
			return err
		}
		described.Layers = append(described.Layers, blob(digest))
	}
	data, err := json.Marshal(tarball.Manifest{described})
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}

// folderTar returns an archive of what is in a folder, of user 0, with dates of 1970. Links are
// followed.
func folderTar(folder string) ([]byte, error) {
	var buf bytes.Buffer
	out := tar.NewWriter(&buf)
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: filepath.ToSlash(name), Size: info.Size(), Mode: int64(info.Mode().Perm())}
		if info.IsDir() {
			header.Typeflag, header.Name, header.Size = tar.TypeDir, header.Name+"/", 0
			if shared := []string{imageHome[1:], imageWork[1:], "tmp"}; slices.Contains(shared, filepath.ToSlash(name)) {
				header.Mode = 0o1777
			}
		}
		if err := out.WriteHeader(header); err != nil || info.IsDir() {
			return err
		}
		in, err := os.Open(path)
		if err != nil {
			return err
		}
		defer in.Close()
		_, err = io.Copy(out, in)
		return err
	})
	if err == nil {
		err = out.Close()
	}
	return buf.Bytes(), err
}

package main

import (
	"archive/tar"
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The image's folders. Everybody may write to imageHome, whoever the container runs as.
const (
	imageHome = "/home/memcore"
	imageWork = "/work"
	imageUser = "65532:65532"
)

// writeImage writes a layout with an image for each processor of Linux: the program and nothing
// below it.
func writeImage(r *release, folder string) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	some := false
	for _, arch := range []string{"amd64", "arm64"} {
		a := r.find("linux", arch)
		if a == nil {
			continue
		}
		if needsLibraries(a.program.data) {
			return fmt.Errorf("%s: the program needs shared libraries, and the image has none: build it with CGO_ENABLED=0", a.name)
		}
		image, err := r.image(a)
		if err != nil {
			return fmt.Errorf("%s: %w", arch, err)
		}
		some = true
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}},
		})
	}
	if !some {
		return nil
	}
	_, err := layout.Write(folder, index)
	return err
}

// needsLibraries reports whether a program asks for a dynamic linker.
func needsLibraries(program []byte) bool {
	f, err := elf.NewFile(bytes.NewReader(program))
	return err == nil && slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
}

func (r *release) image(a *archive) (v1.Image, error) {
	files, err := rootTar(a)
	if err != nil {
		return nil, err
	}
	return imageOf(files, a.arch, v1.Config{
		Entrypoint: []string{"/memcore"}, Cmd: []string{"mcp"}, WorkingDir: imageWork,
		Env: []string{"HOME=" + imageHome, "PATH=/"}, Labels: labels(r.semver()),
	})
}

func labels(version string) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title": "memcore", "org.opencontainers.image.description": summary,
		"org.opencontainers.image.version": version, "org.opencontainers.image.source": repository,
		"org.opencontainers.image.licenses": licenceName,
	}
}

// imageOf returns an image with one layer, an archive of its root folder.
func imageOf(files []byte, arch string, c v1.Config) (v1.Image, error) {
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image, err = mutate.AppendLayers(image, layer)
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Config = "linux", arch, c
	config.Config.User = imageUser
	return mutate.ConfigFile(image, config)
}

// rootTar returns the root folder of the image, with dates of 1970.
func rootTar(a *archive) ([]byte, error) {
	var buf bytes.Buffer
	t := tar.NewWriter(&buf)
	for _, folder := range []struct {
		name string
		mode int64
	}{{"home/", 0o755}, {imageHome[1:] + "/", 0o1777}, {"licenses/", 0o755}, {"tmp/", 0o1777}, {imageWork[1:] + "/", 0o1777}} {
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder.name, Mode: folder.mode}); err != nil {
			return nil, err
		}
	}
	files := []file{a.program}
	for _, text := range a.texts {
		files = append(files, file{"licenses/" + text.name, text.data, text.mode})
	}
	for _, f := range files {
		err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.data)), Mode: int64(f.mode)})
		if err == nil {
			_, err = t.Write(f.data)
		}
		if err != nil {
			return nil, err
		}
	}
	err := t.Close()
	return buf.Bytes(), err
}

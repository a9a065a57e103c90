package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// leastReference is the least cosine of f32 vectors with double precision.
const leastReference = 0.999999

// checkRival compares ONNX Runtime's vectors with a reference: a mistake in our graph would look
// like one of the built-in embedder.
func checkRival(s *server, folder string) error {
	texts, want, err := readReference(folder)
	if err != nil {
		return err
	}
	got, err := s.embed(texts)
	if err != nil {
		return err
	}
	lowest := 1.0
	for i := range want {
		c := dot(got[i], want[i])
		if !(c >= leastReference) {
			return fmt.Errorf("ONNX Runtime does not compute the model: %.40q in %s has cosine %.6f with its reference, want %v", texts[i], folder, c, leastReference)
		}
		lowest = min(lowest, c)
	}
	fmt.Printf("%d texts of the reference: cosine with ONNX Runtime in f32 %.7f at least\n", len(want), lowest)
	return nil
}

// readReference reads texts.jsonl and their vectors, reference.f32.
func readReference(folder string) (texts []string, vectors [][]float32, err error) {
	lines, err := readLines(filepath.Join(folder, "texts.jsonl"))
	if err != nil {
		return nil, nil, err
	}
	raw, err := os.ReadFile(filepath.Join(folder, "reference.f32"))
	if err != nil {
		return nil, nil, err
	}
	const size = 384 * 4
	if len(lines) == 0 || len(raw) != len(lines)*size {
		return nil, nil, fmt.Errorf("%s: %d texts and %d bytes of vectors, want %d bytes a text", folder, len(lines), len(raw), size)
	}
	for i, l := range lines {
		if l.Words > 0 { // a text of so many words by a rule that is not known here
			continue
		}
		vector := make([]float32, size/4)
		for at := range vector {
			vector[at] = math.Float32frombits(binary.LittleEndian.Uint32(raw[i*size+at*4:]))
		}
		texts, vectors = append(texts, l.Text), append(vectors, vector)
	}
	return texts, vectors, nil
}

package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// leastReference is the cosine of the least alike vectors of a rival in f32 and the reference, which was
// computed in double precision.
const leastReference = 0.999999

// checkRival compares ONNX Runtime's vectors with those of the reference in folder: what it is given is a
// graph that we wrote ourselves, and a mistake in it would be taken for one of the built-in embedder.
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

// readReference reads texts.jsonl and reference.f32, the vectors in order.
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

package main

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/minilm"
)

const dimension = 384

// Synthetic vectors imitate embeddings of notes: around topics, in fewer dimensions than their
// length, with noise. No index helps with uniform vectors, and any does with tight clusters.
const (
	topics    = 300
	rank      = 64  // dimensions of the space that topics and texts vary in
	spread    = 0.9 // of the texts of a topic, where topics are spread by 1
	noise     = 2.5 // in all dimensions, where the space's axes have length √384
	worldSeed = 1   // of the topics
	rowSeed   = 7   // of the rows
	querySeed = 99  // of the queries
)

// A source draws vectors.
type source struct {
	axes, centres [][]float32
	random        *rand.Rand
}

func newSource(seed uint64) *source {
	world := rand.New(rand.NewPCG(worldSeed, 1))
	s := &source{random: rand.New(rand.NewPCG(seed, 1))}
	for range rank {
		s.axes = append(s.axes, gauss(world, dimension))
	}
	for range topics {
		s.centres = append(s.centres, gauss(world, rank))
	}
	return s
}

func gauss(random *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(random.NormFloat64())
	}
	return v
}

func (s *source) next() []float32 {
	centre := s.centres[s.random.IntN(topics)]
	v := make([]float32, dimension)
	for j, axis := range s.axes {
		weight := centre[j] + spread*float32(s.random.NormFloat64())
		for i, x := range axis {
			v[i] += weight * x
		}
	}
	length := 0.0
	for i := range v {
		v[i] += noise * float32(s.random.NormFloat64())
		length += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(length))
	}
	return v
}

// A set yields the vectors of a measurement.
type set struct {
	next    func() []float32
	queries [][]float32
}

const queryCount = 200

func newSet(rows int) (*set, error) {
	if *texts != "" {
		return embedded(rows)
	}
	s := &set{next: newSource(rowSeed).next}
	queries := newSource(querySeed)
	for range queryCount {
		s.queries = append(s.queries, queries.next())
	}
	return s, nil
}

// embedded returns vectors of the first rows texts of a file; every twentieth line is a query.
func embedded(rows int) (*set, error) {
	file, err := os.Open(*texts)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var documents, queries []string
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for n := 0; lines.Scan() && len(documents) < rows; n++ {
		if text := strings.TrimSpace(lines.Text()); n%20 == 19 && len(queries) < queryCount {
			queries = append(queries, text)
		} else if text != "" {
			documents = append(documents, text)
		}
	}
	if len(documents) < rows {
		return nil, fmt.Errorf("%s has %d texts, want %d", *texts, len(documents), rows)
	}
	model := minilm.New()
	s := &set{}
	if s.queries, err = model.Embed(context.Background(), embed.Query, queries); err != nil {
		return nil, err
	}
	vectors, err := model.Embed(context.Background(), embed.Document, documents)
	if err != nil {
		return nil, err
	}
	at := -1
	s.next = func() []float32 { at++; return vectors[at] }
	return s, nil
}

package soak

import (
	"fmt"
	"math"
)

// SamplesVariable names a file for a line of JSON a [Sample].
const SamplesVariable = "MEMCORE_TORTURE_SOAK"

// A Sample is the resources at one moment.
type Sample struct {
	Seconds   float64        `json:"seconds"` // since the soak began
	Processes map[string]Use `json:"processes"`
	Files     int            `json:"files"` // in the cache folder, that of the session and that for temporary files
	// Requests since the last sample were answered within P50 and P99 milliseconds.
	Requests int     `json:"requests"`
	P50      float64 `json:"p50"`
	P99      float64 `json:"p99"`
}

// Use is the resources of a process. Only the daemon reports Heap and Goroutines.
type Use struct {
	Resident    float64 `json:"resident"`       // MB
	Heap        float64 `json:"heap,omitempty"` // MB that the last garbage collection has left
	Goroutines  int     `json:"goroutines,omitempty"`
	Descriptors int     `json:"descriptors"`
	Threads     int     `json:"threads"`
	Children    int     `json:"children"`
}

// Trend fits a line to values at xs by least squares and returns its ends at the first and last x.
// It needs two different xs.
func Trend(xs, ys []float64) (begin, end float64, err error) {
	if len(xs) != len(ys) || len(xs) < 2 || xs[0] == xs[len(xs)-1] {
		return 0, 0, fmt.Errorf("no line goes through %d values at %d places", len(ys), len(xs))
	}
	n := float64(len(xs))
	var mx, my, xy, xx float64
	for i := range xs {
		mx += xs[i] / n
		my += ys[i] / n
	}
	for i := range xs {
		xy += (xs[i] - mx) * (ys[i] - my)
		xx += (xs[i] - mx) * (xs[i] - mx)
	}
	slope := xy / xx
	if math.IsNaN(slope) {
		return 0, 0, fmt.Errorf("no line goes through %v", ys)
	}
	return my + slope*(xs[0]-mx), my + slope*(xs[len(xs)-1]-mx), nil
}

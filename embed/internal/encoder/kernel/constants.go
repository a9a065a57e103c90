package kernel

import "math"

// Constants of portable code and assembly, in the order of gen/pointwise.go.

// geluTable: Φ(x) is ½ + x·P(2x²/25 − 1) on [-5, 5], and constant beyond. P was fitted by
// reweighted least squares. The error of x·Φ(x) is at most 4e-7; in float32 1.4e-6, all below x =
// -4.5.
var geluTable = [18]float32{
	-5, 5, 2.0 / 25, 1, 0.5,
	0.000522373360581696, -0.0015521151944994926, 0.001947344047948718, -0.002836470492184162,
	0.006197436712682247, -0.011031660251319408, 0.016492310911417007, -0.023318510502576828,
	0.031425654888153076, -0.040435172617435455, 0.05152156576514244, -0.07029657810926437,
	0.14136378467082977,
}

// expTable: for x ≥ -80, exp(x) is 2^k·exp(r) with k = round(x / ln 2) and r's series to the sixth
// power: relative error 1.5e-7. ln 2 is split so that k times its first part is exact.
var expTable = [11]float32{
	-80, 1.44269504088896, 0.693359375, -2.12194440e-4,
	1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2, 1, 1,
}

// Activations' codes are in [-codeTop, codeTop]; weights' are stored plus codeZero. A group below
// minTop counts as zeros.
const (
	codeTop  = 127
	codeZero = 128
	minTop   = 1e-20
)

// roundTable is their form for the assembly.
var roundTable = [3]float32{minTop, codeTop, math.Float32frombits(1<<31 - 1)} // the last masks the sign

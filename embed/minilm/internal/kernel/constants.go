package kernel

import "math"

// Constants that portable code and assembly share, in the order the assembly (gen/pointwise.go)
// expects them.

// geluTable: ½ + x·P(2x²/25 − 1) stands for Φ(x) on [-5, 5], beyond it the ends do. P was fitted by
// least squares, reweighted until the error of x·Φ(x) was level: 4e-7 at most; in float32 1.4e-6, all
// of it where x is below -4.5.
var geluTable = [18]float32{
	-5, 5, 2.0 / 25, 1, 0.5,
	0.000522373360581696, -0.0015521151944994926, 0.001947344047948718, -0.002836470492184162,
	0.006197436712682247, -0.011031660251319408, 0.016492310911417007, -0.023318510502576828,
	0.031425654888153076, -0.040435172617435455, 0.05152156576514244, -0.07029657810926437,
	0.14136378467082977,
}

// expTable: exp(x) for x ≥ -80 is 2^k·exp(r), k = round(x / ln 2), exp(r) by its series to the sixth
// power: relative error 1.5e-7. ln 2 is split so that k times its first part is exact.
var expTable = [11]float32{
	-80, 1.44269504088896, 0.693359375, -2.12194440e-4,
	1.0 / 720, 1.0 / 120, 1.0 / 24, 1.0 / 6, 1.0 / 2, 1, 1,
}

// Codes of activations go from -codeTop to codeTop, those of weights are stored with codeZero added. A
// group without numbers larger than leastTop is all zeros, nearly.
const (
	codeTop  = 127
	codeZero = 128
	leastTop = 1e-20
)

// roundTable is what the assembly needs of them.
var roundTable = [3]float32{leastTop, codeTop, math.Float32frombits(1<<31 - 1)} // the last masks the sign

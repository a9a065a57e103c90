//go:build arm64 && !purego && !noasm

package kernel

import (
	"runtime"

	"golang.org/x/sys/cpu"
)

// Sets are this machine's, the fastest first, portable last. Every arm64 has NEON; not every one
// multiplies bytes.
func Sets() []*Set { return usable }

var usable = find()

func find() []*Set {
	if cpu.ARM64.HasASIMDDP || runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return []*Set{dotprod, neon, portable}
	}
	return []*Set{neon, portable}
}

var tilesNEON = [...]func(depth int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int){
	multiply1NEON, multiply2NEON, multiply3NEON, multiply4NEON, multiply5NEON,
}

var neon = &Set{
	name: "neon",
	tile: len(tilesNEON),
	// Four registers are half of Width.
	multiply: func(rows, depth int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
		tilesNEON[rows-1](depth, &a[0], lda, &b[0], ldb, &c[0], ldc)
		tilesNEON[rows-1](depth, &a[0], lda, &b[Width/2], ldb, &c[Width/2], ldc)
	},
	dequantise: func(dst []float32, codes []byte, scales []float32) {
		dequantiseNEON(&dst[0], &codes[0], &scales[0], len(codes)/(Group*Width))
	},
	round:   func(dst, x []float32) { roundNEON(&dst[0], &x[0], len(x)/Group, &roundTable[0]) },
	gelu:    func(x []float32) { geluNEON(&x[0], len(x), &geluTable[0]) },
	softmax: func(x []float32, scale float32) { softmaxNEON(&x[0], len(x), scale, &expTable[0]) },
	layerNorm: func(x, add, gain, bias []float32) {
		layerNormNEON(&x[0], len(x), &add[0], &gain[0], &bias[0])
	},
}

var tilesDotProd = [...]func(groups int, a *int8, scales *float32, stride int, codes *byte, c *float32, ldc int, columns *float32){
	multiplyCodes1NEON, multiplyCodes2NEON, multiplyCodes3NEON, multiplyCodes4NEON, multiplyCodes5NEON,
}

// dotprod is neon with products of bytes: both sides signed, without offsets.
var dotprod = withIntegers(neon, "dotprod", &integer{
	tile: len(tilesDotProd),
	quantise: func(to plane, x, rest []float32) {
		if rest == nil {
			quantiseNEON(&to.codes[0], &x[0], len(x)/Group, &roundTable[0], &to.scales[0])
			return
		}
		quantiseRestNEON(&to.codes[0], &x[0], len(x)/Group, &roundTable[0], &to.scales[0], &rest[0])
	},
	multiply: func(rows, groups int, a plane, stride int, p panel, c []float32, ldc int) {
		const columns = 8
		for at := 0; at < Width; at += columns {
			tilesDotProd[rows-1](groups, &a.codes[0], &a.scales[0], stride, &p.codes[at*Quad], &c[at], ldc, &p.scales[at])
		}
	},
})

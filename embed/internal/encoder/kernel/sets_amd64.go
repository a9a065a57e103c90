//go:build amd64 && !purego && !noasm

package kernel

import "golang.org/x/sys/cpu"

// Sets are this machine's, the fastest first, portable last.
func Sets() []*Set { return usable }

var usable = find()

func find() []*Set {
	var sets []*Set
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		if cpu.X86.HasAVX512VNNI {
			sets = append(sets, vnni)
		}
		sets = append(sets, avx512)
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		sets = append(sets, avx2)
	}
	return append(sets, portable)
}

// A tileFunc adds a·b to a tile of c.
type tileFunc func(depth int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int)

var tilesAVX2 = [...]tileFunc{
	multiply1AVX2, multiply2AVX2, multiply3AVX2, multiply4AVX2, multiply5AVX2, multiply6AVX2,
}

var tilesAVX512 = [...]tileFunc{
	multiply1AVX512, multiply2AVX512, multiply3AVX512, multiply4AVX512, multiply5AVX512, multiply6AVX512,
	multiply7AVX512, multiply8AVX512, multiply9AVX512, multiply10AVX512, multiply11AVX512, multiply12AVX512,
}

var avx2 = &Set{
	name: "avx2",
	tile: len(tilesAVX2),
	// Two registers of AVX2 are half of Width.
	multiply: func(rows, depth int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
		tilesAVX2[rows-1](depth, &a[0], lda, &b[0], ldb, &c[0], ldc)
		tilesAVX2[rows-1](depth, &a[0], lda, &b[Width/2], ldb, &c[Width/2], ldc)
	},
	dequantise: func(dst []float32, codes []byte, scales []float32) {
		dequantiseAVX2(&dst[0], &codes[0], &scales[0], codeZero, len(codes)/(Group*Width))
	},
	round:   func(dst, x []float32) { roundAVX2(&dst[0], &x[0], len(x)/Group, &roundTable[0]) },
	gelu:    func(x []float32) { geluAVX2(&x[0], len(x), &geluTable[0]) },
	softmax: func(x []float32, scale float32) { softmaxAVX2(&x[0], len(x), scale, &expTable[0]) },
	layerNorm: func(x, add, gain, bias []float32) {
		layerNormAVX2(&x[0], &add[0], &gain[0], &bias[0], len(x))
	},
}

var avx512 = &Set{
	name: "avx512",
	tile: len(tilesAVX512),
	multiply: func(rows, depth int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
		tilesAVX512[rows-1](depth, &a[0], lda, &b[0], ldb, &c[0], ldc)
	},
	dequantise: func(dst []float32, codes []byte, scales []float32) {
		dequantiseAVX512(&dst[0], &codes[0], &scales[0], codeZero, len(codes)/(Group*Width))
	},
	round:   func(dst, x []float32) { roundAVX512(&dst[0], &x[0], len(x)/Group, &roundTable[0]) },
	gelu:    func(x []float32) { geluAVX512(&x[0], len(x), &geluTable[0]) },
	softmax: func(x []float32, scale float32) { softmaxAVX512(&x[0], len(x), scale, &expTable[0]) },
	layerNorm: func(x, add, gain, bias []float32) {
		layerNormAVX512(&x[0], &add[0], &gain[0], &bias[0], len(x))
	},
}

// An integerTileFunc adds the product of codes to a tile of c.
type integerTileFunc func(groups int, a *int8, scales *float32, offsets *int32, stride int,
	codes *byte, columns *float32, c *float32, ldc int)

var tilesVNNI = [...]integerTileFunc{
	multiplyCodes1AVX512, multiplyCodes2AVX512, multiplyCodes3AVX512,
	multiplyCodes4AVX512, multiplyCodes5AVX512, multiplyCodes6AVX512,
}

// vnni is avx512 with products of bytes.
var vnni = withIntegers(avx512, "avx512vnni", &integer{
	tile: len(tilesVNNI),
	quantise: func(to plane, x, rest []float32) {
		if rest == nil {
			quantiseAVX512(&to.codes[0], &to.scales[0], &to.offsets[0], &x[0], len(x)/Group, &roundTable[0])
			return
		}
		quantiseRestAVX512(&to.codes[0], &to.scales[0], &to.offsets[0], &x[0], len(x)/Group, &roundTable[0], &rest[0])
	},
	multiply: func(rows, groups int, a plane, stride int, p panel, c []float32, ldc int) {
		tilesVNNI[rows-1](groups, &a.codes[0], &a.scales[0], &a.offsets[0], stride, &p.codes[0], &p.scales[0], &c[0], ldc)
	},
})

//go:build amd64 && !purego && !noasm

package dot

import "golang.org/x/sys/cpu"

// usable are this machine's implementations, fastest first.
var usable = find()

func find() []implementation {
	var all []implementation
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all = append(all, avx512)
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all = append(all, avx2)
	}
	return append(all, portable)
}

var avx512 = implementation{
	name: "avx512",
	products: func(query, rows, out []float32) {
		productsAVX512(&query[0], len(query), &rows[0], 4*len(query), len(out), &out[0])
	},
	codeProducts: func(query []float32, rows []byte, stride int, out []float32) {
		codeProductsAVX512(&query[0], len(query), &rows[0], stride, len(out), &out[0])
	},
	codesAreFast: true,
}

var avx2 = implementation{
	name: "avx2",
	products: func(query, rows, out []float32) {
		productsAVX2(&query[0], len(query), &rows[0], 4*len(query), len(out), &out[0])
	},
	codeProducts: func(query []float32, rows []byte, stride int, out []float32) {
		codeProductsAVX2(&query[0], len(query), &rows[0], stride, len(out), &out[0])
	},
	codesAreFast: true,
}

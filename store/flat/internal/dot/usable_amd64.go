//go:build amd64 && !purego && !noasm

package dot

import "golang.org/x/sys/cpu"

// usable are the implementations this machine can run, fastest first, the portable one last.
var usable = find()

func find() []implementation {
	var all []implementation
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all = append(all, implementation{"avx512", func(query, rows, out []float32) {
			productsAVX512(&query[0], len(query), &rows[0], len(out), &out[0])
		}})
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		all = append(all, implementation{"avx2", func(query, rows, out []float32) {
			productsAVX2(&query[0], len(query), &rows[0], len(out), &out[0])
		}})
	}
	return append(all, portable)
}

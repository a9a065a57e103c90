// Command gen writes the assembly of package kernel; run go generate there.
//
// Functions on numbers share code for AVX2 with FMA (8 numbers a register) and AVX-512F (16).
// Registers are named, not allocated, so that AVX2 code uses only the first sixteen.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// An isa is an instruction set.
type isa struct {
	name  string
	lanes int // numbers in a register
	rows  int // rows of a tile: 2 accumulators each, two registers for b, some for a
	regs  []reg.VecPhysical
}

var avx2 = isa{"AVX2", 8, 6, []reg.VecPhysical{
	reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7,
	reg.Y8, reg.Y9, reg.Y10, reg.Y11, reg.Y12, reg.Y13, reg.Y14, reg.Y15,
}}

var avx512 = isa{"AVX512", 16, 12, []reg.VecPhysical{
	reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7,
	reg.Z8, reg.Z9, reg.Z10, reg.Z11, reg.Z12, reg.Z13, reg.Z14, reg.Z15,
	reg.Z16, reg.Z17, reg.Z18, reg.Z19, reg.Z20, reg.Z21, reg.Z22, reg.Z23,
	reg.Z24, reg.Z25, reg.Z26, reg.Z27, reg.Z28, reg.Z29, reg.Z30, reg.Z31,
}}

func main() {
	ConstraintExpr("amd64,!purego,!noasm")
	for _, v := range []isa{avx2, avx512} {
		for rows := 1; rows <= v.rows; rows++ {
			v.multiply(rows)
		}
		v.dequantise()
		v.round()
		v.gelu()
		v.softmax()
		v.layerNorm()
	}
	for rows := 1; rows <= integerRows; rows++ {
		avx512.multiplyCodes(rows)
	}
	avx512.quantise(false)
	avx512.quantise(true)
	Generate()
}

// begin opens a function.
func (v isa) begin(name, signature, doc string) {
	TEXT(name+v.name, NOSPLIT, "func"+signature)
	Pragma("noescape")
	Doc(name + v.name + " " + doc)
}

// end ends a function that used registers wider than 128 bits.
func (v isa) end() {
	VZEROUPPER()
	RET()
}

func (v isa) bytes() int { return 4 * v.lanes }

// zero needs only the base set of AVX-512.
func (v isa) zero(r reg.Register) {
	if v.lanes == 16 {
		VPXORD(r, r, r)
		return
	}
	VXORPS(r, r, r)
}

func (v isa) at(base reg.Register, i int) Mem {
	return Mem{Base: base, Disp: i * v.bytes()}
}

func number(table reg.Register, i int) Mem { return Mem{Base: table, Disp: 4 * i} }

// param loads an argument into a register.
func param(name string) reg.Register { return Load(Param(name), GP64()) }

// reduce adds register i's numbers into its lowest one, overwriting tmp.
func (v isa) reduce(op func(...Op), i, tmp int) {
	acc, t := v.regs[i], v.regs[tmp]
	if v.lanes == 16 {
		VEXTRACTF64X4(U8(1), acc, t.AsY())
		op(t.AsY(), acc.AsY(), acc.AsY())
	}
	VEXTRACTF128(U8(1), acc.AsY(), t.AsX())
	op(t.AsX(), acc.AsX(), acc.AsX())
	VPERMILPS(U8(0x4e), acc.AsX(), t.AsX())
	op(t.AsX(), acc.AsX(), acc.AsX())
	VPERMILPS(U8(0xb1), acc.AsX(), t.AsX())
	op(t.AsX(), acc.AsX(), acc.AsX())
}

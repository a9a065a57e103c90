// Command gen writes the assembly of package dot; run it with go generate in that folder.
//
// The function is made twice, for AVX2 with FMA (8 numbers a register) and for AVX-512F (16), from the
// same code. Registers are named, not allocated, so that none above the fifteenth slips into AVX2 code.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sums is how many sums are kept at once, so that additions need not wait for each other.
const sums = 4

// An isa is an instruction set the function is made for.
type isa struct {
	name  string
	lanes int // numbers in a register
	regs  []reg.VecPhysical
}

var avx2 = isa{"AVX2", 8, []reg.VecPhysical{reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7}}

var avx512 = isa{"AVX512", 16, []reg.VecPhysical{reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7}}

func main() {
	ConstraintExpr("amd64,!purego,!noasm")
	avx2.products()
	avx512.products()
	Generate()
}

// products makes the function: for each row, many numbers at a time, then one register, then one number.
func (v isa) products() {
	TEXT("products"+v.name, NOSPLIT, "func(query *float32, n int, rows *float32, count int, out *float32)")
	Pragma("noescape")
	Doc("products" + v.name + " sets count numbers of out to the products of query with rows of n numbers.")
	query, n := Load(Param("query"), GP64()), Load(Param("n"), GP64())
	row, count, out := Load(Param("rows"), GP64()), Load(Param("count"), GP64()), Load(Param("out"), GP64())
	q, left := GP64(), GP64()

	Label("row")
	MOVQ(query, q)
	MOVQ(n, left)
	for i := range sums {
		v.zero(v.regs[i])
	}
	v.loop("many", sums*v.lanes, left, func() {
		for i := range sums {
			VMOVUPS(v.at(row, i), v.regs[sums+i])
		}
		for i := range sums {
			VFMADD231PS(v.at(q, i), v.regs[sums+i], v.regs[i])
		}
	}, q, row)
	v.loop("few", v.lanes, left, func() {
		VMOVUPS(v.at(row, 0), v.regs[sums])
		VFMADD231PS(v.at(q, 0), v.regs[sums], v.regs[0])
	}, q, row)
	v.reduce()
	v.loop("one", 1, left, func() {
		VMOVSS(Mem{Base: row}, v.regs[sums].AsX())
		VFMADD231SS(Mem{Base: q}, v.regs[sums].AsX(), v.regs[0].AsX())
	}, q, row)
	VMOVSS(v.regs[0].AsX(), Mem{Base: out})
	ADDQ(Imm(4), out)
	DECQ(count)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// loop runs body while left is at least step, and then moves the pointers on.
func (v isa) loop(name string, step int, left reg.Register, body func(), pointers ...reg.Register) {
	Label(name)
	CMPQ(left, U32(step))
	JLT(LabelRef(name + "End"))
	body()
	for _, p := range pointers {
		ADDQ(U32(4*step), p)
	}
	SUBQ(U32(step), left)
	JMP(LabelRef(name))
	Label(name + "End")
}

// at is the memory i registers after base.
func (v isa) at(base reg.Register, i int) Mem { return Mem{Base: base, Disp: 4 * v.lanes * i} }

// zero clears a register. The form for AVX-512 is the one that needs no extension of it.
func (v isa) zero(r reg.Register) {
	if v.lanes == 16 {
		VPXORD(r, r, r)
		return
	}
	VXORPS(r, r, r)
}

// reduce adds all sums up into the lowest number of register 0.
func (v isa) reduce() {
	for step := sums / 2; step > 0; step /= 2 {
		for i := range step {
			VADDPS(v.regs[i+step], v.regs[i], v.regs[i])
		}
	}
	acc, t := v.regs[0], v.regs[1]
	if v.lanes == 16 {
		VEXTRACTF64X4(U8(1), acc, t.AsY())
		VADDPS(t.AsY(), acc.AsY(), acc.AsY())
	}
	VEXTRACTF128(U8(1), acc.AsY(), t.AsX())
	VADDPS(t.AsX(), acc.AsX(), acc.AsX())
	VPERMILPS(U8(0x4e), acc.AsX(), t.AsX())
	VADDPS(t.AsX(), acc.AsX(), acc.AsX())
	VPERMILPS(U8(0xb1), acc.AsX(), t.AsX())
	VADDPS(t.AsX(), acc.AsX(), acc.AsX())
}

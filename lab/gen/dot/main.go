// Command gen writes the assembly of package dot; run go generate there.
//
// AVX2 with FMA (8 numbers a register) and AVX-512F (16) share the code. Registers are named, not
// allocated: AVX2 has none above the fifteenth.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// sums are kept at once: additions do not wait for each other.
const sums = 4

// An isa is an instruction set.
type isa struct {
	name  string
	lanes int // numbers in a register
	regs  []reg.VecPhysical
}

var avx2 = isa{"AVX2", 8, []reg.VecPhysical{reg.Y0, reg.Y1, reg.Y2, reg.Y3, reg.Y4, reg.Y5, reg.Y6, reg.Y7}}

var avx512 = isa{"AVX512", 16, []reg.VecPhysical{reg.Z0, reg.Z1, reg.Z2, reg.Z3, reg.Z4, reg.Z5, reg.Z6, reg.Z7}}

// A form is what the numbers of rows are.
type form struct {
	name, param, doc string
	size             int // bytes of a number
	// load loads a register of numbers as float32.
	load func(from Mem, to reg.VecPhysical)
	// loadOne loads one number into the lowest of a register.
	loadOne func(from Mem, to, tmp reg.Register)
}

var floats = form{
	name: "products", param: "rows *float32", doc: "float32", size: 4,
	load:    func(from Mem, to reg.VecPhysical) { VMOVUPS(from, to) },
	loadOne: func(from Mem, to, _ reg.Register) { VMOVSS(from, to) },
}

var codes = form{
	name: "codeProducts", param: "rows *byte", doc: "signed bytes", size: 1,
	load: func(from Mem, to reg.VecPhysical) {
		VPMOVSXBD(from, to)
		VCVTDQ2PS(to, to)
	},
	loadOne: func(from Mem, to, tmp reg.Register) {
		MOVBLSX(from, tmp)
		VXORPS(to, to, to)
		VCVTSI2SSL(tmp, to, to)
	},
}

func main() {
	ConstraintExpr("amd64,!purego,!noasm")
	for _, v := range []isa{avx2, avx512} {
		v.products(floats)
		v.products(codes)
	}
	Generate()
}

// products makes a function: many numbers at a time, then a register, then one.
func (v isa) products(f form) {
	TEXT(f.name+v.name, NOSPLIT, "func(query *float32, n int, "+f.param+", stride int, count int, out *float32)")
	Pragma("noescape")
	Doc(f.name + v.name + " sets count numbers of out to the products of query with rows of n " + f.doc + " that begin every stride bytes.")
	query, n := Load(Param("query"), GP64()), Load(Param("n"), GP64())
	rows, stride := Load(Param("rows"), GP64()), Load(Param("stride"), GP64())
	count, out := Load(Param("count"), GP64()), Load(Param("out"), GP64())
	q, row, left := GP64(), GP64(), GP64()

	Label("row")
	MOVQ(query, q)
	MOVQ(rows, row)
	MOVQ(n, left)
	for i := range sums {
		v.zero(v.regs[i])
	}
	v.body(f, q, row, left)
	VMOVSS(v.regs[0].AsX(), Mem{Base: out})
	ADDQ(stride, rows)
	ADDQ(Imm(4), out)
	DECQ(count)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// body leaves a row's product in the lowest number of register 0.
func (v isa) body(f form, q, row, left reg.Register) {
	advance := func(step int) {
		ADDQ(U32(4*step), q)
		ADDQ(U32(f.size*step), row)
	}
	v.loop("many", sums*v.lanes, left, func(step int) {
		for i := range sums {
			f.load(Mem{Base: row, Disp: f.size * v.lanes * i}, v.regs[sums+i])
		}
		for i := range sums {
			VFMADD231PS(Mem{Base: q, Disp: 4 * v.lanes * i}, v.regs[sums+i], v.regs[i])
		}
		advance(step)
	})
	v.loop("few", v.lanes, left, func(step int) {
		f.load(Mem{Base: row}, v.regs[sums])
		VFMADD231PS(Mem{Base: q}, v.regs[sums], v.regs[0])
		advance(step)
	})
	v.reduce()
	tmp := GP32()
	v.loop("one", 1, left, func(step int) {
		f.loadOne(Mem{Base: row}, v.regs[sums].AsX(), tmp)
		VFMADD231SS(Mem{Base: q}, v.regs[sums].AsX(), v.regs[0].AsX())
		advance(step)
	})
}

// loop runs body while left is at least step.
func (v isa) loop(name string, step int, left reg.Register, body func(step int)) {
	Label(name)
	CMPQ(left, U32(step))
	JLT(LabelRef(name + "End"))
	body(step)
	SUBQ(U32(step), left)
	JMP(LabelRef(name))
	Label(name + "End")
}

// zero, in its form for AVX-512, needs no extension.
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

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Indexes in package kernel's tables of constants.
const (
	geluLow, geluHigh, geluSpread, geluOne, geluHalf, geluFirst = 0, 1, 2, 3, 4, 5
	geluDegree                                                  = 12

	expLow, expLog2e, expLn2High, expLn2Low, expFirst = 0, 1, 2, 3, 4
	expDegree                                         = 6
)

// horner evaluates the table's polynomial for x, from the highest power down, into y.
func (v isa) horner(table reg.Register, first, degree int, x, y []reg.VecPhysical, c reg.VecPhysical) {
	for i := range x {
		VBROADCASTSS(number(table, first), y[i])
	}
	for k := 1; k <= degree; k++ {
		VBROADCASTSS(number(table, first+k), c)
		for i := range x {
			VFMADD213PS(c, x[i], y[i])
		}
	}
}

// gelu makes the activation, four registers at a time.
func (v isa) gelu() {
	v.begin("gelu", "(x *float32, n int, table *float32)", "replaces n numbers, a multiple of 64, by their GELU.")
	x, n, table := param("x"), param("n"), param("table")
	u, y := v.regs[0:4], v.regs[4:8]
	c, low, high := v.regs[8], v.regs[9], v.regs[10]
	VBROADCASTSS(number(table, geluLow), low)
	VBROADCASTSS(number(table, geluHigh), high)
	Label("next")
	v.geluSquare(x, table, u)
	v.horner(table, geluFirst, geluDegree, u, y, c)
	VBROADCASTSS(number(table, geluHalf), c)
	for i := range 4 { // x · (½ + clamped x · polynomial)
		v.clamp(v.at(x, i), u[i])
		VFMADD213PS(c, u[i], y[i])
		VMULPS(v.at(x, i), y[i], y[i])
		VMOVUPS(y[i], v.at(x, i))
	}
	ADDQ(U32(4*v.bytes()), x)
	SUBQ(U32(4*v.lanes), n)
	JNZ(LabelRef("next"))
	v.end()
}

// clamp limits numbers to the polynomial's range, in registers 9 and 10.
func (v isa) clamp(from Mem, to reg.VecPhysical) {
	VMOVUPS(from, to)
	VMAXPS(v.regs[9], to, to)
	VMINPS(v.regs[10], to, to)
}

// geluSquare computes the polynomial's argument: the square, mapped to [-1, 1].
func (v isa) geluSquare(x, table reg.Register, u []reg.VecPhysical) {
	spread, one := v.regs[11], v.regs[12]
	VBROADCASTSS(number(table, geluSpread), spread)
	VBROADCASTSS(number(table, geluOne), one)
	for i := range u {
		v.clamp(v.at(x, i), u[i])
		VMULPS(u[i], u[i], u[i])
		VFMSUB213PS(one, spread, u[i])
	}
}

// softmax takes the maximum, exponentials and their sum, and divides.
func (v isa) softmax() {
	v.begin("softmax", "(x *float32, n int, scale float32, table *float32)",
		"replaces n numbers, a multiple of 32, by the softmax of their multiples by scale.")
	x, n, table := param("x"), param("n"), param("table")
	v.softmaxMax(x, n)
	scale := v.regs[1]
	VBROADCASTSS(NewParamAddr("scale", 16), scale)
	v.softmaxExp(x, n, table)
	v.softmaxDivide(x, n)
	v.end()
}

// each loops over n numbers at x, 32 at a time.
func (v isa) each(name string, x, n reg.Register, body func(p reg.Register)) {
	p, left := GP64(), GP64()
	MOVQ(x, p)
	MOVQ(n, left)
	Label(name)
	body(p)
	SUBQ(I8(-128), p)
	SUBQ(U8(32), left)
	JNZ(LabelRef(name))
}

// softmaxMax leaves the maximum in all of register 0.
func (v isa) softmaxMax(x, n reg.Register) {
	top := v.regs[0]
	VBROADCASTSS(Mem{Base: x}, top)
	v.each("max", x, n, func(p reg.Register) {
		for i := range 32 / v.lanes {
			VMAXPS(v.at(p, i), top, top)
		}
	})
	v.reduce(func(o ...Op) { VMAXPS(o[0], o[1], o[2]) }, 0, 2)
	VBROADCASTSS(top.AsX(), top)
}

// softmaxExp replaces numbers by exponentials, summed in register 2. Registers 0 and 1 hold the
// maximum and scale.
func (v isa) softmaxExp(x, n, table reg.Register) {
	top, scale, sum, low, log2e, ln2High, ln2Low := v.regs[0], v.regs[1], v.regs[2], v.regs[3], v.regs[4], v.regs[5], v.regs[6]
	v.zero(sum)
	VBROADCASTSS(number(table, expLow), low)
	VBROADCASTSS(number(table, expLog2e), log2e)
	VBROADCASTSS(number(table, expLn2High), ln2High)
	VBROADCASTSS(number(table, expLn2Low), ln2Low)
	r, y, k, c := v.regs[7:9], v.regs[9:11], v.regs[11:13], v.regs[13]
	v.each("exp", x, n, func(p reg.Register) {
		for half := 0; half < 32/v.lanes; half += 2 {
			for i := range 2 { // x = k·ln 2 + r
				VMOVUPS(v.at(p, half+i), r[i])
				VSUBPS(top, r[i], r[i])
				VMULPS(scale, r[i], r[i])
				VMAXPS(low, r[i], r[i])
				VMULPS(log2e, r[i], k[i])
				VCVTPS2DQ(k[i], k[i])
				VCVTDQ2PS(k[i], y[i])
				VFNMADD231PS(ln2High, y[i], r[i])
				VFNMADD231PS(ln2Low, y[i], r[i])
				VPSLLD(U8(23), k[i], k[i])
			}
			v.horner(table, expFirst, expDegree, r, y, c)
			for i := range 2 { // times 2 to the k, by adding k to the exponent
				VPADDD(k[i], y[i], y[i])
				VMOVUPS(y[i], v.at(p, half+i))
				VADDPS(y[i], sum, sum)
			}
		}
	})
}

func (v isa) softmaxDivide(x, n reg.Register) {
	sum := v.regs[2]
	v.reduce(func(o ...Op) { VADDPS(o[0], o[1], o[2]) }, 2, 3)
	VBROADCASTSS(sum.AsX(), sum)
	v.each("divide", x, n, func(p reg.Register) {
		for i := range 32 / v.lanes {
			VMOVUPS(v.at(p, i), v.regs[3+i])
			VDIVPS(sum, v.regs[3+i], v.regs[3+i])
			VMOVUPS(v.regs[3+i], v.at(p, i))
		}
	})
}

// layerNorm adds, centres and scales a row in three passes.
func (v isa) layerNorm() {
	v.begin("layerNorm", "(x *float32, add *float32, gain *float32, bias *float32, n int)",
		"replaces n numbers, a multiple of 32, by the layer norm of their sums with add.")
	x, n := param("x"), param("n")
	count, mean := v.regs[0], v.regs[1]
	VXORPS(count.AsX(), count.AsX(), count.AsX())
	VCVTSI2SSQ(n, count.AsX(), count.AsX())
	v.sumOf(x, n, param("add"), mean)
	VDIVSS(count.AsX(), mean.AsX(), mean.AsX())
	VBROADCASTSS(mean.AsX(), mean)
	v.inverseDeviation(x, n)
	v.normalise(x, n, param("gain"), param("bias"))
	v.end()
}

// sumOf adds to x and leaves the total in the lowest number of register 1.
func (v isa) sumOf(x, n, add reg.Register, sum reg.VecPhysical) {
	v.zero(sum)
	v.each("sum", x, n, func(p reg.Register) {
		for i := range 32 / v.lanes {
			r := v.regs[3+i]
			VMOVUPS(v.at(p, i), r)
			VADDPS(v.at(add, i), r, r)
			VMOVUPS(r, v.at(p, i))
			VADDPS(r, sum, sum)
		}
		SUBQ(I8(-128), add)
	})
	v.reduce(func(o ...Op) { VADDPS(o[0], o[1], o[2]) }, 1, 2)
}

// inverseDeviation leaves 1/σ in all of register 2; registers 0 and 1 hold count and mean.
func (v isa) inverseDeviation(x, n reg.Register) {
	count, mean, square := v.regs[0], v.regs[1], v.regs[2]
	v.zero(square)
	v.each("deviation", x, n, func(p reg.Register) {
		for i := range 32 / v.lanes {
			r := v.regs[3+i]
			VMOVUPS(v.at(p, i), r)
			VSUBPS(mean, r, r)
			VFMADD231PS(r, r, square)
		}
	})
	v.reduce(func(o ...Op) { VADDPS(o[0], o[1], o[2]) }, 2, 3)
	s := square.AsX()
	VDIVSS(count.AsX(), s, s)
	one, tiny, bits := v.regs[3].AsX(), v.regs[4].AsX(), GP32()
	MOVL(U32(0x2b8cbccc), bits) // 1e-12
	VMOVD(bits, tiny)
	VADDSS(tiny, s, s)
	VSQRTSS(s, s, s)
	MOVL(U32(0x3f800000), bits) // 1
	VMOVD(bits, one)
	VDIVSS(s, one, s)
	VBROADCASTSS(s, square)
}

// normalise writes (x − mean) · 1/σ · gain + bias.
func (v isa) normalise(x, n, gain, bias reg.Register) {
	mean, inverse := v.regs[1], v.regs[2]
	v.each("scale", x, n, func(p reg.Register) {
		for i := range 32 / v.lanes {
			r, b := v.regs[3+i], v.regs[7+i]
			VMOVUPS(v.at(p, i), r)
			VSUBPS(mean, r, r)
			VMULPS(inverse, r, r)
			VMOVUPS(v.at(bias, i), b)
			VFMADD132PS(v.at(gain, i), b, r)
			VMOVUPS(r, v.at(p, i))
		}
		SUBQ(I8(-128), gain)
		SUBQ(I8(-128), bias)
	})
}

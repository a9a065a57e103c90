package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Indexes in roundTable.
const roundLeast, roundTop, roundMask = 0, 1, 2

// rounding has the registers for rounding a group.
type rounding struct {
	isa
	x, inverse, scale, t, u []reg.VecPhysical
	table                   reg.Register
}

func (v isa) rounding(table reg.Register) rounding {
	n := 32 / v.lanes
	return rounding{v, v.regs[:n], v.regs[n : n+1], v.regs[n+1 : n+2], v.regs[n+2 : n+3], v.regs[n+3 : n+4], table}
}

// group sets two registers to a group's scale and its inverse.
func (r rounding) group(from reg.Register) {
	top, t := r.t[0], r.u[0]
	VBROADCASTSS(number(r.table, roundLeast), top)
	VBROADCASTSS(number(r.table, roundMask), r.scale[0])
	for i, x := range r.x {
		VMOVUPS(r.at(from, i), x)
		r.and(r.scale[0], x, t)
		VMAXPS(t, top, top)
	}
	at := len(r.x) + 2
	r.reduce(func(o ...Op) { VMAXPS(o[0], o[1], o[2]) }, at, at+1)
	VMOVSS(number(r.table, roundTop), t.AsX())
	VDIVSS(top.AsX(), t.AsX(), r.inverse[0].AsX())
	VDIVSS(t.AsX(), top.AsX(), r.scale[0].AsX())
	VBROADCASTSS(r.inverse[0].AsX(), r.inverse[0])
}

func (v isa) and(a, b, to reg.Register) {
	if v.lanes == 16 {
		VPANDD(a, b, to)
		return
	}
	VANDPS(a, b, to)
}

// round is for machines without products of bytes.
func (v isa) round() {
	v.begin("round", "(dst *float32, x *float32, groups int, table *float32)",
		"writes groups of 32 numbers rounded to multiples of a 127th of the largest.")
	dst, x, groups := param("dst"), param("x"), param("groups")
	r := v.rounding(param("table"))
	Label("group")
	r.group(x)
	VBROADCASTSS(r.scale[0].AsX(), r.scale[0])
	for i, n := range r.x {
		VMULPS(r.inverse[0], n, n)
		VCVTPS2DQ(n, n)
		VCVTDQ2PS(n, n)
		VMULPS(r.scale[0], n, n)
		VMOVUPS(n, v.at(dst, i))
	}
	SUBQ(I8(-128), x)
	SUBQ(I8(-128), dst)
	DECQ(groups)
	JNZ(LabelRef("group"))
	v.end()
}

// quantise rounds numbers to bytes, perhaps with the remainder. AVX-512F.
func (v isa) quantise(rest bool) {
	name, signature, doc := "quantise", "(codes *int8, scales *float32, offsets *int32, x *float32, groups int, table *float32",
		"writes codes by groups of 32 numbers, with their scale and -128 times their sum."
	if rest {
		name, signature, doc = "quantiseRest", signature+", rest *float32", "is quantise; rest gets x less what the codes stand for."
	}
	v.begin(name, signature+")", doc)
	codes, scales, offsets := param("codes"), param("scales"), param("offsets")
	x, groups := param("x"), param("groups")
	r := v.rounding(param("table"))
	var left reg.Register
	if rest {
		left = param("rest")
	}
	Label("group")
	r.group(x)
	VMOVSS(r.scale[0].AsX(), Mem{Base: scales})
	for i, n := range r.x {
		VMULPS(r.inverse[0], n, n)
		VCVTPS2DQ(n, n)
		VPMOVDB(n, Mem{Base: codes, Disp: 16 * i})
	}
	if rest {
		r.rest(x, left)
	}
	VPADDD(r.x[0], r.x[1], r.x[0])
	v.reduce(func(o ...Op) { VPADDD(o[0], o[1], o[2]) }, 0, 1)
	VPSLLD(U8(7), r.x[0].AsX(), r.x[0].AsX())
	sum := GP32()
	VMOVD(r.x[0].AsX(), sum)
	NEGL(sum)
	MOVL(sum, Mem{Base: offsets})
	SUBQ(I8(-128), x)
	ADDQ(U8(32), codes)
	ADDQ(U8(4), scales)
	ADDQ(U8(4), offsets)
	DECQ(groups)
	JNZ(LabelRef("group"))
	v.end()
}

// rest writes x less codes times scale, and advances.
func (r rounding) rest(x, to reg.Register) {
	t, u := r.t[0], r.u[0]
	VBROADCASTSS(r.scale[0].AsX(), r.scale[0])
	for i, n := range r.x {
		VCVTDQ2PS(n, t)
		VMOVUPS(r.at(x, i), u)
		VFNMADD231PS(r.scale[0], t, u)
		VMOVUPS(u, r.at(to, i))
	}
	SUBQ(I8(-128), to)
}

// integerRows is a tile's height. Of 32 registers two hold a row's sums as numbers, two those of a
// group, two weights, one bytes, two scales.
const integerRows = 6

// integerTile is a multiplication of bytes.
type integerTile struct {
	isa
	rows           int
	codes          reg.Register
	lda, ldf       reg.Register   // bytes from one row to the next, of codes, and of scales and offsets
	a, f, o        []reg.Register // every third row of codes, scales, offsets
	sums, integers []reg.VecPhysical
	w, columns     []reg.VecPhysical
	spare          []reg.VecPhysical
}

// multiplyCodes multiplies bytes, exactly in a group. AVX-512 VNNI.
func (v isa) multiplyCodes(rows int) {
	v.begin(fmt.Sprintf("multiplyCodes%d", rows), "(groups int, a *int8, scales *float32, offsets *int32, stride int, codes *byte, columns *float32, c *float32, ldc int)",
		fmt.Sprintf("adds the product of codes to c, %d rows by %d columns.", rows, 2*v.lanes))
	t := integerTile{isa: v, rows: rows, codes: param("codes"), lda: GP64(), ldf: param("stride"),
		sums: v.regs[:2*rows], integers: v.regs[2*rows : 4*rows],
		w: v.regs[24:26], spare: v.regs[26:30], columns: v.regs[30:32]}
	groups, columns := param("groups"), param("columns")
	MOVQ(t.ldf, t.lda)
	SHLQ(U8(5), t.lda)
	SHLQ(U8(2), t.ldf)
	t.a, t.f, t.o = everyThird(param("a"), t.lda, rows), everyThird(param("scales"), t.ldf, rows), everyThird(param("offsets"), t.ldf, rows)
	for i := range 2 * rows {
		v.zero(t.sums[i])
	}
	Label("group")
	t.begin()
	for quad := range 8 {
		t.quad(quad)
	}
	t.scale(columns)
	t.advance()
	SUBQ(I8(-128), columns)
	DECQ(groups)
	JNZ(LabelRef("group"))
	t.store()
	v.end()
}

// everyThird sets up a pointer to every third row.
func everyThird(first, stride reg.Register, rows int) []reg.Register {
	all := []reg.Register{first}
	for row := 3; row < rows; row += 3 {
		next := GP64()
		LEAQ(Mem{Base: all[len(all)-1], Index: stride, Scale: 2}, next)
		ADDQ(stride, next)
		all = append(all, next)
	}
	return all
}

// inRow is disp bytes after a row's start.
func inRow(pointers []reg.Register, stride reg.Register, row, disp int) Mem {
	m := Mem{Base: pointers[row/3], Disp: disp}
	if row%3 > 0 {
		m.Index, m.Scale = stride, uint8(row%3)
	}
	return m
}

// begin sets a group's sums to the correction for the weights' zero.
func (t *integerTile) begin() {
	for row := range t.rows {
		for i := range 2 {
			VPBROADCASTD(inRow(t.o, t.ldf, row, 0), t.integers[2*row+i])
		}
	}
}

// quad adds the products of four rows of weights.
func (t *integerTile) quad(quad int) {
	for i := range 2 {
		VMOVUPS(Mem{Base: t.codes, Disp: quad*128 + 64*i}, t.w[i])
	}
	for row := range t.rows {
		a := t.spare[row%len(t.spare)]
		VPBROADCASTD(inRow(t.a, t.lda, row, 4*quad), a)
		VPDPBUSD(a, t.w[0], t.integers[2*row])
		VPDPBUSD(a, t.w[1], t.integers[2*row+1])
	}
}

// scale adds a group's sums, times the scales of row and column, to the total.
func (t *integerTile) scale(columns reg.Register) {
	for i := range 2 {
		VMOVUPS(t.at(columns, i), t.columns[i])
	}
	for row := range t.rows {
		for i := range 2 {
			x := t.integers[2*row+i]
			VCVTDQ2PS(x, x)
			VMULPS_BCST(inRow(t.f, t.ldf, row, 0), x, x)
			VFMADD231PS(t.columns[i], x, t.sums[2*row+i])
		}
	}
}

// advance moves to the next group.
func (t *integerTile) advance() {
	ADDQ(U32(8*128), t.codes)
	for _, p := range t.a {
		ADDQ(U8(32), p)
	}
	for _, p := range append(t.f, t.o...) {
		ADDQ(U8(4), p)
	}
}

// store adds the sums to c.
func (t *integerTile) store() {
	tile := tile{isa: t.isa, rows: t.rows}
	tile.store()
}

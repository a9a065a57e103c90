package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tile multiplies rows of a with two registers of columns of b.
type tile struct {
	isa
	rows     int
	lda, ldb reg.Register   // bytes from one row to the next
	a        []reg.Register // every third row of a; lda and 2·lda reach the next two
	b        reg.Register
}

// multiply adds a·b to a tile of c. Sums stay in registers; each number of a is used twice, each of
// b once a row.
func (v isa) multiply(rows int) {
	v.begin(fmt.Sprintf("multiply%d", rows), "(depth int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int)",
		fmt.Sprintf("adds a·b to c, %d rows by %d columns.", rows, 2*v.lanes))
	depth := param("depth")
	t := tile{isa: v, rows: rows, lda: param("lda"), ldb: param("ldb"), b: param("b")}
	SHLQ(U8(2), t.lda)
	SHLQ(U8(2), t.ldb)
	t.rowPointers(param("a"))
	for i := range 2 * rows {
		v.zero(v.regs[i])
	}
	Label("unrolled")
	CMPQ(depth, U8(4))
	JLT(LabelRef("rest"))
	for step := range 4 {
		t.step(step)
	}
	t.advance(4)
	SUBQ(U8(4), depth)
	JMP(LabelRef("unrolled"))
	Label("rest")
	TESTQ(depth, depth)
	JZ(LabelRef("store"))
	t.step(0)
	t.advance(1)
	DECQ(depth)
	JMP(LabelRef("rest"))
	Label("store")
	t.store()
	v.end()
}

// rowPointers sets up a pointer to every third row.
func (t *tile) rowPointers(a reg.Register) {
	t.a = []reg.Register{a}
	for row := 3; row < t.rows; row += 3 {
		next := GP64()
		LEAQ(Mem{Base: t.a[len(t.a)-1], Index: t.lda, Scale: 2}, next)
		ADDQ(t.lda, next)
		t.a = append(t.a, next)
	}
}

// step multiplies a row of b with a column of a.
func (t *tile) step(step int) {
	b0, b1 := t.regs[2*t.rows], t.regs[2*t.rows+1]
	VMOVUPS(t.at(t.b, 0), b0)
	VMOVUPS(t.at(t.b, 1), b1)
	ADDQ(t.ldb, t.b)
	spare := t.regs[2*t.rows+2:]
	for row := range t.rows {
		a := spare[row%min(len(spare), 4)]
		VBROADCASTSS(t.element(row, step), a)
		VFMADD231PS(b0, a, t.regs[2*row])
		VFMADD231PS(b1, a, t.regs[2*row+1])
	}
}

func (t *tile) element(row, step int) Mem {
	m := Mem{Base: t.a[row/3], Disp: 4 * step}
	if row%3 > 0 {
		m.Index, m.Scale = t.lda, uint8(row%3)
	}
	return m
}

// advance moves the row pointers by n columns.
func (t *tile) advance(n int) {
	for _, p := range t.a {
		ADDQ(U8(4*n), p)
	}
}

// store adds the sums to c.
func (t *tile) store() {
	c, ldc := param("c"), param("ldc")
	SHLQ(U8(2), ldc)
	for row := range t.rows {
		for i := range 2 {
			sum := t.regs[2*row+i]
			VADDPS(t.at(c, i), sum, sum)
			VMOVUPS(sum, t.at(c, i))
		}
		ADDQ(ldc, c)
	}
}

// dequantise turns codes into numbers by group. Each number of a register has four rows' codes in
// one column.
func (v isa) dequantise() {
	v.begin("dequantise", "(dst *float32, codes *byte, scales *float32, zero float32, groups int)",
		"writes groups of 32 rows and columns: codes less zero, times their scale.")
	dst, codes, scales, groups := param("dst"), param("codes"), param("scales"), param("groups")
	n := 32 / v.lanes
	zero := v.regs[15]
	VBROADCASTSS(NewParamAddr("zero", 24), zero)
	quads := GP64()
	Label("group")
	for i := range n {
		VMOVUPS(v.at(scales, i), v.regs[i])
	}
	MOVQ(U32(8), quads)
	Label("quad")
	for i := range n {
		all, x := v.regs[n+i], v.regs[2*n+i]
		VMOVUPS(v.at(codes, i), all)
		for row := range 4 {
			VPSLLD(U8(24-8*row), all, x)
			VPSRLD(U8(24), x, x)
			VCVTDQ2PS(x, x)
			VSUBPS(zero, x, x)
			VMULPS(v.regs[i], x, x)
			VMOVUPS(x, Mem{Base: dst, Disp: row*128 + i*v.bytes()})
		}
	}
	SUBQ(I8(-128), codes)
	ADDQ(U32(512), dst)
	DECQ(quads)
	JNZ(LabelRef("quad"))
	SUBQ(I8(-128), scales)
	DECQ(groups)
	JNZ(LabelRef("group"))
	v.end()
}

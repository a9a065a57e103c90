package main

import "fmt"

// tileRows is a tile's height. Of 32 registers four hold a row's sums, one four numbers of it, four
// a row of the other matrix.
const tileRows = 5

// multiply adds a·b to a tile 16 columns wide. R1 and R10 to R13 point to rows of a.
func (a *assembly) multiply(rows int) {
	a.begin(fmt.Sprintf("multiply%dNEON", rows), fmt.Sprintf("adds a·b to c, %d rows by 16 columns.", rows),
		arg{"depth", "int"}, arg{"a", "*float32"}, arg{"lda", "int"}, arg{"b", "*float32"}, arg{"ldb", "int"}, arg{"c", "*float32"}, arg{"ldc", "int"})
	a.line("LSL $2, R2, R2")
	a.line("LSL $2, R4, R4")
	a.line("LSL $2, R6, R6")
	row := []int{1, 10, 11, 12, 13}[:rows]
	for i := 1; i < rows; i++ {
		a.line("ADD R2, R%d, R%d", row[i-1], row[i])
	}
	for i := range 4 * rows {
		a.zero(i)
	}
	a.label("unrolled")
	a.line("CMP $4, R0")
	a.line("BLT rest")
	for i, r := range row {
		a.load(4*tileRows+i, r, 0)
		a.addImmediate(r, 16)
	}
	for k := range 4 {
		a.tileStep(rows, k)
	}
	a.line("SUB $4, R0, R0")
	a.line("B unrolled")
	a.label("rest")
	a.line("CBZ R0, store")
	for i, r := range row {
		a.loadScalar(4*tileRows+i, r, 0)
		a.addImmediate(r, 4)
	}
	a.tileStep(rows, 0)
	a.line("SUB $1, R0, R0")
	a.line("B rest")
	a.label("store")
	a.addTile(rows, 4, 25)
	a.end()
}

// tileStep multiplies number k of a's registers with a row of b.
func (a *assembly) tileStep(rows, k int) {
	const b = 25
	for j := range 4 {
		a.load(b+j, 3, 16*j)
	}
	a.line("ADD R4, R3, R3")
	for i := range rows {
		for j := range 4 {
			a.fmlaElement(4*i+j, b+j, 4*tileRows+i, k)
		}
	}
}

// addTile adds sums, in registers from 0 on, to c at R5, with row stride R6. It overwrites spare.
func (a *assembly) addTile(rows, registers, spare int) {
	for i := range rows {
		for j := range registers {
			a.load(spare, 5, 16*j)
			a.fadd(spare, spare, registers*i+j)
			a.store(spare, 5, 16*j)
		}
		if i < rows-1 {
			a.line("ADD R6, R5, R5")
		}
	}
}

// signs sets a mask, which makes signed bytes of codes plus 128.
func (a *assembly) signs(d int) {
	a.line("MOVD $0x80808080, R15")
	a.dupBits(d, 15)
}

// dequantise turns codes into numbers by group. It deals quads out to four registers, one a row of
// 16 columns.
func (a *assembly) dequantise() {
	const signs, scales, half, number = 30, 16, 4, 5
	a.begin("dequantiseNEON", "writes groups of 32 rows and columns: codes less 128, times their scale.",
		arg{"dst", "*float32"}, arg{"codes", "*byte"}, arg{"scales", "*float32"}, arg{"groups", "int"})
	a.signs(signs)
	a.loop("group", 3, 1, func() {
		for i := range 8 {
			a.load(scales+i, 2, 16*i)
		}
		a.addImmediate(2, 128)
		a.line("MOVD $8, R10")
		a.loop("quad", 10, 1, func() {
			for part := range 2 {
				a.loadQuads(0, 1)
				a.addImmediate(1, 64)
				for row := range 4 {
					a.eor(row, row, signs)
					for i := range 4 {
						[]func(int, int){a.sxtlBytes, a.sxtl2Bytes}[i/2](half, row)
						[]func(int, int){a.sxtlHalves, a.sxtl2Halves}[i%2](number, half)
						a.scvtf(number, number)
						a.fmul(number, number, scales+4*part+i)
						a.store(number, 0, 128*row+64*part+16*i)
					}
				}
			}
			a.addImmediate(0, 512)
		})
	})
	a.end()
}

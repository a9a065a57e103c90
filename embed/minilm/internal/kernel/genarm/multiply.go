package main

import "fmt"

// tileRows is how many rows a tile of numbers has: of 32 registers four hold the sums of each row, one
// four numbers of it, and four a row of the other matrix.
const tileRows = 5

// multiply makes the function that adds the product to a tile of rows by 16 columns. R1 and R10 to
// R13 point to rows of a.
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

// tileStep multiplies number k of the registers for a with one row of b.
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

// addTile adds sums, in the given number of registers a row from 0 on, to c, which R5 points to; R6 is
// from one row to the next. It uses a register more.
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

// signs sets a register to what turns a byte with 128 added into one without.
func (a *assembly) signs(d int) {
	a.line("MOVD $0x80808080, R15")
	a.dupBits(d, 15)
}

// dequantise makes the function that turns codes into numbers, group by group; quads are dealt out to
// four registers, one for each row of 16 columns.
func (a *assembly) dequantise() {
	const signs, scales, half, number = 30, 16, 4, 5
	a.begin("dequantiseNEON", "writes groups of 32 rows by 32 columns, each code less 128 times the scale of its group and column.",
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

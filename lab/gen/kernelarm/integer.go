package main

import "fmt"

// Indexes in roundTable.
const roundLeast, roundTop = 0, 1

// group loads 32 numbers at R1 into registers 0 to 7, and sets all of register 17 to the group's
// scale, of 18 to its inverse. Registers 20 and 21 hold leastTop and codeTop.
func (a *assembly) group() {
	for i := range 8 {
		a.load(i, 1, 16*i)
		a.fabs(8+i, i)
	}
	for n := 4; n > 0; n /= 2 {
		for i := range n {
			a.fmax(8+i, 8+i, 8+n+i)
		}
	}
	a.fmaxv(16, 8)
	a.fmaxS(16, 16, 20)
	a.fdivS(17, 16, 21)
	a.fdivS(18, 21, 16)
	a.dup(17, 17)
	a.dup(18, 18)
}

// round is for machines without products of bytes.
func (a *assembly) round() {
	a.begin("roundNEON", "writes groups of 32 numbers rounded to multiples of a 127th of the largest.",
		arg{"dst", "*float32"}, arg{"x", "*float32"}, arg{"groups", "int"}, arg{"table", "*float32"})
	a.loadScalar(20, 3, 4*roundLeast)
	a.loadScalar(21, 3, 4*roundTop)
	a.loop("group", 2, 1, func() {
		a.group()
		for i := range 8 {
			a.fmul(i, i, 18)
			a.fcvtns(i, i)
			a.scvtf(i, i)
			a.fmul(i, i, 17)
			a.store(i, 0, 16*i)
		}
		a.addImmediate(0, 128)
		a.addImmediate(1, 128)
	})
	a.end()
}

// quantise rounds numbers to bytes, perhaps with the remainder.
func (a *assembly) quantise(rest bool) {
	name, doc := "quantiseNEON", "writes codes by groups of 32 numbers, with their scale."
	args := []arg{{"codes", "*int8"}, {"x", "*float32"}, {"groups", "int"}, {"table", "*float32"}, {"scales", "*float32"}}
	if rest {
		name, doc = "quantiseRestNEON", "is quantise; rest gets x less what the codes stand for."
		args = append(args, arg{"rest", "*float32"})
	}
	a.begin(name, doc, args...)
	a.loadScalar(20, 3, 4*roundLeast)
	a.loadScalar(21, 3, 4*roundTop)
	a.loop("group", 2, 1, func() {
		a.group()
		a.storeScalar(17, 4, 0)
		for i := range 8 {
			a.fmul(8+i, i, 18)
			a.fcvtns(8+i, 8+i)
			if rest {
				a.scvtf(19, 8+i)
				a.fmls(i, 19, 17)
				a.store(i, 5, 16*i)
			}
		}
		for half := range 2 {
			at := 8 + 4*half
			a.xtnWords(22, at)
			a.xtn2Words(22, at+1)
			a.xtnWords(23, at+2)
			a.xtn2Words(23, at+3)
			a.xtnHalves(24, 22)
			a.xtn2Halves(24, 23)
			a.store(24, 0, 16*half)
		}
		a.addImmediate(0, 32)
		a.addImmediate(1, 128)
		a.addImmediate(4, 4)
		if rest {
			a.addImmediate(5, 128)
		}
	})
	a.end()
}

// integerRows is a tile's height. Of 32 registers two hold a row's sums as numbers, two those of a
// group, eight weights, one bytes, one the weights' sign.
const integerRows = 5

// multiplyCodes multiplies bytes, 8 columns at a time, exactly in a group. It needs FEAT_DotProd.
// R1 and R10 to R13 point to codes, R2 and R14 to R17 to scales; R8 is the step between quads of
// weights.
func (a *assembly) multiplyCodes(rows int) {
	const integers, weights, row, signs = 2 * integerRows, 20, 28, 29
	a.begin(fmt.Sprintf("multiplyCodes%dNEON", rows), fmt.Sprintf("adds the product of codes to c, %d rows by 8 columns.", rows),
		arg{"groups", "int"}, arg{"a", "*int8"}, arg{"scales", "*float32"}, arg{"stride", "int"}, arg{"codes", "*byte"},
		arg{"c", "*float32"}, arg{"ldc", "int"}, arg{"columns", "*float32"})
	a.signs(signs)
	a.line("LSL $5, R3, R8") // codes in a row
	a.line("LSL $2, R3, R9") // bytes of scales in a row
	a.line("LSL $2, R6, R6")
	code, scale := []int{1, 10, 11, 12, 13}[:rows], []int{2, 14, 15, 16, 17}[:rows]
	for i := 1; i < rows; i++ {
		a.line("ADD R8, R%d, R%d", code[i-1], code[i])
		a.line("ADD R9, R%d, R%d", scale[i-1], scale[i])
	}
	for i := range 2 * rows {
		a.zero(i)
	}
	a.loop("group", 0, 1, func() {
		for i := range 2 * rows {
			a.zero(integers + i)
		}
		for half := range 2 { // 16 numbers of a row, four quads of weights
			for i := range 8 {
				a.load(weights+i, 4, 128*(4*half+i/2)+16*(i%2))
				a.eor(weights+i, weights+i, signs)
			}
			for i, r := range code {
				a.load(row, r, 16*half)
				for quad := range 4 {
					a.sdotElement(integers+2*i, weights+2*quad, row, quad)
					a.sdotElement(integers+2*i+1, weights+2*quad+1, row, quad)
				}
			}
		}
		a.load(weights, 7, 0)
		a.load(weights+1, 7, 16)
		for i := range rows {
			a.loadAll(row, scale[i], 0)
			for j := range 2 {
				x := integers + 2*i + j
				a.scvtf(x, x)
				a.fmul(x, x, row)
				a.fmla(2*i+j, x, weights+j)
			}
		}
		for i := range rows {
			a.addImmediate(code[i], 32)
			a.addImmediate(scale[i], 4)
		}
		a.addImmediate(4, 1024)
		a.addImmediate(7, 128)
	})
	a.addTile(rows, 2, row)
	a.end()
}

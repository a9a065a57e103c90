package main

// Indexes in package kernel's tables of constants.
const (
	geluLow, geluHigh, geluSpread, geluOne, geluHalf, geluFirst = 0, 1, 2, 3, 4, 5
	geluDegree                                                  = 12

	expLow, expLog2e, expLn2High, expLn2Low, expFirst = 0, 1, 2, 3, 4
	expDegree                                         = 6
)

// horner evaluates the table's polynomial for x, from the highest power down. It returns the
// results, y or z.
func (a *assembly) horner(table, first, degree int, x, y, z []int) []int {
	a.loadAll(y[0], table, 4*first)
	for _, r := range y[1:] {
		a.move(r, y[0])
	}
	for k := 1; k <= degree; k++ {
		a.loadAll(z[0], table, 4*(first+k))
		for _, r := range z[1:] {
			a.move(r, z[0])
		}
		for i := range x {
			a.fmla(z[i], y[i], x[i])
		}
		y, z = z, y
	}
	return y
}

// gelu makes the activation, four registers at a time.
func (a *assembly) gelu() {
	a.begin("geluNEON", "replaces n numbers, a multiple of 64, by their GELU.",
		arg{"x", "*float32"}, arg{"n", "int"}, arg{"table", "*float32"})
	const low, high, spread, one, half = 24, 25, 26, 27, 28
	for i, r := range []int{geluLow: low, geluHigh: high, geluSpread: spread, geluOne: one, geluHalf: half} {
		a.loadAll(r, 2, 4*i)
	}
	cut, u, y, z := []int{0, 1, 2, 3}, []int{4, 5, 6, 7}, []int{8, 9, 10, 11}, []int{12, 13, 14, 15}
	a.loop("next", 1, 16, func() {
		for i := range 4 {
			a.load(16+i, 0, 16*i)
			a.fmax(cut[i], 16+i, low)
			a.fmin(cut[i], cut[i], high)
			a.fmul(20+i, cut[i], cut[i])
			a.fneg(u[i], one)
			a.fmla(u[i], 20+i, spread)
		}
		p := a.horner(2, geluFirst, geluDegree, u, y, z)
		for i := range 4 { // x · (½ + clamped x · polynomial)
			a.move(u[i], half)
			a.fmla(u[i], cut[i], p[i])
			a.fmul(u[i], u[i], 16+i)
			a.store(u[i], 0, 16*i)
		}
		a.addImmediate(0, 64)
	})
	a.end()
}

// each loops over R1 numbers at R0, 32 at a time; R10 moves, R11 counts.
func (a *assembly) each(name string, body func()) {
	a.line("MOVD R0, R10")
	a.line("MOVD R1, R11")
	a.loop(name, 11, 32, func() {
		body()
		a.addImmediate(10, 128)
	})
}

func (a *assembly) sumAcross(r int) {
	a.faddp(r, r, r)
	a.faddp(r, r, r)
}

// softmax takes the maximum, exponentials and their sum, and divides.
func (a *assembly) softmax() {
	const top, scale, sum, low, log2e, ln2High, ln2Low = 24, 31, 25, 26, 27, 28, 29
	a.begin("softmaxNEON", "replaces n numbers, a multiple of 32, by the softmax of their multiples by scale.",
		arg{"x", "*float32"}, arg{"n", "int"}, arg{"scale", "float32"}, arg{"table", "*float32"})
	a.dup(scale, scale)
	a.loadAll(top, 0, 0)
	a.each("max", func() {
		for i := range 8 {
			a.load(i, 10, 16*i)
			a.fmax(top, top, i)
		}
	})
	a.fmaxv(top, top)
	a.dup(top, top)
	a.zero(sum)
	a.loadAll(low, 2, 4*expLow)
	a.loadAll(log2e, 2, 4*expLog2e)
	a.loadAll(ln2High, 2, 4*expLn2High)
	a.loadAll(ln2Low, 2, 4*expLn2Low)
	r, k, y, z := []int{0, 1, 2, 3}, []int{4, 5, 6, 7}, []int{8, 9, 10, 11}, []int{12, 13, 14, 15}
	a.each("exp", func() {
		for part := range 2 {
			for i := range 4 { // x = k·ln 2 + r
				a.load(r[i], 10, 64*part+16*i)
				a.fsub(r[i], r[i], top)
				a.fmul(r[i], r[i], scale)
				a.fmax(r[i], r[i], low)
				a.fmul(k[i], r[i], log2e)
				a.fcvtns(k[i], k[i])
				a.scvtf(y[i], k[i])
				a.fmls(r[i], y[i], ln2High)
				a.fmls(r[i], y[i], ln2Low)
				a.shiftLeft(k[i], k[i], 23)
			}
			for i, e := range a.horner(2, expFirst, expDegree, r, y, z) { // times 2 to the k
				a.add(e, e, k[i])
				a.store(e, 10, 64*part+16*i)
				a.fadd(sum, sum, e)
			}
		}
	})
	a.sumAcross(sum)
	a.dup(sum, sum)
	a.each("divide", func() {
		for i := range 8 {
			a.load(i, 10, 16*i)
			a.fdiv(i, i, sum)
			a.store(i, 10, 16*i)
		}
	})
	a.end()
}

// layerNorm adds, centres and scales a row in three passes.
func (a *assembly) layerNorm() {
	const count, mean, square = 24, 25, 26
	a.begin("layerNormNEON", "replaces n numbers, a multiple of 32, by the layer norm of their sums with add.",
		arg{"x", "*float32"}, arg{"n", "int"}, arg{"add", "*float32"}, arg{"gain", "*float32"}, arg{"bias", "*float32"})
	a.fromInt(count, 1)
	a.zero(mean)
	a.each("sum", func() {
		for i := range 8 {
			a.load(i, 10, 16*i)
			a.load(8+i, 2, 16*i)
			a.fadd(i, i, 8+i)
			a.store(i, 10, 16*i)
			a.fadd(mean, mean, i)
		}
		a.addImmediate(2, 128)
	})
	a.sumAcross(mean)
	a.fdivS(mean, mean, count)
	a.dup(mean, mean)
	a.zero(square)
	a.each("deviation", func() {
		for i := range 8 {
			a.load(i, 10, 16*i)
			a.fsub(i, i, mean)
			a.fmla(square, i, i)
		}
	})
	a.sumAcross(square)
	a.fdivS(square, square, count)
	a.line("MOVW $0x2b8cbccc, R12") // 1e-12
	a.dupBits(27, 12)
	a.faddS(square, square, 27)
	a.fsqrtS(square, square)
	a.line("MOVW $0x3f800000, R12") // 1
	a.dupBits(27, 12)
	a.fdivS(square, 27, square)
	a.dup(square, square)
	a.each("scale", func() {
		for i := range 8 {
			a.load(i, 10, 16*i)
			a.fsub(i, i, mean)
			a.fmul(i, i, square)
			a.load(8+i, 3, 16*i)
			a.load(16+i, 4, 16*i)
			a.fmla(16+i, i, 8+i)
			a.store(16+i, 10, 16*i)
		}
		a.addImmediate(3, 128)
		a.addImmediate(4, 128)
	})
	a.end()
}

package main

import "fmt"

// Registers are numbers from 0 to 31. Vectors are of four 32-bit numbers, unless the name says
// otherwise.

func (a *assembly) word(code uint32, format string, args ...any) {
	a.line("WORD $0x%08x // %s", code, fmt.Sprintf(format, args...))
}

// three writes an instruction with two sources.
func (a *assembly) three(base uint32, name string, d, n, m int) {
	a.word(base|uint32(m)<<16|uint32(n)<<5|uint32(d), "%s v%d.4s, v%d.4s, v%d.4s", name, d, n, m)
}

func (a *assembly) fadd(d, n, m int) { a.three(0x4e20d400, "fadd", d, n, m) }
func (a *assembly) fsub(d, n, m int) { a.three(0x4ea0d400, "fsub", d, n, m) }
func (a *assembly) fmul(d, n, m int) { a.three(0x6e20dc00, "fmul", d, n, m) }
func (a *assembly) fdiv(d, n, m int) { a.three(0x6e20fc00, "fdiv", d, n, m) }
func (a *assembly) fmax(d, n, m int) { a.three(0x4e20f400, "fmax", d, n, m) }
func (a *assembly) fmin(d, n, m int) { a.three(0x4ea0f400, "fmin", d, n, m) }
func (a *assembly) add(d, n, m int)  { a.three(0x4ea08400, "add", d, n, m) }

// fmla is d + n·m, fmls d − n·m, both rounded once.
func (a *assembly) fmla(d, n, m int) { a.three(0x4e20cc00, "fmla", d, n, m) }
func (a *assembly) fmls(d, n, m int) { a.three(0x4ea0cc00, "fmls", d, n, m) }

// faddp adds neighbours of n, then of m.
func (a *assembly) faddp(d, n, m int) { a.three(0x6e20d400, "faddp", d, n, m) }

// two writes an instruction with one source.
func (a *assembly) two(base uint32, name string, d, n int) {
	a.word(base|uint32(n)<<5|uint32(d), "%s v%d, v%d", name, d, n)
}

func (a *assembly) fabs(d, n int)   { a.two(0x4ea0f800, "fabs.4s", d, n) }
func (a *assembly) fneg(d, n int)   { a.two(0x6ea0f800, "fneg.4s", d, n) }
func (a *assembly) scvtf(d, n int)  { a.two(0x4e21d800, "scvtf.4s", d, n) }
func (a *assembly) fcvtns(d, n int) { a.two(0x4e21a800, "fcvtns.4s", d, n) }
func (a *assembly) fmaxv(d, n int)  { a.two(0x6e30f800, "fmaxv.4s", d, n) }

// Widening: sxtl takes the lower half, sxtl2 the upper.
func (a *assembly) sxtlBytes(d, n int)   { a.two(0x0f08a400, "sxtl.8h.8b", d, n) }
func (a *assembly) sxtl2Bytes(d, n int)  { a.two(0x4f08a400, "sxtl2.8h.16b", d, n) }
func (a *assembly) sxtlHalves(d, n int)  { a.two(0x0f10a400, "sxtl.4s.4h", d, n) }
func (a *assembly) sxtl2Halves(d, n int) { a.two(0x4f10a400, "sxtl2.4s.8h", d, n) }

// Narrowing: xtn fills the lower half, xtn2 the upper.
func (a *assembly) xtnWords(d, n int)   { a.two(0x0e612800, "xtn.4h.4s", d, n) }
func (a *assembly) xtn2Words(d, n int)  { a.two(0x4e612800, "xtn2.8h.4s", d, n) }
func (a *assembly) xtnHalves(d, n int)  { a.two(0x0e212800, "xtn.8b.8h", d, n) }
func (a *assembly) xtn2Halves(d, n int) { a.two(0x4e212800, "xtn2.16b.8h", d, n) }

// Scalars: the lowest number of a register.
func (a *assembly) fdivS(d, n, m int) { a.three(0x1e201800, "scalar fdiv", d, n, m) }
func (a *assembly) faddS(d, n, m int) { a.three(0x1e202800, "scalar fadd", d, n, m) }
func (a *assembly) fmaxS(d, n, m int) { a.three(0x1e204800, "scalar fmax", d, n, m) }
func (a *assembly) fsqrtS(d, n int)   { a.two(0x1e21c000, "scalar fsqrt", d, n) }

// fromInt is a general register as a scalar.
func (a *assembly) fromInt(d, r int) { a.two(0x9e220000, "scalar scvtf from x", d, r) }

// element multiplies n with one number of m, and adds that to d.
func (a *assembly) fmlaElement(d, n, m, i int) {
	a.byElement(0x4f801000, "fmla", d, n, m, i)
}

// sdot adds, to each number of d, the product of four signed bytes of n and m's four with index i.
func (a *assembly) sdotElement(d, n, m, i int) {
	a.byElement(0x4f80e000, "sdot", d, n, m, i)
}

func (a *assembly) byElement(base uint32, name string, d, n, m, i int) {
	a.word(base|uint32(i&1)<<21|uint32(m)<<16|uint32(i>>1)<<11|uint32(n)<<5|uint32(d),
		"%s v%d, v%d, v%d[%d]", name, d, n, m, i)
}

// dup copies the lowest number of n to all of d.
func (a *assembly) dup(d, n int) { a.two(0x4e040400, "dup.4s [0]", d, n) }

func (a *assembly) dupBits(d, r int) { a.two(0x4e040c00, "dup.4s from w", d, r) }

func (a *assembly) shiftLeft(d, n, bits int) {
	a.word(0x4f005400|uint32(32+bits)<<16|uint32(n)<<5|uint32(d), "shl v%d.4s, v%d.4s, #%d", d, n, bits)
}

func (a *assembly) eor(d, n, m int) {
	a.word(0x6e201c00|uint32(m)<<16|uint32(n)<<5|uint32(d), "eor v%d.16b, v%d.16b, v%d.16b", d, n, m)
}

func (a *assembly) zero(d int) { a.eor(d, d, d) }

// move copies a register (orr of it with itself).
func (a *assembly) move(d, n int) {
	a.word(0x4ea01c00|uint32(n)<<16|uint32(n)<<5|uint32(d), "mov v%d.16b, v%d.16b", d, n)
}

// load and store move 16 bytes, at a multiple of 16.
func (a *assembly) load(d, r, off int) {
	a.word(0x3dc00000|uint32(off/16)<<10|uint32(r)<<5|uint32(d), "ldr q%d, [x%d, #%d]", d, r, off)
}

func (a *assembly) store(d, r, off int) {
	a.word(0x3d800000|uint32(off/16)<<10|uint32(r)<<5|uint32(d), "str q%d, [x%d, #%d]", d, r, off)
}

// loadScalar and storeScalar move a number, at a multiple of 4.
func (a *assembly) loadScalar(d, r, off int) {
	a.word(0xbd400000|uint32(off/4)<<10|uint32(r)<<5|uint32(d), "ldr s%d, [x%d, #%d]", d, r, off)
}

func (a *assembly) storeScalar(d, r, off int) {
	a.word(0xbd000000|uint32(off/4)<<10|uint32(r)<<5|uint32(d), "str s%d, [x%d, #%d]", d, r, off)
}

func (a *assembly) loadAll(d, r, off int) {
	a.loadScalar(d, r, off)
	a.dup(d, d)
}

// loadQuads deals 64 bytes out to four registers in turn.
func (a *assembly) loadQuads(d, r int) {
	a.word(0x4c400000|uint32(r)<<5|uint32(d), "ld4 {v%d.16b-v%d.16b}, [x%d]", d, d+3, r)
}

// addImmediate takes n below 4096.
func (a *assembly) addImmediate(r, n int) { a.line("ADD $%d, R%d, R%d", n, r, r) }

// loop counts down by step, from a multiple of it.
func (a *assembly) loop(name string, r, step int, body func()) {
	a.label(name)
	body()
	a.line("SUBS $%d, R%d, R%d", step, r, r)
	a.line("BNE %s", name)
}

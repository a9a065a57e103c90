package kernel

// depth is how many rows of a panel of weights are made into numbers at a time: 24 KB, which leaves
// room in a first-level cache of 32 KB.
const depth = 192

// integerDepth is the same for a panel that is used as it is.
const integerDepth = 768

// A Rounded is the left side of products with quantised panels: rows of numbers, each Group of which
// were rounded to whole multiples of a 127th of the largest of them. Every Set rounds alike, so that a
// machine that multiplies bytes computes what others compute. The zero value is ready for use; it keeps
// its memory for the next matrix. It serves one goroutine at a time.
type Rounded struct {
	columns int
	rows    int
	exact   []float32 // what was rounded, if Fine
	values  []float32 // what it was rounded to, or
	planes  [2]plane  // the same in bytes; if Fine, the second one is what the first took away
	rest    []float32
	panel   [depth * Width]float32
}

// A plane holds the codes of numbers and what belongs to each group of them: how much a code is worth,
// and -codeZero times their sum, which takes away what weights with codeZero added bring too much.
type plane struct {
	codes   []int8
	scales  []float32
	offsets []int32
}

func (p *plane) size(n int) {
	p.codes, p.scales, p.offsets = grown(p.codes, n), grown(p.scales, n/Group), grown(p.offsets, n/Group)
}

// from is the plane from the given group on.
func (p plane) from(group int) plane {
	return plane{p.codes[group*Group:], p.scales[group:], p.offsets[group:]}
}

// A Precision says how near a Rounded is to what was rounded.
type Precision int

// Coarse numbers have an error of a 254th of the largest of their group at most, Fine ones of a
// 60,000th; their product takes twice as long.
const (
	Coarse Precision = iota
	Fine
)

// integer is what a set has that multiplies bytes.
type integer struct {
	tile int // how many rows multiply takes at a time
	// quantise sets codes, scales and offsets to x rounded, and rest, if it is not nil, to x less that.
	quantise func(to plane, x, rest []float32)
	// multiply, for 1 to tile rows, adds the product of the first groups of each and a panel to c. From
	// one row to the next there are stride groups.
	multiply func(rows, groups int, a plane, stride int, p panel, c []float32, ldc int)
}

// withIntegers is a set that also multiplies bytes.
func withIntegers(s *Set, name string, x *integer) *Set {
	more := *s
	more.name, more.integer = name, x
	return &more
}

// A panel is one of quantised weights, from some row on.
type panel struct {
	codes  []byte
	scales []float32
}

func (p panel) from(row int) panel { return panel{p.codes[row*Width:], p.scales[row/Group*Width:]} }

// Round sets r to the numbers of x, rounded; x has rows of the given number of columns, a multiple of
// Group. It is not to change while r is used, if r is to be Fine.
func (s *Set) Round(r *Rounded, x []float32, columns int, precision Precision) {
	if columns <= 0 || columns%Group != 0 || len(x)%columns != 0 {
		panic("kernel: rows to round are not whole groups")
	}
	r.columns, r.rows, r.exact = columns, len(x)/columns, nil
	if precision == Fine {
		r.exact = x
	}
	if len(x) == 0 {
		return
	}
	if s.integer != nil {
		s.integer.round(r, x, precision)
		return
	}
	r.values = grown(r.values, len(x))
	s.round(r.values, x)
}

func (i *integer) round(r *Rounded, x []float32, precision Precision) {
	r.planes[0].size(len(x))
	if precision == Coarse {
		i.quantise(r.planes[0], x, nil)
		return
	}
	r.rest = grown(r.rest, len(x))
	r.planes[1].size(len(x))
	i.quantise(r.planes[0], x, r.rest)
	i.quantise(r.planes[1], r.rest, nil)
}

// grown is a slice of length n, with the memory of s if that is enough.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// MultiplyPanel adds to c, rows of Width numbers ldc apart, the product of r and a panel as described
// at Dequantise, of as many rows as r has columns. Only what was rounded Fine can be multiplied so.
func (s *Set) MultiplyPanel(r *Rounded, precision Precision, codes []byte, scales []float32, c []float32, ldc int) {
	p := panel{codes[:r.columns*Width], scales[:r.columns/Group*Width]}
	if r.rows == 0 {
		return
	}
	_ = c[(r.rows-1)*ldc+Width-1]
	if precision == Fine && r.exact == nil {
		panic("kernel: rows were not rounded finely")
	}
	if s.integer != nil {
		for _, plane := range r.planes[:1+precision] {
			s.integer.multiplyAll(plane, r.rows, r.columns, p, c, ldc)
		}
		return
	}
	a := r.values
	if precision == Fine {
		a = r.exact
	}
	for at := 0; at < r.columns; at += depth {
		n := min(depth, r.columns-at)
		p := p.from(at)
		s.Dequantise(r.panel[:], p.codes[:n*Width], p.scales)
		s.MultiplyAdd(r.rows, n, a[at:], r.columns, r.panel[:], Width, c, ldc)
	}
}

// multiplyAll goes tile by tile; tiles are of nearly equal height.
func (i *integer) multiplyAll(a plane, rows, columns int, p panel, c []float32, ldc int) {
	tiles := (rows + i.tile - 1) / i.tile
	stride := columns / Group
	for at := 0; at < columns; at += integerDepth {
		groups := min(integerDepth, columns-at) / Group
		for t := range tiles {
			lo, hi := t*rows/tiles, (t+1)*rows/tiles
			i.multiply(hi-lo, groups, a.from(lo*stride+at/Group), stride, p.from(at), c[lo*ldc:], ldc)
		}
	}
}

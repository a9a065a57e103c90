package kernel

// depth rows of weights are dequantised at a time: 24 KB, for a cache of 32 KB.
const depth = 192

// integerDepth is the depth of panels multiplied as bytes.
const integerDepth = 768

// A Rounded is the left side of products with quantised panels: numbers in 127ths of their group's
// largest, in all Sets alike. The zero value is ready; it can be reused. It is not safe for
// concurrent use.
type Rounded struct {
	columns int
	rows    int
	exact   []float32 // before rounding, if Fine
	values  []float32 // after rounding, or
	planes  [2]plane  // its codes; if Fine, the second plane has the remainder
	rest    []float32
	panel   [depth * Width]float32
}

// A plane has codes and, by group, their scale and an offset, which corrects the weights' codeZero.
type plane struct {
	codes   []int8
	scales  []float32
	offsets []int32
}

func (p *plane) size(n int) {
	p.codes, p.scales, p.offsets = grown(p.codes, n), grown(p.scales, n/Group), grown(p.offsets, n/Group)
}

// from returns the plane from a group on.
func (p plane) from(group int) plane {
	return plane{p.codes[group*Group:], p.scales[group:], p.offsets[group:]}
}

// A Precision is that of a Rounded.
type Precision int

// The error is at most a 254th of the group's largest, for Fine a 60,000th. Fine takes twice as
// long.
const (
	Coarse Precision = iota
	Fine
)

// integer multiplies bytes.
type integer struct {
	tile int // how many rows multiply takes at a time
	// quantise rounds x; rest, if not nil, gets the remainder.
	quantise func(to plane, x, rest []float32)
	// multiply adds the product of 1 to tile rows and a panel to c. stride is in groups.
	multiply func(rows, groups int, a plane, stride int, p panel, c []float32, ldc int)
}

func withIntegers(s *Set, name string, x *integer) *Set {
	more := *s
	more.name, more.integer = name, x
	return &more
}

// A panel is quantised weights from some row on.
type panel struct {
	codes  []byte
	scales []float32
}

func (p panel) from(row int) panel { return panel{p.codes[row*Width:], p.scales[row/Group*Width:]} }

// Round sets r to x, whose rows have a multiple of Group columns. If r is Fine, x must not change
// while r is in use.
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

func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}

// MultiplyPanel adds the product of r and a panel (see Dequantise) to c. Precision Fine needs a
// Fine r.
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

// multiplyAll uses tiles of nearly equal height.
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

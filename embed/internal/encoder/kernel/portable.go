package kernel

import "math"

// portable runs on any machine.
var portable = &Set{
	name:       "portable",
	tile:       4,
	multiply:   multiplyPortable,
	dequantise: dequantisePortable,
	round:      roundPortable,
	gelu:       geluPortable,
	softmax:    softmaxPortable,
	layerNorm:  layerNormPortable,
}

func multiplyPortable(rows, depth int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	if rows == 4 {
		multiply4(depth, a, lda, b, ldb, c, ldc)
		return
	}
	for i := range rows {
		multiply1(depth, a[i*lda:], b, ldb, c[i*ldc:])
	}
}

// multiply4 takes four rows and two columns at a time: their sums fit the sixteen registers of
// amd64.
func multiply4(depth int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
	a0, a1, a2, a3 := a[:depth], a[lda:][:depth], a[2*lda:][:depth], a[3*lda:][:depth]
	for j := 0; j < Width; j += 2 {
		var s00, s01, s10, s11, s20, s21, s30, s31 float32
		at := j
		for k := range a0 {
			b0, b1 := b[at], b[at+1]
			at += ldb
			x := a0[k]
			s00 += x * b0
			s01 += x * b1
			x = a1[k]
			s10 += x * b0
			s11 += x * b1
			x = a2[k]
			s20 += x * b0
			s21 += x * b1
			x = a3[k]
			s30 += x * b0
			s31 += x * b1
		}
		addPair(c[j:], s00, s01)
		addPair(c[ldc+j:], s10, s11)
		addPair(c[2*ldc+j:], s20, s21)
		addPair(c[3*ldc+j:], s30, s31)
	}
}

func addPair(c []float32, x, y float32) {
	c[0] += x
	c[1] += y
}

func multiply1(depth int, a, b []float32, ldb int, c []float32) {
	a = a[:depth]
	for j := 0; j < Width; j += 4 {
		var s0, s1, s2, s3 float32
		at := j
		for _, x := range a {
			row := b[at : at+4 : at+4]
			at += ldb
			s0 += x * row[0]
			s1 += x * row[1]
			s2 += x * row[2]
			s3 += x * row[3]
		}
		addPair(c[j:], s0, s1)
		addPair(c[j+2:], s2, s3)
	}
}

func dequantisePortable(dst []float32, codes []byte, scales []float32) {
	for quad := 0; quad*Quad*Width < len(codes); quad++ {
		s := (*[Width]float32)(scales[quad*Quad/Group*Width:])
		from, to := (*[Quad * Width]byte)(codes[quad*Quad*Width:]), (*[Quad * Width]float32)(dst[quad*Quad*Width:])
		for i, code := range from {
			to[i%Quad*Width+i/Quad] = float32(int(code)-codeZero) * s[i/Quad]
		}
	}
}

func roundPortable(dst, x []float32) {
	for at := 0; at < len(x); at += Group {
		group, to := (*[Group]float32)(x[at:]), (*[Group]float32)(dst[at:])
		scale, inverse := groupScale(group)
		for i, v := range group {
			to[i] = float32(math.RoundToEven(float64(v*inverse))) * scale
		}
	}
}

// groupScale returns a group's code step, and its inverse.
func groupScale(group *[Group]float32) (scale, inverse float32) {
	top := float32(minTop)
	for _, v := range group {
		top = max(top, v, -v)
	}
	return top / codeTop, codeTop / top
}

func geluPortable(x []float32) {
	low, high, spread, half := geluTable[0], geluTable[1], geluTable[2], geluTable[4]
	p := (*[13]float32)(geluTable[5:])
	for i, v := range x {
		cut := min(max(v, low), high)
		u := cut*cut*spread - 1
		y := p[0]
		for _, c := range p[1:] {
			y = y*u + c
		}
		x[i] = v * (half + cut*y)
	}
}

func softmaxPortable(x []float32, scale float32) {
	top := x[0]
	for _, v := range x {
		top = max(top, v)
	}
	var sum float32
	for i, v := range x {
		e := exp((v - top) * scale)
		x[i] = e
		sum += e
	}
	for i := range x {
		x[i] /= sum
	}
}

// exp takes x from -80 to 0.
func exp(x float32) float32 {
	x = max(x, expTable[0])
	k := math.Round(float64(x * expTable[1]))
	r := x - float32(k)*expTable[2]
	r -= float32(k) * expTable[3]
	y := expTable[4]
	for _, c := range expTable[5:] {
		y = y*r + c
	}
	return math.Float32frombits(math.Float32bits(y) + uint32(int32(k))<<23)
}

func layerNormPortable(x, add, gain, bias []float32) {
	var sum float32
	for i, v := range add {
		x[i] += v
		sum += x[i]
	}
	mean := sum / float32(len(x))
	var square float32
	for _, v := range x {
		square += (v - mean) * (v - mean)
	}
	inverse := 1 / float32(math.Sqrt(float64(square/float32(len(x))+1e-12)))
	for i, v := range x {
		x[i] = (v-mean)*inverse*gain[i] + bias[i]
	}
}

// Package fence knows which lines open and close fenced code (CommonMark 0.31, section 4.5).
package fence

import "strings"

// A Fence is what opened fenced code: three or more of a mark. The zero Fence is none.
type Fence struct {
	mark   byte // ` or ~
	length int
}

// Opens returns the fence that a line opens; none if it opens none. As in CommonMark, at most three spaces may stand before it: for a
// line in a list, cut the indentation and the marks of the list off.
func Opens(line string) Fence {
	f, info := leading(line)
	if f.mark == '`' && strings.Contains(info, "`") {
		return Fence{} // a code span
	}
	return f
}

// Open tells whether there is a fence.
func (f Fence) Open() bool { return f.length > 0 }

// ClosedBy tells whether a line closes the fence; three spaces may stand before it, as in [Opens].
func (f Fence) ClosedBy(line string) bool {
	end, info := leading(line)
	return f.Open() && end.mark == f.mark && end.length >= f.length && strings.TrimSpace(info) == ""
}

// Next is the fence that is open behind a line that f is open before, and whether the line belongs to code, as a fence does.
func (f Fence) Next(line string) (next Fence, code bool) {
	if !f.Open() {
		next = Opens(line)
		return next, next.Open()
	}
	if f.ClosedBy(line) {
		return Fence{}, true
	}
	return f, true
}

// String is the line that closes the fence.
func (f Fence) String() string { return strings.Repeat(string(f.mark), f.length) }

// leading is the run of marks that a line begins with, if it is one, and what stands behind it.
func leading(line string) (f Fence, info string) {
	text := strings.TrimLeft(line, " ")
	if len(line)-len(text) > 3 || text == "" || text[0] != '`' && text[0] != '~' {
		return Fence{}, ""
	}
	mark := text[:1]
	info = strings.TrimLeft(text, mark)
	if n := len(text) - len(info); n >= 3 {
		return Fence{mark: mark[0], length: n}, info
	}
	return Fence{}, ""
}

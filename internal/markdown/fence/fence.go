// Package fence finds fenced code (CommonMark 0.31, section 4.5).
package fence

import "strings"

// A Fence opens fenced code, unless it is zero.
type Fence struct {
	mark   byte // ` or ~
	length int  // 3 or more
}

// Opens returns the fence that a line opens. In a list, remove indentation and mark first.
func Opens(line string) Fence {
	f, info := leading(line)
	if f.mark == '`' && strings.Contains(info, "`") {
		return Fence{} // a code span
	}
	return f
}

// Open reports whether code is open.
func (f Fence) Open() bool { return f.length > 0 }

// ClosedBy reports whether a line closes the fence.
func (f Fence) ClosedBy(line string) bool {
	end, info := leading(line)
	return f.Open() && end.mark == f.mark && end.length >= f.length && strings.TrimSpace(info) == ""
}

// Next returns the fence after a line, and whether that is code or fence.
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

// String returns the line that closes the fence.
func (f Fence) String() string { return strings.Repeat(string(f.mark), f.length) }

// leading returns the fence after at most three spaces, and the rest.
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

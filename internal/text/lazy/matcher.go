package lazy

import (
	"encoding/binary"
	"fmt"
	"regexp/syntax"
	"slices"
	"sync"
	"sync/atomic"
	"unicode"
	"unicode/utf8"
)

// A matcher tells whether an expression matches. Package regexp follows all ways through an
// expression for each character anew; a matcher does so once for each state that it has met, and
// later looks up the next one: a deterministic automaton, made as texts need it. It is safe for
// concurrent use.
type matcher struct {
	prog     *syntax.Prog
	anchored bool // it matches at the beginning alone
	// looksAt are the conditions of the expression; others do not tell states apart.
	looksAt syntax.EmptyOp

	ascii  [utf8.RuneSelf]uint16
	starts []rune   // of the ranges of characters that no part of the expression tells apart
	ranges []uint16 // their classes
	runes  []rune   // a character of each class
	max    int      // states

	first atomic.Pointer[state]
	mu    sync.Mutex // of what follows
	known map[string]*state
	// emptied is how often all states were dropped, since they were too many.
	emptied int
}

// A state is what is left to match after the characters so far. The next state is by the class of
// the next character, the last one by the end of the text.
type state struct {
	next   []atomic.Pointer[state]
	at     []uint32 // instructions, before what is empty is followed
	before rune     // a character like the last one; -1 at the beginning
}

// Where a match is certain, or none is possible.
var (
	matched = new(state)
	dead    = new(state)
)

const (
	// maxStates bounds the memory of a matcher, in bytes of its tables.
	maxStates = 128 << 10
	// maxEmptied is when a matcher gives up: few texts lead to the same states.
	maxEmptied = 8
	// maxProgram bounds the instructions.
	maxProgram = 1 << 13
)

// newMatcher returns nil for an expression that is too large.
func newMatcher(expression string) *matcher {
	parsed, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil
	}
	prog, err := syntax.Compile(withoutOptional(parsed).Simplify())
	if err != nil || len(prog.Inst) > maxProgram {
		return nil
	}
	m := &matcher{prog: prog, anchored: prog.StartCond()&syntax.EmptyBeginText != 0}
	for _, inst := range prog.Inst {
		if inst.Op == syntax.InstEmptyWidth {
			m.looksAt |= syntax.EmptyOp(inst.Arg)
		}
	}
	m.classify()
	m.max = max(maxStates/8/(len(m.runes)+1), 16)
	m.empty()
	return m
}

// withoutOptional leaves out what an expression need not begin with: it matches the same texts
// without, if not at the same places, in far fewer states.
func withoutOptional(parsed *syntax.Regexp) *syntax.Regexp {
	for parsed.Op == syntax.OpConcat && len(parsed.Sub) > 1 {
		first := parsed.Sub[0]
		if first.Op != syntax.OpStar && first.Op != syntax.OpQuest && (first.Op != syntax.OpRepeat || first.Min > 0) {
			break
		}
		parsed.Sub = parsed.Sub[1:]
	}
	return parsed
}

// classify parts all characters into classes.
func (m *matcher) classify() {
	// A set is the ranges of an instruction; at an edge one begins or ends.
	type edge struct {
		at  rune
		set int
	}
	var edges []edge
	sets := map[string]bool{}
	add := func(ranges []rune) {
		key := fmt.Sprint(ranges) // equal sets are one
		if sets[key] {
			return
		}
		for i := 0; i+1 < len(ranges); i += 2 {
			edges = append(edges, edge{ranges[i], len(sets)}, edge{ranges[i+1] + 1, len(sets)})
		}
		sets[key] = true
	}
	for i := range m.prog.Inst {
		switch inst := &m.prog.Inst[i]; inst.Op {
		case syntax.InstRune, syntax.InstRune1:
			if len(inst.Rune) != 1 {
				add(inst.Rune)
				continue
			}
			one := inst.Rune[0]
			all := []rune{one, one}
			for r := unicode.SimpleFold(one); r != one && syntax.Flags(inst.Arg)&syntax.FoldCase != 0; r = unicode.SimpleFold(r) {
				all = append(all, r, r)
			}
			add(all)
		case syntax.InstRuneAnyNotNL:
			add([]rune{'\n', '\n'})
		}
	}
	add([]rune{'\n', '\n'})
	add([]rune{'0', '9', 'A', 'Z', '_', '_', 'a', 'z'})
	slices.SortFunc(edges, func(a, b edge) int { return int(a.at - b.at) })

	within := make([]byte, (len(sets)+7)/8)
	classes := map[string]uint16{}
	for i, start := 0, rune(0); start <= unicode.MaxRune; {
		for ; i < len(edges) && edges[i].at == start; i++ {
			within[edges[i].set/8] ^= 1 << (edges[i].set % 8)
		}
		class, ok := classes[string(within)]
		if !ok {
			class = uint16(len(m.runes))
			classes[string(within)] = class
			m.runes = append(m.runes, start)
		}
		m.starts, m.ranges = append(m.starts, start), append(m.ranges, class)
		if start = unicode.MaxRune + 1; i < len(edges) {
			start = edges[i].at
		}
	}
	for c := range m.ascii {
		m.ascii[c] = m.classOf(rune(c))
	}
}

func (m *matcher) classOf(r rune) uint16 {
	i, ok := slices.BinarySearch(m.starts, r)
	if !ok {
		i--
	}
	return m.ranges[i]
}

// empty drops all states.
func (m *matcher) empty() {
	m.known = map[string]*state{}
	m.first.Store(m.stateAt(nil, -1))
}

// match reports whether the expression matches. It cannot tell if it has given up.
func (m *matcher) match(text string) (matches, ok bool) {
	s := m.first.Load()
	for i := 0; i < len(text); {
		class := uint16(0)
		if c := text[i]; c < utf8.RuneSelf {
			class = m.ascii[c]
			i++
		} else {
			r, n := utf8.DecodeRuneInString(text[i:])
			class = m.classOf(r)
			i += n
		}
		next := s.next[class].Load()
		if next == nil {
			if next = m.step(s, int(class)); next == nil {
				return false, false
			}
		}
		if next == matched || next == dead {
			return next == matched, true
		}
		s = next
	}
	end := len(s.next) - 1
	next := s.next[end].Load()
	if next == nil {
		if next = m.step(s, end); next == nil {
			return false, false
		}
	}
	return next == matched, true
}

// step finds the next state, and nil if the matcher has given up. Readers may still hold states
// that were dropped: they lead to new ones.
func (m *matcher) step(s *state, class int) *state {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.emptied > maxEmptied {
		return nil
	}
	next := m.follow(s, class)
	s.next[class].Store(next)
	return next
}

func (m *matcher) follow(s *state, class int) *state {
	r := rune(-1) // the end
	if class < len(m.runes) {
		r = m.runes[class]
	}
	flags := syntax.EmptyOpContext(s.before, r)
	seen := make([]bool, len(m.prog.Inst))
	var next []uint32
	found := false
	var visit func(pc uint32)
	visit = func(pc uint32) {
		if seen[pc] || found {
			return
		}
		seen[pc] = true
		switch inst := &m.prog.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			visit(inst.Out)
			visit(inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			visit(inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&^flags == 0 {
				visit(inst.Out)
			}
		case syntax.InstMatch:
			found = true
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if r >= 0 && inst.MatchRune(r) && !slices.Contains(next, inst.Out) {
				next = append(next, inst.Out)
			}
		}
	}
	for _, pc := range s.at {
		visit(pc)
	}
	if !m.anchored || s.before < 0 {
		visit(uint32(m.prog.Start))
	}
	switch {
	case found:
		return matched
	case r < 0, len(next) == 0 && m.anchored:
		return dead
	}
	return m.stateAt(next, m.like(r))
}

// like returns one character for all that the conditions of the expression do not tell apart.
func (m *matcher) like(r rune) rune {
	switch {
	case syntax.IsWordChar(r) && m.looksAt&(syntax.EmptyWordBoundary|syntax.EmptyNoWordBoundary) != 0:
		return 'a'
	case r == '\n' && m.looksAt&syntax.EmptyBeginLine != 0:
		return '\n'
	}
	return ' '
}

// stateAt returns the state at some instructions, which it takes.
func (m *matcher) stateAt(at []uint32, before rune) *state {
	slices.Sort(at)
	key := binary.AppendVarint(nil, int64(before))
	for _, pc := range at {
		key = binary.AppendUvarint(key, uint64(pc))
	}
	if s := m.known[string(key)]; s != nil {
		return s
	}
	if len(m.known) >= m.max {
		m.emptied++
		m.empty()
	}
	s := &state{next: make([]atomic.Pointer[state], len(m.runes)+1), at: at, before: before}
	m.known[string(key)] = s
	return s
}

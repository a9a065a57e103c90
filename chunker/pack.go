package chunker

import "slices"

// A packer joins atoms, in the order of the text, to chunks.
//
// What fits a chunk stays together. What does not is cut when the target is reached; so the last
// chunk of a section is never a small rest.
type packer struct {
	limits
	text  string
	emit  func(piece)
	atoms []atom
	sum   int    // size of atoms, and of the overlap before them
	lead  int    // where the overlap before atoms begins, -1 if there is none
	held  *piece // made but not given away: something may yet join it
}

// A piece is a chunk to be.
type piece struct {
	span
	section *section
	header  string
}

func newPacker(l limits, text string, emit func(piece)) *packer {
	return &packer{limits: l, text: text, emit: emit, lead: -1}
}

func (p *packer) add(a atom) {
	p.atoms = append(p.atoms, a)
	p.sum += a.size
	for len(p.atoms) > 1 && p.sum+p.context() > p.max {
		p.cut(p.prefix())
	}
}

// endSection makes chunks of what there is. What says nothing by itself waits for what comes next.
func (p *packer) endSection() {
	for len(p.atoms) > 0 && !p.allHollow(len(p.atoms)) {
		p.cut(len(p.atoms))
	}
}

// finish makes chunks of all that is left.
func (p *packer) finish() {
	p.endSection()
	if p.held != nil && len(p.atoms) > 0 {
		p.join()
	}
	for len(p.atoms) > 0 {
		p.cut(len(p.atoms))
	}
	p.release()
}

// join adds the atoms to the chunk before them if they fit there.
func (p *packer) join() {
	longer := *p.held
	longer.end = p.atoms[len(p.atoms)-1].end
	if p.fits(longer) {
		*p.held = longer
		p.drop(len(p.atoms))
	}
}

func (p *packer) release() {
	if p.held != nil {
		p.emit(*p.held)
		p.held = nil
	}
}

// allHollow tells whether the first n atoms say nothing by themselves.
func (p *packer) allHollow(n int) bool {
	return !slices.ContainsFunc(p.atoms[:n], func(a atom) bool { return !a.hollow })
}

// leader is the atom that says where a chunk of the first n atoms belongs.
func (p *packer) leader(n int) *atom {
	for i := range p.atoms[:n] {
		if !p.atoms[i].hollow {
			return &p.atoms[i]
		}
	}
	return &p.atoms[n-1]
}

func (p *packer) context() int {
	a := p.leader(len(p.atoms))
	return a.section.size + p.atoms[0].headerLen
}

// prefix is how many of the atoms make the next chunk.
func (p *packer) prefix() int {
	target := max(p.target-p.context(), p.target/2)
	n, sum := 1, p.sum
	for _, a := range p.atoms[1:] {
		sum -= a.size
	}
	for n < len(p.atoms) && sum+p.atoms[n].size <= target {
		sum += p.atoms[n].size
		n++
	}
	n = p.unbound(n, sum)
	for n < len(p.atoms) && p.allHollow(n) {
		n++ // cut takes back what is too much
	}
	return n
}

// unbound moves a cut after the first n atoms, of size sum, to a place where no atom binds to the
// next one: back, if that leaves half of the target and what is put off fits a chunk together with
// what it binds to; else on, as far as fits; else not at all.
func (p *packer) unbound(n, sum int) int {
	if n == len(p.atoms) || !p.atoms[n-1].binds {
		return n
	}
	room := p.max - p.context()
	left, bound := sum, p.atoms[n].size
	for i := n; i > 1 && p.atoms[i-1].binds; i-- {
		left -= p.atoms[i-1].size
		bound += p.atoms[i-1].size
		if left < p.target/2 || bound > room {
			break
		}
		if !p.atoms[i-2].binds {
			return i - 1
		}
	}
	for i := n; i < len(p.atoms); i++ {
		if sum += p.atoms[i].size; sum > room {
			break
		}
		if !p.atoms[i].binds {
			return i + 1
		}
	}
	return n
}

// cut makes a chunk of the first n atoms, or of fewer if they do not fit.
func (p *packer) cut(n int) {
	for {
		next := p.piece(n)
		if p.fits(next) {
			p.release()
			p.held = &next
			p.drop(n)
			return
		}
		switch {
		case p.lead >= 0:
			p.forgetLead()
		case n > 1:
			n = min(n-(n+15)/16, p.prefix())
		case !p.splitFirst():
			p.release()
			p.held = &next
			p.drop(1)
			return
		}
	}
}

func (p *packer) piece(n int) piece {
	first, leader := p.atoms[0], p.leader(n)
	s := span{first.start, p.atoms[n-1].end}
	if p.lead >= 0 {
		s.start = p.lead
	}
	return piece{span: s, section: leader.section, header: first.header}
}

func (p *packer) fits(c piece) bool {
	if c.end-c.start > p.max*bytesPerToken {
		return false
	}
	return p.size(c.section.embed(c.header, c.of(p.text))) <= p.max
}

// splitFirst cuts the first atom in two, if that can be done.
func (p *packer) splitFirst() bool {
	a := p.atoms[0]
	n := p.fit(a.of(p.text), max(a.size*3/4, 1))
	if n >= a.end-a.start {
		n = characterBorder(a.of(p.text), n/2)
	}
	if n >= a.end-a.start {
		return false
	}
	rest := a
	rest.start = afterBlank(p.text[:a.end], a.start+n)
	a.end = a.start + len(trimEnd(p.text[a.start:a.start+n]))
	rest.continued = false
	p.sum -= p.atoms[0].size
	halves := []atom{a, rest}
	for i := range halves {
		halves[i].size = max(1, p.size(halves[i].of(p.text)))
		p.sum += halves[i].size
	}
	p.atoms = slices.Replace(p.atoms, 0, 1, halves...)
	return true
}

func (p *packer) forgetLead() {
	p.sum -= p.size(p.text[p.lead:p.atoms[0].start])
	p.lead = -1
}

// drop removes the first n atoms, and remembers the overlap if prose goes on after them.
func (p *packer) drop(n int) {
	if p.lead >= 0 {
		p.forgetLead()
	}
	for _, a := range p.atoms[:n] {
		p.sum -= a.size
	}
	before := p.atoms[0]
	p.atoms = p.atoms[n:]
	if len(p.atoms) == 0 {
		return
	}
	next := p.atoms[0]
	if !next.continued {
		return
	}
	from := max(next.paragraph, before.start+1)
	if lead := p.overlapFrom(p.text, from, next.start); lead < next.start {
		p.lead = lead
		p.sum += p.size(p.text[lead:next.start])
	}
}

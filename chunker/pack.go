package chunker

import "slices"

// A packer joins atoms, in order, to chunks. Too many are cut at the target, so that no small chunk
// is last.
type packer struct {
	limits
	text      string
	emit      func(piece)
	atoms     []atom
	sum       int    // size of atoms, and of the overlap before them
	overlapAt int    // where the overlap before atoms begins, -1 if there is none
	pending   *piece // the last chunk: atoms may still join it
}

// A piece is a chunk to be.
type piece struct {
	span
	section *section
	header  string
}

func newPacker(l limits, text string, emit func(piece)) *packer {
	return &packer{limits: l, text: text, emit: emit, overlapAt: -1}
}

func (p *packer) add(a atom) {
	p.atoms = append(p.atoms, a)
	p.sum += a.size
	for len(p.atoms) > 1 && p.sum+p.context() > p.max {
		p.cut(p.prefix())
	}
}

// endSection leaves hollow atoms to the next section.
func (p *packer) endSection() {
	for len(p.atoms) > 0 && !p.allHollow(len(p.atoms)) {
		p.cut(len(p.atoms))
	}
}

// finish makes chunks of the last atoms.
func (p *packer) finish() {
	p.endSection()
	if p.pending != nil && len(p.atoms) > 0 {
		p.join()
	}
	for len(p.atoms) > 0 {
		p.cut(len(p.atoms))
	}
	p.release()
}

// join adds the atoms to the pending chunk, if possible.
func (p *packer) join() {
	longer := *p.pending
	longer.end = p.atoms[len(p.atoms)-1].end
	if p.fits(longer) {
		*p.pending = longer
		p.drop(len(p.atoms))
	}
}

func (p *packer) release() {
	if p.pending != nil {
		p.emit(*p.pending)
		p.pending = nil
	}
}

// allHollow reports whether the first n atoms mean nothing alone.
func (p *packer) allHollow(n int) bool {
	return !slices.ContainsFunc(p.atoms[:n], func(a atom) bool { return !a.hollow })
}

// leader decides the section of the first n atoms.
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

// prefix returns how many atoms make the next chunk.
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
	n = p.keepTogether(n, sum)
	for n < len(p.atoms) && p.allHollow(n) {
		n++ // cut takes fewer if they do not fit
	}
	return n
}

// keepTogether moves a cut after n atoms, of size sum, if it would separate an atom from the next
// one it belongs to: back if half of the target stays, else forward if that fits.
func (p *packer) keepTogether(n, sum int) int {
	if n == len(p.atoms) || !p.atoms[n-1].keepWithNext {
		return n
	}
	room := p.max - p.context()
	left, bound := sum, p.atoms[n].size
	for i := n; i > 1 && p.atoms[i-1].keepWithNext; i-- {
		left -= p.atoms[i-1].size
		bound += p.atoms[i-1].size
		if left < p.target/2 || bound > room {
			break
		}
		if !p.atoms[i-2].keepWithNext {
			return i - 1
		}
	}
	for i := n; i < len(p.atoms); i++ {
		if sum += p.atoms[i].size; sum > room {
			break
		}
		if !p.atoms[i].keepWithNext {
			return i + 1
		}
	}
	return n
}

// cut makes a chunk of at most n atoms.
func (p *packer) cut(n int) {
	for {
		next := p.piece(n)
		if p.fits(next) {
			p.release()
			p.pending = &next
			p.drop(n)
			return
		}
		switch {
		case p.overlapAt >= 0:
			p.dropOverlap()
		case n > 1:
			n = min(n-(n+15)/16, p.prefix())
		case !p.splitFirst():
			p.release()
			p.pending = &next
			p.drop(1)
			return
		}
	}
}

func (p *packer) piece(n int) piece {
	first, leader := p.atoms[0], p.leader(n)
	s := span{first.start, p.atoms[n-1].end}
	if p.overlapAt >= 0 {
		s.start = p.overlapAt
	}
	return piece{span: s, section: leader.section, header: first.header}
}

func (p *packer) fits(c piece) bool {
	if c.end-c.start > p.max*bytesPerToken {
		return false
	}
	return p.size(c.section.embed(c.header, c.of(p.text))) <= p.max
}

// splitFirst splits the first atom in two, if possible.
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

func (p *packer) dropOverlap() {
	p.sum -= p.size(p.text[p.overlapAt:p.atoms[0].start])
	p.overlapAt = -1
}

// drop removes n atoms and overlaps continued prose.
func (p *packer) drop(n int) {
	if p.overlapAt >= 0 {
		p.dropOverlap()
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
		p.overlapAt = lead
		p.sum += p.size(p.text[lead:next.start])
	}
}

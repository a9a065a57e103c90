package cache

import (
	"slices"
	"sync"
)

// A claim is a call's right to make a vector. vec may be read after done is closed; nil is a
// failure.
type claim struct {
	done chan struct{}
	vec  []float32
}

// pending vectors are being made by calls of this process.
type pending struct {
	mu     sync.Mutex
	claims map[key]*claim
}

// claim divides items into those that the caller must settle, and those in progress.
func (p *pending) claim(items []item) (mine []item, theirs map[key]*claim) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.claims == nil {
		p.claims = make(map[key]*claim)
	}
	theirs = make(map[key]*claim)
	for _, it := range items {
		if other := p.claims[it.key]; other != nil {
			theirs[it.key] = other
			continue
		}
		it.claim = &claim{done: make(chan struct{})}
		p.claims[it.key] = it.claim
		mine = append(mine, it)
	}
	return mine, theirs
}

// settle ends the claims on items. It skips settled ones: another call may have claimed that key
// since.
func (p *pending) settle(items []item, found map[key][]float32) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, it := range items {
		if p.claims[it.key] != it.claim {
			continue
		}
		it.claim.vec = slices.Clone(found[it.key]) // a caller may change found's own
		delete(p.claims, it.key)
		close(it.claim.done)
	}
}

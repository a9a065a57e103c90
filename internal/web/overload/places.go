package overload

import (
	"sync"
	"time"
)

const (
	// young holders keep their place, to send a request.
	young = 100 * time.Millisecond
	// patience is how long a client may not read while others wait for its place.
	patience = 2 * time.Second
)

// Places is safe for concurrent use. When full, a new holder replaces one that waits or stalls: the
// oldest newcomer while newcomers wait in more than half of the places, else the regular that
// waited longest (segmented LRU). So neither group shuts out the other.
type Places[K comparable] struct {
	Max int

	mu  sync.Mutex
	all map[K]*place
}

type place struct {
	works   int       // how often; at 0 the holder waits
	stalls  time.Time // since when its client does not let it work; zero if it does
	since   time.Time // of a newcomer, its arrival; of a regular, when it began to wait
	regular bool
}

func (p *place) waits() bool {
	return p.works == 0 || !p.stalls.IsZero() && time.Since(p.stalls) > patience
}

// Take gives k a place. If it replaces out, the caller closes that. If wait is not 0, the one to
// replace is young: try again after wait, or with force. Else, without ok, all work.
func (p *Places[K]) Take(k K, force bool) (out K, replaces bool, wait time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[K]*place{}
	}
	if p.all[k] == nil && len(p.all) >= p.Max {
		if out, replaces = p.oldest(); !replaces {
			return out, false, 0, false
		}
		if wait := young - time.Since(p.all[out].since); wait > 0 && !force {
			return out, false, wait, false
		}
		delete(p.all, out)
	}
	if p.all[k] == nil {
		p.all[k] = &place{since: time.Now()}
	}
	return out, replaces, 0, true
}

// oldest returns the holder to replace, if any waits.
func (p *Places[K]) oldest() (k K, ok bool) {
	newcomers, regulars := 0, 0
	for _, at := range p.all {
		switch {
		case !at.waits():
		case at.regular:
			regulars++
		default:
			newcomers++
		}
	}
	regular := regulars > 0 && newcomers <= p.Max/2
	for other, at := range p.all {
		if at.waits() && at.regular == regular && (!ok || at.since.Before(p.all[k].since)) {
			k, ok = other, true
		}
	}
	return k, ok
}

// Work keeps k's place until as many Waits follow, and reports whether places are short.
func (p *Places[K]) Work(k K) (short bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.all[k]; at != nil {
		at.works++
	}
	return len(p.all) > p.Max*3/4
}

// Wait lets k be replaced. A regular remains one.
func (p *Places[K]) Wait(k K, regular bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.all[k]
	if at == nil {
		return
	}
	at.works = max(at.works-1, 0)
	if at.regular = at.regular || regular; at.regular {
		at.since = time.Now()
	}
}

// Stall says since when k cannot work; zero if it can. After patience k may be replaced.
func (p *Places[K]) Stall(k K, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.all[k]; at != nil {
		at.stalls = since
	}
}

// Leave frees k's place.
func (p *Places[K]) Leave(k K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, k)
}

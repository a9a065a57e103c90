package overload

import (
	"container/list"
	"sync"
	"time"
)

// young holders keep their place, to send a request.
const young = 100 * time.Millisecond

// Places is safe for concurrent use. When full, a new holder replaces a waiting one: the oldest
// newcomer while newcomers wait in more than half of the places, else the regular that waited
// longest (segmented LRU). So neither group shuts out the other.
type Places[K comparable] struct {
	Most int

	mu                  sync.Mutex
	all                 map[K]*place
	newcomers, regulars list.List // of K: those that wait, the longest first
}

type place struct {
	waits   *list.Element // nil while the holder works
	works   int           // how often
	since   time.Time     // of a newcomer, its arrival; of a regular, when it began to wait
	regular bool
}

// Take gives k a place. If it replaces out, the caller closes that. If wait is not 0, the one to
// replace is young: try again after wait, or with force. Else, without ok, all work.
func (p *Places[K]) Take(k K, force bool) (out K, replaces bool, wait time.Duration, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all == nil {
		p.all = map[K]*place{}
	}
	if p.all[k] != nil {
		return out, false, 0, true
	}
	if len(p.all) >= p.Most {
		from := &p.newcomers
		if p.regulars.Len() > 0 && p.newcomers.Len() <= p.Most/2 {
			from = &p.regulars
		}
		oldest := from.Front()
		if oldest == nil {
			return out, false, 0, false
		}
		out, replaces = oldest.Value.(K), true
		if wait := young - time.Since(p.all[out].since); wait > 0 && !force {
			return out, false, wait, false
		}
		from.Remove(oldest)
		delete(p.all, out)
	}
	p.all[k] = &place{waits: p.newcomers.PushBack(k), since: time.Now()}
	return out, replaces, 0, true
}

// Work keeps k's place until as many Waits follow.
func (p *Places[K]) Work(k K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.all[k]; at != nil {
		at.works++
		p.unlist(at)
	}
}

// Wait lets k be replaced. A regular remains one.
func (p *Places[K]) Wait(k K, regular bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := p.all[k]
	if at == nil {
		return
	}
	p.unlist(at)
	at.regular = at.regular || regular
	if at.works = max(at.works-1, 0); at.works > 0 {
		return
	}
	if at.regular {
		at.since = time.Now()
		at.waits = p.regulars.PushBack(k)
		return
	}
	before := p.newcomers.Back() // newcomers keep the order of their arrival
	for before != nil && p.all[before.Value.(K)].since.After(at.since) {
		before = before.Prev()
	}
	if before == nil {
		at.waits = p.newcomers.PushFront(k)
	} else {
		at.waits = p.newcomers.InsertAfter(k, before)
	}
}

// Leave frees k's place.
func (p *Places[K]) Leave(k K) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at := p.all[k]; at != nil {
		p.unlist(at)
		delete(p.all, k)
	}
}

func (p *Places[K]) unlist(at *place) {
	if at.waits == nil {
		return
	}
	if at.regular {
		p.regulars.Remove(at.waits)
	} else {
		p.newcomers.Remove(at.waits)
	}
	at.waits = nil
}

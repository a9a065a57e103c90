package main

import "container/list"

// An lru is a set of tenants that together fit into a budget: the most recently used ones.
type lru struct {
	budget, used float64 // bytes
	order        list.List
	items        map[int]*list.Element
}

type item struct {
	tenant int
	bytes  float64
}

func newLRU(budget float64) *lru { return &lru{budget: budget, items: map[int]*list.Element{}} }

func (l *lru) has(tenant int) bool { return l.items[tenant] != nil }

// use adds a tenant or makes it the most recent one, and drops others as necessary. It never drops
// that tenant.
func (l *lru) use(tenant int, bytes float64, dropped func(tenant int)) {
	if e := l.items[tenant]; e != nil {
		l.order.MoveToFront(e)
		return
	}
	l.items[tenant] = l.order.PushFront(item{tenant, bytes})
	l.used += bytes
	for l.used > l.budget && l.order.Len() > 1 {
		oldest := l.order.Back().Value.(item).tenant
		l.drop(oldest)
		dropped(oldest)
	}
}

func (l *lru) drop(tenant int) {
	if e := l.items[tenant]; e != nil {
		l.used -= l.order.Remove(e).(item).bytes
		delete(l.items, tenant)
	}
}

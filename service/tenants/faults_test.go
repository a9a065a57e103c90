package tenants

import (
	"context"
	"sync"
)

// faults make a storage in memory fail or wait. The zero value makes none.
type faults struct {
	faultMu sync.Mutex
	fault   func(op string, after bool) error // called before and behind each step; may be nil
}

func (f *faults) setFault(fault func(op string, after bool) error) {
	f.faultMu.Lock()
	defer f.faultMu.Unlock()
	f.fault = fault
}

// call does a step of op with a lock. Whatever fails behind it has happened.
func (f *faults) call(ctx context.Context, mu *sync.Mutex, op string, do func() error) error {
	f.faultMu.Lock()
	fault := f.fault
	f.faultMu.Unlock()
	if fault == nil {
		fault = func(string, bool) error { return nil }
	}
	if err := fault(op, false); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	mu.Lock()
	err := do()
	mu.Unlock()
	if failed := fault(op, true); failed != nil {
		return failed
	}
	return err
}

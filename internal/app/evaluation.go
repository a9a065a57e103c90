package app

import (
	"errors"
	"sync"
	"time"

	"github.com/memcore/memcore/eval"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app/kind"
)

const (
	// longestRun bounds a run in the background.
	longestRun = 10 * time.Minute
	// mostCases bounds its cases.
	mostCases = 2000
)

// An evaluation is the run of cases in the background, one at a time.
type evaluation struct {
	wanted chan []eval.Case

	mu      sync.Mutex
	running *httpapi.Running // nil for none
	failed  string
	ended   bool
}

func newEvaluation() *evaluation { return &evaluation{wanted: make(chan []eval.Case, 1)} }

// start asks for a run, unless one is running.
func (e *evaluation) start(cases []eval.Case) (httpapi.Running, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.ended:
		return httpapi.Running{}, httpapi.ErrClosed
	case e.running != nil:
		return *e.running, kind.As(kind.Conflict, errors.New("the cases are being asked already; the result comes when that is done"))
	}
	e.running, e.failed = &httpapi.Running{Since: time.Now(), Total: len(cases)}, ""
	e.wanted <- cases // has room, since nothing is running
	return *e.running, nil
}

func (e *evaluation) progress(done int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running.Done = done
}

// finish ends a run with its error, if any.
func (e *evaluation) finish(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running = nil; err != nil {
		e.failed = err.Error()
	}
}

// end refuses further runs.
func (e *evaluation) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running, e.ended = nil, true
}

// state returns how far a run is, and why the last one failed.
func (e *evaluation) state() (*httpapi.Running, string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running == nil {
		return nil, e.failed
	}
	now := *e.running
	return &now, e.failed
}

package app

import (
	"fmt"
	"slices"
	"sync"

	"github.com/memcore/memcore/core/curated"
)

// notices are messages that wait for the next trace.
type notices struct {
	sync.Mutex
	waiting  []string
	problems []string // already reported
}

// take returns what waits, once.
func (n *notices) take() []string {
	n.Lock()
	defer n.Unlock()
	taken := n.waiting
	n.waiting = nil
	return taken
}

// keepPrivate makes git ignore private files. It notes that for the next trace, and each problem
// once.
func (s *Service) keepPrivate(layer *curated.Layer, m curated.Memory) {
	did, problems := s.Curated().KeepPrivate(layer, m)
	if err := s.NotCurated(); err != nil {
		problems = append(problems, fmt.Sprintf("the workspace's memory files are not used: %v", err))
	}
	s.notices.Lock()
	defer s.notices.Unlock()
	for _, text := range problems {
		if !slices.Contains(s.notices.problems, text) {
			s.notices.problems, did = append(s.notices.problems, text), append(did, text)
		}
	}
	for _, text := range did {
		s.Log.Warn(text)
	}
	s.notices.waiting = append(s.notices.waiting, did...)
}

package app

import (
	"fmt"
	"sync"

	"github.com/memcore/memcore/core/curated"
)

// notices are messages that wait for the next trace.
type notices struct {
	sync.Mutex
	waiting  []string
	problems map[string]bool // already reported
}

func newNotices() *notices { return &notices{problems: map[string]bool{}} }

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
		if !s.notices.problems[text] {
			s.notices.problems[text] = true
			did = append(did, text)
		}
	}
	for _, text := range did {
		s.Log.Warn(text)
	}
	s.notices.waiting = append(s.notices.waiting, did...)
}

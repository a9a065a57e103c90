package app

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/memcore/memcore/inject/turn"
)

// Values of --system.
const (
	SystemAuto = "auto"
	SystemOn   = "on"
	SystemOff  = "off"
)

// SystemFlags say what goes into system messages.
type SystemFlags struct {
	When    string // SystemAuto, SystemOn or SystemOff
	Session string // whose overview it has; "" for the one used last
}

// System gives text for system messages; nil for none.
func (s *Service) System(f SystemFlags) (func(context.Context) (turn.System, error), error) {
	if f.When == SystemOff {
		return nil, nil
	}
	if _, err := s.Sessions().AtHand(f.Session); err != nil {
		return nil, err
	}
	text := &systemText{Service: s, SystemFlags: f}
	return text.now, nil
}

// A systemText is safe for concurrent use.
type systemText struct {
	*Service
	SystemFlags

	mu   sync.Mutex
	last turn.System
}

// now returns the last text after an error: another one voids the provider's prompt cache.
func (t *systemText) now(ctx context.Context) (turn.System, error) {
	text, err := t.read(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err != nil && t.last.Curated+t.last.Reference != "" {
		return t.last, err
	}
	t.last = text
	return text, err
}

func (t *systemText) read(ctx context.Context) (turn.System, error) {
	if t.When == SystemAuto && !t.Trusted() {
		return turn.System{}, nil
	}
	current, err := t.Sessions().AtHand(t.Session)
	if err != nil {
		return turn.System{}, err
	}
	start, err := t.beginning(t.Dir).read(ctx, current, nil, 0)
	whole := slices.Sorted(maps.Keys(start.Stamps))
	return turn.System{Curated: start.Curated, Reference: start.Reference, Whole: whole}, err
}

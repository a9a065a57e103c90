package app

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/memcore/memcore/inject/hook"
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

// System returns a function that gives text for system messages; nil for none. It is safe for
// concurrent use.
func (s *Service) System(f SystemFlags) (func(context.Context) (turn.System, error), error) {
	if f.When == SystemOff {
		return nil, nil
	}
	if _, err := s.Sessions().AtHand(f.Session); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var last turn.System
	return func(ctx context.Context) (turn.System, error) {
		if f.When == SystemAuto && !s.Trusted() {
			return turn.System{}, nil
		}
		current, err := s.Sessions().AtHand(f.Session)
		var start hook.Beginning
		if err == nil {
			start, err = s.beginning(ctx, s.Dir, current, loading{}, 0)
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil && last.Curated+last.Reference != "" {
			return last, err // another text would void the provider's prompt cache
		}
		last = turn.System{Curated: start.Curated, Reference: start.Reference, Whole: slices.Sorted(maps.Keys(start.Stamps)), Standing: start.Standing}
		return last, err
	}, nil
}

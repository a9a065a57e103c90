package kind

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/store"
)

func TestOf(t *testing.T) {
	for want, err := range map[Kind]error{
		Failure:     errors.New("disk full"),
		BadInput:    Hint(Usagef("--limit is 0"), "name another"),
		Forbidden:   fmt.Errorf("save: %w", notes.ErrUnseen),
		NotFound:    Hint(session.ErrNoSession, "make one"),
		Conflict:    notes.ErrChanged,
		Damaged:     errors.Join(store.ErrCorrupt, context.Canceled),
		Unavailable: context.Canceled,
		Late:        context.DeadlineExceeded,
	} {
		require.Equal(t, want, Of(err), "%v", err)
	}
	for _, unknown := range []error{core.ErrNotIndexed, core.ErrNotForgotten, notes.ErrStatement} {
		require.Equal(t, BadInput, Of(fmt.Errorf("forget: %w", unknown)), "what forget does not know is a wrong argument: %v", unknown)
	}
	require.Equal(t, Unavailable, Of(As(Unavailable, notes.ErrChanged)), "the mark counts")
	require.Equal(t, "name another", HintOf(fmt.Errorf("search: %w", Hint(Usagef("--limit is 0"), "name another"))))
	require.Empty(t, HintOf(notes.ErrChanged))
}

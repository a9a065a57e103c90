package app

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/turn"
)

// A turn is in the journal once, however often its tools let the agent ask again. A late one is,
// too, and does not stand for the answer to the next try.
func TestRecordTurns(t *testing.T) {
	s := newTestService(t)
	record := s.RecordTurns("proxy", "chat request")
	hit := core.MemoryHit{ID: "1", Source: "a.md#L1-L3", Path: "a.md", TokenEstimate: 12}
	asked := turn.Outcome{Query: "which port?", Took: time.Millisecond, Report: turn.Report{Reason: turn.ReasonLate}}
	record(asked)
	asked.Report, asked.Text, asked.Result = turn.Report{Rules: []string{"rule.md"}}, "block", core.Result{State: core.StateReady, Hits: []core.MemoryHit{hit}}
	record(asked)
	record(asked)
	record(turn.Outcome{Query: "what is a monad?", Report: turn.Report{Reason: turn.ReasonNothing}, Result: core.Result{State: core.StateReady}})

	entries, err := s.Use().Entries()
	require.NoError(t, err)
	require.Len(t, entries, 3)
	late, given, silent := entries[0], entries[1], entries[2]
	require.Equal(t, turn.ReasonLate, late.Undelivered)
	require.Empty(t, late.Given)
	require.Equal(t, "which port?", given.Prompt)
	require.Empty(t, given.Undelivered)
	require.Equal(t, 5, given.Added)
	require.Equal(t, "a.md#L1-L3", given.Passages()[0].Source)
	require.Equal(t, "rule.md", given.Rules[0].Path)
	require.Equal(t, turn.ReasonNothing, silent.Reason)

	s.Settings.Hook.Log = false
	record(turn.Outcome{Query: "and the host?"})
	entries, err = s.Use().Entries()
	require.NoError(t, err)
	require.Empty(t, entries[3].Prompt)
}

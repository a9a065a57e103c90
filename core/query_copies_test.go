package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
)

// Eighty copies of a session, as forks make them, give the scores, the hits and the list of one.
func TestCopiesOfASession(t *testing.T) {
	line := func(n int, kind, session, text string) string {
		return fmt.Sprintf(`{"type":%q,"uuid":"u%d","sessionId":%q,"timestamp":"2026-09-01T10:00:%02dZ","message":{"role":%q,"id":"m%d","content":%q}}`+"\n", kind, n, session, n, kind, n, text)
	}
	session := func(id string) string {
		return line(1, "user", id, "Where do sessions live?") +
			line(2, "assistant", id, "We decided to keep the session store in Redis because the table in Postgres was locked by the nightly vacuum; sessions expire after 30 minutes.") +
			line(3, "user", id, "Restart the session store tonight.") +
			line(4, "assistant", id, "The restart of the session store is now a job of the night, because nobody is logged in then; it takes two seconds on host cache-1.")
	}
	ask := func(copies int) (found, turn core.Result, standing []core.Statement) {
		mem := newMemory(t)
		mem.write("sessions.md", "# Session store\n\nSince October the session store is Valkey on host cache-2; Redis is gone. Sessions expire after 45 minutes.\n")
		for i := range 60 {
			mem.write(fmt.Sprintf("more/%02d.md", i), fmt.Sprintf("# Note %d\n\nStore %d keeps a session of its own on a table of host %d.\n", i, i, i))
		}
		for i := range copies {
			mem.write(fmt.Sprintf("logs/%02d.jsonl", i), session(fmt.Sprintf("s%02d", i)))
		}
		m := mem.open()
		index(t, m)
		found, err := m.Search(t.Context(), "Where do sessions live?", core.SearchOptions{Limit: 40})
		require.NoError(t, err)
		turn, err = m.RetrieveRelevant(t.Context(), "Move the session store to another host", core.RetrieveOptions{Lines: core.MaxLines})
		require.NoError(t, err)
		standing, err = m.Standing(t.Context(), 10, 500)
		require.NoError(t, err)
		return found, turn, standing
	}
	show := func(r core.Result) (all []string) {
		for _, h := range r.Hits {
			all = append(all, fmt.Sprintf("%.9f %s %.60s", h.Score, h.Source, h.Text))
		}
		for _, l := range r.Lines {
			all = append(all, fmt.Sprintf("line %s %s → %s", l.Source, l.Request, l.Outcome))
		}
		return all
	}
	one, turn, standing := ask(1)
	many, turns, standings := ask(80)
	require.Equal(t, show(one), show(many))
	require.Equal(t, show(turn), show(turns))
	require.NotEmpty(t, show(turn))
	require.Equal(t, standing, standings)
	at := strings.Join(show(many), "\n")
	require.Contains(t, at, "logs/00.jsonl#L2")
	for _, h := range many.Hits {
		if h.Source == "logs/00.jsonl#L2" {
			require.Len(t, h.Also, 79)
		}
	}
}

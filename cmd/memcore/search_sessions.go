package main

import (
	"cmp"
	"context"

	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/internal/text/plain"
)

// searchSessions searches the notes and messages of a session, or with "" of all in the workspace,
// as an agent's recall_memory does.
func searchSessions(ctx context.Context, a *cli, r session.RecallRequest, id string) error {
	first, err := a.Sessions().Open(id)
	if err != nil {
		return err
	}
	sessions := []*session.Session{first}
	if id == "" {
		if sessions, err = a.Sessions().WithOthers(first); err != nil {
			return err
		}
	}
	options, err := a.Index().RecallOptions()
	if err != nil {
		return err
	}
	options.EmbedFor = cmp.Or(a.Settings.Freshness, -1)
	found, err := session.Recall(ctx, sessions, r, options)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(found)
	}
	if found.Degraded != "" {
		a.note("degraded: %s", found.Degraded)
	} else if found.Unembedded > 0 {
		a.note("%s found by words only so far; 'memcore index' makes their vectors", plain.Count(found.Unembedded, "piece"))
	}
	return a.print(found.Answer(r.Query))
}

package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/internal/app/kind"
	"github.com/memcore/memcore/internal/app/plain"
)

func recallCommand(a *cli) *cobra.Command {
	var r session.RecallRequest
	var id string
	var all bool
	cmd := &cobra.Command{
		Use:   "recall QUERY",
		Short: "Search the notes and messages of a session",
		Long: `Search the notes and messages of a session by words, characters and meaning, as an agent's
recall_memory does. It reads the files as they are, so it finds what was written a moment ago, and
any text that contains the query literally.

New messages are embedded within memory.freshness; 'memcore index' embeds the rest.`,
		Args: arguments(cobra.MinimumNArgs(1), "a query"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("limit") && r.Limit < 1 {
				return kind.Usagef("--limit is %d, want at least 1", r.Limit)
			}
			text, err := a.queryText(args)
			if err != nil {
				return err
			}
			r.Query = strings.TrimRight(text, "\r\n")
			return recall(cmd.Context(), a, r, id, all)
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Scope, "scope", "all", "`SCOPE` to look in: all, detail or messages")
	f.IntVar(&r.Limit, "limit", 0, "`N` results at most (default: memory.defaultLimit)")
	f.BoolVar(&r.Exact, "exact", false, "only what contains the query literally, in upper or lower case")
	f.BoolVar(&r.CaseSensitive, "case-sensitive", false, "only what contains it in the same case")
	f.BoolVar(&r.WholeWord, "whole-word", false, "only what contains it as whole words")
	f.StringVar(&id, "session", "", "`ID` of the session (default: the one used last)")
	f.BoolVar(&all, "all-sessions", false, "search all sessions of the workspace")
	return cmd
}

func recall(ctx context.Context, a *cli, r session.RecallRequest, id string, all bool) error {
	first, err := a.Sessions().Open(id)
	if err != nil {
		return err
	}
	sessions := []*session.Session{first}
	if all {
		if sessions, err = a.Sessions().WithOthers(first); err != nil {
			return err
		}
	}
	options, err := a.Index().RecallOptions()
	if err != nil {
		return err
	}
	options.EmbedFor = a.Settings.Freshness
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

package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/inject/daemon"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/workspace"
)

const firstIndexName = "first-index"

// beginFirstIndex lets another process index, if the answer of a hook asks for it.
func beginFirstIndex(a *cli, answer httpapi.HookReply) {
	if answer.Index == "" {
		return
	}
	if here, err := a.In(answer.Index); err == nil {
		if first, err := here.FirstIndex(); err == nil {
			_ = first.Begin() // only 'explain --last' misses it
		}
	}
	_ = daemon.Run(nil, firstIndexName, "--quiet", "--workspace", answer.Index)
}

// firstIndexCommand indexes a workspace that has no index, in the background of a hook.
func firstIndexCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:    firstIndexName,
		Short:  "Index a project for the first time, as hooks do in the background (memory.hook.index)",
		Args:   arguments(cobra.NoArgs, "none"),
		Hidden: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			first, err := a.FirstIndex()
			if err != nil {
				return err
			}
			return first.Run(cmd.Context(), func(ctx context.Context) error {
				err := firstIndexNow(ctx, a)
				if partly := (*partlyError)(nil); errors.As(err, &partly) {
					return nil // 'memcore index' names the files
				}
				return err
			})
		},
	}
}

func firstIndexNow(ctx context.Context, a *cli) error {
	at, err := a.Folders()
	if err != nil {
		return err
	}
	registered, err := workspace.Load(at.Sources())
	if err != nil {
		return err
	}
	if a.Settings.Hook.Index == config.IndexAll && registered.Conversations == nil {
		if err := followConversations(ctx, a, at, true); err != nil {
			return err
		}
	}
	a.Remember(ctx)
	return indexAt(ctx, a, at, false)
}

// followConversations makes the logs of agents sources of the workspace, or no longer.
func followConversations(ctx context.Context, a *cli, at config.Folders, follow bool) error {
	_, err := workspace.Change(ctx, at.Sources(), func(s *workspace.Sources) error {
		if s.Conversations == nil || *s.Conversations != follow {
			s.Workspace, s.Conversations = a.Project, &follow
		}
		return nil
	})
	return err
}

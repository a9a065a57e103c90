package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/internal/app"
)

func contextCommand(a *cli) *cobra.Command {
	var request string
	var touched []string
	var id string
	cmd := &cobra.Command{
		Use:   "context",
		Short: "Print curated memory for the system prompt",
		Long: `Print what a session begins with. First come the instructions: your curated memory (~/.beans), that
of plugins, then the project's from its root down to the current folder. The index of memory files
and the session's overview follow as reference. The same files always give the same text; standard
error says what was left out.

With --path or --request, print what a turn adds: rules whose triggers or globs match, and memory of
the folders on the way to a path.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if !a.Settings.Enabled {
				a.note(app.TurnedOff)
				return printContext(ctx, a)
			}
			layer, m, err := loadCurated(ctx, a)
			if err != nil {
				return err
			}
			if request == "" && len(touched) == 0 {
				return printBeginning(ctx, a, id, m)
			}
			now, err := layer.Now(ctx, curated.Moment{Request: request, Touched: touched, Spent: m.Usage.Bytes})
			if err != nil {
				return err
			}
			ignorePrivate(a, layer, now)
			return printContext(ctx, a, now)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&touched, "path", nil, "`PATH` that the agent touches, may be repeated")
	f.StringVar(&request, "request", "", "`TEXT` of the request, for triggers of rules")
	f.StringVar(&id, "session", "", "`ID` of the session whose overview is printed (default: the one used last that no agent made)")
	return cmd
}

// printBeginning prints loaded curated memory, then the reference.
func printBeginning(ctx context.Context, a *cli, id string, loaded curated.Memory) error {
	return a.WithoutIndex(ctx, func(s *app.Service) error {
		current, err := s.Sessions().AtHand(id)
		if err != nil {
			return err
		}
		noteCurated(ctx, a, loaded)
		text, err := s.SessionStart(ctx, current, loaded)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			a.note("not all of memory can be read: %v", err)
		}
		return a.printText(text)
	})
}

func printContext(ctx context.Context, a *cli, parts ...curated.Memory) error {
	for _, m := range parts {
		noteCurated(ctx, a, m)
	}
	return a.printText(formatter.Curated(parts...))
}

package main

import (
	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/static"
	"github.com/memcore/memcore/formatter"
)

func contextCommand(a *app) *cobra.Command {
	var request string
	var touched []string
	cmd := &cobra.Command{
		Use:   "context",
		Short: "Print the static layer for the system prompt",
		Long: `Print curated memory for the system prompt: the user's (~/.beans) and plugins' as instructions, then the project's from
its root down to the current folder. The same files make the same text. What is left out is said on standard error.

With --path or --request, print what applies to a turn in addition: rules with triggers in the request or globs that
match a path, and memory of the folders on the way to a path that is not in the first part.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if !a.settings.Enabled {
				a.note(turnedOff)
				return a.printContext()
			}
			layer := a.layer()
			m, err := a.loadStatic(ctx, layer)
			if err != nil {
				return err
			}
			if request == "" && len(touched) == 0 {
				return a.printContext(m)
			}
			var parts []static.Memory
			for _, path := range touched {
				m, err := layer.LoadFor(ctx, path)
				if err != nil {
					return err
				}
				parts = append(parts, m)
			}
			rules, err := layer.Rules(ctx, request, touched)
			if err != nil {
				return err
			}
			return a.printContext(append(parts, rules)...)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&touched, "path", nil, "`PATH` that the agent touches, may be repeated")
	f.StringVar(&request, "request", "", "`TEXT` of the request, for triggers of rules")
	return cmd
}

func (a *app) printContext(parts ...static.Memory) error {
	for _, m := range parts {
		a.staticNotes(m)
	}
	text := formatter.StaticLayer(parts...)
	if a.flags.json {
		return a.printJSON(map[string]string{"text": text})
	}
	if text != "" {
		text += "\n"
	}
	return a.print(text)
}

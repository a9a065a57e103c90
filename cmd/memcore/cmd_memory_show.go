package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/text/plain"
)

func memoryShowCommand(a *cli) *cobra.Command {
	var provenance bool
	var request, id string
	var touched []string
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show what agents get at the start of a session, for a system prompt",
		Long: `Show what a session begins with. First come the instructions: your curated memory (~/.beans), that of
plugins, then the project's from its root down to the current folder. The index of memory files and
the session's overview follow as reference. The same files always give the same text; standard error
says what was left out.

With --path or --request, show what a turn adds: rules whose triggers or globs match, and memory of
the folders on the way to a path. With --provenance, show each segment of curated memory with its
tier, file, lines, importing file, tokens and the beginning of the file's SHA-256.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			return withCurated(ctx, a, func(layer *curated.Layer, m curated.Memory) error {
				switch {
				case provenance:
					return printProvenance(ctx, a, m)
				case request == "" && len(touched) == 0:
					return printBeginning(ctx, a, id, m)
				}
				now, err := layer.Now(ctx, curated.Moment{Request: request, Touched: touched, Spent: m.Usage.Bytes})
				if err != nil {
					return err
				}
				ignorePrivate(a, layer, now)
				noteCurated(ctx, a, now)
				return a.printText(formatter.Curated(now))
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&provenance, "provenance", false, "show where each part comes from")
	f.StringArrayVar(&touched, "path", nil, "`PATH` that the agent touches, may be repeated")
	f.StringVar(&request, "request", "", "`TEXT` of the request, for triggers of rules")
	f.StringVar(&id, "session", "", "`ID` of the session whose overview is shown (default: the one used last that no agent made)")
	return cmd
}

// printBeginning prints curated memory, then the index of memory files and the session's overview.
func printBeginning(ctx context.Context, a *cli, id string, m curated.Memory) error {
	return a.WithoutIndex(ctx, func(s *app.Service) error {
		current, err := s.Sessions().AtHand(id)
		if err != nil {
			return err
		}
		noteCurated(ctx, a, m)
		text, err := s.SessionStart(ctx, current, m)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			a.note("not all of memory can be read: %v", err)
		}
		return a.printText(text)
	})
}

func printProvenance(ctx context.Context, a *cli, m curated.Memory) error {
	noteCurated(ctx, a, m)
	if a.json {
		return a.printJSON(append([]curated.Segment{}, m.Segments...))
	}
	return a.print(provenanceText(a, m))
}

func provenanceText(a *cli, m curated.Memory) string {
	paint := a.stdout.paint
	var b strings.Builder
	for i, s := range m.Segments {
		if i > 0 {
			b.WriteByte('\n')
		}
		from := ""
		if s.ImportedFrom != "" {
			from = "  imported from " + s.ImportedFrom
		}
		head := plain.OneLine(fmt.Sprintf("%s  %s#L%d-L%d%s  %s  %s", s.Tier, s.Path, s.FirstLine, s.LastLine, from, plain.Count(s.Tokens, "token"), s.Hash))
		fmt.Fprintf(&b, "── %s\n%s\n", paint(color.FgCyan, head), s.Text)
	}
	return b.String()
}

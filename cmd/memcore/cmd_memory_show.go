package main

import (
	"fmt"
	"strings"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/internal/app/plain"
)

func memoryShowCommand(a *cli) *cobra.Command {
	var provenance bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the curated memory that agents get",
		Long: `Show the curated memory that agents get at the start, as 'memcore context' prints it. With
--provenance, show each segment with its tier, file, lines, importing file, tokens and the beginning
of the file's SHA-256.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withCurated(cmd.Context(), a, func(_ *curated.Layer, m curated.Memory) error {
				if !provenance {
					return printContext(cmd.Context(), a, m)
				}
				noteCurated(cmd.Context(), a, m)
				if a.json {
					return a.printJSON(append([]curated.Segment{}, m.Segments...))
				}
				return a.print(provenanceText(a, m))
			})
		},
	}
	cmd.Flags().BoolVar(&provenance, "provenance", false, "show where each part comes from")
	return cmd
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

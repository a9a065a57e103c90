package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/internal/app/kind"
	"github.com/memcore/memcore/internal/app/plain"
	"github.com/memcore/memcore/store"
)

func searchCommand(a *cli) *cobra.Command {
	var q queryFlags
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "List everything that matches, also weak matches",
		Args:  arguments(cobra.MinimumNArgs(1), "a query"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.check(cmd); err != nil {
				return err
			}
			text, err := a.queryText(args)
			if err != nil {
				return err
			}
			result, err := a.Memory().Search(cmd.Context(), searchRequest(a, q, text))
			if err != nil {
				return withHint(err)
			}
			return printSearch(a, result, q.explain)
		},
	}
	q.add(cmd)
	return cmd
}

func printSearch(a *cli, result core.Result, explain bool) error {
	a.noteResult(result)
	if a.json {
		return a.printJSON(result)
	}
	if explain {
		a.explainScores(result)
	}
	paint := a.stdout.paint
	var out strings.Builder
	for _, hit := range result.Hits {
		fmt.Fprintf(&out, "%s  %s\n", paint(color.FgYellow, fmt.Sprintf("%.2f", hit.Score)), paint(color.FgCyan, plain.OneLine(hit.Source)))
		text := formatter.Quoted(hit)
		lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return line == ">" })
		for i, line := range lines[:min(len(lines), snippetLines)] {
			if i == snippetLines-1 && len(lines) > snippetLines {
				line += " …"
			}
			fmt.Fprintf(&out, "    %s\n", line)
		}
		if len(hit.Also) > 0 {
			fmt.Fprintf(&out, "      also: %s\n", plain.OneLine(strings.Join(hit.Also, ", ")))
		}
	}
	if len(result.Hits) == 0 && result.State == core.StateReady {
		a.note("nothing found")
	}
	return a.print(out.String())
}

// snippetLines limits the lines of a hit.
const snippetLines = 4

// withHint adds a hint to an error of a query.
func withHint(err error) error {
	switch {
	case kind.Of(err) == kind.BadInput:
		return err
	case errors.Is(err, store.ErrNewer):
		return kind.Hint(err, "see docs/upgrading.md")
	}
	return kind.Hint(err, "run 'memcore index', which rebuilds a damaged index")
}

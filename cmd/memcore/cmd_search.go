package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/store"
)

func searchCommand(a *cli) *cobra.Command {
	var q queryFlags
	var scope, id string
	var sessions, exact bool
	cmd := &cobra.Command{
		Use:   "search QUERY",
		Short: "Search memory, and list everything that matches, also weak matches",
		Long: `Search everything that is indexed, by meaning and words, and list what matches, also weak matches.
'memcore retrieve' prints what an agent would get.

With --session or --sessions, search only what was said: the logs of agents that are indexed, and the
messages and notes of sessions. That also finds any text that contains QUERY literally, also in parts
of words. What was written a moment ago is found, too.`,
		Args: arguments(cobra.MinimumNArgs(1), "a query"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.check(cmd); err != nil {
				return err
			}
			text, err := a.queryText(args)
			if err != nil {
				return err
			}
			if scope != "" && scope != core.ScopeProject && scope != core.ScopeGlobal {
				return kind.Usagef("--scope is %q, want project or global", scope)
			}
			request := httpapi.SearchRequest{Query: strings.TrimRight(text, "\r\n"), Scope: scope, Path: a.TypedDocument(q.narrow.path), Kind: q.narrow.kind,
				Times: q.narrow.Times, Limit: q.limit, Session: id, Exact: exact}
			if sessions || id != "" {
				return searchSessions(cmd.Context(), a, request)
			}
			result, err := a.Memory().Search(cmd.Context(), request)
			if err != nil {
				return withHint(err)
			}
			return printSearch(a, result)
		},
	}
	q.add(cmd)
	f := cmd.Flags()
	f.StringVar(&scope, "scope", "", "`SCOPE` to search, project or global (default: both)")
	f.BoolVar(&sessions, "sessions", false, "search only what was said and noted in sessions of the workspace")
	f.StringVar(&id, "session", "", "search only what was said and noted in the session `ID`")
	f.BoolVar(&exact, "exact", false, "find only what contains QUERY literally, in upper or lower case")
	return cmd
}

// searchSessions searches what was said, as an agent's recall_memory does.
func searchSessions(ctx context.Context, a *cli, r httpapi.SearchRequest) error {
	r.Limit = cmp.Or(r.Limit, a.Settings.DefaultLimit)
	found, err := app.Recall(ctx, a.Memory(), r)
	if errors.Is(err, core.ErrNoConversation) {
		return kind.Hint(err, "'memcore session list' shows sessions, 'memcore index --conversations' also indexes the logs of agents")
	}
	if err != nil {
		return withHint(err)
	}
	if a.json {
		return a.printJSON(found)
	}
	return a.print(found.Answer(r.Query))
}

func printSearch(a *cli, result core.Result) error {
	a.noteResult(result)
	if a.json {
		return a.printJSON(result)
	}
	paint := a.stdout.paint
	var out strings.Builder
	for _, hit := range result.Hits {
		gone := ""
		if hit.Gone {
			gone = "  (the log is deleted)"
		}
		fmt.Fprintf(&out, "%s  %s%s\n", paint(color.FgYellow, fmt.Sprintf("%.2f", hit.Score)), paint(color.FgCyan, plain.OneLine(hit.Source)), gone)
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

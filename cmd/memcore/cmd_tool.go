package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
)

func toolCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "tool [NAME [JSON|-]]",
		Short: "List the memory tools for a model, or call one",
		Long: `List the tools that models are told of, or call the one named NAME with a JSON object; "-" reads it
from standard input. --json lists them as chat APIs expect them.

Before save_memory writes, it asks on a terminal; elsewhere the change waits ('memcore memory
pending'). 'memcore save --undo' takes back the last change.`,
		Args: arguments(cobra.MaximumNArgs(2), "a name and its arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := app.TerminalTools(a.Workspace, func(ctx context.Context, c notes.Change) (bool, error) { return askAtTerminal(ctx, a, c) })
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return listTools(a, tools.Listed(all))
			}
			at := slices.IndexFunc(all, func(t tools.Tool) bool { return t.Name == args[0] })
			if at < 0 {
				return kind.Hint(kind.Usagef("there is no tool %q", args[0]), "run 'memcore tool' for their names")
			}
			input := []byte(nil)
			if len(args) > 1 {
				text, err := a.wholeText(args[1:])
				if err != nil {
					return err
				}
				input = []byte(text)
			}
			answer, err := all[at].Call(cmd.Context(), input)
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(answer)
			}
			return a.print(strings.TrimRight(answer.Text, "\n") + "\n")
		},
	}
}

func listTools(a *cli, all []tools.Tool) error {
	if a.json {
		asJSON := make([]any, len(all))
		for i, t := range all {
			asJSON[i] = t.Definition()
		}
		return a.printJSON(asJSON)
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, t := range all {
		first, _, _ := strings.Cut(t.Description, "\n")
		fmt.Fprintf(w, "%s\t%s\n", t.Name, first)
	}
	w.Flush()
	return a.print(b.String())
}

// askAtTerminal asks about a model's change, if there is a terminal.
func askAtTerminal(ctx context.Context, a *cli, c notes.Change) (bool, error) {
	current, err := a.Sessions().Open("")
	if err != nil && !errors.Is(err, session.ErrNoSession) {
		return false, err
	}
	if allowedIn(current, c) {
		return true, nil
	}
	if !a.asks() {
		return false, notes.ErrUnasked
	}
	fmt.Fprint(a.stderr, c.Diff)
	more, choices := "", []string{"yes", "no"}
	if current != nil {
		more, choices = ", [a]lways in this session", append(choices, "always")
	}
	question := fmt.Sprintf("A model asks to write this to %s. Allow it? [y]es, [n]o%s, [Enter] later: ", plain.OneLine(c.Path), more)
	switch a.choose(ctx, question, choices...) {
	case "yes":
		return true, nil
	case "always":
		return true, allowIn(ctx, current, c)
	case "no":
		return false, nil
	}
	return false, errors.Join(ctx.Err(), notes.ErrUnasked)
}

// An allowance holds the changes of a session that need no further question.
type allowance struct {
	Subjects []string  `json:"subjects"`
	Until    time.Time `json:"until"`
}

// allowedFor limits an allowance: the next session may never come.
const allowedFor = 12 * time.Hour

func allowanceFile(current *session.Session) string {
	return filepath.Join(current.Dir, "allowed.json")
}

func allowedIn(current *session.Session, c notes.Change) bool {
	if current == nil {
		return false
	}
	known, err := jsonfile.LoadDerived[allowance](allowanceFile(current))
	return err == nil && time.Now().Before(known.Until) && slices.Contains(known.Subjects, app.Subject(c))
}

func allowIn(ctx context.Context, current *session.Session, c notes.Change) error {
	_, err := jsonfile.ChangeDerived(ctx, allowanceFile(current), func(known *allowance) error {
		if time.Now().After(known.Until) {
			known.Subjects = nil
		}
		known.Subjects, known.Until = append(known.Subjects, app.Subject(c)), time.Now().Add(allowedFor)
		return nil
	})
	if err != nil {
		return fmt.Errorf("allow for this session: %w", err)
	}
	return nil
}

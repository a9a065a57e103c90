package main

import (
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/trust"
)

func trustCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Say which folders' curated memory may act as instructions",
		Long: `Curated memory, rules and plugins of a folder go into prompts as instructions, so they are used only if you trust the folder;
else your own (~/.beans) is all there is. Trust extends to folders below, unless a nearer one is decided about; places that
anybody may write to (/tmp, /var) need a decision of their own. Indexing and retrieval do not depend on it: what is
retrieved is reference, never instruction.`,
		RunE: helpOrUnknown,
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(trustAddCommand(a), trustRemoveCommand(a), trustListCommand(a), trustStatusCommand(a))
	return cmd
}

// trustArgument is the folder that is named, else the project whose curated memory is at stake: the repository around the current folder,
// which may lie above the workspace.
func (a *app) trustArgument(args []string) string {
	if len(args) > 0 {
		return a.expand(args[0])
	}
	return a.curatedProject(a.settings)
}

var errNoHome = errors.New("there is no home folder, and so no place for decisions about trust: set HOME")

func (a *app) decide(cmd *cobra.Command, folder string, trusted bool) error {
	if a.home == "" {
		return errNoHome
	}
	d, err := a.trust().Set(cmd.Context(), folder, trusted)
	if errors.Is(err, trust.ErrRoot) {
		return usagef("trust %s: %w", folder, err)
	}
	if err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	if a.flags.json {
		return a.printJSON(d)
	}
	if !trusted {
		return a.print("not trusted: " + d.Folder + "\n")
	}
	return a.print("trusted: " + d.Folder + "\n")
}

func trustAddCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "add [FOLDER]",
		Short: "Trust a folder (default: the workspace), and those below it",
		Args:  arguments(cobra.MaximumNArgs(1), "a folder, or none for the workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.decide(cmd, a.trustArgument(args), true)
		},
	}
}

func trustRemoveCommand(a *app) *cobra.Command {
	var deny bool
	cmd := &cobra.Command{
		Use:   "remove [FOLDER]",
		Short: "Take back what was decided about a folder (default: the workspace)",
		Long: `Take back what was decided about a folder. A folder above it may still be trusted, and this one with it; --deny decides
against it instead.`,
		Args: arguments(cobra.MaximumNArgs(1), "a folder, or none for the workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := a.trustArgument(args)
			if deny {
				return a.decide(cmd, folder, false)
			}
			if a.home == "" {
				return errNoHome
			}
			store := a.trust()
			had, err := store.Remove(cmd.Context(), folder)
			if err != nil {
				return fmt.Errorf("trust: %w", err)
			}
			if !had {
				a.note("nothing was decided about %s", folder)
			}
			d, ok, err := store.Of(folder)
			if err != nil {
				return err
			}
			if ok && d.Trusted {
				a.note("it is still trusted, because %s is; --deny decides against it", d.Folder)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&deny, "deny", false, "do not trust the folder, also if one above it is trusted")
	return cmd
}

func trustListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the decisions",
		Args:  arguments(cobra.NoArgs, "none"),
		RunE: func(*cobra.Command, []string) error {
			all, err := a.trust().All()
			if err != nil {
				return err
			}
			if a.flags.json {
				if all == nil {
					all = []trust.Decision{}
				}
				return a.printJSON(all)
			}
			var out strings.Builder
			w := tabwriter.NewWriter(&out, 0, 8, 2, ' ', 0)
			for _, d := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\n", trustWord(d.Trusted), d.Folder, since(d))
			}
			w.Flush()
			if len(all) == 0 {
				a.note("nothing is decided: no folder is trusted")
			}
			return a.print(out.String())
		},
	}
}

func trustWord(trusted bool) string {
	if trusted {
		return "trusted"
	}
	return "not trusted"
}

func since(d trust.Decision) string {
	if d.Configured {
		return "by the configuration"
	}
	return d.At.Local().Format(time.DateOnly)
}

// trustState is what trust status prints as JSON.
type trustState struct {
	Folder   string          `json:"folder"`
	Trusted  bool            `json:"trusted"`
	Decision *trust.Decision `json:"decision,omitempty"`
	Contents contents        `json:"contents"`
}

func trustStatusCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "status [FOLDER]",
		Short: "Say whether a folder (default: the workspace) is trusted, and what it would load",
		Args:  arguments(cobra.MaximumNArgs(1), "a folder, or none for the workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := a.trustArgument(args)
			d, ok, err := a.trust().Of(folder)
			if err != nil {
				return err
			}
			inside, err := a.contentsOf(cmd.Context(), folder)
			if err != nil {
				return err
			}
			state := trustState{Folder: folder, Trusted: ok && d.Trusted, Contents: inside}
			if ok {
				state.Decision = &d
			}
			if a.flags.json {
				return a.printJSON(state)
			}
			why := "nothing is decided about it"
			if ok {
				why = "decided about " + d.Folder + ", " + since(d)
			}
			return a.print(fmt.Sprintf("%s: %s (%s)\n\n%s", folder, trustWord(state.Trusted), why, inside))
		},
	}
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/trust"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/plain"
)

func trustCommand(a *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Decide which folders may instruct agents",
		Long: `Curated memory, rules and plugins of a folder act as instructions, so memcore uses them only if you
trust the folder. Trust extends to the folders below, unless you decide otherwise about one of them.
Places that anyone may write to (/tmp, /var) and plugins of agents need a decision of their own.
Search does not depend on trust: what it finds is reference.`,
		RunE: helpOrUnknown,
		Args: cobra.ArbitraryArgs,
	}
	cmd.AddCommand(trustAddCommand(a), trustRemoveCommand(a), trustListCommand(a))
	return cmd
}

// trustArgument is the named folder, else the repository, perhaps above the workspace.
func trustArgument(a *cli, args []string) string {
	if len(args) > 0 {
		return a.Expand(args[0])
	}
	return a.CuratedProject(a.Settings)
}

var errNoHome = errors.New("there is no home folder, and so no place for decisions about trust: set HOME")

func decideTrust(a *cli, cmd *cobra.Command, folder string, trusted bool) error {
	if a.Home == "" {
		return errNoHome
	}
	d, err := a.Trust().Set(cmd.Context(), folder, trusted)
	if err != nil {
		return fmt.Errorf("trust: %w", err)
	}
	if trusted {
		did, problems, err := a.Curated().KeepPrivateIn(cmd.Context(), folder)
		if err != nil {
			return err
		}
		noteIgnored(a, did, problems)
		if info, err := os.Stat(d.Folder); err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o002 != 0 {
			a.note("every user of this machine can write to %s, and so instruct your agents; chmod o-w prevents that", d.Folder)
		}
	}
	if a.json {
		return a.printJSON(d)
	}
	if !trusted {
		return a.printLine("not trusted: %s", d.Folder)
	}
	return a.printLine("trusted: %s", d.Folder)
}

func trustAddCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "add [FOLDER]",
		Short: "Trust a folder (default: the workspace), and those below it",
		Args:  arguments(cobra.MaximumNArgs(1), "a folder, or none for the workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return decideTrust(a, cmd, trustArgument(a, args), true)
		},
	}
}

func trustRemoveCommand(a *cli) *cobra.Command {
	var deny bool
	cmd := &cobra.Command{
		Use:   "remove [FOLDER]",
		Short: "Take back the decision about a folder (default: the workspace)",
		Long: `Take back the decision about a folder. If a folder above is trusted, this one still is; --deny
distrusts it instead.`,
		Args: arguments(cobra.MaximumNArgs(1), "a folder, or none for the workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := trustArgument(a, args)
			if deny {
				return decideTrust(a, cmd, folder, false)
			}
			if a.Home == "" {
				return errNoHome
			}
			store := a.Trust()
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
	cmd.Flags().BoolVar(&deny, "deny", false, "do not trust the folder, even if one above it is trusted")
	return cmd
}

func trustListCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "list [FOLDER]",
		Short: "List the decisions, or show whether a folder is trusted and what it would load",
		Args:  arguments(cobra.MaximumNArgs(1), "a folder or none"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return printTrust(cmd.Context(), a, paths.Resolve(a.Expand(args[0])))
			}
			all, err := a.Trust().All()
			if err != nil {
				return err
			}
			if a.json {
				if all == nil {
					all = []trust.Decision{}
				}
				return a.printJSON(all)
			}
			var out strings.Builder
			w := tabwriter.NewWriter(&out, 0, 8, 2, ' ', 0)
			for _, d := range all {
				fmt.Fprintln(w, plain.Line("%s\t%s\t%s", trustWord(d.Trusted), d.Folder, since(d)))
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

// trustState is the JSON of trust list FOLDER.
type trustState struct {
	Folder   string          `json:"folder"`
	Trusted  bool            `json:"trusted"`
	Decision *trust.Decision `json:"decision,omitempty"`
	Contents app.Contents    `json:"contents"`
}

// printTrust shows whether a folder is trusted, and what it would load.
func printTrust(ctx context.Context, a *cli, folder string) error {
	d, ok, err := a.Trust().Of(folder)
	if err != nil {
		return err
	}
	_, gone := os.Stat(folder)
	if gone != nil && (!ok || d.Folder != folder) {
		return kind.Usagef("trust: %w", gone)
	}
	if gone != nil && a.json {
		return a.printJSON(trustState{Folder: d.Folder, Trusted: d.Trusted, Decision: &d, Contents: app.Contents{MemoryFiles: []string{}}})
	}
	if gone != nil {
		return a.printLine("%s: %s (decided about it, %s), but it is gone: %v", d.Folder, trustWord(d.Trusted), since(d), gone)
	}
	inside, err := a.Curated().Contents(ctx, folder)
	if err != nil {
		return err
	}
	state := trustState{Folder: folder, Trusted: ok && d.Trusted, Contents: inside}
	if ok {
		state.Decision = &d
	}
	alone, err := a.Curated().UntrustedPlugin(ctx, folder)
	if err != nil {
		return err
	}
	state.Trusted = state.Trusted && !alone
	if a.json {
		return a.printJSON(state)
	}
	why := "nothing is decided about it"
	if ok {
		why = "decided about " + d.Folder + ", " + since(d)
	}
	if alone && ok && d.Trusted {
		why = "a plugin needs a decision of its own; " + why
	}
	return a.print(plain.Line("%s: %s (%s)", folder, trustWord(state.Trusted), why) + "\n\n" + inside.String())
}

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/internal/text/sanitize"
)

func memoryPendingCommand(a *cli) *cobra.Command {
	var accept, decline string
	cmd := &cobra.Command{
		Use:   "pending",
		Short: "Show proposals for memory, and accept or decline them",
		Long: `Show the proposals that wait: what models asked to save without a terminal, and what rules found in
sessions. On a terminal memcore asks about each; elsewhere --accept and
--decline name IDs, or all. 'memcore save --undo' takes back what you accept. Declined ones are
not proposed again.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error { return runPending(cmd.Context(), a, accept, decline) },
	}
	cmd.Flags().StringVar(&accept, "accept", "", "`IDS` of the proposals to write, such as 3fa92b,0c11de, or all")
	cmd.Flags().StringVar(&decline, "decline", "", "`IDS` of the proposals to drop, or all")
	return cmd
}

// runPending shows the proposals, and accepts and declines them.
func runPending(ctx context.Context, a *cli, accept, decline string) error {
	if err := a.Notes().LookThroughEarlier(ctx, "", app.MaxEarlier); err != nil {
		return err
	}
	all, err := a.Notes().Proposals().Waiting()
	if err != nil {
		return err
	}
	yes, err := app.NamedProposals(accept, all)
	if err != nil {
		return fmt.Errorf("--accept %w", err)
	}
	no, err := app.NamedProposals(decline, all)
	if err != nil {
		return fmt.Errorf("--decline %w", err)
	}
	if at := slices.IndexFunc(yes, func(id string) bool { return slices.Contains(no, id) }); at >= 0 {
		return kind.Usagef("--accept and --decline both name %s", yes[at])
	}
	if len(all) == 0 {
		a.note("no proposals wait")
	}
	asks := accept == "" && decline == "" && a.asks()
	if accept == "" && decline == "" {
		if yes, no, err = askAbout(ctx, a, all, asks); err != nil {
			return err
		}
	}
	written, err := a.Notes().Accept(ctx, all, yes)
	if err != nil {
		return err
	}
	if err := a.Notes().Proposals().Decide(ctx, no...); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"proposals": append([]notes.Proposal{}, all...), "accepted": append([]string{}, yes...), "declined": append([]string{}, no...), "written": append([]string{}, written...)})
	}
	for _, path := range written {
		if err := a.print("written: " + plain.OneLine(path) + "\n"); err != nil {
			return err
		}
	}
	if accept == "" && decline == "" && !asks && len(all) > 0 {
		a.note("nothing is written; to accept one: memcore memory pending --accept %s", all[0].ID)
	}
	return nil
}

// askAbout shows the proposals, and asks about each on a terminal.
func askAbout(ctx context.Context, a *cli, all []notes.Proposal, asks bool) (yes, no []string, err error) {
	every := false
	for _, p := range all {
		if !a.json {
			if err := a.print(proposalText(p)); err != nil {
				return nil, nil, err
			}
		}
		if !asks {
			continue
		}
		answer := "yes"
		if !every {
			answer = a.choose(ctx, "Remember this? [y]es, [n]o and never again, [a]ll from here on, [Enter] later: ", "yes", "no", "all")
		}
		switch answer {
		case "all":
			every = true
			yes = append(yes, p.ID)
		case "yes":
			yes = append(yes, p.ID)
		case "no":
			no = append(no, p.ID)
		}
	}
	return yes, no, ctx.Err()
}

// proposalText is a proposal for a terminal.
func proposalText(p notes.Proposal) string {
	text, _ := sanitize.Reveal(p.Text) // a model may have written it
	where := ""
	if p.Path != "" {
		where = ", " + plain.OneLine(p.Path)
	}
	if p.Save != nil && p.Save.Section != "" {
		where += fmt.Sprintf(", under %q", plain.OneLine(p.Save.Section))
	}
	if p.Save != nil && p.Save.Supersedes != "" {
		old, _ := sanitize.Reveal(p.Save.Supersedes)
		text += "\nin place of: " + plain.OneLine(old)
	}
	return fmt.Sprintf("%s  %s%s, %s\n        %s\n", p.ID, p.Kind, where, plain.OneLine(p.Source), strings.ReplaceAll(text, "\n", "\n        "))
}

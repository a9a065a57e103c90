package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/kind"
	"github.com/memcore/memcore/internal/app/plain"
)

// setupFlags choose agents, and whose files.
type setupFlags struct {
	agents        []string
	project, user bool
	yes           bool
}

func (s *setupFlags) add(f *pflag.FlagSet) {
	f.StringArrayVar(&s.agents, "agent", nil, "`NAME` of an agent: "+strings.Join(setup.Names(), ", ")+"; may be repeated (default: those that are installed)")
	f.BoolVar(&s.project, "project", false, "agents' files in the project")
	f.BoolVar(&s.user, "user", false, "your own agents' files, which apply to every project")
	f.BoolVarP(&s.yes, "yes", "y", false, "do not ask")
}

// A setupReport is the JSON of init and uninstall-hooks.
type setupReport struct {
	Project *setup.Folder `json:"project,omitempty"`
	Agents  []setup.Agent `json:"agents"`
	Changes []setupChange `json:"changes"`
	Notes   []setup.Note  `json:"notes"`
	Written bool          `json:"written"`
	Indexed bool          `json:"indexed"`
	// Past are the past sessions, if init looked at them.
	Past *app.PastSessions `json:"past,omitempty"`
}

// A setupChange is a change with its diff.
type setupChange struct {
	setup.Change
	Diff string `json:"diff"`
}

// chooseAgents returns the named agents, else the default ones.
func chooseAgents(a *cli, flags setupFlags, byDefault func(setup.Agent) bool) ([]setup.Agent, error) {
	for _, name := range flags.agents {
		if !slices.Contains(setup.Names(), name) {
			return nil, kind.Usagef("--agent is %q, want one of %s", name, strings.Join(setup.Names(), ", "))
		}
	}
	return slices.DeleteFunc(setup.Find(a.SetupOptions()), func(agent setup.Agent) bool {
		if len(flags.agents) > 0 {
			return !slices.Contains(flags.agents, agent.Name)
		}
		return !byDefault(agent)
	}), nil
}

// errUnasked means that changes were not written, since nobody can be asked.
var errUnasked = errors.New("nothing is written, since there is no terminal to ask on")

// offerChanges shows a proposal, asks, and writes it.
func offerChanges(ctx context.Context, a *cli, p setup.Proposal, label string, yes, dryRun bool) (written bool, err error) {
	if !a.json {
		for _, c := range p.Changes {
			if err := a.print("\n" + c.Diff()); err != nil {
				return false, err
			}
		}
	}
	for _, n := range p.Notes {
		a.note("%s", n.Text)
	}
	switch {
	case len(p.Changes) == 0:
		a.note("%s: nothing to change", label)
		return false, nil
	case dryRun:
		a.note("nothing is written: --dry-run")
		return false, nil
	case yes:
	case a.asks():
		if !a.agrees(ctx, "Write "+plain.Count(len(p.Changes), "file")+"?", false) {
			a.note("nothing is written")
			return false, ctx.Err()
		}
	default:
		return false, kind.Hint(kind.As(kind.BadInput, fmt.Errorf("%s: %w", label, errUnasked)), "--yes writes these changes without asking")
	}
	journal, err := a.Notes().Journal()
	if err != nil {
		return false, err
	}
	err = setup.Apply(ctx, journal, label, p.Changes)
	if errors.Is(err, notes.ErrChanged) {
		return false, kind.Hint(fmt.Errorf("%s: %w", label, err), "nothing was written; run it again")
	}
	if err != nil {
		return false, fmt.Errorf("%s: not written: %w", label, err)
	}
	return true, printWritten(a, p)
}

func printWritten(a *cli, p setup.Proposal) error {
	if a.json {
		return nil
	}
	var b strings.Builder
	for _, c := range p.Changes {
		did := "wrote"
		if c.Removed {
			did = "removed"
		}
		fmt.Fprintf(&b, "%s %s\n", did, plain.OneLine(c.Path))
	}
	return a.print(b.String())
}

// printSetup prints the JSON.
func printSetup(a *cli, r setupReport, p setup.Proposal) error {
	if !a.json {
		return nil
	}
	r.Notes = append([]setup.Note{}, p.Notes...)
	r.Changes = []setupChange{}
	for _, c := range p.Changes {
		r.Changes = append(r.Changes, setupChange{c, c.Diff()})
	}
	return a.printJSON(r)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fatih/color"
	"github.com/spf13/pflag"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
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

// A setupReport is the JSON of init and uninstall.
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

// An offer shows changes of files, asks, and makes them.
type offer struct {
	proposal    setup.Proposal
	label, verb string // such as "init" and "Write"
	yes, dryRun bool
}

func (o offer) make(ctx context.Context, a *cli) (written bool, err error) {
	changes := o.proposal.Changes
	if !a.json {
		if err := a.print(filesText(a.Config, changes)); err != nil {
			return false, err
		}
	}
	for _, n := range o.proposal.Notes {
		a.note("%s", n.Text)
	}
	switch {
	case len(changes) == 0:
		a.note("%s: nothing to change", o.label)
		return false, nil
	case o.dryRun:
		if err := o.showDiffs(a); err != nil {
			return false, err
		}
		a.note("nothing is written: --dry-run")
		return false, nil
	case o.yes:
	case a.asks():
		if agreed, err := o.ask(ctx, a); !agreed || err != nil {
			a.note("nothing is written")
			return false, errors.Join(err, ctx.Err())
		}
	default:
		return false, unasked(o.label)
	}
	journal, err := a.Notes().Journal()
	if err != nil {
		return false, err
	}
	err = a.SetupOptions().Apply(ctx, journal, changes)
	if errors.Is(err, notes.ErrChanged) {
		return false, kind.Hint(fmt.Errorf("%s: %w", o.label, err), "nothing was written; run it again")
	}
	if err != nil {
		return false, fmt.Errorf("%s: not written: %w", o.label, err)
	}
	return true, nil
}

// unasked is the error of a command that would have to ask, and cannot.
func unasked(label string) error {
	return kind.Hint(kind.As(kind.BadInput, fmt.Errorf("%s: %w", label, errUnasked)), "--yes writes it without asking")
}

// ask asks once. "d" shows the changes before the answer.
func (o offer) ask(ctx context.Context, a *cli) (agreed bool, err error) {
	question := fmt.Sprintf("%s %s? [Y]es, [n]o, [d] shows the changes: ", o.verb, plain.Count(len(o.proposal.Changes), "file"))
	for {
		switch a.choose(ctx, question, "yes", "no", "diff") {
		case "", "yes":
			return ctx.Err() == nil, nil
		case "diff":
			if err := o.showDiffs(a); err != nil {
				return false, err
			}
		default:
			return false, nil
		}
	}
}

func (o offer) showDiffs(a *cli) error {
	if a.json {
		return nil
	}
	for _, c := range o.proposal.Changes {
		if err := a.print("\n" + a.stdout.paintDiff(c.Diff())); err != nil {
			return err
		}
	}
	return nil
}

// filesText has a line for each file. It says which ones a team shares.
func filesText(c *config.Config, changes []setup.Change) string {
	width, name, shared := 0, "files", false
	for _, change := range changes {
		width = max(width, len([]rune(change.Path)))
	}
	var b rows
	for _, change := range changes {
		more := ""
		switch {
		case change.Removed:
			more = " (and the file, which memcore made)"
		case change.Created:
			more = " (new file)"
		}
		if !strings.HasPrefix(change.Path, "~") && !filepath.IsAbs(change.Path) && !c.AtHome() {
			shared = true
		}
		b.add(name, "%-*s  %s%s", width, change.Path, change.What, more)
		name = ""
	}
	if shared {
		b.add("", "Paths without ~ are in the project: whoever gets its repository gets them, unless git ignores them.")
	}
	return b.String()
}

// paintDiff colours a unified diff on a terminal.
func (s *screen) paintDiff(diff string) string {
	var b strings.Builder
	for line := range strings.Lines(diff) {
		text, end := strings.TrimSuffix(line, "\n"), ""
		if text != line {
			end = "\n"
		}
		switch {
		case strings.HasPrefix(text, "+++"), strings.HasPrefix(text, "---"):
			text = s.paint(color.Bold, text)
		case strings.HasPrefix(text, "@@"):
			text = s.paint(color.FgCyan, text)
		case strings.HasPrefix(text, "+"):
			text = s.paint(color.FgGreen, text)
		case strings.HasPrefix(text, "-"):
			text = s.paint(color.FgRed, text)
		}
		b.WriteString(text + end)
	}
	return b.String()
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

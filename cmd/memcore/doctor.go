package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/fatih/color"
	"github.com/spf13/cobra"
)

func doctorCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check everything that memory needs, and say what to do",
		Long: `Check one by one what memory needs to work, from the configuration to the last byte of the indexes, and
say what to do where something is wrong. Nothing is changed. Only an embedder that is reached over the
network is asked over the network. Exit code 1 if there is a problem; warnings are none.`,
		Args: arguments(cobra.NoArgs, "none"),
		// It reads the configuration itself, so that it can tell what is wrong with it.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, _ []string) error {
			d := &doctor{app: a}
			d.examine(cmd.Context())
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			if err := d.print(); err != nil {
				return err
			}
			if n := d.count(stateProblem); n > 0 {
				return fmt.Errorf("%s found", count(n, "problem"))
			}
			return nil
		},
	}
}

// States of a check.
const (
	stateOK      = "ok"
	stateWarning = "warning" // memory works, but not as well as it could
	stateProblem = "problem" // memory does not work, or only half
)

// A check is one thing that was looked at.
type check struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Text  string `json:"text"`         // what was found
	Do    string `json:"do,omitempty"` // what helps
}

// A diagnosis is what doctor prints as JSON.
type diagnosis struct {
	OK     bool    `json:"ok"` // no problem
	Checks []check `json:"checks"`
}

// A doctor collects checks.
type doctor struct {
	app    *app
	checks []check
}

func (d *doctor) ok(name, format string, args ...any) { d.add(name, stateOK, "", format, args...) }

func (d *doctor) warn(name, do, format string, args ...any) {
	d.add(name, stateWarning, do, format, args...)
}

func (d *doctor) problem(name, do, format string, args ...any) {
	d.add(name, stateProblem, do, format, args...)
}

func (d *doctor) add(name, state, do, format string, args ...any) {
	d.checks = append(d.checks, check{Name: name, State: state, Text: fmt.Sprintf(format, args...), Do: do})
}

func (d *doctor) count(state string) int {
	n := 0
	for _, c := range d.checks {
		if c.State == state {
			n++
		}
	}
	return n
}

// examine makes all checks for which what they need is there.
func (d *doctor) examine(ctx context.Context) {
	configured := d.configuration()
	d.enginesOfBuild(ctx)
	if configured {
		d.curated(ctx)
	}
	if !configured {
		d.warn("the rest", "mend the configuration, then ask again", "not checked: it depends on the configuration")
		return
	}
	at, err := d.app.place()
	if err != nil {
		d.problem("index folder", "set HOME, or name a folder with --index-dir", "%v", err)
		return
	}
	failed := d.sources(ctx, at)
	d.folder(at)
	d.private()
	d.memory(ctx, at, failed)
	d.agents(at)
	d.daemon(ctx)
}

func (d *doctor) print() error {
	if d.app.flags.json {
		return d.app.printJSON(diagnosis{d.count(stateProblem) == 0, d.checks})
	}
	paint := d.app.painter()
	w := tabwriter.NewWriter(d.app.stdout, 0, 8, 2, ' ', 0)
	for _, c := range d.checks {
		text := c.Text
		if c.Do != "" {
			text += " → " + c.Do
		}
		// Colour codes are as long in each line, so that they move no column.
		fmt.Fprintf(w, "%s\t%s\t%s\n", paint(colourOf[c.State], c.State), c.Name, strings.ReplaceAll(text, "\n", "; "))
	}
	return w.Flush()
}

var colourOf = map[string]color.Attribute{stateOK: color.FgGreen, stateWarning: color.FgYellow, stateProblem: color.FgRed}

package main

import (
	"fmt"
	"log/slog"
	"text/tabwriter"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/memcore/memcore/internal/app/doctor"
	"github.com/memcore/memcore/internal/text/plain"
)

func doctorCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Find out why memory does not work",
		Long: `Check everything that memory needs, from the configuration to the last byte of the indexes, and say
how to fix what is wrong. doctor changes nothing, and uses the network only to ask a remote
embedder. Exit code 1 means a problem; warnings do not count.`,
		Args: arguments(cobra.NoArgs, "none"),
		// Examine reads the configuration and reports its errors.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.logFrom(slog.LevelError)
			d := doctor.Examine(cmd.Context(), a.Workspace, version())
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			if err := printDiagnosis(a, d); err != nil {
				return err
			}
			if n := d.Problems(); n > 0 {
				return fmt.Errorf("%s found", plain.Count(n, "problem"))
			}
			return nil
		},
	}
}

func printDiagnosis(a *cli, d doctor.Diagnosis) error {
	if a.json {
		return a.printJSON(d)
	}
	paint := a.stdout.paint
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	for _, c := range d.Checks {
		text := c.Text
		if c.Do != "" {
			text += " → " + c.Do
		}
		// All colour codes have the same length, so columns stay aligned.
		fmt.Fprintf(w, "%s\t%s\n", paint(colourOf[c.State], c.State), plain.Line("%s\t%s", c.Name, text))
	}
	return w.Flush()
}

var colourOf = map[string]color.Attribute{doctor.StateOK: color.FgGreen, doctor.StateWarning: color.FgYellow, doctor.StateProblem: color.FgRed}

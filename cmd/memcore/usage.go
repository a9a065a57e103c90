package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/text/plain"
)

// maxLines bounds the documents of a report; --json has all.
const maxLines = 10

// printUsage shows what agents got and opened.
func printUsage(a *cli) error {
	given, err := a.Use().Summary()
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(given)
	}
	if given.Prompts == 0 {
		return a.printLine("no agent has asked in the last %d days", app.UsedSince)
	}
	what := plain.Count(given.Given, "hit")
	if given.Said > 0 {
		what += ", " + plain.Count(given.Said, "statement") + " of the user"
	}
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "given to agents in the last %d days: %s, with %d of %s\n", app.UsedSince, what, given.Turns, plain.Count(given.Prompts, "prompt"))
	if lines := given.Lines; lines.Given > 0 {
		fmt.Fprintf(w, "  %s of lists, opened %d\n", plain.Count(lines.Given, "line"), lines.Opened)
	}
	for _, d := range given.Documents[:min(len(given.Documents), maxLines)] {
		fmt.Fprintf(w, "  %s\tgiven %d\topened %d\n", plain.OneLine(d.Path), d.Given, d.Opened)
	}
	if more := len(given.Documents) - maxLines; more > 0 {
		fmt.Fprintf(w, "  … %d more\n", more)
	}
	return w.Flush()
}

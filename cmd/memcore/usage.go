package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/text/plain"
)

const (
	// staleDays is how long a Markdown file neither changes nor is given before it is stale.
	staleDays = 180
	// maxLines bounds each list of a report; --json has all.
	maxLines = 10
)

// printUsage shows what agents used, and what is never given, duplicate or stale.
func printUsage(ctx context.Context, a *cli) error {
	return a.Index().With(ctx, func(m *core.Manager) error {
		given, ever, err := a.Use().Summary()
		if err != nil {
			return err
		}
		s, err := m.Statistics(ctx, time.Now().AddDate(0, 0, -staleDays), ever)
		if err != nil {
			return withHint(err)
		}
		if a.json {
			return a.printJSON(statistics{s, given})
		}
		return printStatistics(a, s, given)
	})
}

// statistics are the JSON of status --usage.
type statistics struct {
	core.Statistics
	Use use.Summary `json:"use"`
}

func printStatistics(a *cli, s core.Statistics, given use.Summary) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "%s, %s\n", plain.Count(s.Documents, "document"), plain.Count(s.Chunks, "chunk"))
	list := func(title string, n int, line func(i int)) {
		fmt.Fprintf(w, "\n%s: %d\n", title, n)
		for i := range min(n, maxLines) {
			line(i)
		}
		if n > maxLines {
			fmt.Fprintf(w, "  … %d more\n", n-maxLines)
		}
	}
	aged := func(all []core.Aged) func(int) {
		return func(i int) { fmt.Fprintf(w, "  %s\tchanged %s\n", plain.OneLine(all[i].Path), day(all[i].Changed)) }
	}
	if given.Prompts > 0 {
		what := plain.Count(given.Given, "hit")
		if given.Said > 0 {
			what += ", " + plain.Count(given.Said, "statement") + " of the user"
		}
		fmt.Fprintf(w, "\ngiven to agents in the last %d days: %s, with %d of %s\n", app.UsedSince, what, given.Turns, plain.Count(given.Prompts, "prompt"))
		fmt.Fprintf(w, "  %s\n", shares(given.Counts))
		if lines := given.Lines; lines.Given > 0 {
			fmt.Fprintf(w, "  %s of lists, opened %d\n", plain.Count(lines.Given, "line"), lines.Used)
		}
		for _, d := range given.Documents[:min(len(given.Documents), maxLines)] {
			fmt.Fprintf(w, "  %s\tgiven %d\t%s\n", plain.OneLine(d.Path), d.Given, shares(d.Counts))
		}
		if more := len(given.Documents) - maxLines; more > 0 {
			fmt.Fprintf(w, "  … %d more\n", more)
		}
	}
	list("never given", len(s.Never), aged(s.Never))
	list(fmt.Sprintf("neither changed nor given for %d days", staleDays), len(s.Stale), aged(s.Stale))
	list("said more than once", len(s.Duplicates), func(i int) {
		fmt.Fprintf(w, "  %s", plain.OneLine(s.Duplicates[i][0]))
		for _, other := range s.Duplicates[i][1:] {
			fmt.Fprintf(w, "\t= %s", plain.OneLine(other))
		}
		fmt.Fprintln(w)
	})
	return w.Flush()
}

// shares describes how many hits were used.
func shares(c use.Counts) string {
	text := fmt.Sprintf("used %d, not used %d, unknown %d", c.Used, c.Unused, c.Unknown)
	if share, ok := c.Share(); ok {
		text += fmt.Sprintf(": %.0f %% of what is known", 100*share)
	}
	return text
}

func day(at time.Time) string {
	if at.IsZero() {
		return "at an unknown time"
	}
	return at.Local().Format(time.DateOnly)
}

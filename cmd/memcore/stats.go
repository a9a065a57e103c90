package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/use"
)

func statsCommand(a *app) *cobra.Command {
	var days, limit int
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Say what is used, what is retrieved and what never is, what is said twice and what is stale",
		Long: `Look through the whole index: which documents were among hits, and which never; which chunks say nearly the same, the newest of each group
first; which Markdown files have neither changed nor been retrieved for long. Uses are counted by document, without queries or texts, and each
counts half as much after 30 days. And of what hooks gave to agents in the last 30 days, how much they used: its facts or rare words are in what the agent
wrote, or the file was opened. What left no words may have helped all the same.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if days < 1 {
				return usagef("--days is %d, want at least 1", days)
			}
			if limit < 1 {
				return usagef("--limit is %d, want at least 1", limit)
			}
			return a.withMemory(cmd.Context(), func(m *core.Manager) error {
				s, err := m.Statistics(cmd.Context(), time.Now().AddDate(0, 0, -days))
				if err != nil {
					return damaged(err)
				}
				given, err := a.usage(cmd.Context())
				if err != nil {
					return err
				}
				if a.flags.json {
					return a.printJSON(statistics{s, given})
				}
				return a.printStatistics(s, given, days, limit)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&days, "days", 180, "`N` days without change or use after which a Markdown file is stale")
	f.IntVar(&limit, "limit", 10, "`N` lines of each list at most; --json has all")
	return cmd
}

// statistics are what stats prints as JSON.
type statistics struct {
	core.Statistics
	Use use.Summary `json:"use"`
}

func (a *app) printStatistics(s core.Statistics, given use.Summary, days, limit int) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "%s, %s\n", count(s.Documents, "document"), count(s.Chunks, "chunk"))
	list := func(title string, n int, line func(i int)) {
		fmt.Fprintf(w, "\n%s: %d\n", title, n)
		for i := range min(n, limit) {
			line(i)
		}
		if n > limit {
			fmt.Fprintf(w, "  … %d more\n", n-limit)
		}
	}
	aged := func(all []core.Aged) func(int) {
		return func(i int) { fmt.Fprintf(w, "  %s\tchanged %s\n", oneLine(all[i].Path), day(all[i].Changed)) }
	}
	if given.Prompts > 0 {
		fmt.Fprintf(w, "\ngiven to agents in the last %d days: %s, with %d of %s\n", usedSince, count(given.Given, "hit"), given.Turns, count(given.Prompts, "prompt"))
		fmt.Fprintf(w, "  %s\n", shares(given.Counts))
		for _, d := range given.Documents[:min(len(given.Documents), limit)] {
			fmt.Fprintf(w, "  %s\tgiven %d\t%s\n", oneLine(d.Path), d.Given, shares(d.Counts))
		}
		if more := len(given.Documents) - limit; more > 0 {
			fmt.Fprintf(w, "  … %d more\n", more)
		}
	}
	list("retrieved", len(s.Retrieved), func(i int) {
		u := s.Retrieved[i]
		fmt.Fprintf(w, "  %s\t%.1f times\tlast %s\n", oneLine(u.Path), u.Weight, day(u.Last))
	})
	list("never retrieved", len(s.Never), aged(s.Never))
	list(fmt.Sprintf("neither changed nor retrieved for %d days", days), len(s.Stale), aged(s.Stale))
	list("said more than once", len(s.Duplicates), func(i int) {
		fmt.Fprintf(w, "  %s", oneLine(s.Duplicates[i][0]))
		for _, other := range s.Duplicates[i][1:] {
			fmt.Fprintf(w, "\t= %s", oneLine(other))
		}
		fmt.Fprintln(w)
	})
	return w.Flush()
}

// shares says how much was used, of what that is known of.
func shares(c use.Counts) string {
	text := fmt.Sprintf("used %d, not used %d, unknown %d", c.Used, c.Unused, c.Unknown)
	if share, ok := c.Share(); ok {
		text += fmt.Sprintf(": %.0f %% of what is known", 100*share)
	}
	return text
}

// day is a date as people read it.
func day(at time.Time) string {
	if at.IsZero() {
		return "at an unknown time"
	}
	return at.Local().Format(time.DateOnly)
}

package main

import (
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/use"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/kind"
	"github.com/memcore/memcore/internal/app/plain"
)

func statsCommand(a *cli) *cobra.Command {
	var days, limit int
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Show what is used, never found, duplicate or stale",
		Long: `Show which documents were among hits and which never were, chunks that say nearly the same (the
newest first), and Markdown files that have neither changed nor been retrieved for long. memcore
counts hits by document and keeps neither queries nor texts; a hit counts half as much after 30
days.

Also show how much of what hooks gave agents in the last 30 days they used: its facts or rare words
are in the agent's answer, or the agent opened the file. A hit can have helped without leaving
words.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if days < 1 {
				return kind.Usagef("--days is %d, want at least 1", days)
			}
			if limit < 1 {
				return kind.Usagef("--limit is %d, want at least 1", limit)
			}
			return a.Index().With(cmd.Context(), func(m *core.Manager) error {
				s, err := m.Statistics(cmd.Context(), time.Now().AddDate(0, 0, -days))
				if err != nil {
					return withHint(err)
				}
				given, err := a.Use().Summary(cmd.Context())
				if err != nil {
					return err
				}
				withoutGiven(&s, given)
				if a.json {
					return a.printJSON(statistics{s, given})
				}
				return printStatistics(a, s, given, days, limit)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&days, "days", 180, "`N` days without a change or a hit after which a Markdown file is stale")
	f.IntVar(&limit, "limit", 10, "`N` lines of each list at most; --json prints all")
	return cmd
}

// statistics are the JSON of stats.
type statistics struct {
	core.Statistics
	Use use.Summary `json:"use"`
}

// withoutGiven removes documents that agents got from those never retrieved: a daemon counts
// retrievals later.
func withoutGiven(s *core.Statistics, given use.Summary) {
	was := map[string]bool{}
	for _, d := range given.Documents {
		was[d.Path] = true
	}
	gone := func(a core.Aged) bool { return was[a.Path] }
	s.Never, s.Stale = slices.DeleteFunc(s.Never, gone), slices.DeleteFunc(s.Stale, gone)
}

func printStatistics(a *cli, s core.Statistics, given use.Summary, days, limit int) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	fmt.Fprintf(w, "%s, %s\n", plain.Count(s.Documents, "document"), plain.Count(s.Chunks, "chunk"))
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
		return func(i int) { fmt.Fprintf(w, "  %s\tchanged %s\n", plain.OneLine(all[i].Path), day(all[i].Changed)) }
	}
	if given.Prompts > 0 {
		fmt.Fprintf(w, "\ngiven to agents in the last %d days: %s, with %d of %s\n", app.UsedSince, plain.Count(given.Given, "hit"), given.Turns, plain.Count(given.Prompts, "prompt"))
		fmt.Fprintf(w, "  %s\n", shares(given.Counts))
		for _, d := range given.Documents[:min(len(given.Documents), limit)] {
			fmt.Fprintf(w, "  %s\tgiven %d\t%s\n", plain.OneLine(d.Path), d.Given, shares(d.Counts))
		}
		if more := len(given.Documents) - limit; more > 0 {
			fmt.Fprintf(w, "  … %d more\n", more)
		}
	}
	list("retrieved", len(s.Retrieved), func(i int) {
		u := s.Retrieved[i]
		fmt.Fprintf(w, "  %s\t%.1f times\tlast %s\n", plain.OneLine(u.Path), u.Weight, day(u.Last))
	})
	list("never retrieved", len(s.Never), aged(s.Never))
	list(fmt.Sprintf("neither changed nor retrieved for %d days", days), len(s.Stale), aged(s.Stale))
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

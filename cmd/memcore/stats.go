package main

import (
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
)

func statsCommand(a *app) *cobra.Command {
	var days, limit int
	cmd := &cobra.Command{
		Use:   "stats",
		Short: "Say what is retrieved, what never is, what is said twice and what is stale",
		Long: `Look through the whole index: which documents were among hits, and which never; which chunks say nearly the same, the newest of each group
first; which Markdown files have neither changed nor been retrieved for long. Uses are counted by document, without queries or texts, and each
counts half as much after 30 days.`,
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
				if a.flags.json {
					return a.printJSON(s)
				}
				return a.printStatistics(s, days, limit)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&days, "days", 180, "`N` days without change or use after which a Markdown file is stale")
	f.IntVar(&limit, "limit", 10, "`N` lines of each list at most; --json has all")
	return cmd
}

func (a *app) printStatistics(s core.Statistics, days, limit int) error {
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

// day is a date as people read it.
func day(at time.Time) string {
	if at.IsZero() {
		return "at an unknown time"
	}
	return at.Local().Format(time.DateOnly)
}

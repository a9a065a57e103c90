package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/app/plain"
)

// memoryStats are the JSON of memory stats.
type memoryStats struct {
	Project  string                      `json:"project"`
	Trusted  bool                        `json:"trusted"`
	Usage    curated.Usage               `json:"usage"`
	Percent  float64                     `json:"percent"`
	Tiers    map[curated.Tier]*tierStats `json:"tiers"`
	NotGiven int                         `json:"notGiven"`
	Warnings int                         `json:"warnings"`
	Cache    curated.CacheStats          `json:"cache"`
	Largest  []largestFile               `json:"largest"`
}

type tierStats struct {
	Files  int `json:"files"`
	Lines  int `json:"lines"`
	Tokens int `json:"tokens"`
}

type largestFile struct {
	Path   string `json:"path"`
	Tokens int    `json:"tokens"`
}

// mostLargest limits the largest files.
const mostLargest = 5

func memoryStatsCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Show what curated memory costs, tier by tier",
		Args:  arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withCurated(cmd.Context(), a, func(layer *curated.Layer, m curated.Memory) error {
				s := statsOf(m)
				s.Cache = layer.CacheStats()
				if a.json {
					return a.printJSON(s)
				}
				return a.print(s.text(a.Settings))
			})
		},
	}
}

func statsOf(m curated.Memory) memoryStats {
	s := memoryStats{Project: m.Project, Trusted: m.Trusted, Usage: m.Usage, Percent: m.Usage.Percent(), Warnings: len(m.Warnings), Tiers: map[curated.Tier]*tierStats{}, Largest: []largestFile{}}
	for _, f := range m.Files {
		if f.Reason != "" {
			s.NotGiven++
			continue
		}
		tier := s.Tiers[f.Tier]
		if tier == nil {
			tier = &tierStats{}
			s.Tiers[f.Tier] = tier
		}
		tier.Files++
		tier.Lines += f.Lines
		tier.Tokens += f.Tokens
		s.Largest = append(s.Largest, largestFile{f.Path, f.Tokens})
	}
	slices.SortStableFunc(s.Largest, func(a, b largestFile) int { return b.Tokens - a.Tokens })
	s.Largest = s.Largest[:min(len(s.Largest), mostLargest)]
	return s
}

func (s memoryStats) text(settings config.Settings) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, plain.Line(format, args...)) }
	row("folder", "%s, %s", s.Project, trustWord(s.Trusted))
	for _, tier := range []curated.Tier{curated.Global, curated.Plugin, curated.Project, curated.Directory} {
		if t := s.Tiers[tier]; t != nil {
			row(string(tier), "%s, %s, %s", plain.Count(t.Files, "file"), plain.Count(t.Lines, "line"), plain.Count(t.Tokens, "token"))
		}
	}
	row("in all", "%s, %s, %.1f KB, %s", plain.Count(s.Usage.Files, "file"), ofMost(s.Usage.Lines, settings.MaxLines, "line"), float64(s.Usage.Bytes)/1024, plain.Count(s.Usage.Tokens, "token"))
	if s.Usage.Context > 0 {
		row("of the context", "%.1f %% of %d; too much from %g %% on", s.Percent, s.Usage.Context, settings.TokenBudgetPercent)
	}
	row("not given", "%s ('memcore memory list' says why)", plain.Count(s.NotGiven, "file"))
	row("warnings", "%d", s.Warnings)
	for i, f := range s.Largest {
		name := ""
		if i == 0 {
			name = "largest"
		}
		row(name, "%s, %s", f.Path, plain.Count(f.Tokens, "token"))
	}
	row("read", "%s, %.1f KB", plain.Count(s.Cache.Files, "file"), float64(s.Cache.Bytes)/1024)
	w.Flush()
	return b.String()
}

func ofMost(n, most int, noun string) string {
	if most < 0 {
		return plain.Count(n, noun)
	}
	return fmt.Sprintf("%d of %s at most", n, plain.Count(most, noun))
}

package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/text/plain"
)

func memoryListCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the memory files: tier, priority, tokens, why one is left out, and what all cost",
		Args:  arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withCurated(cmd.Context(), a, func(_ *curated.Layer, m curated.Memory) error {
				noteCurated(cmd.Context(), a, m)
				if a.json {
					return a.printJSON(memoryFiles{append([]curated.File{}, m.Files...), m.Usage})
				}
				var out strings.Builder
				w := tabwriter.NewWriter(&out, 0, 8, 2, ' ', 0)
				fmt.Fprintln(w, "tier\tpriority\ttokens\tlines\tfile\t")
				for _, f := range m.Files {
					fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%s\n", f.Tier, f.Head.Priority, f.Tokens, f.Lines, plain.OneLine(f.Path), plain.OneLine(remark(f)))
				}
				w.Flush()
				if len(m.Files) == 0 {
					a.note("there are no memory files; 'memcore save TEXT' makes one")
					return nil
				}
				if n := untrustedPlugins(m); n > 0 {
					a.note("%s with memory not trusted; 'memcore trust list FOLDER' shows what it has, 'memcore trust add FOLDER' trusts it", plain.Count(n, "plugin"))
				}
				return a.print(trimLines(out.String()) + usageText(m.Usage, a.Settings) + "\n")
			})
		},
	}
}

// memoryFiles are the JSON of memory list.
type memoryFiles struct {
	Files []curated.File `json:"files"`
	Usage curated.Usage  `json:"usage"`
}

// usageText says what curated memory costs, and the limits.
func usageText(u curated.Usage, settings config.Settings) string {
	lines := plain.Count(u.Lines, "line")
	if settings.MaxLines > 0 {
		lines = fmt.Sprintf("%d of %s at most", u.Lines, plain.Count(settings.MaxLines, "line"))
	}
	tokens := plain.Count(u.Tokens, "token")
	if settings.MaxTokens > 0 {
		tokens = fmt.Sprintf("%d of %s at most", u.Tokens, plain.Count(settings.MaxTokens, "token"))
	}
	return fmt.Sprintf("given: %s, %s, %.1f KB, %s", plain.Count(u.Files, "file"), lines, float64(u.Bytes)/1024, tokens)
}

// untrustedPlugins counts the untrusted plugins with memory.
func untrustedPlugins(m curated.Memory) int {
	folders := map[string]bool{}
	for _, f := range m.Files {
		if f.Untrusted && f.Plugin != "" {
			folders[f.Plugin] = true
		}
	}
	return len(folders)
}

// remark returns a note about a file.
func remark(f curated.File) string {
	switch {
	case f.Reason != "":
		return "not given: " + f.Reason
	case f.Cut:
		return "given in part"
	case len(f.Imported) > 0:
		return "with " + plain.Count(len(f.Imported), "import")
	}
	return ""
}

// trimLines removes trailing blanks.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

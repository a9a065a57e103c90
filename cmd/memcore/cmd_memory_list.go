package main

import (
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/internal/app/plain"
)

func memoryListCommand(a *cli) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the memory files: tier, priority, tokens, and why one is left out",
		Args:  arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withCurated(cmd.Context(), a, func(_ *curated.Layer, m curated.Memory) error {
				noteCurated(cmd.Context(), a, m)
				if a.json {
					if m.Files == nil {
						m.Files = []curated.File{}
					}
					return a.printJSON(m.Files)
				}
				var out strings.Builder
				w := tabwriter.NewWriter(&out, 0, 8, 2, ' ', 0)
				fmt.Fprintln(w, "tier\tpriority\ttokens\tlines\tfile\t")
				for _, f := range m.Files {
					fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%s\n", f.Tier, f.Head.Priority, f.Tokens, f.Lines, plain.OneLine(f.Path), plain.OneLine(remark(f)))
				}
				w.Flush()
				if len(m.Files) == 0 {
					a.note("there are no memory files; 'memcore memory add TEXT' makes one")
					return nil
				}
				if n := untrustedPlugins(m); n > 0 {
					a.note("%s with memory not trusted; 'memcore trust status FOLDER' shows what it has, 'memcore trust add FOLDER' trusts it", plain.Count(n, "plugin"))
				}
				return a.print(trimLines(out.String()))
			})
		},
	}
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

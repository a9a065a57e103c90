package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/fatih/color"
	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/static"
	"github.com/memcore/memcore/internal/jsonfile"
)

func memoryCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "Show and change curated memory: the files for the system prompt",
		RunE:  helpOrUnknown,
		Args:  cobra.ArbitraryArgs,
	}
	cmd.AddCommand(memoryShowCommand(a), memoryAddCommand(a), memoryRefreshCommand(a), memoryListCommand(a), memoryEditCommand(a),
		memoryStatsCommand(a), memoryStatusCommand(a))
	return cmd
}

// withStatic loads curated memory and hands it on.
func (a *app) withStatic(ctx context.Context, do func(*static.Layer, static.Memory) error) error {
	if !a.settings.Enabled {
		a.note(turnedOff)
		return nil
	}
	layer := a.layer()
	m, err := a.loadStatic(ctx, layer)
	if err != nil {
		return err
	}
	return do(layer, m)
}

func memoryShowCommand(a *app) *cobra.Command {
	var provenance bool
	cmd := &cobra.Command{
		Use:   "show",
		Short: "Show the memory that agents are given",
		Long: `Show the memory that agents are given at the start, as memcore context prints it. With --provenance, segment by segment, each
with its tier, file and lines, what imported it, tokens and the beginning of the file's SHA-256.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStatic(cmd.Context(), func(_ *static.Layer, m static.Memory) error {
				if !provenance {
					return a.printContext(m)
				}
				a.staticNotes(m)
				if a.flags.json {
					return a.printJSON(m.Segments)
				}
				return a.print(a.provenance(m))
			})
		},
	}
	cmd.Flags().BoolVar(&provenance, "provenance", false, "say where each part comes from")
	return cmd
}

func (a *app) provenance(m static.Memory) string {
	paint := a.painter()
	var b strings.Builder
	for i, s := range m.Segments {
		if i > 0 {
			b.WriteByte('\n')
		}
		from := ""
		if s.ImportedFrom != "" {
			from = "  imported from " + s.ImportedFrom
		}
		head := oneLine(fmt.Sprintf("%s  %s#L%d-L%d%s  %s  %s", s.Tier, s.Path, s.FirstLine, s.LastLine, from, count(s.Tokens, "token"), s.Hash))
		fmt.Fprintf(&b, "── %s\n%s\n", paint(color.FgCyan, head), s.Text)
	}
	return b.String()
}

func memoryListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the memory files: tier, priority, tokens, and why one is not given",
		Args:  arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStatic(cmd.Context(), func(_ *static.Layer, m static.Memory) error {
				a.staticNotes(m)
				if a.flags.json {
					if m.Files == nil {
						m.Files = []static.File{}
					}
					return a.printJSON(m.Files)
				}
				var out strings.Builder
				w := tabwriter.NewWriter(&out, 0, 8, 2, ' ', 0)
				fmt.Fprintln(w, "tier\tpriority\ttokens\tlines\tfile\t")
				for _, f := range m.Files {
					fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s\t%s\n", f.Tier, f.Head.Priority, f.Tokens, f.Lines, oneLine(f.Path), oneLine(remark(f)))
				}
				w.Flush()
				if len(m.Files) == 0 {
					a.note("there are no memory files; 'memcore memory add TEXT' makes one")
					return nil
				}
				return a.print(trimLines(out.String()))
			})
		},
	}
}

// remark says what is special about a file.
func remark(f static.File) string {
	switch {
	case f.Reason != "":
		return "not given: " + f.Reason
	case f.Cut:
		return "given in part"
	case len(f.Imported) > 0:
		return "with " + count(len(f.Imported), "import")
	}
	return ""
}

// trimLines takes blanks off the ends of lines.
func trimLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n")
}

// lastSeen is what refresh remembers of a workspace: hashes by path.
type lastSeen struct {
	Files map[string]string `json:"files"`
}

func memoryRefreshCommand(a *app) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "refresh",
		Short: "Read the memory files anew and say what has changed since the last time",
		Long: `Read the memory files anew and say what has changed since the last refresh. With --watch (or the setting memory.watchFiles) go on and
say so whenever files change, until Ctrl-C.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStatic(cmd.Context(), func(layer *static.Layer, m static.Memory) error {
				a.staticNotes(m)
				if err := a.printChanges(cmd.Context(), m); err != nil {
					return err
				}
				if !watch && !a.settings.WatchFiles {
					return nil
				}
				var printing error
				ctx, stop := context.WithCancel(cmd.Context())
				defer stop()
				err := layer.Watch(ctx, func(m static.Memory) {
					a.staticNotes(m)
					if printing = a.printChanges(ctx, m); printing != nil {
						stop()
					}
				})
				if printing != nil {
					return printing
				}
				if cmd.Context().Err() != nil { // that is how it ends
					return nil
				}
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&watch, "watch", false, "go on watching")
	return cmd
}

// printChanges tells what differs from what was seen the last time, and remembers what is seen now.
func (a *app) printChanges(ctx context.Context, m static.Memory) error {
	at, err := a.place()
	if err != nil {
		return err
	}
	now := map[string]string{}
	for _, s := range m.Segments {
		now[s.Path] = s.Hash
	}
	var before map[string]string
	_, err = jsonfile.ChangeDerived(ctx, filepath.Join(filepath.Dir(at.index), "static.json"), func(seen *lastSeen) error {
		before, seen.Files = seen.Files, now
		return nil
	})
	if err != nil {
		return fmt.Errorf("remember what was seen: %w", err)
	}
	report := changes(before, now)
	if a.flags.json {
		if report == nil {
			report = []change{}
		}
		return json.NewEncoder(a.stdout).Encode(struct {
			Changes []change     `json:"changes"`
			Usage   static.Usage `json:"usage"`
		}{report, m.Usage})
	}
	var b strings.Builder
	for _, c := range report {
		fmt.Fprintf(&b, "%s  %s\n", c.What, c.Path)
	}
	if before != nil && len(report) == 0 {
		b.WriteString("nothing has changed\n")
	}
	return a.print(b.String() + a.footer(m) + "\n")
}

// A change is what happened to a file since the last refresh.
type change struct {
	What string `json:"what"` // added, changed or removed
	Path string `json:"path"`
}

func changes(before, now map[string]string) []change {
	var all []change
	for _, path := range slices.Sorted(maps.Keys(now)) {
		switch old, had := before[path]; {
		case !had:
			all = append(all, change{"added", path})
		case old != now[path]:
			all = append(all, change{"changed", path})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if _, has := now[path]; !has {
			all = append(all, change{"removed", path})
		}
	}
	return all
}

// footer is one line for a status bar.
func (a *app) footer(m static.Memory) string {
	text := fmt.Sprintf("[%s] [%s tokens", count(m.Usage.Files, "memory file"), thousands(m.Usage.Tokens))
	if m.Usage.Context > 0 {
		text += fmt.Sprintf(", %.1f%% of %s", m.Usage.Percent(), thousands(m.Usage.Context))
	}
	return text + "]"
}

// thousands is a number as status bars show it: 812, 8.5k.
func thousands(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n%1000 == 0:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fk", float64(n)/1000)
}

func memoryStatusCommand(a *app) *cobra.Command {
	var turns, tokens int
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Print one line for a status bar: files, tokens, share of the context window",
		Long: `Print one line for a status bar: memory files, their tokens, the share of the context window. An agent that knows how long its
session is adds it with --turns and --session-tokens. Nothing is asked, and nothing but errors is said.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !a.settings.Enabled {
				return a.print("[memory is off]\n")
			}
			m, err := a.layer().Load(cmd.Context())
			if err != nil {
				return err
			}
			if a.flags.json {
				return a.printJSON(m.Usage)
			}
			line := a.footer(m)
			if turns > 0 || tokens > 0 {
				line += fmt.Sprintf(" [Session: %s, %s tokens]", count(turns, "turn"), thousands(tokens))
			}
			return a.print(line + "\n")
		},
	}
	cmd.Flags().IntVar(&turns, "turns", 0, "turns of the session so far, `N`")
	cmd.Flags().IntVar(&tokens, "session-tokens", 0, "tokens of the session so far, `N`")
	return cmd
}

// memoryStats are what stats prints as JSON.
type memoryStats struct {
	Project  string                     `json:"project"`
	Trusted  bool                       `json:"trusted"`
	Usage    static.Usage               `json:"usage"`
	Percent  float64                    `json:"percent"`
	Tiers    map[static.Tier]*tierStats `json:"tiers"`
	NotGiven int                        `json:"notGiven"`
	Warnings int                        `json:"warnings"`
	Cache    static.CacheStats          `json:"cache"`
	Largest  []largestFile              `json:"largest"`
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

// mostLargest files are named by stats.
const mostLargest = 5

func memoryStatsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "stats",
		Short: "Say what curated memory costs, tier by tier",
		Args:  arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withStatic(cmd.Context(), func(layer *static.Layer, m static.Memory) error {
				s := statsOf(m)
				s.Cache = layer.CacheStats()
				if a.flags.json {
					return a.printJSON(s)
				}
				return a.print(s.text(a.settings))
			})
		},
	}
}

func statsOf(m static.Memory) memoryStats {
	s := memoryStats{Project: m.Project, Trusted: m.Trusted, Usage: m.Usage, Percent: m.Usage.Percent(), Warnings: len(m.Warnings), Tiers: map[static.Tier]*tierStats{}, Largest: []largestFile{}}
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

func (s memoryStats) text(settings settings) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(w, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("folder", "%s, %s", s.Project, trustWord(s.Trusted))
	for _, tier := range []static.Tier{static.Global, static.Plugin, static.Project, static.Directory} {
		if t := s.Tiers[tier]; t != nil {
			row(string(tier), "%s, %s, %s", count(t.Files, "file"), count(t.Lines, "line"), count(t.Tokens, "token"))
		}
	}
	row("in all", "%s, %s, %.1f KB, %s", count(s.Usage.Files, "file"), ofMost(s.Usage.Lines, settings.MaxLines, "line"), float64(s.Usage.Bytes)/1024, count(s.Usage.Tokens, "token"))
	if s.Usage.Context > 0 {
		row("of the context", "%.1f %% of %d; warned about from %g %%, too much from %g %%, cut at %g %%", s.Percent, s.Usage.Context,
			settings.TokenWarnPercent, settings.TokenBudgetPercent, settings.TokenHardPercent)
	}
	row("not given", "%s ('memcore memory list' says why)", count(s.NotGiven, "file"))
	row("warnings", "%d", s.Warnings)
	for i, f := range s.Largest {
		name := ""
		if i == 0 {
			name = "largest"
		}
		row(name, "%s, %s", f.Path, count(f.Tokens, "token"))
	}
	row("read", "%s, %.1f KB", count(s.Cache.Files, "file"), float64(s.Cache.Bytes)/1024)
	w.Flush()
	return b.String()
}

func ofMost(n, most int, noun string) string {
	if most < 0 {
		return count(n, noun)
	}
	return fmt.Sprintf("%d of %s at most", n, count(most, noun))
}

var errNoEditor = errors.New("no editor is set")

// editor is the command line of the person's editor.
func editor() (string, error) {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if command := strings.TrimSpace(os.Getenv(name)); command != "" {
			return command, nil
		}
	}
	return "", &hintError{errNoEditor, "set EDITOR, for instance EDITOR=vi"}
}

package main

import (
	"io"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/app/doctor"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
)

// A cli is what all commands share: the terminal and the workspace.
type cli struct {
	*terminal
	*app.Workspace
}

func newCLI(stdin io.Reader, stdout, stderr io.Writer) *cli {
	t := &terminal{stdin: stdin, stdout: newScreen(stdout), stderr: newScreen(stderr)}
	return &cli{t, &app.Workspace{Config: &config.Config{}, Version: version(), Note: t.note, Glance: doctor.Glance}}
}

const rootHelp = `memcore gives AI agents a memory. It indexes your Markdown files and your agents' conversations, and
finds the few passages that matter for each turn. It derives the index from your files, so you can
delete it at any time.

Exit codes: 0 done, also if nothing was found; 1 failed; 2 wrong flag, argument or setting;
3 indexed, but some files could not be read; 130 interrupted (what was done is kept).`

func newRoot(a *cli) *cobra.Command {
	root := &cobra.Command{
		Use:               "memcore",
		Short:             "Memory for AI agents",
		Long:              rootHelp,
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.prepareAndNote(cmd) },
		Args:              cobra.ArbitraryArgs,
		RunE:              helpOrUnknown,
		Version:           version(),
	}
	cobra.EnableCommandSorting = false // each group has its order
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetVersionTemplate(versionText())
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return kind.Hint(kind.As(kind.BadInput, err), "run '"+cmd.CommandPath()+" --help' for its flags")
	})
	f := root.PersistentFlags()
	f.StringVar(&a.Flags.Workspace, "workspace", "", "`DIR` of the project (default: the nearest folder upwards with .git or .beans, else the current one)")
	f.StringVar(&a.Flags.Config, "config", "", "configuration `FILE` instead of ~/.beans/config.yaml")
	f.StringVar(&a.Flags.IndexDir, "index-dir", "", "`DIR` for indexes (default: memcore in the user's cache folder)")
	f.BoolVar(&a.json, "json", false, "print JSON")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "log more to standard error")
	f.BoolVarP(&a.quiet, "quiet", "q", false, "no progress and no notes on standard error")
	for _, g := range commandGroups(a) {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, cmd := range g.commands {
			cmd.GroupID = g.title
		}
		root.AddCommand(g.commands...)
	}
	root.AddCommand(firstIndexCommand(a), versionCommand(a))
	addHiddenNames(a, root)
	completeValues(a, root)
	return root
}

// A commandGroup is a part of the list of commands.
type commandGroup struct {
	title    string
	commands []*cobra.Command
}

// commandGroups are all commands that the help shows, in its order.
func commandGroups(a *cli) []commandGroup {
	return []commandGroup{
		{"Every day", []*cobra.Command{initCommand(a), searchCommand(a), saveCommand(a), forgetCommand(a), explainCommand(a), viewCommand(a), doctorCommand(a)}},
		{"What is remembered, and who may instruct agents", []*cobra.Command{memoryCommand(a), sessionCommand(a), trustCommand(a), modelCommand(a)}},
		{"For agents and scripts", []*cobra.Command{hookCommand(a), mcpCommand(a), statuslineCommand(a), proxyCommand(a), retrieveCommand(a), readCommand(a), toolCommand(a)}},
		{"Running", []*cobra.Command{indexCommand(a), serveCommand(a), statusCommand(a), exportCommand(a), importCommand(a), uninstallCommand(a)}},
		{"Measuring", []*cobra.Command{evalCommand(a)}},
	}
}

// helpOrUnknown runs a command that only groups others.
func helpOrUnknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	hint := "run '" + cmd.CommandPath() + " --help' for its commands"
	cmd.SuggestionsMinimumDistance = 2
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		hint = "did you mean '" + cmd.CommandPath() + " " + like[0] + "'?"
	}
	return kind.Hint(kind.Usagef("unknown command %q", args[0]), hint)
}

// arguments checks the number of arguments.
func arguments(check cobra.PositionalArgs, wanted string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) == nil {
			return nil
		}
		return kind.Hint(kind.Usagef("%s got %s, want %s", cmd.Name(), plain.Count(len(args), "argument"), wanted),
			"run '"+cmd.CommandPath()+" --help' for how to use it")
	}
}

// prepareAndNote prepares a command, and reports mistakes of the configuration even if it cannot be
// used.
func (c *cli) prepareAndNote(cmd *cobra.Command) error {
	if completes(cmd) {
		return nil
	}
	err := c.prepare()
	c.noteMistakes(slices.Contains(everyday, cmd.Name()))
	return err
}

// prepare finds the workspace and reads the configuration.
func (c *cli) prepare() error {
	c.logFrom(slog.LevelError)
	return c.Prepare()
}

// everyday are the frequent commands, which report mistakes only.
var everyday = []string{"save", "forget", "recall", "tool", "append", "reflect", "explain", "search", "retrieve", "inject", "mcp", "init"}

// noteMistakes reports mistakes of the configuration, and settings that do not count.
func (c *cli) noteMistakes(everyday bool) {
	for _, text := range c.Mistakes {
		c.note("warning: %s", text)
	}
	if everyday {
		return
	}
	for _, text := range c.Ignored {
		c.note("%s", text)
	}
}

// logFrom logs messages from a level on; with --verbose all.
func (c *cli) logFrom(level slog.Level) {
	if c.verbose {
		level = slog.LevelDebug
	}
	c.Log = newLog(c.stderr, level)
}

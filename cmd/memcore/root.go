package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/private"
	"github.com/memcore/memcore/internal/workspace"
)

// An app is what all commands share.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	flags    globalFlags
	settings settings      // those of config
	config   configuration // where they come from
	home     string        // "" if there is none
	project  string        // folder of the workspace
	dir      string        // folder that memcore runs in, at or below project
	cwd      string        // folder that dir and project are looked for from; "" is that of the process
	log      *slog.Logger
	budget   func(time.Duration) // sets how long a hook may take
}

// globalFlags are those every command has, and engine, which has to be read with the settings.
type globalFlags struct {
	workspace, config, indexDir string
	engine                      string
	json, verbose, quiet        bool
}

const rootHelp = `memcore gives an AI agent a memory: it indexes Markdown files and conversation logs, and finds
for each turn the few things worth knowing. Everything it keeps is derived from your files and can
be deleted at any time.

Exit codes: 0 done, also when nothing was found; 1 failed; 2 wrong flag, argument or setting;
3 indexed, but some files could not be read; 130 interrupted (what was done is kept).`

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:               "memcore",
		Short:             "Memory for AI agents",
		Long:              rootHelp,
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			err := a.prepare()
			if !slices.Contains(everyday, cmd.Name()) {
				a.noteIgnored()
			}
			return err
		},
		Args: cobra.ArbitraryArgs,
		RunE: helpOrUnknown,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &hintError{&usageError{err}, "run '" + cmd.CommandPath() + " --help' for its flags"}
	})
	f := root.PersistentFlags()
	f.StringVar(&a.flags.workspace, "workspace", "", "`DIR` of the project (default: the nearest folder upwards with .git or .beans, else the current one)")
	f.StringVar(&a.flags.config, "config", "", "configuration `FILE` instead of ~/.beans/config.yaml")
	f.StringVar(&a.flags.indexDir, "index-dir", "", "`DIR` for indexes (default: memcore in the user's cache folder)")
	f.BoolVar(&a.flags.json, "json", false, "print JSON (see docs/json.md)")
	f.BoolVarP(&a.flags.verbose, "verbose", "v", false, "log more to standard error")
	f.BoolVarP(&a.flags.quiet, "quiet", "q", false, "no progress and no notes on standard error")
	root.AddCommand(initCommand(a), uninstallCommand(a), indexCommand(a), searchCommand(a), retrieveCommand(a), explainCommand(a), injectCommand(a), hookCommand(a), mcpCommand(a), serveCommand(a), watchCommand(a), proxyCommand(a), contextCommand(a),
		memoryCommand(a), trustCommand(a), saveCommand(a), toolCommand(a), forgetCommand(a), recallCommand(a), sessionCommand(a), logCommand(a), reflectCommand(a), statusCommand(a), statsCommand(a), doctorCommand(a), evalCommand(a), versionCommand(a))
	return root
}

// helpOrUnknown is what a command does that only has others below it.
func helpOrUnknown(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	hint := "run '" + cmd.CommandPath() + " --help' for its commands"
	cmd.SuggestionsMinimumDistance = 2
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		hint = "did you mean '" + cmd.CommandPath() + " " + like[0] + "'?"
	}
	return &hintError{usagef("unknown command %q", args[0]), hint}
}

// arguments is a check of arguments whose error is a mistake in what was typed.
func arguments(check cobra.PositionalArgs, wanted string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check(cmd, args) == nil {
			return nil
		}
		return &hintError{usagef("%s got %s, want %s", cmd.Name(), count(len(args), "argument"), wanted),
			"run '" + cmd.CommandPath() + " --help' for how to use it"}
	}
}

// prepare finds the workspace and reads the configuration.
func (a *app) prepare() error {
	if err := a.locate(); err != nil {
		return err
	}
	if err := a.configure(); err != nil {
		return err
	}
	for _, dir := range a.ownFolders() {
		if note, err := private.Keep(dir); err == nil && note != "" { // an error is for who uses the folder: see foreign
			a.note("%s", note)
		}
	}
	return nil
}

// foreign is an error if a folder of memcore's own is another user's.
func (a *app) foreign() error {
	for _, dir := range a.ownFolders() {
		if _, err := private.Look(dir); errors.Is(err, private.ErrForeign) { // what else is wrong with it is said by who uses it
			return &hintError{err, foreignHint}
		}
	}
	return nil
}

// foreignHint is what helps against a folder that is another user's.
const foreignHint = "run memcore as the user whose folder it is, remove the folder, or name another one with --index-dir"

// ownFolders are the folders of indexes and caches that memcore makes and nobody else has any business in. A folder that the user has named is
// theirs, with the permissions that they gave it; those below it that memcore makes are not.
func (a *app) ownFolders() []string {
	root, err := a.settings.indexRoot()
	if err != nil {
		return nil // whoever needs one says so
	}
	if a.settings.IndexDir == "" {
		return []string{root}
	}
	var all []string
	for _, name := range []string{indexFolder, embeddingsFolder, hooksFolder, journalFolder} {
		all = append(all, filepath.Join(root, name))
	}
	return all
}

// everyday are commands that are run again and again, which do not say each time what of the configuration does not count.
var everyday = []string{"save", "forget", "recall", "tool", "append", "overview", "reflect", "stats", "explain", "search", "retrieve", "inject", "mcp", "init"}

// noteIgnored says what of the configuration does not count.
func (a *app) noteIgnored() {
	for _, text := range a.config.ignored {
		a.note("%s", text)
	}
}

// locate finds the workspace.
func (a *app) locate() error {
	// What a person should know is said by notes and errors; the log is for who wants more.
	a.logFrom(slog.LevelError)
	a.home, _ = os.UserHomeDir()
	project, err := a.findProject()
	if err != nil {
		return usagef("--workspace: %w", err)
	}
	a.project, a.dir = project, paths.Resolve(a.from())
	if rel, err := filepath.Rel(project, a.dir); err != nil || !filepath.IsLocal(rel) {
		a.dir = project // it was named with --workspace
	}
	return nil
}

// configure reads the configuration. After an error the settings are not usable.
func (a *app) configure() (err error) {
	a.config, err = loadSettings(a)
	a.settings = a.config.settings
	return err
}

// logFrom makes a log of messages from a level on; with --verbose of all.
func (a *app) logFrom(level slog.Level) {
	if a.flags.verbose {
		level = slog.LevelDebug
	}
	a.log = newLog(a.stderr, level)
}

// from is the folder that everything is looked for from.
func (a *app) from() string { return cmp.Or(a.cwd, ".") }

// in is the app of another folder, with its own configuration; it asks nobody and prints nothing.
func (a *app) in(dir string) (*app, error) {
	other := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard, flags: a.flags, cwd: dir}
	other.flags.workspace, other.flags.quiet = "", true
	if err := other.prepare(); err != nil {
		return nil, err
	}
	other.log = a.log
	return other, nil
}

// findProject takes a folder that was named as it is.
func (a *app) findProject() (string, error) {
	if a.flags.workspace == "" {
		return workspace.Find(a.from(), a.home)
	}
	path, err := filepath.Abs(a.flags.workspace)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err != nil {
		return "", err
	} else if !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder", path)
	}
	return filepath.EvalSymlinks(path)
}

// note tells the person something beside the answer. Names in it may come from anywhere.
func (a *app) note(format string, args ...any) {
	if !a.flags.quiet {
		fmt.Fprintf(a.stderr, "memcore: %s\n", oneLine(fmt.Sprintf(format, args...)))
	}
}

func (a *app) printJSON(v any) error {
	encoder := json.NewEncoder(a.stdout)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// count is a number with its noun: "1 file", "2 files".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func (a *app) print(text string) error {
	_, err := io.WriteString(a.stdout, text)
	return err
}

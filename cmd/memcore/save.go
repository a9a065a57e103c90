package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/sanitize"
)

func saveCommand(a *app) *cobra.Command {
	var r notes.SaveRequest
	var yes, undo bool
	cmd := &cobra.Command{
		Use:   "save TEXT|-",
		Short: "Save something to remember, as an agent's save_memory does",
		Long: `Save a text to the project's memory file, or to your own, under "## Auto-saved Memories" or another section. The change is shown; on a
terminal you are asked before it is written. What the file says already, word by word or about, is not written again. Secrets are
taken out. --undo takes back the last change that memcore made to a memory file.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if undo {
				if len(args) > 0 {
					return usagef("save --undo takes no text")
				}
				return a.undo(cmd.Context(), yes)
			}
			text, err := a.wholeText(args)
			if err != nil {
				return err
			}
			r.Content = text
			return a.save(cmd.Context(), r, yes)
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.Section, "section", "", "`HEADING` to add it under (default: Auto-saved Memories)")
	f.StringVar(&r.Target, "target", notes.TargetProject, "`TARGET`, project or global")
	f.StringVar(&r.Supersedes, "supersedes", "", "`TEXT` or citation of the older statement that this one corrects; it is struck through and no longer found")
	f.BoolVar(&r.Private, "local", false, "the private .local.md file, which is kept out of git")
	f.BoolVarP(&yes, "yes", "y", false, "do not ask")
	f.BoolVar(&undo, "undo", false, "take back the last change")
	return cmd
}

func (a *app) undo(ctx context.Context, yes bool) error {
	journal, err := a.journal()
	if err != nil {
		return err
	}
	record, err := journal.UndoIf(ctx, func(last notes.Record) error { return a.agreeToUndo(ctx, last, yes) })
	switch {
	case errors.Is(err, errNotUndone):
		a.note("nothing was taken back")
		return nil
	case errors.Is(err, notes.ErrNoRecord):
		a.note("%v", err)
		return nil
	case errors.Is(err, notes.ErrChanged):
		a.showGivenUp(record)
		return &hintError{fmt.Errorf("undo: %w", err), "mend it by hand: memcore memory edit; another --undo takes back the change before it"}
	case errors.Is(err, notes.ErrNotKept):
		return &hintError{fmt.Errorf("undo: %s: %w", record.Label, err), "another --undo takes back the change before it"}
	case errors.Is(err, notes.ErrOvertaken):
		return &hintError{fmt.Errorf("undo: %w", err), "run it again: it shows what the last change is now"}
	case err != nil:
		return fmt.Errorf("undo: %w", err)
	}
	if a.flags.json {
		return a.printJSON(record)
	}
	var b strings.Builder
	for _, e := range record.Edits {
		fmt.Fprintf(&b, "took back: %s\n", e.File())
	}
	return a.print(b.String())
}

// showGivenUp shows what files had before a change that cannot be taken back any more: the journal was the last to have it.
func (a *app) showGivenUp(record notes.Record) {
	for _, e := range record.Edits {
		if e.Old == "" {
			continue
		}
		a.note("%s had this before, which is kept nowhere else now:", e.File())
		shown, _ := sanitize.Reveal(e.Old)
		fmt.Fprint(a.stderr, strings.TrimSuffix(shown, "\n")+"\n")
	}
}

var errNotUndone = errors.New("not undone")

// agreeToUndo asks before something is taken back that was not a change of this project's memory or the person's own: the last change may be of another project,
// or of agents' files.
func (a *app) agreeToUndo(ctx context.Context, last notes.Record, yes bool) error {
	ours := []string{a.project, a.beans(), a.dataDir()}
	foreign := slices.ContainsFunc(last.Edits, func(e notes.Hunk) bool {
		return !slices.ContainsFunc(ours, func(folder string) bool {
			if folder == "" {
				return false
			}
			_, inside := paths.Within(paths.Resolve(folder), e.File())
			return inside
		})
	})
	if !foreign || yes {
		return nil
	}
	a.note("the last change is: %s, %s", last.Label, last.At.Local().Format(time.DateTime))
	for _, e := range last.Edits {
		a.note("  %s", e.File())
	}
	if !a.asks() {
		return &hintError{usagef("the last change was not one of this project's memory"), "--yes takes it back all the same"}
	}
	fmt.Fprint(a.stderr, "Take this back? [y/N] ")
	if answer := a.answer(ctx); answer != "y" && answer != "yes" {
		return errNotUndone
	}
	return nil
}

// data is the folder of facts and episodes.
func (a *app) data() (*notes.Data, error) {
	journal, err := a.journal()
	if err != nil {
		return nil, err
	}
	within := a.project
	if filepath.IsAbs(a.expand(a.settings.DataDir)) {
		within = "" // the person's own choice
	}
	return notes.OpenData(within, a.dataDir(), journal), nil
}

func (a *app) dataDir() string {
	dir := a.expand(a.settings.DataDir)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.project, dir)
	}
	return dir
}

// tools are those that a model may call.
func (a *app) tools() ([]notes.Tool, error) {
	journal, err := a.journal()
	if err != nil {
		return nil, err
	}
	session, err := a.session("")
	if err != nil && !errors.Is(err, notes.ErrNoSession) {
		return nil, err
	}
	recall, err := a.recallOptions()
	if err != nil {
		return nil, err
	}
	files, err := a.shownFiles()
	if err != nil {
		return nil, err
	}
	tools := append(notes.Tools(notes.NewSaver(a.layer(), journal, notes.SaveOptions{Find: files.find, Shown: files.line}), nil), notes.FileTools(files)...)
	if session != nil {
		tools = append(tools, notes.RecallTool(func(context.Context) ([]*notes.Session, error) { return []*notes.Session{session}, nil }, recall))
	}
	return tools, nil
}

func toolCommand(a *app) *cobra.Command {
	var definitions bool
	cmd := &cobra.Command{
		Use:   "tool [NAME [JSON|-]]",
		Short: "List the memory tools for a model, or call one",
		Long: `List the tools that a model may call to write memory: save_memory, and for facts and episodes memory_read, memory_write, memory_patch,
memory_append and memory_list; recall_memory, if there is a session. --definitions prints them as chat APIs want them. With a NAME call it; its arguments are
a JSON object, "-" reads it from standard input. Nobody is asked: 'memcore save --undo' takes back the last change.`,
		Args: arguments(cobra.MaximumNArgs(2), "a name and its arguments"),
		RunE: func(cmd *cobra.Command, args []string) error {
			tools, err := a.tools()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				return a.listTools(tools, definitions)
			}
			at := slices.IndexFunc(tools, func(t notes.Tool) bool { return t.Name == args[0] })
			if at < 0 {
				return &hintError{usagef("there is no tool %q", args[0]), "run 'memcore tool' for their names"}
			}
			input := []byte(nil)
			if len(args) > 1 {
				text, err := a.wholeText(args[1:])
				if err != nil {
					return err
				}
				input = []byte(text)
			}
			answer, err := tools[at].Call(cmd.Context(), input)
			if errors.Is(err, notes.ErrArguments) {
				return &usageError{err}
			}
			if err != nil {
				return err
			}
			if a.flags.json {
				return a.printJSON(answer)
			}
			return a.print(strings.TrimRight(answer.Text, "\n") + "\n")
		},
	}
	cmd.Flags().BoolVar(&definitions, "definitions", false, "print the definitions as JSON, as chat APIs want them")
	return cmd
}

func (a *app) listTools(tools []notes.Tool, definitions bool) error {
	if definitions || a.flags.json {
		all := make([]any, len(tools))
		for i, t := range tools {
			all[i] = t.Definition()
		}
		return a.printJSON(all)
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	for _, t := range tools {
		first, _, _ := strings.Cut(t.Description, "\n")
		fmt.Fprintf(w, "%s\t%s\n", t.Name, first)
	}
	w.Flush()
	return a.print(b.String())
}

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/paths"
)

func forgetCommand(a *app) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "forget TEXT|CITATION",
		Short: "Take a statement out of the memory files",
		Long: `Take out of the memory files (the project's and your own, facts and episodes) what says TEXT, or has all its words, if there is just one such
statement. A CITATION, as search prints it (notes/staging.md#L3-L5), takes those lines out of a Markdown file of the workspace or of your
own memory. The change is shown, and on a terminal you are asked; elsewhere it takes --yes. 'memcore save --undo' takes it back. The
index follows by itself.`,
		Args: arguments(cobra.MinimumNArgs(1), "a text or a citation"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args, " ")
			place, ok, err := a.cited(text)
			if err != nil {
				return err
			}
			if !ok {
				if place, err = a.statement(cmd.Context(), text); err != nil {
					return err
				}
			}
			return a.forget(cmd.Context(), place, yes)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

var citation = regexp.MustCompile(`^(.+\.[mM][dD])#L(\d+)(?:-L?(\d+))?$`)

// cited is the place that a citation names; ok is false for a text that is none.
func (a *app) cited(text string) (p notes.Place, ok bool, err error) {
	m := citation.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return notes.Place{}, false, nil
	}
	file := a.expand(m[1])
	if !filepath.IsAbs(file) {
		file = filepath.Join(a.project, file)
	}
	p = notes.Place{Path: m[1]}
	p.First, _ = strconv.Atoi(m[2])
	p.Last = p.First
	if m[3] != "" {
		p.Last, _ = strconv.Atoi(m[3])
	}
	if reason := source.DenyReason(file); reason != "" {
		return p, true, usagef("forget: %s is never touched: %s", m[1], reason)
	}
	for _, folder := range []string{a.project, a.beans(), a.dataDir()} {
		if folder == "" {
			continue
		}
		dir, real := paths.Resolve(folder), paths.Resolve(file)
		if reason := source.DenyReason(real); reason != "" || !strings.EqualFold(filepath.Ext(real), ".md") {
			return p, true, usagef("forget: %s leads to a file that is never touched", m[1])
		}
		if name, inside := paths.Within(dir, real); inside && name != "." {
			p.Dir, p.Name = dir, filepath.ToSlash(name)
			return p, true, nil
		}
	}
	return p, true, usagef("forget: %s is neither in the workspace nor in your own memory", m[1])
}

// statement is the one in the memory files that says a text.
func (a *app) statement(ctx context.Context, text string) (notes.Place, error) {
	files, err := a.memoryFiles(ctx)
	if err != nil {
		return notes.Place{}, err
	}
	var found []notes.Place
	for _, file := range files {
		some, err := notes.StatementsAbout(file, text)
		if err != nil {
			return notes.Place{}, err
		}
		found = append(found, some...)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return notes.Place{}, &hintError{fmt.Errorf("no memory file says %q", text), "'memcore search' finds it elsewhere; then name it by its citation"}
	}
	for _, p := range found {
		a.note("%s: %s", p.Citation(), p.Text)
	}
	return notes.Place{}, &hintError{fmt.Errorf("%d statements are about %q", len(found), text), "name one of them: memcore forget '" + found[0].Citation() + "'"}
}

// memoryFiles are those that are written to: the project's and the user's, facts and episodes.
func (a *app) memoryFiles(ctx context.Context) ([]notes.Place, error) {
	layer := a.layer()
	var files []notes.Place
	for _, global := range []bool{false, true} {
		for _, private := range []bool{false, true} {
			target, err := layer.Target(global, private)
			if err != nil {
				continue // there is no home folder
			}
			dir, name, err := target.Place()
			if err != nil {
				return nil, err
			}
			files = append(files, notes.Place{Path: target.Path, Dir: dir, Name: name})
		}
	}
	data, err := a.data()
	if err != nil {
		return nil, err
	}
	items, err := data.List(ctx)
	if err != nil {
		return nil, err
	}
	names := paths.NewNames(a.project, a.home)
	for _, item := range items {
		files = append(files, notes.Place{Path: names.Of(filepath.Join(a.dataDir(), filepath.FromSlash(item.Path))), Dir: paths.Resolve(a.dataDir()), Name: item.Path})
	}
	return files, nil
}

func (a *app) forget(ctx context.Context, p notes.Place, yes bool) error {
	journal, err := a.journal()
	if err != nil {
		return err
	}
	change, written, err := journal.Forget(ctx, p, func(ctx context.Context, c notes.Change) (bool, error) {
		if !yes && !a.asks() {
			return false, &hintError{usagef("forget: nobody can be asked"), "add --yes"}
		}
		return a.confirm(ctx, c.Path, c.Diff, yes)
	})
	if err != nil {
		return err
	}
	if len(change.Redacted) > 0 {
		a.note("what was taken out held a secret, so it was not kept and cannot be taken back")
	}
	if a.flags.json {
		return a.printJSON(map[string]any{"path": change.Path, "line": change.Line, "diff": change.Diff, "written": written})
	}
	if !written {
		a.note("nothing was taken out")
		return nil
	}
	return a.print("taken out: " + p.Citation() + "\n")
}

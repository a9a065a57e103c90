package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/paths"
)

func forgetCommand(a *app) *cobra.Command {
	var o forgetOptions
	cmd := &cobra.Command{
		Use:   "forget TEXT|CITATION",
		Short: "Take a statement out of the memory files, or out of the index only",
		Long: `Take out of the memory files (the project's and your own, facts and episodes) what says TEXT, or has all its words, if there is just one such
statement. A CITATION, as search prints it (notes/staging.md#L3-L5), takes those lines out of a Markdown file of the workspace or of your
own memory. The change is shown, and on a terminal you are asked; elsewhere it takes --yes. 'memcore save --undo' takes it back. The
index follows by itself.

--from-index leaves the files alone and takes what the CITATION names out of the index, for good: that is the way for conversation logs. --source does so
with a whole document, --id with what a hit's id names; of a Markdown file --id without --from-index takes out the lines. --remember takes back
all that was taken out of the index of a document. What changes in a document afterwards is found again.`,
		Args: arguments(cobra.ArbitraryArgs, "a text or a citation"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.TrimSpace(strings.Join(args, " "))
			named := 0
			for _, name := range []string{text, o.id, o.source, o.remember} {
				if name != "" {
					named++
				}
			}
			if named != 1 {
				return &hintError{usagef("forget: name one thing: a text, a citation, --id, --source or --remember"), "run 'memcore forget --help' for what they are"}
			}
			return a.forgetNamed(cmd.Context(), text, o)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&o.fromIndex, "from-index", false, "leave the files alone")
	f.StringVar(&o.id, "id", "", "`ID` of a hit, as --json prints it")
	f.StringVar(&o.source, "source", "", "`PATH` of a document, as search prints it: all of it, from the index only")
	f.StringVar(&o.remember, "remember", "", "`PATH` of a document that is to be found again")
	return cmd
}

// forgetOptions are the flags of forget.
type forgetOptions struct {
	yes, fromIndex       bool
	id, source, remember string
}

func (a *app) forgetNamed(ctx context.Context, text string, o forgetOptions) error {
	switch {
	case o.remember != "":
		return a.withIndex(ctx, func(m *core.Manager) error {
			n, err := m.Remember(ctx, o.remember)
			if errors.Is(err, core.ErrNotIndexed) {
				return usagef("%w", err)
			}
			if err != nil {
				return err
			}
			return a.print(fmt.Sprintf("found again: %s (%s)\n", o.remember, count(n, "thing")))
		})
	case o.source != "":
		return a.withIndex(ctx, func(m *core.Manager) error { return a.forgetIndexed(ctx, m, o.source, nil, o.yes) })
	case o.id != "":
		return a.withIndex(ctx, func(m *core.Manager) error { return a.forgetHit(ctx, m, o) })
	case o.fromIndex:
		m := anyCitation().FindStringSubmatch(text)
		if m == nil {
			return &hintError{usagef("forget --from-index: %q is no citation", text), "'memcore search' prints them; --source takes a whole document"}
		}
		first, _ := strconv.Atoi(m[2])
		last := first
		if m[3] != "" {
			last, _ = strconv.Atoi(m[3])
		}
		return a.withIndex(ctx, func(manager *core.Manager) error {
			chunks, err := manager.Chunks(ctx, m[1])
			if err != nil {
				return notIndexed(err)
			}
			chunks = slices.DeleteFunc(chunks, func(c core.MemoryHit) bool { return c.EndLine < first || c.StartLine > last })
			if len(chunks) == 0 {
				return usagef("forget: the index has nothing of lines %d to %d of %s", first, last, m[1])
			}
			return a.forgetIndexed(ctx, manager, m[1], chunks, o.yes)
		})
	}
	place, err := a.find(ctx, text)
	if err != nil {
		return err
	}
	return a.forget(ctx, place, o.yes)
}

// withIndex opens the memory for a change of its index.
func (a *app) withIndex(ctx context.Context, do func(*core.Manager) error) error {
	at, err := a.place()
	if err != nil {
		return err
	}
	engine, err := a.engineOf(at).writable()
	if err != nil {
		return err
	}
	return a.withEngine(ctx, at, engine, do)
}

// forgetHit forgets what an ID names: lines of a Markdown file, or a turn of a conversation in the index.
func (a *app) forgetHit(ctx context.Context, m *core.Manager, o forgetOptions) error {
	if _, err := m.Index(ctx, core.IndexOptions{}); err != nil { // its lines have to be those of the file as it is now
		return err
	}
	hit, err := m.Find(ctx, o.id)
	if err != nil {
		return notIndexed(err)
	}
	if !o.fromIndex && hit.Kind == source.KindMarkdown {
		place, err := a.find(ctx, hit.Source)
		if err != nil {
			return err
		}
		return a.forget(ctx, place, o.yes)
	}
	return a.forgetIndexed(ctx, m, hit.Path, []core.MemoryHit{hit}, o.yes)
}

// forgetIndexed takes chunks of a document, or all of it, out of the index, after it has shown them and asked.
func (a *app) forgetIndexed(ctx context.Context, m *core.Manager, path string, chunks []core.MemoryHit, yes bool) error {
	var ids []string
	for _, c := range chunks {
		ids = append(ids, c.ID)
		a.note("%s: %s", c.Source, c.Text)
	}
	if chunks == nil {
		all, err := m.Chunks(ctx, path)
		if err != nil {
			return notIndexed(err)
		}
		a.note("%s: all of it, %s", path, count(len(all), "chunk"))
	}
	if !yes {
		if !a.asks() {
			return &hintError{usagef("forget: nobody can be asked"), "add --yes"}
		}
		fmt.Fprintf(a.stderr, "Take this out of the index, and keep it out? [Y/n] ")
		if answer := a.answer(ctx); answer != "" && answer != "y" && answer != "yes" {
			a.note("nothing was taken out")
			return ctx.Err()
		}
	}
	n, err := m.Forget(ctx, path, ids...)
	if err != nil {
		return notIndexed(err)
	}
	if err := a.forgetUse(ctx, path); err != nil {
		return err
	}
	left, err := m.Chunks(ctx, path)
	if err != nil && !errors.Is(err, core.ErrNotIndexed) {
		return err
	}
	for _, l := range left {
		if slices.ContainsFunc(chunks, func(gone core.MemoryHit) bool { return goesOn(gone.Text, l.Text) || goesOn(l.Text, gone.Text) }) {
			a.note("a part of it is said again in %s: 'memcore forget --from-index --id %s' takes that out, too", l.Source, l.ID)
		}
	}
	if a.flags.json {
		return a.printJSON(map[string]any{"path": path, "chunks": n})
	}
	return a.print(fmt.Sprintf("no longer found: %s of %s; the file is as it was\n", count(n, "chunk"), path))
}

// goesOn tells whether a chunk begins with what another one ends with: those of a long paragraph overlap.
func goesOn(from, to string) bool {
	const telling = 24 // bytes
	for n := min(len(from), len(to)); n >= telling; n-- {
		if strings.HasSuffix(from, to[:n]) {
			return true
		}
	}
	return false
}

func notIndexed(err error) error {
	if errors.Is(err, core.ErrNotOurs) {
		return usagef("%w: forget it there", err)
	}
	if errors.Is(err, core.ErrNotIndexed) {
		return &hintError{usagef("%w", err), "'memcore search' prints what there is; --json has the ids"}
	}
	return err
}

// find is the place in a memory file that a citation names, or the one that says a text.
func (a *app) find(ctx context.Context, text string) (notes.Place, error) {
	place, ok, err := a.cited(text)
	if err != nil || ok {
		return place, err
	}
	return a.statement(ctx, text)
}

// anyCitation names lines of any document.
var anyCitation = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.+)#L(\d+)(?:-L?(\d+))?$`)
})

var citation = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.+\.[mM][dD])#L(\d+)(?:-L?(\d+))?$`)
})

// cited is the place that a citation names; ok is false for a text that is none.
func (a *app) cited(text string) (p notes.Place, ok bool, err error) {
	m := citation().FindStringSubmatch(strings.TrimSpace(text))
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
		return p, true, usagef("%s is never touched: %s", m[1], reason)
	}
	for _, folder := range []string{a.project, a.beans(), a.dataDir()} {
		if folder == "" {
			continue
		}
		dir, real := paths.Resolve(folder), paths.Resolve(file)
		if reason := source.DenyReason(real); reason != "" || !strings.EqualFold(filepath.Ext(real), ".md") {
			return p, true, usagef("%s leads to a file that is never touched", m[1])
		}
		if name, inside := paths.Within(dir, real); inside && name != "." {
			p.Dir, p.Name = dir, filepath.ToSlash(name)
			return p, true, nil
		}
	}
	return p, true, usagef("%s is neither in the workspace nor in your own memory", m[1])
}

// statement is the one in the memory files that says a text.
func (a *app) statement(ctx context.Context, text string) (notes.Place, error) {
	found, err := a.statements(ctx, text)
	if err != nil {
		return notes.Place{}, err
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

// statements are those in the memory files that say a text.
func (a *app) statements(ctx context.Context, text string) ([]notes.Place, error) {
	files, err := a.memoryFiles(ctx)
	if err != nil {
		return nil, err
	}
	var found []notes.Place
	for _, file := range files {
		some, err := notes.StatementsAbout(file, text)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
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
	if written {
		if err := a.forgetStatement(ctx, p, change); err != nil {
			return err
		}
	}
	if a.flags.json {
		return a.printJSON(map[string]any{"path": change.Path, "line": change.Line, "diff": change.Diff, "written": written})
	}
	if !written {
		a.note("nothing was taken out")
		return nil
	}
	return a.print("taken out: " + p.At(change.Line).Citation() + "\n")
}

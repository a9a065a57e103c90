package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/plain"
)

func forgetCommand(a *cli) *cobra.Command {
	var o forgetOptions
	cmd := &cobra.Command{
		Use:   "forget TEXT|CITATION",
		Short: "Delete a statement from memory files, or from the index only",
		Long: `Delete the one statement in memory files (the project's, your own, facts and episodes) that says
TEXT or has all its words. A CITATION as search prints it, such as notes/staging.md#L3-L5, deletes
those lines of a Markdown file in the workspace or in your own memory. memcore shows the change and
asks on a terminal; elsewhere it needs --yes. 'memcore save --undo' takes it back.

--from-index keeps the files and hides what the CITATION names from search. It also takes a name as
turns give it, such as k3f9a-12. A turn of a conversation is hidden without it, since memcore never
changes an agent's log. --source hides a whole document, with what is added to it later. --id names
a hit: in a Markdown file it is deleted, with --from-index or in other documents it is hidden. What
is hidden is hidden in all projects, also in copies, and leaves memcore's own notes of sessions for
good. --remember finds a document's text again, and its copies.

A path is that of a file as the shell has it, or if there is none, as citations have it.`,
		Args: arguments(cobra.ArbitraryArgs, "a text or a citation"),
		RunE: func(cmd *cobra.Command, args []string) error {
			text := a.TypedPassage(strings.TrimSpace(strings.Join(args, " ")))
			document, _, _, isCitation := paths.ParseCitation(o.remember)
			o.source, o.remember = a.TypedDocument(o.source), a.TypedDocument(o.remember)
			named := 0
			for _, name := range []string{text, o.id, o.source, o.remember} {
				if name != "" {
					named++
				}
			}
			if named != 1 {
				return kind.Hint(kind.Usagef("forget: name one thing: a text, a citation, --id, --source or --remember"), "run 'memcore forget --help' for what they are")
			}
			err := forgetNamed(cmd.Context(), a, text, o)
			if isCitation && errors.Is(err, core.ErrNotForgotten) {
				return kind.Hint(err, fmt.Sprintf("--remember wants a whole document: memcore forget --remember '%s'", document))
			}
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	f.BoolVar(&o.fromIndex, "from-index", false, "keep the files, and hide it from search only")
	f.StringVar(&o.id, "id", "", "`ID` of a hit, as --json prints it")
	f.StringVar(&o.source, "source", "", "`PATH` of a document to hide from search, as search prints it")
	f.StringVar(&o.remember, "remember", "", "`PATH` of a hidden document to find again")
	return cmd
}

// forgetOptions are the flags of forget.
type forgetOptions struct {
	yes, fromIndex       bool
	id, source, remember string
}

func forgetNamed(ctx context.Context, a *cli, text string, o forgetOptions) error {
	switch {
	case o.remember != "":
		return a.Index().ForWriting(ctx, func(m *core.Manager) error {
			n, err := m.Remember(ctx, o.remember)
			if err != nil {
				return err
			}
			if _, err := m.Chunks(ctx, o.remember); errors.Is(err, core.ErrNotIndexed) {
				a.note("%s is not there, so nothing of it is found; what was kept of a log that its agent deleted went when it was forgotten", o.remember)
			}
			return a.printLine("found again: %s (%s)", o.remember, plain.Count(n, "thing"))
		})
	case o.source != "":
		return a.Index().ForWriting(ctx, func(m *core.Manager) error { return forgetIndexed(ctx, a, m, o.source, nil, o.yes) })
	case o.id != "":
		return a.Index().ForWriting(ctx, func(m *core.Manager) error { return forgetHit(ctx, a, m, o) })
	case o.fromIndex:
		document, first, last, cited := paths.ParseCitation(text)
		if !cited && !core.IsPassageName(text) {
			return kind.Hint(kind.Usagef("forget --from-index: %q is no citation", text), "'memcore search' prints them; --source takes a whole document")
		}
		return a.Index().ForWriting(ctx, func(m *core.Manager) error {
			if !cited {
				p, err := m.Read(ctx, text)
				if err != nil {
					return err
				}
				document, first, last = p.Path, p.StartLine, p.EndLine
			}
			return forgetLines(ctx, a, m, document, first, last, o.yes)
		})
	}
	if hidden, err := forgetCited(ctx, a, text, o.yes); hidden || err != nil {
		return err
	}
	place, err := a.Notes().Find(ctx, text)
	if err != nil {
		return err
	}
	return forgetPlace(ctx, a, place, o.yes)
}

// forgetCited hides the lines of an indexed document that memcore never changes, such as a log, and
// reports whether the text cites such a one.
func forgetCited(ctx context.Context, a *cli, text string, yes bool) (is bool, err error) {
	document, first, last, cited := paths.ParseCitation(text)
	if !cited || strings.EqualFold(path.Ext(document), ".md") && !source.IsMarkdownLog(a.FileNamed(document)) {
		return false, nil
	}
	err = a.Index().ForWriting(ctx, func(m *core.Manager) error {
		if _, err := m.Chunks(ctx, document); errors.Is(err, core.ErrNotIndexed) {
			return nil
		}
		is = true
		return forgetLines(ctx, a, m, document, first, last, yes)
	})
	return is, err
}

// forgetLines asks, then hides what lines of a document say, and nothing beside them.
func forgetLines(ctx context.Context, a *cli, m *core.Manager, path string, first, last int, yes bool) error {
	chunks, err := m.Chunks(ctx, path)
	if err != nil {
		return notIndexed(err)
	}
	says, err := m.Says(ctx, path, first, last)
	if err != nil {
		return err
	}
	if len(says) == 0 {
		return kind.Usagef("forget: lines %d to %d of %s say nothing, or are hidden already", first, last, path)
	}
	for _, text := range says {
		a.note("%s: %s", paths.Citation(path, first, last), text)
	}
	agreed, left, err := consentToHide(ctx, a, path, len(chunks) > 0 && chunks[0].Gone, yes)
	if !agreed || err != nil {
		return err
	}
	n, err := a.Use().HideLines(ctx, m, path, first, last)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]any{"path": path, "texts": n})
	}
	return a.printLine("hidden from search: %s of %s; %s", plain.Count(n, "text"), path, left)
}

// consentToHide also says what is left.
func consentToHide(ctx context.Context, a *cli, path string, gone, yes bool) (agreed bool, left string, err error) {
	question, left := "Hide this from search?", "the file is unchanged"
	switch {
	case gone:
		question, left = "Forget this for good? Its log is deleted.", "the log is deleted, so this cannot be taken back"
	case strings.HasPrefix(path, session.PathPrefix):
		question, left = "Forget this for good? It is memcore's own note of a session.", "it left the session's messages, too, so this cannot be taken back"
	}
	if agreed, err = consent(ctx, a, "forget", question, yes); err == nil && !agreed {
		a.note("nothing was hidden")
	}
	return agreed, left, err
}

// forgetHit forgets a hit's lines in a Markdown file, else the hit in the index.
func forgetHit(ctx context.Context, a *cli, m *core.Manager, o forgetOptions) error {
	if _, err := m.Index(ctx, core.IndexOptions{}); err != nil { // so that line numbers are those of the file
		return err
	}
	hit, err := m.Find(ctx, o.id)
	if err != nil {
		return notIndexed(err)
	}
	if !o.fromIndex && hit.Kind == source.KindMarkdown {
		place, err := a.Notes().Find(ctx, hit.Source)
		if err != nil {
			return err
		}
		return forgetPlace(ctx, a, place, o.yes)
	}
	return forgetIndexed(ctx, a, m, hit.Path, []core.MemoryHit{hit}, o.yes)
}

// forgetIndexed asks, then hides chunks of a document; nil is all.
func forgetIndexed(ctx context.Context, a *cli, m *core.Manager, path string, chunks []core.MemoryHit, yes bool) error {
	var ids []string
	gone := len(chunks) > 0 && chunks[0].Gone
	for _, c := range chunks {
		ids = append(ids, c.ID)
		a.note("%s: %s", c.Source, c.Text)
	}
	if chunks == nil {
		all, err := m.Chunks(ctx, path)
		if err != nil {
			return notIndexed(err)
		}
		gone = len(all) > 0 && all[0].Gone
		a.note("%s: all of it, %s", path, plain.Count(len(all), "chunk"))
	}
	agreed, left, err := consentToHide(ctx, a, path, gone, yes)
	if !agreed || err != nil {
		return err
	}
	n, err := a.Use().Hide(ctx, m, path, ids...)
	if err != nil {
		return notIndexed(err)
	}
	if a.json {
		return a.printJSON(map[string]any{"path": path, "chunks": n})
	}
	return a.printLine("hidden from search: %s of %s; %s", plain.Count(n, "chunk"), path, left)
}

func notIndexed(err error) error {
	if errors.Is(err, core.ErrNotIndexed) {
		return kind.Hint(err, "'memcore search' prints what there is; --json has the ids")
	}
	return err
}

func forgetPlace(ctx context.Context, a *cli, p notes.Statement, yes bool) error {
	journal, err := a.Notes().Journal()
	if err != nil {
		return err
	}
	change, written, err := journal.Forget(ctx, p, func(ctx context.Context, c notes.Change) (bool, error) {
		return confirm(ctx, a, "forget", c.Path, c.Diff, yes)
	})
	if err != nil {
		return err
	}
	if len(change.Redacted) > 0 {
		a.note("the deleted text held a secret, so it was not kept and --undo cannot restore it")
	}
	if written {
		if err := a.Use().ForgetStatement(ctx, p, change); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(map[string]any{"path": change.Path, "line": change.Line, "diff": change.Diff, "written": written})
	}
	if !written {
		a.note("nothing was deleted")
		return nil
	}
	if err := a.printLine("deleted: %s", p.At(change.Line).Citation()); err != nil {
		return err
	}
	noteSaid(ctx, a, p.Text)
	return nil
}

const (
	// minSaid is the shortest statement that is looked for in conversations, in bytes: shorter ones
	// are part of other words.
	minSaid = 8
	maxSaid = 3
)

// noteSaid names turns of conversations that say what was deleted, since they are still found.
func noteSaid(ctx context.Context, a *cli, statement string) {
	text := strings.Trim(statement, "-*+>. ")
	if len(text) < minSaid {
		return
	}
	found, err := a.Memory().Search(ctx, httpapi.SearchRequest{Query: text, Kind: source.KindConversation, Exact: true, Limit: maxSaid})
	if err != nil {
		return // it is deleted, as was asked
	}
	for _, hit := range found.Hits {
		a.note("%s says it, too: memcore forget '%s' hides that", hit.Source, hit.Source)
	}
}

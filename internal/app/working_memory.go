package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/inject/mcp"
	"github.com/memcore/memcore/internal/app/guard"
	"github.com/memcore/memcore/internal/paths"
)

// Names of the files that a session has for its agent, as tools take them: "session/overview.md",
// or with an ID "session/codex-7f/detail/auth.md".
const (
	sessionMount = "session"
	overviewFile = "overview.md"
	detailFolder = "detail"
)

// workingMemory are the files of sessions. A path without an ID is of the session at hand.
type workingMemory struct {
	w     *Workspace
	files guard.Files
}

// open returns the session that a path means, and the path in its working memory. With create it
// makes a session, if a hook has noted it or there is none at hand.
func (m workingMemory) open(ctx context.Context, name string, create bool) (*session.Session, string, error) {
	id, within, _ := strings.Cut(name, "/")
	if id == overviewFile || id == detailFolder {
		id, within = "", name
	}
	if within != overviewFile && !strings.HasPrefix(within, detailFolder+"/") {
		return nil, "", fmt.Errorf("%w: %.200q; want %s/%s or %[3]s/%[5]s/NAME.md", notes.ErrPath, name, sessionMount, overviewFile, detailFolder)
	}
	current, err := m.w.Sessions().atHandOf(ctx, id)
	if missing := current == nil && err == nil || errors.Is(err, session.ErrNoSession); missing && create && (id == "" || agentOf(id) != "") {
		if id != "" {
			if err := m.noted(id); err != nil {
				return nil, "", err
			}
		}
		m.w.Remember(ctx)
		current, err = session.New(m.w.SessionsDir(), id)
	}
	if current == nil && err == nil {
		err = fmt.Errorf("%w: %s/%s: no session has been written to yet", notes.ErrNoFile, sessionMount, name)
	}
	return current, within, err
}

// noted is an error unless a hook has noted an event of a session: the first names the session to
// its agent before it has a folder.
func (m workingMemory) noted(id string) error {
	at, err := m.w.Folders()
	if err != nil {
		return err
	}
	entries, err := at.Journal().Entries()
	if err == nil && !slices.ContainsFunc(entries, func(e journal.Entry) bool {
		return SessionID(hook.Event{Agent: e.Agent, Session: e.Session}) == id
	}) {
		err = fmt.Errorf("%w: no hook has noted %s; want the path that the start of the session names, else %s/%s", session.ErrNoSession, id, sessionMount, overviewFile)
	}
	return err
}

// atHandOf opens a session; "" is the one that the MCP client is in as an agent, as far as its
// hooks say, else the one AtHand; nil for none.
func (s Sessions) atHandOf(ctx context.Context, id string) (*session.Session, error) {
	if id == "" {
		client := mcp.Client(ctx)
		for _, agent := range agents.Names() {
			if !strings.HasPrefix(client, agent) {
				continue
			}
			last, err := session.Last(s.w.SessionsDir(), func(id string) bool { return agentOf(id) == agent })
			if err != nil {
				return nil, err
			}
			if last != "" {
				return s.Open(last)
			}
		}
	}
	return s.AtHand(id)
}

// detail are the notes of a session. Its changes have a log of their own, since a person's undo is
// for what they see.
func (m workingMemory) detail(current *session.Session) guard.Files {
	data := notes.OpenData(current.Dir, current.WorkingDir(), m.journal(current), m.w.Settings.FileNames...).OnlyIn(detailFolder)
	return guard.Files{Data: data, Guard: m.files.Guard}
}

func (m workingMemory) journal(current *session.Session) *notes.Journal {
	return notes.OpenJournal(filepath.Join(current.Dir, UndoOfSession)).For(m.w.Project).ForAgent()
}

// UndoOfSession is the folder of a session that keeps what undoes changes of its notes.
const UndoOfSession = "undo"

// Read implements notes.Files.
func (m workingMemory) Read(ctx context.Context, name string) (string, error) {
	current, within, err := m.open(ctx, name, false)
	if err != nil {
		return "", err
	}
	return m.detail(current).Read(ctx, within)
}

// Write implements notes.Files.
func (m workingMemory) Write(ctx context.Context, name, content string) (notes.Written, error) {
	return m.changed(ctx, name, func(files guard.Files, within string) (notes.Written, error) {
		return files.Write(ctx, within, content)
	},
		func(string) string { return content })
}

// Append implements notes.Files. In an overview it replaces sections.
func (m workingMemory) Append(ctx context.Context, name, entry, summary string) (notes.Written, error) {
	return m.changed(ctx, name, func(files guard.Files, within string) (notes.Written, error) {
		return files.Append(ctx, within, entry, summary)
	}, func(before string) string { return session.Revised(before, entry) })
}

// Patch implements notes.Files.
func (m workingMemory) Patch(ctx context.Context, name string, patches []notes.Patch, all bool) (notes.Written, error) {
	return m.changed(ctx, name, func(files guard.Files, within string) (notes.Written, error) {
		return files.Patch(ctx, within, patches, all)
	}, nil)
}

// List implements notes.Files. Nobody wants all notes of all sessions: a search finds them.
func (m workingMemory) List(context.Context) ([]notes.Item, error) { return nil, nil }

// changed changes a note, or with revise the overview.
func (m workingMemory) changed(ctx context.Context, name string, note func(guard.Files, string) (notes.Written, error), revise func(string) string) (w notes.Written, err error) {
	current, within, err := m.open(ctx, name, true)
	switch {
	case err != nil:
		return w, err
	case within != overviewFile:
		w, err = note(m.detail(current), within)
	case revise == nil:
		return w, fmt.Errorf("%w: %s/%s is changed by %s with its path: the sections of the content replace those there", tools.ErrArguments, sessionMount, name, notes.SaveToolName)
	default:
		w, err = m.writeOverview(ctx, current, revise)
	}
	w.Path = name
	return w, err
}

func (m workingMemory) writeOverview(ctx context.Context, current *session.Session, revise func(string) string) (w notes.Written, err error) {
	_, err = m.journal(current).Do(ctx, "write "+overviewFile, func() ([]notes.Edit, error) {
		before, exists, err := current.OverviewText()
		if err != nil {
			return nil, err
		}
		var after string
		after, w.Redacted = notes.Clean(strings.TrimRight(revise(before), "\n") + "\n")
		if n := utf8.RuneCountInString(session.FilledIn(after)); n > session.OverviewRoom {
			w.Remark = fmt.Sprintf("Of its %d characters, a session is given %d: shorten it, and keep the rest in %s/NAME.md beside it.", n, session.OverviewRoom, detailFolder)
		}
		return []notes.Edit{{Dir: paths.Resolve(current.WorkingDir()), Name: overviewFile, Before: before, After: after, Created: !exists, Mode: 0o600}}, nil
	})
	return w, err
}

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/source/keptlog"
	"github.com/memcore/memcore/core/when"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/internal/agenthome"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/app/inventory"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/workspace"
)

// A KeptSession is a session of any project.
type KeptSession struct {
	session.Info
	Project string `json:"project"`         // path of the workspace; "" if unknown
	Agent   string `json:"agent,omitempty"` // whose hooks keep it
}

// Remember notes in the state what later processes cannot see: the workspace's path, the working
// directories of its repository, and the folders of agents that environment variables name.
func (w *Workspace) Remember(ctx context.Context) {
	at, err := w.Folders()
	if err != nil {
		return
	}
	if _, err = os.Lstat(at.WorkspacePath()); err != nil {
		if err = safefile.MkdirAll(at.Own(), 0o700); err == nil {
			err = safefile.Create(at.Own(), filepath.Base(at.WorkspacePath()), []byte(w.Project+"\n"), 0o600)
		}
		if errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	if w.Places == nil { // a service has no agents
		err = errors.Join(err, w.rememberFolders(ctx, at), agenthome.Remember(ctx, at.AgentHomes()))
	}
	if err != nil {
		w.Log.Warn("what is known of the workspace is not noted", "workspace", w.Project, "error", err)
	}
}

// rememberFolders notes working directories that were not seen before, and those that are another
// repository's now.
func (w *Workspace) rememberFolders(ctx context.Context, at config.Folders) error {
	seen, err := workspace.Load(at.Sources())
	if err != nil {
		return err
	}
	project := w.WorkingDirectories()
	present, mark := project.Checkouts(), project.Mark()
	seen.Workspace = w.Project
	left := project.With(seen, nil).Left()
	if len(seen.Unseen(present)) == 0 && seen.Mark == mark && maps.EqualFunc(left, seen.Left, time.Time.Equal) {
		return nil
	}
	_, err = workspace.Change(ctx, at.Sources(), func(s *workspace.Sources) error {
		s.Workspace, s.Mark, s.Left = w.Project, mark, left
		s.Saw(present...)
		return nil
	})
	return err
}

// noteOther notes a folder of another project in those of this one.
func (w *Workspace) noteOther(folder string) {
	at, err := w.Folders()
	if err == nil {
		err = noteSources(at, func(s *workspace.Sources) {
			if s.Workspace = w.Project; !slices.Contains(s.Others, folder) {
				s.Others = append(s.Others, folder)
			}
		})
	}
	if err != nil {
		w.Log.Warn("another project's folder is not noted", "folder", folder, "error", err)
	}
}

// Projects returns the workspace's project, or all.
func (w *Workspace) Projects(all bool) ([]inventory.Project, error) {
	projects, err := inventory.Projects(w.Config)
	if err != nil || all {
		return projects, err
	}
	own := slices.IndexFunc(projects, func(p inventory.Project) bool { return p.Path == w.Project })
	if own < 0 {
		return []inventory.Project{{Path: w.Project, Sessions: w.SessionsDir()}}, nil
	}
	return projects[own : own+1], nil
}

// Kept describes sessions of the workspace or of all projects, by project, the last used first.
func (s Sessions) Kept(all bool) ([]KeptSession, error) {
	projects, err := s.w.Projects(all)
	if err != nil {
		return nil, err
	}
	kept := []KeptSession{}
	for _, p := range projects {
		if p.Sessions == "" {
			continue
		}
		infos, err := session.Infos(p.Sessions)
		if err != nil {
			return nil, err
		}
		for _, i := range infos {
			kept = append(kept, KeptSession{Info: i, Project: p.Path, Agent: agentOf(i.ID)})
		}
	}
	return kept, nil
}

// Describe describes a session of the workspace.
func (s Sessions) Describe(ctx context.Context, current *session.Session) (KeptSession, error) {
	info, err := current.Info()
	if info.Log != "" && err == nil { // a list does not read all logs
		var said []session.Message
		said, err = current.Messages(ctx)
		info.Messages, info.Prompts = len(said), 0
		for i, m := range said {
			if i == 0 {
				info.Began = m.Time
			}
			if m.Role == "user" {
				info.Prompts++
			}
		}
	}
	return KeptSession{Info: info, Project: s.w.Project, Agent: agentOf(info.ID)}, err
}

func agentOf(id string) string {
	for _, agent := range agents.Names() {
		if strings.HasPrefix(id, agent+"-") {
			return agent
		}
	}
	return ""
}

// Old returns the sessions that were not used since a time, of the workspace or of all projects.
func (s Sessions) Old(since time.Time, all bool) ([]KeptSession, error) {
	kept, err := s.Kept(all)
	return slices.DeleteFunc(kept, func(k KeptSession) bool { return !k.Used.Before(since) }), err
}

// minID is the shortest ID, in bytes, by which isLogOf knows a log.
const minID = 8

// isLogOf reports whether an agent's log, named by the agent's ID, is of a session.
func isLogOf(document, id string) bool {
	own := strings.TrimPrefix(id, agentOf(id)+"-")
	return own != id && len(own) >= minID && strings.Contains(path.Base(document), own)
}

// Remove deletes sessions with what the journal has of them, and hides their agents' logs from
// search. It returns those deleted.
func (s Sessions) Remove(ctx context.Context, sessions []KeptSession) (removed []KeptSession, err error) {
	of := map[string][]KeptSession{}
	var projects []string
	for _, k := range sessions {
		if err := ctx.Err(); err != nil {
			return removed, err
		}
		err := session.Delete(filepath.Dir(k.Dir), k.ID)
		if errors.Is(err, session.ErrNoSession) {
			continue // another process was faster
		}
		if err != nil {
			return removed, err
		}
		removed = append(removed, k)
		if of[k.Project] == nil {
			projects = append(projects, k.Project)
		}
		of[k.Project] = append(of[k.Project], k)
	}
	for _, project := range projects {
		if project != "" {
			err = errors.Join(err, s.forget(ctx, project, of[project]))
		}
	}
	return removed, err
}

// forget removes sessions from the journal and the index of a project.
func (s Sessions) forget(ctx context.Context, project string, gone []KeptSession) error {
	is := func(agent, id string) bool {
		name := SessionID(hook.Event{Agent: agent, Session: id})
		return slices.ContainsFunc(gone, func(k KeptSession) bool { return k.ID == name })
	}
	there := *s.w.Config
	there.Project = project
	at, err := there.Folders()
	if err != nil {
		return err
	}
	if err := at.Journal().ForgetSessions(ctx, is); err != nil {
		return err
	}
	return s.forgetInIndex(ctx, project, at, gone)
}

// forgetInIndex hides the agents' logs of sessions. A missing index or workspace has none.
func (s Sessions) forgetInIndex(ctx context.Context, project string, at config.Folders, gone []KeptSession) error {
	err := s.w.inProject(ctx, project, at, func(there *Workspace, m *core.Manager) error {
		logs, err := logsOf(ctx, m, there.Names(), gone)
		if err != nil {
			return err
		}
		if len(logs) == 0 { // but what the session itself said is indexed
			return purge(ctx, m)
		}
		return errors.Join(m.ForgetDocuments(ctx, logs...), at.Journal().Forget(ctx, placesOf(logs)))
	})
	if err != nil {
		return fmt.Errorf("forget sessions of %s: %w", project, err)
	}
	return nil
}

// inProject opens the index of a project for a change. A missing index or workspace is none.
func (w *Workspace) inProject(ctx context.Context, project string, at config.Folders, do func(*Workspace, *core.Manager) error) error {
	if _, err := os.Stat(filepath.Join(at.Index, "CURRENT")); err != nil {
		return nil
	}
	there := w
	if project != w.Project {
		if _, err := os.Stat(project); err != nil {
			return nil
		}
		var err error
		if there, err = w.In(project); err != nil || there.Project != project {
			return err
		}
	}
	return there.Index().ForWriting(ctx, func(m *core.Manager) error { return do(there, m) })
}

// purge indexes what has changed, and removes what was deleted or forgotten from the disk.
func purge(ctx context.Context, m *core.Manager) error {
	_, err := m.Index(ctx, core.IndexOptions{Purge: true})
	return err
}

// placesOf returns the whole documents.
func placesOf(documents []string) []journal.Place {
	places := make([]journal.Place, len(documents))
	for i, document := range documents {
		places[i].Path = document
	}
	return places
}

// logsOf returns the indexed logs of sessions. names are those of the workspace's files.
func logsOf(ctx context.Context, m *core.Manager, names paths.Names, gone []KeptSession) (logs []string, err error) {
	const atOnce = 1000
	for skip := 0; ; skip += atOnce {
		some, found, err := m.Documents(ctx, core.DocumentsOptions{Kind: source.KindConversation, Skip: skip, Limit: atOnce})
		if err != nil {
			return nil, err
		}
		for _, d := range some {
			if slices.ContainsFunc(gone, func(k KeptSession) bool { return isLogOf(d.Path, k.ID) || k.Log != "" && d.Path == names.Of(k.Log) }) {
				logs = append(logs, d.Path)
			}
		}
		if skip+len(some) >= found || len(some) == 0 {
			return logs, nil
		}
	}
}

// An OldLog is what is kept of a log that an agent has deleted.
type OldLog struct {
	keptlog.Old
	Project string `json:"project"` // as in KeptSession
	at      config.Folders
}

// OldLogs returns what is kept of logs that agents deleted and last wrote before a time, of the
// workspace or of all projects.
func (s Sessions) OldLogs(ctx context.Context, since time.Time, all bool) ([]OldLog, error) {
	projects, err := s.w.Projects(all)
	if err != nil {
		return nil, err
	}
	at, err := s.w.Folders()
	if err != nil {
		return nil, err
	}
	logs := []OldLog{}
	for _, p := range projects {
		if p.Name == "" {
			continue
		}
		own := at.OwnOf(p.Name)
		old, err := keptlog.In(own.Kept()).Old(ctx, since)
		if err != nil {
			return nil, err
		}
		for _, log := range old {
			logs = append(logs, OldLog{log, p.Path, own})
		}
	}
	return logs, nil
}

// RemoveLogs forgets what is kept of logs, at once also in the index and the journal.
func (s Sessions) RemoveLogs(ctx context.Context, logs []OldLog) (err error) {
	projects := map[string][]OldLog{}
	for _, log := range logs {
		if err = keptlog.In(log.at.Kept()).Remove(log.Path); err != nil {
			break
		}
		projects[log.Project] = append(projects[log.Project], log)
	}
	for project, removed := range projects {
		err = errors.Join(err, forgetLogs(ctx, removed))
		opening := s.w.inProject(ctx, project, removed[0].at, func(_ *Workspace, m *core.Manager) error { return purge(ctx, m) })
		if opening != nil {
			err = errors.Join(err, fmt.Errorf("forget logs of %s: %w", project, opening))
		}
	}
	return err
}

// forgetLogs removes the logs of a project, and their sessions, from its journal.
func forgetLogs(ctx context.Context, logs []OldLog) error {
	documents := make([]string, len(logs))
	for i, log := range logs {
		documents[i] = log.Path
	}
	own := logs[0].at.Journal()
	return errors.Join(own.Forget(ctx, placesOf(documents)), own.ForgetSessions(ctx, func(agent, id string) bool {
		name := SessionID(hook.Event{Agent: agent, Session: id})
		return slices.ContainsFunc(documents, func(document string) bool { return isLogOf(document, name) })
	}))
}

// Retain deletes sessions of all projects, and what is kept of logs that agents deleted, if they
// are older than the setting sessions.keep. It returns how many of both.
func (s Sessions) Retain(ctx context.Context) (sessions, logs int, err error) {
	since, ok := when.Ago(s.w.Settings.Sessions.Keep, time.Now())
	if !ok {
		return 0, 0, nil
	}
	old, err := s.Old(since, true)
	if err != nil {
		return 0, 0, err
	}
	removed, err := s.Remove(ctx, old)
	if err != nil {
		return len(removed), 0, err
	}
	oldLogs, err := s.OldLogs(ctx, since, true)
	if err == nil {
		err = s.RemoveLogs(ctx, oldLogs)
	}
	return len(removed), len(oldLogs), err
}

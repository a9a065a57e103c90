package app

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/memcore/memcore/core/forgotten"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/workspace"
)

// followMove brings what memcore keeps of a repository along when its folder was moved: the state,
// with all that must not be found again, and the sessions. Agents' logs name the former folder. The
// index is made again. What is new where another project was is noted as such: what agents did
// there before is not its own.
func (w *Workspace) followMove() {
	at, err := w.Folders()
	if w.Places != nil || err != nil {
		return
	}
	if _, err := os.Lstat(at.WorkspacePath()); err == nil {
		return // it is known here
	}
	project := w.WorkingDirectories()
	mark, began := project.Mark(), project.Began()
	isAfter := false                          // it is where another project was
	entries, _ := os.ReadDir(at.Workspaces()) // there may be none
	for _, entry := range entries {
		there := at.OwnOf(entry.Name())
		was, err := workspace.Load(there.Sources())
		if err != nil || there.Own() == at.Own() {
			continue
		}
		if was.Mark != mark || mark == "" {
			isAfter = isAfter || slices.Contains(was.Folders, w.Project)
			continue
		}
		if _, err := os.Lstat(was.Workspace); was.Workspace != w.Project && !errors.Is(err, fs.ErrNotExist) {
			continue // it is a copy
		}
		if err := w.takeOver(there, at, was); err != nil {
			w.Log.Warn("what was kept of a project that was moved stays where it is", "from", was.Workspace, "to", w.Project, "error", err)
			continue
		}
		w.Note("the project was at %s; what memcore keeps of it came along", was.Workspace)
		return
	}
	if isAfter {
		if began.IsZero() {
			began = time.Now()
		}
		err := noteSources(at, func(s *workspace.Sources) { s.Workspace, s.Since = w.Project, began })
		if err != nil {
			w.Log.Warn("sessions of the project that was here before are not told apart", "workspace", w.Project, "error", err)
		}
	}
}

// takeOver moves what is kept of a project to its present place. Interrupted, it is repeated.
func (w *Workspace) takeOver(from, to config.Folders, was workspace.Sources) error {
	root := w.Expand(w.Settings.SessionsDir)
	if err := moveFolder(session.FolderOf(root, was.Workspace), session.FolderOf(root, w.Project)); err != nil {
		return err
	}
	err := noteSources(from, func(s *workspace.Sources) {
		before := s.Workspace
		if s.Workspace = w.Project; before != w.Project {
			s.Saw(before)
		}
		for i, path := range s.Paths {
			if rel, inside := paths.Within(before, path); inside {
				s.Paths[i] = filepath.Join(w.Project, rel)
			}
		}
	})
	if err != nil {
		return err
	}
	if err := os.Remove(from.WorkspacePath()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	ctx, stop := context.WithTimeout(context.Background(), noteWait)
	defer stop()
	if err := forgotten.Move(ctx, to.Forgotten(), from.Name(), to.Name()); err != nil {
		return err
	}
	if err := moveFolder(from.Own(), to.Own()); err != nil {
		return err
	}
	return os.RemoveAll(from.IndexFolder())
}

// noteWait is how long a hook waits for another process that changes the same file.
const noteWait = 2 * time.Second

// noteSources changes what is known of a project whatever becomes of the request that found it out.
func noteSources(at config.Folders, change func(*workspace.Sources)) error {
	ctx, stop := context.WithTimeout(context.Background(), noteWait)
	defer stop()
	_, err := workspace.Change(ctx, at.Sources(), func(s *workspace.Sources) error {
		change(s)
		return nil
	})
	return err
}

// moveFolder moves a folder, which may be missing, to where none is.
func moveFolder(from, to string) error {
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return os.Rename(from, to)
}

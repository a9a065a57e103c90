package inventory

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/internal/app/config"
)

// A ProjectSize says how large what memcore keeps of a project is, apart from notes.
type ProjectSize struct {
	Path     string `json:"path"` // of the workspace, else the name of its state or of its sessions' folder
	Gone     bool   `json:"gone,omitempty"`
	Sessions int    `json:"sessions"` // their number
	Bytes    int64  `json:"bytes"`    // of its index, state and sessions
}

// Measure returns the sizes of the projects with anything, by path.
func Measure(ctx context.Context, c *config.Config) ([]ProjectSize, error) {
	all, err := Projects(c)
	if err != nil {
		return nil, err
	}
	sizes := []ProjectSize{}
	for _, p := range all {
		s := ProjectSize{Path: p.Path}
		if p.Path != "" {
			_, missing := os.Stat(p.Path)
			s.Gone = errors.Is(missing, fs.ErrNotExist)
		} else if s.Path = p.Name; s.Path == "" {
			s.Path = filepath.Base(p.Sessions)
		}
		if p.Sessions != "" {
			ids, unread := session.List(p.Sessions)
			s.Sessions, err = len(ids), errors.Join(err, unread)
		}
		for _, dir := range []string{p.Sessions, p.State, p.Index} {
			n, unread := size(ctx, dir)
			s.Bytes, err = s.Bytes+n, errors.Join(err, unread)
		}
		if s.Bytes > 0 {
			sizes = append(sizes, s)
		}
	}
	return sizes, err
}

// size adds up the files in a folder, which may be missing.
func size(ctx context.Context, dir string) (n int64, err error) {
	if dir == "" {
		return 0, nil
	}
	err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && entry.Type().IsRegular() {
			var info fs.FileInfo
			if info, err = entry.Info(); err == nil {
				n += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return n, err
}

package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/inject/setup"
	"github.com/memcore/memcore/inject/view"
	"github.com/memcore/memcore/internal/agenthome"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/userdir"
)

// A Workspace has a configuration. Its methods return parts of its memory.
type Workspace struct {
	*config.Config
	// Version is that of this program.
	Version string
	// Note prints a message for the user.
	Note func(format string, args ...any)
	// Glance returns problems found by quick checks; may be nil.
	Glance func(ctx context.Context, w *Workspace, m curated.Memory, known core.Status) []view.Check
}

// Prepare finds the workspace, reads its configuration and closes memcore's folders to others.
func (w *Workspace) Prepare() error {
	if err := w.Locate(); err != nil {
		return err
	}
	if err := w.Load(); err != nil {
		return err
	}
	for _, dir := range w.OwnFolders() {
		if note, err := userdir.Keep(dir); err == nil && note != "" { // CheckOwner reports errors
			w.Note("%s", note)
		}
	}
	w.followMove()
	return nil
}

// In returns another folder's workspace, without notes.
func (w *Workspace) In(dir string) (*Workspace, error) {
	other := w.at(dir)
	return other, other.Prepare()
}

// at returns the workspace of another folder before it is located and configured.
func (w *Workspace) at(dir string) *Workspace {
	flags := w.Flags
	flags.Workspace = ""
	return &Workspace{Config: &config.Config{Flags: flags, Cwd: dir, Log: w.Log}, Version: w.Version, Note: func(string, ...any) {}, Glance: w.Glance}
}

// SetupOptions locate the files of agents.
func (w *Workspace) SetupOptions() setup.Options {
	o := setup.Options{Home: w.Home, Project: w.Checkout, Path: os.Getenv("PATH"), Homes: map[string]string{}, Others: map[string][]string{}}
	remembered, _ := w.rememberedHomes() // indexing reports errors
	if at, err := w.Folders(); err == nil {
		o.Records = filepath.Join(at.State, "setup.json")
	}
	for _, agent := range agents.All {
		if folder := agenthome.Chosen(agent.Name); folder != "" {
			o.Homes[agent.Name] = folder
		}
		if standard := agenthome.Default(agent.Name); standard != "" && w.Home != "" {
			o.Others[agent.Name] = append(slices.Clone(remembered[agent.Name]), filepath.Join(w.Home, standard))
		}
	}
	return o
}

// WithService opens the memory for do.
func (w *Workspace) WithService(ctx context.Context, do func(*Service) error) error {
	at, err := w.Folders()
	if err != nil {
		return err
	}
	return w.Index().With(ctx, func(m *core.Manager) error {
		return do(newService(w, at, m))
	})
}

// WithoutIndex is WithService without the index, which is faster.
func (w *Workspace) WithoutIndex(_ context.Context, do func(*Service) error) error {
	at, err := w.Folders()
	if err != nil {
		return err
	}
	return do(newService(w, at, nil))
}

// Tenant returns a folder as the workspace of a tenant's user, with its own folders, the
// configuration of w, and imposed settings.
func Tenant(w *Workspace, folder string, places config.Places, imposed map[string]string) (*Workspace, error) {
	here := w.at(folder)
	here.Flags.Workspace, here.Flags.Config = folder, w.UserFile()
	here.Places, here.Imposed = &places, imposed
	if _, err := os.Stat(here.Flags.Config); err != nil {
		here.Flags.Config = "" // only a named file has to exist
	}
	return here, here.Prepare()
}

// Open opens the workspace, to keep it open.
func (w *Workspace) Open(ctx context.Context) (*Service, error) {
	at, err := w.Folders()
	if err != nil {
		return nil, err
	}
	s := newService(w, at, nil)
	s.indexed = core.NewEngineReader(at.Index)
	s.opened = s.stamp() // before opening, to miss no change
	s.engine = w.Index().engine(s.indexed.Engine()).InUse
	if s.Manager, err = w.Index().Open(ctx, at, EngineNamed(s.engine)); err != nil {
		return nil, fmt.Errorf("open memory: %w", err)
	}
	if s.tools, err = s.modelTools(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Over returns the workspace with a memory whose index others keep.
func (w *Workspace) Over(m *core.Manager) (s *Service, err error) {
	at, err := w.Folders()
	if err != nil {
		return nil, err
	}
	s = newService(w, at, m)
	s.tools, err = s.modelTools()
	return s, err
}

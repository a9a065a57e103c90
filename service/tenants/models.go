package tenants

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	installed "github.com/memcore/memcore/internal/app/models"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/postgres"
)

// imposed settings override the configuration. No folder needs trust, since keys and their rights
// decide what a document is.
var imposed = map[string]string{
	"folderTrust.enabled": "false", "save.requireConfirmation": "false", "searchParents": "false", "loadLocalFiles": "false", "hook.log": "false",
	"reflect.auto": "false", "service.url": "", "home": "~/.beans", "folder": hidden,
	"dataDir": filepath.Join(hidden, "memories"), "indexDir": "", "engine": config.EngineFlat, "exclude": "[]", "fileNames": "[BEANS.md]",
}

// A model is what tenants with the same settings of embedding share.
type model struct {
	imposed  map[string]string // settings of memcore
	w        *app.Workspace    // without documents, for what needs settings only
	embedder embed.Embedder    // nil for keywords alone
	cutter   *core.Cutter

	measuring sync.Mutex
	measured  bool
	scale     relevance.Scale
}

// fingerprint names the embedder; "" for none.
func (m *model) fingerprint() string {
	if m.embedder == nil {
		return ""
	}
	return m.embedder.Fingerprint()
}

// models are those that a node has used.
type models struct {
	mu    sync.Mutex
	known map[string]*model // by settings of embedding
}

// modelOf returns the model for a tenant's settings.
func (n *Node) modelOf(s service.Settings) (*model, error) {
	name := s.Embedder + " " + s.Model
	n.models.mu.Lock()
	defer n.models.mu.Unlock()
	if m := n.models.known[name]; m != nil {
		return m, nil
	}
	d, err := n.newDesk(0)
	if err != nil {
		return nil, errors.Join(err, d.remove())
	}
	m := &model{imposed: imposedBy(s)}
	if m.w, err = d.workspace(n.o.Workspace, nil, m.imposed); err != nil {
		return nil, errors.Join(err, d.remove())
	}
	if m.embedder, err = m.w.Index().Uncached(); err != nil {
		return nil, errors.Join(err, d.remove())
	}
	if m.cutter, err = core.NewCutter(core.CutterOptions{Embedder: m.embedder, KeepSecrets: !m.w.Settings.Redact, Logger: n.o.Logger}); err != nil {
		return nil, errors.Join(err, d.remove())
	}
	if n.models.known == nil {
		n.models.known = map[string]*model{}
	}
	n.models.known[name] = m
	return m, nil
}

// of returns the settings of a tenant, and the model for them.
func (n *Node) of(t postgres.Tenant) (s service.Settings, m *model, err error) {
	if s, err = settingsOf(t); err == nil {
		m, err = n.modelOf(s)
	}
	return s, m, err
}

// checkInstalled refuses an embedder that this node does not have, which would be a slip of the pen.
func (n *Node) checkInstalled(s service.Settings) error {
	m, err := n.modelOf(s)
	if err != nil {
		return err
	}
	absent, ok := m.embedder.(installed.Absent)
	if !ok {
		return nil
	}
	n.models.mu.Lock()
	defer n.models.mu.Unlock()
	delete(n.models.known, s.Embedder+" "+s.Model) // it may be installed before the next try
	return kind.Usagef("embedder is %q, which this node does not have: %w", s.Embedder, absent.Err)
}

// scaleOf returns the scale of the embedder's cosines, if it has to be measured: once, when the
// embedder answers.
func (m *model) scaleOf(ctx context.Context) (relevance.Scale, error) {
	if m.embedder == nil || len(relevance.For(m.fingerprint()).Cosines) == 0 {
		return nil, nil
	}
	m.measuring.Lock()
	defer m.measuring.Unlock()
	if m.measured {
		return m.scale, nil
	}
	scale, err := core.MeasureScale(ctx, m.embedder)
	if errors.Is(err, relevance.ErrScale) {
		err = fmt.Errorf("keywords alone answer questions: all vectors of %s are alike: %w", m.fingerprint(), err)
	}
	if err != nil {
		return nil, err
	}
	m.scale, m.measured = scale, true
	return scale, nil
}

// makeFolders makes folders that only this user can read.
func makeFolders(all ...string) error {
	for _, folder := range all {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	return nil
}

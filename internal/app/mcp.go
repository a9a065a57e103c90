package app

import (
	"context"
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/mcp"
	"github.com/memcore/memcore/internal/app/guard"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
)

// IndexOnce makes the first index of a workspace.
func (s *Service) IndexOnce(ctx context.Context) {
	status, err := s.Manager.Status(ctx)
	if err != nil || status.State != core.StateMissing {
		return
	}
	s.Remember(ctx)
	if _, err := s.Manager.Index(ctx, core.IndexOptions{}); err != nil && ctx.Err() == nil {
		s.Log.Warn("the first index could not be made", "error", err)
	}
}

// An mcpMemory is for MCP clients.
type mcpMemory struct {
	*Service
	files guard.Files
	tools []tools.Tool
}

// MCP returns the memory for MCP clients.
func (s *Service) MCP() (mcp.Memory, error) {
	files, err := s.Notes().files()
	if err != nil {
		return nil, err
	}
	all, err := s.modelTools()
	return &mcpMemory{s, files, all}, err
}

// Tools implements mcp.Memory.
func (m *mcpMemory) Tools() []tools.Tool { return m.told(m.tools) }

// Curated implements mcp.Memory.
func (m *mcpMemory) Curated(ctx context.Context) (string, error) {
	text, _, _, err := m.curatedText(ctx, m.Dir, loading{}, 0)
	return text, err
}

// Beginning implements mcp.Memory.
func (m *mcpMemory) Beginning(ctx context.Context) (string, error) {
	current, err := m.Sessions().AtHand("")
	if err != nil {
		return "", err
	}
	return m.beginningText(ctx, m.Dir, current)
}

// Reference implements mcp.Memory.
func (m *mcpMemory) Reference(ctx context.Context, room int) (string, error) {
	if !m.Settings.Enabled {
		return "", nil
	}
	current, err := m.Sessions().AtHand("")
	if err != nil {
		return "", err
	}
	text, _, _, err := m.reference(ctx, current, room)
	return text, err
}

// Pending implements mcp.Decider.
func (m *mcpMemory) Pending(context.Context) (string, error) {
	all, err := m.Notes().Proposals().Waiting()
	if err != nil || len(all) == 0 {
		return "", err
	}
	text, err := m.Notes().pendingText(all)
	return formatter.Frame(text), err
}

// Decide implements mcp.Decider.
func (m *mcpMemory) Decide(ctx context.Context, ids string, accept bool) (string, error) {
	all, err := m.Notes().Proposals().Waiting()
	if err != nil {
		return "", err
	}
	named, err := NamedProposals(ids, all)
	if err != nil {
		return "", err
	}
	if accept {
		return m.Notes().Decide(ctx, all, named, nil)
	}
	return m.Notes().Decide(ctx, all, nil, named)
}

// Files implements mcp.Memory: facts, episodes and curated files.
func (m *mcpMemory) Files(ctx context.Context) ([]mcp.File, error) {
	var all []mcp.File
	seen := map[string]bool{}
	add := func(name, file, title string) {
		info, err := os.Stat(file)
		if err != nil || seen[name] {
			return
		}
		seen[name] = true
		all = append(all, mcp.File{URI: mcp.Scheme + strings.TrimPrefix((&url.URL{Path: "/" + name}).EscapedPath(), "/"), Name: m.files.Guard.Name(name), Title: title, Size: info.Size(), Changed: info.ModTime()})
	}
	items, err := m.Notes().unguarded(m.files.Data).List(ctx)
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		add(paths.Spell(item.Path), m.Notes().dataFile(item.Path), m.files.Line(item.Summary))
	}
	memory, err := m.Service.Curated().Layer().Load(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range memory.Files {
		if !f.Untrusted && f.File != "" {
			add(strings.TrimPrefix(f.Path, "~/"), f.File, "")
		}
	}
	return all, nil
}

// Read implements mcp.Memory, for what Files lists.
func (m *mcpMemory) Read(ctx context.Context, uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "memcore" {
		return "", mcp.ErrNoFile
	}
	name := strings.TrimPrefix(u.Path, "/")
	if text, err := m.Notes().guarded(m.files).Read(ctx, name); err == nil {
		return text, nil
	} else if !errors.Is(err, notes.ErrNoFile) && !errors.Is(err, notes.ErrPath) {
		return "", err
	}
	memory, err := m.Service.Curated().Layer().Load(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(memory.Files, func(f curated.File) bool {
		return !f.Untrusted && f.File != "" && strings.TrimPrefix(f.Path, "~/") == name
	})
	if i < 0 {
		return "", mcp.ErrNoFile
	}
	file := memory.Files[i].File
	data, _, err := safefile.ReadFile(paths.Resolve(filepath.Dir(file)), filepath.Base(file), maxResource)
	if err != nil && !errors.Is(err, safefile.ErrTooLarge) {
		err = mcp.ErrNoFile
	}
	text, _ := notes.Clean(strings.ToValidUTF8(string(data), "\uFFFD"))
	return text, err
}

// maxResource limits a curated file, in bytes.
const maxResource = 1 << 20

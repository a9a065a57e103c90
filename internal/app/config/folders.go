package config

import (
	"errors"
	"fmt"
	"path/filepath"

	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/userdir"
	"github.com/memcore/memcore/internal/workspace"
)

// Folders are the places of a workspace's index and state.
type Folders struct {
	Root  string // of all indexes and caches
	State string // of the state of all workspaces
	Index string
	own   string // state of this workspace
}

// Names of folders.
const (
	indexFolder      = "index"
	embeddingsFolder = "embeddings"
	modelsFolder     = "models"

	workspacesFolder = "workspaces"
	undoFolder       = "journal"
	serviceFolder    = "service"

	// KeptFolder is in the workspace's state.
	KeptFolder = "kept"
	// JournalFile is in the workspace's state.
	JournalFile = "journal.jsonl"
	// ForgottenFile is in the folder of the state.
	ForgottenFile = "forgotten.json"
)

// Embeddings caches vectors for all workspaces.
func (p Folders) Embeddings() string { return filepath.Join(p.Root, embeddingsFolder) }

// Models has model packs, for all workspaces.
func (p Folders) Models() string { return filepath.Join(p.Root, modelsFolder) }

// Undo records changes of memory files, for all workspaces.
func (p Folders) Undo() string { return filepath.Join(p.State, undoFolder) }

// ServiceKey has the key of the memory service.
func (p Folders) ServiceKey() string { return filepath.Join(p.State, userdir.ServiceKeyFile) }

// ServiceContext has curated memory of the memory service, as it was last.
func (p Folders) ServiceContext() string {
	return filepath.Join(p.State, serviceFolder, "context.json")
}

// ServiceRest says how long the memory service is not asked.
func (p Folders) ServiceRest() string { return filepath.Join(p.State, serviceFolder, "rest.json") }

// Forgotten lists what must not be found again, in any workspace.
func (p Folders) Forgotten() string { return filepath.Join(p.State, ForgottenFile) }

// Name is that of this workspace among all.
func (p Folders) Name() string { return filepath.Base(p.own) }

// Indexes has the indexes of all workspaces.
func (p Folders) Indexes() string { return filepath.Join(p.Root, indexFolder) }

// Workspaces has the state of all workspaces.
func (p Folders) Workspaces() string { return filepath.Join(p.State, workspacesFolder) }

// OwnOf returns the places of another workspace, by workspace.IndexName.
func (p Folders) OwnOf(name string) Folders {
	p.Index, p.own = filepath.Join(p.Indexes(), name, "data"), filepath.Join(p.Workspaces(), name)
	return p
}

// IndexFolder has all that belongs to this workspace's index.
func (p Folders) IndexFolder() string { return filepath.Dir(p.Index) }

// Own has the state of this workspace.
func (p Folders) Own() string { return p.own }

// WorkspacePath has the path of this workspace, which its name does not tell.
func (p Folders) WorkspacePath() string { return filepath.Join(p.own, "workspace") }

// AgentHomes has the folders of agents that variables named.
func (p Folders) AgentHomes() string { return filepath.Join(p.State, "agents.json") }

// Sources is the list of registered paths.
func (p Folders) Sources() string { return filepath.Join(p.own, "sources.json") }

// Told lists what a person was told of memory files, once.
func (p Folders) Told() string { return filepath.Join(p.own, "told.json") }

// Kept has what is kept of logs that agents delete.
func (p Folders) Kept() string { return filepath.Join(p.own, KeptFolder) }

// Journal records what the sessions of agents got and opened.
func (p Folders) Journal() journal.Journal { return journal.In(filepath.Join(p.own, JournalFile)) }

// Folders returns the workspace's places. Another --index-dir has the same state.
func (c *Config) Folders() (Folders, error) {
	if p := c.Places; p != nil {
		return Folders{Root: p.Cache, State: p.State}.OwnOf(p.Name), nil
	}
	root, err := c.Settings.IndexRoot()
	if err != nil {
		return Folders{}, err
	}
	state, err := userdir.State()
	if err != nil {
		return Folders{}, kind.Hint(fmt.Errorf("no folder for the state: %w", err), "set HOME")
	}
	if err := c.CheckOwner(); err != nil {
		return Folders{}, err
	}
	name := workspace.IndexName(c.Project)
	return Folders{Root: root, State: state}.OwnOf(name), nil
}

func IsInside(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// CheckOwner fails if a folder belongs to another user.
func (c *Config) CheckOwner() error {
	for _, dir := range c.OwnFolders() {
		if _, err := userdir.Look(dir); errors.Is(err, userdir.ErrForeign) { // users of the folder report other errors
			return kind.Hint(err, ForeignHint)
		}
	}
	return nil
}

// OwnFolders are closed to other users. A folder that the user named keeps its permissions.
func (c *Config) OwnFolders() (all []string) {
	if p := c.Places; p != nil {
		return []string{p.Cache, p.State}
	}
	// Folders reports errors.
	if root, err := c.Settings.IndexRoot(); err == nil && c.Settings.IndexDir == "" {
		all = append(all, root)
	} else if err == nil {
		all = append(all, filepath.Join(root, indexFolder), filepath.Join(root, embeddingsFolder))
	}
	if state, err := userdir.State(); err == nil {
		all = append(all, state)
	}
	return all
}

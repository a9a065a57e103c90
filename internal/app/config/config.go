// Package config finds a workspace and reads its settings.
package config

import (
	"cmp"
	"fmt"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/workspace"
)

// A Config needs Locate, then Load.
type Config struct {
	Loaded
	Flags   Flags
	Home    string // of the user; "" if there is none
	Project string // folder of the project: its main checkout
	// Checkout is the root of the working directory that Dir is in: Project, or one of the same
	// repository ("git worktree").
	Checkout string
	Dir      string // folder that memcore runs in, at or below Checkout
	Cwd      string // where the search for the workspace starts; "" for the current folder
	Log      *slog.Logger
	// Places replace the user's own folders, and Imposed every other value of some settings, by
	// key: those of a tenant of a service.
	Places  *Places
	Imposed map[string]string
}

// Places are the folders of one memory among several of one process.
type Places struct {
	Home  string // of the memory's user
	Cache string // of what can be made again
	State string
	Name  string // of the index in Cache, and of its state
	// Mounts are folders beside the workspace that belong to the memory, too.
	Mounts []curated.Mount
}

// Mounts are folders beside the workspace that belong to its memory.
func (c *Config) Mounts() []curated.Mount {
	if c.Places == nil {
		return nil
	}
	return c.Places.Mounts
}

// Names are the paths of files as users see them.
func (c *Config) Names() paths.Names {
	names := paths.NewNames(c.Project, c.Home)
	for _, m := range c.Mounts() {
		names = names.With(m.Name, m.Folder)
	}
	return names
}

// Flags choose the workspace and override settings.
type Flags struct{ Workspace, Config, IndexDir, Engine string }

// AtHome reports whether the workspace is the home folder.
func (c *Config) AtHome() bool { return c.Home != "" && sameFile(c.Project, c.Home) }

// UserFile is the user's own configuration file, or "" without a home folder.
func (c *Config) UserFile() string {
	if c.Flags.Config == "" && c.Home != "" {
		return filepath.Join(c.Home, ".beans", "config.yaml")
	}
	return c.Flags.Config
}

// FileNamed returns the file that Names shows under a name.
func (c *Config) FileNamed(name string) string {
	if rest, ok := strings.CutPrefix(name, session.PathPrefix); ok {
		return filepath.Join(c.SessionsDir(), filepath.FromSlash(paths.Unspell(rest)))
	}
	for _, m := range c.Mounts() {
		if rest, ok := strings.CutPrefix(name+"/", m.Name+"/"); ok {
			return filepath.Join(m.Folder, filepath.FromSlash(paths.Unspell(rest)))
		}
	}
	file := filepath.FromSlash(c.Expand(paths.Unspell(name)))
	if !filepath.IsAbs(file) {
		file = filepath.Join(c.Project, file)
	}
	return file
}

// DocumentPath returns how citations name a document or folder; "" is all of the workspace.
func (c *Config) DocumentPath(name string) string {
	if name == "" || IsNoFile(name) {
		return paths.Spelled(name)
	}
	file := filepath.Clean(c.FileNamed(name))
	if name = c.Names().Of(file); path.IsAbs(name) { // a link may lead into the workspace
		if real := c.Names().Of(paths.Resolve(file)); !path.IsAbs(real) {
			name = real
		}
	}
	if name == "." {
		return ""
	}
	return name
}

// IsNoFile reports whether a document of this name is in no file of its own.
func IsNoFile(name string) bool {
	return strings.HasPrefix(name, session.PathPrefix) || strings.HasPrefix(name, core.RemotePath)
}

// TypedDocument is DocumentPath of what a person types: as the shell has it, absolute or relative
// to the current folder, perhaps in another working directory, if there is such a file, or as a
// citation does.
func (c *Config) TypedDocument(name string) string {
	if name == "" || IsNoFile(name) {
		return c.DocumentPath(name)
	}
	file := filepath.FromSlash(c.Expand(paths.Unspell(name)))
	if !filepath.IsAbs(file) {
		here := filepath.Join(paths.Absolute(c.From()), file)
		if !exists(here) {
			return c.DocumentPath(name)
		}
		file = here
	}
	return c.DocumentPath(c.Names().Of(c.InMainCheckout(file)))
}

// TypedPassage is TypedDocument for the document of a citation. Other texts stay.
func (c *Config) TypedPassage(text string) string {
	document, first, last, ok := paths.ParseCitation(strings.TrimSpace(text))
	if !ok {
		return text
	}
	return paths.Citation(c.TypedDocument(document), first, last)
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}

// InMainCheckout returns a path as the main checkout has it, since that is what is indexed.
func (c *Config) InMainCheckout(path string) string {
	documents := c.WorkingDirectories().Documents()
	if rel, inside := paths.Within(c.Checkout, paths.Resolve(path)); inside && c.Checkout != c.Project && documents != "" {
		return filepath.Join(documents, rel)
	}
	return path
}

// ForeignHint is for a folder of another user.
const ForeignHint = "run memcore as the user whose folder it is, remove the folder, or name another one with --index-dir"

// Locate finds the workspace.
func (c *Config) Locate() error {
	c.Home, _ = os.UserHomeDir()
	if c.Places != nil {
		c.Home = c.Places.Home
	}
	folder, err := c.FindWorkspace()
	if err != nil {
		return kind.Usagef("--workspace: %w", err)
	}
	c.Checkout, c.Dir = folder, paths.Resolve(c.From())
	c.Project = c.WorkingDirectories().Folder
	if rel, err := filepath.Rel(folder, c.Dir); err != nil || !filepath.IsLocal(rel) {
		c.Dir = folder // it was named with --workspace
	}
	return nil
}

// WorkingDirectories returns the project with its working directories. A tenant's folder is a
// project of its own, whatever is in it.
func (c *Config) WorkingDirectories() workspace.Project {
	if c.Places != nil {
		return workspace.Project{Folder: c.Checkout, Checkout: c.Checkout}
	}
	return workspace.ProjectOf(c.Checkout)
}

// FolderWithin returns a folder if it is in one of the project's working directories, else Project.
func (c *Config) FolderWithin(folder string) string {
	if folder == "" {
		return c.Project
	}
	folder = paths.Resolve(folder)
	for _, root := range append([]string{c.Project, c.Checkout}, c.WorkingDirectories().Checkouts()...) {
		if IsInside(root, folder) {
			return folder
		}
	}
	return c.Project
}

// From is where the search for the workspace starts.
func (c *Config) From() string { return cmp.Or(c.Cwd, ".") }

// FindWorkspace returns the named folder, or searches upwards.
func (c *Config) FindWorkspace() (string, error) {
	if c.Flags.Workspace == "" {
		return workspace.Find(c.From(), c.Home)
	}
	path, err := filepath.Abs(c.Flags.Workspace)
	if err != nil {
		return "", err
	}
	if info, err := os.Stat(path); err != nil {
		return "", err
	} else if !info.IsDir() {
		return "", fmt.Errorf("%s is not a folder", path)
	}
	return filepath.EvalSymlinks(path)
}

func (c *Config) DataDir() string {
	dir := c.Expand(c.Settings.DataDir)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(c.Project, dir)
	}
	return dir
}

// Override names a flag or variable that the daemon lacks, or "".
func (c *Config) Override() string {
	for name, value := range map[string]string{"--config": c.Flags.Config, "--index-dir": c.Flags.IndexDir, "--engine": c.Flags.Engine} {
		if value != "" {
			return name
		}
	}
	for _, s := range Known {
		if os.Getenv(s.environment()) != "" && s.Key != "hook.budget" && !strings.HasPrefix(s.Key, "daemon.") {
			return s.environment()
		}
	}
	return ""
}

// OfSystem matches the variables that describe this machine.
var OfSystem = lazy.Regexp(`(?i)^(HOME|USER|LOGNAME|PATH|SHELL|LANG|LC_.*|TZ|TMPDIR|TEMP|TMP|XDG_.*|SSL_CERT_.*|(https?|no|all)_proxy|SYSTEMROOT|USERPROFILE|(LOCAL)?APPDATA|HOMEDRIVE|HOMEPATH|GOMAXPROCS|MEMCORE_DAEMON_.*)$`)

// SessionsDir has the workspace's sessions.
func (c *Config) SessionsDir() string {
	return session.FolderOf(c.Expand(c.Settings.SessionsDir), c.Project)
}

// Expand replaces "~" with the home folder.
func (c *Config) Expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && c.Home != "" && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
		return filepath.Join(c.Home, rest)
	}
	return path
}

// Beans is global memory's folder, or "".
func (c *Config) Beans() string {
	if c.Home == "" && strings.HasPrefix(c.Settings.Home, "~") {
		return ""
	}
	return c.Expand(c.Settings.Home)
}

package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/embed/minilm"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/text/plain"
)

// KeepPrivate makes git ignore a memory's private files in trusted folders.
func (c Curated) KeepPrivate(layer *curated.Layer, m curated.Memory) (did, problems []string) {
	exposed, err := layer.Exposed(m)
	if err != nil {
		problems = append(problems, fmt.Sprintf("whether git leaves out private files: %v", err))
	}
	for _, e := range exposed {
		if !e.Trusted {
			continue
		}
		names := strings.Join(e.Names, ", ")
		if err := e.KeepOutOfGit(); err != nil {
			problems = append(problems, fmt.Sprintf("git would commit %s, which is private: %v", names, err))
			continue
		}
		did = append(did, fmt.Sprintf("%s now ignores %s", e.Ignore, names))
	}
	return did, problems
}

// KeepPrivateIn is KeepPrivate in a newly trusted folder, whose own settings now count. Only ctx
// makes errors.
func (c Curated) KeepPrivateIn(ctx context.Context, folder string) (did, problems []string, err error) {
	there, err := c.w.In(folder)
	if err != nil {
		return nil, []string{err.Error()}, nil
	}
	layer := there.Curated().Layer()
	m, err := layer.Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	did, problems = there.Curated().KeepPrivate(layer, m)
	return did, problems, nil
}

// Curated is the memory for the system prompt.
type Curated struct{ w *Workspace }

// Curated returns the curated memory of the workspace.
func (w *Workspace) Curated() Curated { return Curated{w} }

// TurnedOff is the note while memory is off.
const TurnedOff = "memory is turned off (memory.enabled)"

// Layer is the curated memory of the current folder.
func (c Curated) Layer() *curated.Layer { return curated.New(c.Options(c.trust())) }

// trust leaves out the workspace while nobody knows which of its files instruct.
func (c Curated) trust() curated.Trust {
	if c.w.NotCurated() == nil {
		return c.w.Trust()
	}
	return exceptIn{c.w.Trust(), []string{paths.Resolve(c.w.Project), c.w.Checkout, c.w.CuratedProject(c.w.Settings)}}
}

// exceptIn covers nothing in some folders.
type exceptIn struct {
	curated.Trust
	folders []string
}

func (e exceptIn) Covering(folder string) (string, error) {
	for _, at := range e.folders {
		if _, inside := paths.Within(at, folder); inside {
			return "", nil
		}
	}
	return e.Trust.Covering(folder)
}

// workIn makes options those of a folder in one of the project's working directories. The trust of
// the main one counts there, as long as nobody has decided otherwise.
func (w *Workspace) workIn(o curated.Options, folder string) curated.Options {
	o.Dir, o.Original = folder, w.WorkingDirectories().OriginalOf(folder)
	_, decided, err := w.Trust().Of(folder)
	o.TrustCopies = !decided && err == nil
	return o
}

func (c Curated) Options(trusted curated.Trust) curated.Options {
	s := c.w.Settings
	var plugins []string // the default
	if c.w.Places != nil {
		plugins = []string{""}
	}
	return c.w.workIn(curated.Options{
		Project: c.w.Checkout, Home: c.w.Home, Beans: c.w.Beans(), Folder: s.Folder, Names: s.FileNames, Plugins: plugins, Mounts: c.w.Mounts(),
		NoParents: !s.SearchParents, Children: s.SearchChildren, Exclude: s.ExcludePaths, Data: c.w.Expand(s.DataDir), NoLocal: !s.LoadLocalFiles, GitIgnores: curated.UserIgnores(c.w.Home),
		Others:    agents.Names(),
		NoImports: !s.Imports.Enabled, ImportDepth: s.Imports.MaxDepth,
		Limits: curated.Limits{Lines: limit(s.MaxLines), Tokens: limit(s.MaxTokens)},
		Trust:  trusted,
		Count:  countTokens,
		Log:    c.w.Log,
	}, c.w.Dir)
}

// longWord is in bytes. Encoded data would be one token.
const longWord = 100

// countTokens uses the built-in tokeniser, and three bytes a token for long words.
func countTokens(text string) int {
	n := minilm.New().CountTokens(text)
	for word := range strings.FieldsSeq(text) {
		if len(word) > longWord {
			n = max(n, n+len(word)/3-1)
		}
	}
	return n
}

// limit converts a limit: 0 is the default of a package's options, and none in the settings.
func limit[T int | time.Duration](n T) T {
	if n == 0 {
		return -1
	}
	return n
}

// Untrusted returns the files that trust in the project would add to a loaded memory, without
// plugins. With trust, the workspace's own settings may name more files.
func (c Curated) Untrusted(ctx context.Context, m curated.Memory) (files []curated.File) {
	if !m.Trusted {
		if there, err := c.ifTrusted(c.w.Dir, m.Project); err == nil {
			if m, err = curated.New(there.Curated().Options(c.w.Trust())).Load(ctx); err != nil {
				return nil // cancelled
			}
		}
	}
	for _, f := range m.Files {
		if f.Untrusted && f.Plugin == "" {
			files = append(files, f)
		}
	}
	return files
}

// Undecided returns the root of a file's project if nobody has decided whether that may instruct
// agents, else "".
func (c Curated) Undecided(file string) string {
	root := paths.Resolve(c.w.CuratedProject(c.w.Settings))
	if _, inside := paths.Within(root, paths.Resolve(filepath.Dir(file))); !inside || c.w.Home == "" {
		return ""
	}
	if _, decided, err := c.w.Trust().Of(root); decided || err != nil {
		return ""
	}
	return root
}

// Instructs reports whether agents get a file as instruction.
func (c Curated) Instructs(file string) bool {
	dir := paths.Resolve(filepath.Dir(file))
	if _, own := paths.Within(paths.Resolve(c.w.Beans()), dir); own {
		return true
	}
	covering, err := c.trust().Covering(dir)
	return covering != "" && err == nil
}

// ifTrusted returns the workspace of a folder with its settings if a root were trusted.
func (c Curated) ifTrusted(folder, root string) (*Workspace, error) {
	there := c.w.at(folder)
	if err := there.Locate(); err != nil {
		return nil, err
	}
	if _, covered := paths.Within(paths.Resolve(root), there.Project); covered {
		return there, there.LoadAsTrusted()
	}
	return there, there.Load()
}

// UntrustedPlugin reports whether a folder is an untrusted plugin.
func (c Curated) UntrustedPlugin(ctx context.Context, folder string) (bool, error) {
	m, err := c.Layer().Load(ctx)
	at := paths.Resolve(folder)
	return slices.ContainsFunc(m.Files, func(f curated.File) bool { return f.Untrusted && f.Plugin == at }), err
}

// Contents returns what a folder would load.
func (c Curated) Contents(ctx context.Context, folder string) (Contents, error) {
	root := paths.Resolve(folder)
	there, err := c.ifTrusted(root, root)
	if err != nil {
		return Contents{}, err
	}
	o := there.Curated().Options(onlyTrust(root))
	o.Children, o.Hidden, o.Limits = true, true, curated.NoLimits
	m, err := curated.New(o).Load(ctx)
	if err != nil {
		return Contents{}, err
	}
	inside := Contents{MemoryFiles: []string{}}
	for _, f := range m.Files {
		if _, ok := paths.Within(root, paths.Resolve(f.File)); ok && !slices.Contains(inside.MemoryFiles, f.Path) {
			inside.MemoryFiles = append(inside.MemoryFiles, f.Path)
			inside.Tokens += f.Tokens
		}
	}
	for _, w := range m.Warnings {
		if w.Path != "" && !strings.HasPrefix(w.Path, "~") {
			inside.Warnings = append(inside.Warnings, w.String())
		}
	}
	if _, err := os.Lstat(filepath.Join(root, ".beans", "config.yaml")); err == nil {
		inside.Settings = []string{".beans/config.yaml"}
	}
	inside.otherAgents(root)
	return inside, nil
}

// ParentToTrust is the folder above, or "" if it holds the home.
func (c Curated) ParentToTrust(folder string) string {
	parent := filepath.Dir(folder)
	if _, above := paths.Within(parent, paths.Resolve(c.w.Home)); above || parent == filepath.Dir(parent) || !c.w.Trust().WouldCover(parent, folder) {
		return ""
	}
	return parent
}

// Footer is one line for a status bar.
func Footer(m curated.Memory) string {
	return fmt.Sprintf("[%s] [%s tokens, %.1f%% of %s]", plain.Count(m.Usage.Files, "memory file"), plain.Thousands(m.Usage.Tokens), m.Usage.Percent(), plain.Thousands(curated.Window))
}

package curated

import (
	"cmp"
	"log/slog"
	"path/filepath"

	"github.com/memcore/memcore/internal/paths"
)

// Options say what a Layer reads. Only Dir is required.
type Options struct {
	// Dir is the agent's folder. Memory is read from the root of its repository down to it. Without
	// a repository, the root is Project if Dir is inside, else Dir.
	Dir, Project string
	// Original, if the repository's root is one of several working directories ("git worktree"), is
	// the main one. Private files, which git does not bring along, are its files where the project
	// has none.
	Original string
	// TrustCopies trusts a file of the project while it has the bytes of a trusted file of
	// Original.
	TrustCopies bool
	// Home is the user's home folder. "" refuses "~" and, without Beans, has no global memory.
	Home string
	// Beans is the folder of global memory; "" is Folder in Home.
	Beans string
	// Folder is the name of a project's hidden folder; "" is ".beans".
	Folder string
	// Names of memory files, later ones of higher priority; default BEANS.md.
	Names []string
	// Plugins are folders of plugins or skills with a folder "memory", or of an agent's plugins.
	// Relative ones belong to the project; "~/" is Home. Plugins outside of the project and of
	// Beans need trust one by one. nil means DefaultPlugins; a single "" means none.
	Plugins []string
	// Mounts are trusted folders whose memory counts as the project's. The project overrides it.
	Mounts []Mount
	// Loaded are manifests (GeminiManifest) whose files the agent loads itself.
	Loaded []string
	// Others are names of agents that do not ask. A plugin's file memory/NAME.md is for the agent of
	// that name alone.
	Others []string
	// Has are absolute paths of files that the agent has already: no other file imports them.
	Has []string
	// NoParents leaves out the folders above Dir.
	NoParents bool
	// Children reads memory of folders down to five levels below Dir at the start. Otherwise it is
	// for Now, when a tool touches the folder.
	Children bool
	// Hidden lets Children read folders at any depth, also hidden ones and those that Exclude or
	// .gitignore match.
	Hidden bool
	// Exclude are patterns as in .gitignore, relative to the project. Memory there is read only if
	// the agent works there. nil means DefaultExclude.
	Exclude []string
	// Data is the folder that agents write to: absolute, or below a project. In no project do files
	// there instruct, nor files in DefaultData.
	Data string
	// NoLocal leaves out ".local.md" files.
	NoLocal bool
	// GitIgnores is the file of git's ignore patterns for all repositories, or "".
	GitIgnores string
	// NoImports treats imports as text. Otherwise imports in imports are read down to ImportDepth;
	// 0 means 5.
	NoImports   bool
	ImportDepth int
	Limits      Limits
	// Trust says which folders may instruct. nil leaves only global memory.
	Trust Trust
	// Count counts tokens, concurrently. nil estimates one token for four bytes.
	Count func(text string) int
	// Log gets the provenance of the text at debug level; may be nil.
	Log *slog.Logger
	// Cache may be shared by layers. nil makes a new one.
	Cache *Cache
}

// Defaults of Options.
var (
	DefaultNames = []string{"BEANS.md"}
	// DefaultPlugins begin with what strangers wrote: all else overrides it.
	DefaultPlugins = []string{"~/.gemini/extensions", "~/.claude/plugins", "~/.codex/plugins", "~/.claude/skills", "~/.codex/skills", "~/.agents/skills",
		".claude/skills", ".agents/skills", "~/.beans/plugins", "plugins", ".beans/plugins"}
	DefaultExclude = []string{"node_modules", ".git", "dist", "build"}
)

// mentioning are files whose agents follow "@path.md" within a sentence. The text comes at the end
// of the file.
var mentioning = []string{"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md"}

// DefaultData is the folder that agents write to, below a project.
const DefaultData = "data/memory"

const (
	defaultFolder      = ".beans"
	defaultImportDepth = 5
	maxChildDepth      = 5         // of folders below Options.Dir
	maxHiddenDepth     = 100       // the same with Options.Hidden
	maxImports         = 20        // of one file
	maxImportBytes     = 100 << 10 // of an imported file
)

// A Mount is a folder that is shown under a name of its own, such as "@platform".
type Mount struct{ Name, Folder string }

// names returns the names of files as they are shown.
func (o Options) names(project string) paths.Names {
	names := paths.NewNames(project, o.Home)
	for _, m := range o.Mounts {
		names = names.With(m.Name, m.Folder)
	}
	return names
}

// Trust knows which folders may instruct an agent. It must be safe for concurrent use.
type Trust interface {
	// Covering returns the folder whose trust covers a folder (links resolved), or "".
	Covering(folder string) (string, error)
}

// Limits bound what goes into a prompt. Memory that exceeds one is cut.
type Limits struct {
	// Lines bounds the lines at the start of a session, and Tokens all tokens of a session. 0 means
	// DefaultLines and DefaultTokens, a negative number no limit.
	Lines, Tokens int
	// Runes bounds the characters with headings (formatter.Curated), for hooks whose output an
	// agent limits; 0 means no limit.
	Runes int
}

// Window is the context window in tokens that memory is measured against.
const Window = 128_000

// Defaults of Limits. The tokens are about 50 KB of English.
const (
	DefaultLines  = 200
	DefaultTokens = Window / 10
)

// NoLimits lets all memory through.
var NoLimits = Limits{Lines: -1, Tokens: -1}

func (l Limits) withDefaults() Limits {
	return Limits{Lines: cmp.Or(l.Lines, DefaultLines), Tokens: cmp.Or(l.Tokens, DefaultTokens), Runes: l.Runes}
}

// warnAt returns the number of tokens from which on a warning comes.
func (l Limits) warnAt() int { return l.Tokens * 4 / 5 }

func (o Options) withDefaults() Options {
	o.Dir = paths.Resolve(o.Dir)
	if o.Project != "" {
		o.Project = paths.Resolve(o.Project)
	}
	o.Folder = cmp.Or(o.Folder, defaultFolder)
	if o.Beans == "" && o.Home != "" {
		o.Beans = filepath.Join(o.Home, o.Folder)
	}
	if len(o.Names) == 0 {
		o.Names = DefaultNames
	}
	if len(o.Plugins) == 0 {
		o.Plugins = DefaultPlugins
	}
	if o.Exclude == nil {
		o.Exclude = DefaultExclude
	}
	o.ImportDepth = cmp.Or(o.ImportDepth, defaultImportDepth)
	o.Limits = o.Limits.withDefaults()
	if o.Count == nil {
		o.Count = estimate
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Cache == nil {
		o.Cache = &Cache{}
	}
	return o
}

// estimate guesses the number of tokens.
func estimate(text string) int { return (len(text) + 3) / 4 }

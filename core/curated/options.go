package curated

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/memcore/memcore/internal/paths"
)

// Options say what a Layer reads. Only Dir is required.
type Options struct {
	// Dir is the agent's folder. Memory is read from the root of its repository down to it. Without
	// a repository, the root is Project if Dir is inside, else Dir.
	Dir, Project string
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
	// NoParents leaves out the folders above Dir.
	NoParents bool
	// Children reads memory of folders below Dir at the start, down to MaxDepth. Otherwise it is
	// for Now, when a tool touches the folder.
	Children bool
	MaxDepth int // of folders below Dir; 0 means 5
	// Hidden lets Children read hidden folders and those that Exclude or .gitignore match.
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
	Imports    ImportOptions
	Limits     Limits
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
	// DefaultMentions are files whose agents follow "@path" within a sentence.
	DefaultMentions = []string{"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md"}
)

// DefaultData is the folder that agents write to, below a project.
const DefaultData = "data/memory"

const (
	defaultFolder = ".beans"
	defaultDepth  = 5
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

// ImportOptions bound imports. 0 means the default.
type ImportOptions struct {
	Off        bool
	MaxDepth   int // of imports in imports; 5
	MaxPerFile int // 20
	MaxBytes   int // of an imported file; 100 KB
	// Mentions are names of files in which "@path.md" in a sentence imports, at the end of the
	// file; nil means DefaultMentions.
	Mentions []string
}

// Limits bound what goes into a prompt. 0 means the default, a negative number no limit.
type Limits struct {
	FileLines int // of one file; 500
	Lines     int // at the start; 200
	Bytes     int // in all; 50 KB
	WarnBytes int // 30 KB
	// Context is the model's window in tokens (128,000). Memory should take at most Percent of it
	// (10). A warning comes at WarnPercent (8), a cut at HardPercent (15).
	Context                           int
	Percent, WarnPercent, HardPercent float64
	// Tokens limits the tokens independently of Context; 0 is no limit.
	Tokens int
	// Runes limits the characters with headings (formatter.Curated); 0 is no limit.
	Runes int
}

func (l Limits) withDefaults() Limits {
	return Limits{
		FileLines: cmp.Or(l.FileLines, 500), Lines: cmp.Or(l.Lines, 200), Bytes: cmp.Or(l.Bytes, 50<<10), WarnBytes: cmp.Or(l.WarnBytes, 30<<10),
		Context: cmp.Or(l.Context, 128_000), Percent: cmp.Or(l.Percent, 10), WarnPercent: cmp.Or(l.WarnPercent, 8), HardPercent: cmp.Or(l.HardPercent, 15),
		Tokens: l.Tokens, Runes: l.Runes,
	}
}

// share returns a share of Context in tokens, or -1 without a limit.
func (l Limits) share(percent float64) int {
	if percent < 0 || l.Context < 0 {
		return -1
	}
	return int(float64(l.Context) * percent / 100)
}

// Hard returns the limit of tokens, or -1 without one.
func (l Limits) Hard() int {
	most := l.share(l.HardPercent)
	if l.Tokens > 0 && (most < 0 || l.Tokens < most) {
		return l.Tokens
	}
	return most
}

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
	o.MaxDepth = cmp.Or(o.MaxDepth, defaultDepth)
	if o.Exclude == nil {
		o.Exclude = DefaultExclude
	}
	o.Imports.MaxDepth = cmp.Or(o.Imports.MaxDepth, 5)
	o.Imports.MaxPerFile = cmp.Or(o.Imports.MaxPerFile, 20)
	o.Imports.MaxBytes = cmp.Or(o.Imports.MaxBytes, 100<<10)
	if o.Imports.Mentions == nil {
		o.Imports.Mentions = DefaultMentions
	}
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

func (o Options) mentions(name string) bool { return slices.Contains(o.Imports.Mentions, name) }

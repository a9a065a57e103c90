package static

import (
	"cmp"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/memcore/memcore/internal/paths"
)

// Options say what a Layer reads. Dir is needed; the zero value of all others is the default.
type Options struct {
	// Dir is the folder the agent works in. Memory is looked for from the nearest folder at or above it that holds .git down to
	// it; without one, in Project, if it is at or above Dir, and else in Dir.
	Dir, Project string
	// Home is the user's home folder, what "~" stands for; "" refuses "~" and, without Beans, has no global memory.
	Home string
	// Beans is the folder of global memory; "" is Folder in Home.
	Beans string
	// Folder is the name of the hidden folder of a project; "" is ".beans".
	Folder string
	// Names of memory files, later ones of higher priority; none means BEANS.md.
	Names []string
	// Plugins are folders that hold plugins, each with a folder "memory"; relative ones are in the project, "~/" is Home. None
	// means DefaultPlugins; one that is "" means no plugins.
	Plugins []string
	// NoParents reads memory of Dir only, not of the folders between it and the project's.
	NoParents bool
	// Children also reads memory of folders below Dir, down to MaxDepth, at the start; else it is there just in time (LoadFor).
	Children bool
	MaxDepth int // of folders below Dir; 0 means 5
	// Exclude are patterns as in .gitignore, relative to the project, of folders whose memory is not read unless the agent works in
	// them; nil means DefaultExclude.
	Exclude []string
	// NoLocal leaves out ".local.md" files.
	NoLocal bool
	Imports ImportOptions
	Limits  Limits
	// Trust says which folders may act. Nil means none, which leaves global memory.
	Trust Trust
	// Count counts tokens as the model's tokeniser does, or nearly; nil estimates one token for four bytes. It must be safe for
	// concurrent use.
	Count func(text string) int
	// Migrate holds, by version, what changes frontmatter of that version to the next one. It is called with all keys of the
	// frontmatter, which it may change; an error leaves the frontmatter unused, with a warning.
	Migrate map[int]func(meta map[string]any) error
	// Log gets provenance, at the level of debugging; nil is none.
	Log *slog.Logger
	// Cache is shared by several layers; nil is one of its own.
	Cache *Cache
}

// Defaults of Options.
var (
	DefaultNames   = []string{"BEANS.md"}
	DefaultPlugins = []string{"~/.beans/plugins", "plugins", ".beans/plugins"}
	DefaultExclude = []string{"node_modules", ".git", "dist", "build"}
	// DefaultMentions are files of agents that follow "@path" anywhere in a sentence.
	DefaultMentions = []string{"CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", "GEMINI.md"}
)

const (
	defaultFolder = ".beans"
	defaultDepth  = 5
)

// Trust knows which folders may act on an agent. It must be safe for concurrent use.
type Trust interface {
	// Covering returns the folder whose trust covers a folder, its links resolved; "" if it is not trusted.
	Covering(folder string) (string, error)
}

// ImportOptions bound imports. 0 means the default.
type ImportOptions struct {
	Off        bool
	MaxDepth   int // of imports in imports; 5
	MaxPerFile int // 20
	MaxBytes   int // of an imported file; 100 KB
	// Mentions are names of files in which "@path.md" is followed also within a sentence, as their agents do; nil means
	// DefaultMentions. The text of the file goes to the end of the one that mentions it.
	Mentions []string
}

// Limits of what goes into a prompt. 0 means the default, a negative value no limit.
type Limits struct {
	FileLines int // of one file; 500
	Lines     int // at the start; 200
	Bytes     int // in all; 50 KB
	WarnBytes int // 30 KB
	// Context is the model's context window in tokens; 128,000. Memory should take up to Percent of it (10), is warned about from
	// WarnPercent on (8), and is cut at HardPercent (15).
	Context                           int
	Percent, WarnPercent, HardPercent float64
	// Tokens is the most tokens, whatever the context; 0 means no limit of its own.
	Tokens int
}

func orElse[T int | float64](value, fallback T) T {
	if value == 0 {
		return fallback
	}
	return value
}

// withDefaults returns limits in which 0 is no longer a default.
func (l Limits) withDefaults() Limits {
	return Limits{
		FileLines: orElse(l.FileLines, 500), Lines: orElse(l.Lines, 200), Bytes: orElse(l.Bytes, 50<<10), WarnBytes: orElse(l.WarnBytes, 30<<10),
		Context: orElse(l.Context, 128_000), Percent: orElse(l.Percent, 10), WarnPercent: orElse(l.WarnPercent, 8), HardPercent: orElse(l.HardPercent, 15),
		Tokens: l.Tokens,
	}
}

// tokens is a share of the context window; negative is no limit.
func (l Limits) share(percent float64) int {
	if percent < 0 || l.Context < 0 {
		return -1
	}
	return int(float64(l.Context) * percent / 100)
}

// hard is the most tokens of the layer; negative is no limit.
func (l Limits) hard() int {
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
	o.MaxDepth = orElse(o.MaxDepth, defaultDepth)
	if o.Exclude == nil {
		o.Exclude = DefaultExclude
	}
	o.Imports.MaxDepth = orElse(o.Imports.MaxDepth, 5)
	o.Imports.MaxPerFile = orElse(o.Imports.MaxPerFile, 20)
	o.Imports.MaxBytes = orElse(o.Imports.MaxBytes, 100<<10)
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

// estimate is the fallback for counting tokens.
func estimate(text string) int { return (len(text) + 3) / 4 }

func (o Options) mentions(name string) bool { return slices.Contains(o.Imports.Mentions, name) }

package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/userdir"
)

// Values of the setting engine.
const (
	EngineAuto    = "auto"
	EngineFlat    = "flat"
	EngineLanceDB = "lancedb"
)

// Values of the setting hook.index.
const (
	IndexOff   = "off"
	IndexFiles = "files"
	IndexAll   = "all"
)

// Settings are the values of Known, whose keys name the fields. Later wins: ~/.beans/config.yaml,
// <workspace>/.beans/config.yaml, MEMCORE_* variables, flags.
type Settings struct {
	Embedder, Engine, IndexDir string
	Enabled                    bool
	CuratedSettings            `mapstructure:",squash"`
	Exclude                    []string
	Redact                     bool
	DataDir, SessionsDir       string
	Sessions                   struct{ Keep string }
	MinSimilarity              float64
	Lines, DefaultLimit        int
	TokenBudget                int
	Freshness                  time.Duration
	Ollama                     struct{ Host, Model string }
	OpenAI                     ModelServer
	Injection                  struct{ Policy string }
	Daemon                     struct {
		Start bool
		Idle  time.Duration
	}
	Hook struct {
		Budget time.Duration
		Log    bool
		Index  string
	}
	Reflect struct {
		ModelServer `mapstructure:",squash"`
		Auto        bool
	}
	Save    struct{ RequireConfirmation bool }
	Service struct{ URL, KeyEnv string }
}

// A ModelServer has a model that answers over HTTP.
type ModelServer struct{ BaseURL, Model, APIKeyEnv string }

// CuratedSettings are the settings of curated memory.
type CuratedSettings struct {
	FileNames                                     []string
	Home, Folder                                  string
	SearchParents, SearchChildren, LoadLocalFiles bool
	ExcludePaths                                  []string
	Imports                                       struct {
		Enabled  bool
		MaxDepth int
	}
	MaxLines, MaxTokens int
	FolderTrust         struct {
		Enabled        bool
		TrustedFolders []string
	}
}

// Values of the setting embedder that are no names of packs.
const (
	EmbedderMiniLM = "minilm" // in the program
	EmbedderOllama = "ollama"
	EmbedderOpenAI = "openai"
	EmbedderNone   = "none"
)

const (
	// variablePrefix begins the names of environment variables.
	variablePrefix = "MEMCORE_"
	// serviceKey is the variable with the key of a memory service.
	serviceKey = variablePrefix + "SERVICE_KEY"
)

// EmbedsElsewhere reports whether a server makes the vectors.
func (s Settings) EmbedsElsewhere() bool {
	return s.Embedder == EmbedderOllama || s.Embedder == EmbedderOpenAI
}

// An Owner says whose files may set a setting.
type Owner int

const (
	// Personal settings count only in the user's files: a repository must not choose servers, keys
	// or files to write.
	Personal Owner = iota
	// TrustedProject settings also count in a trusted workspace.
	TrustedProject
	AnyProject
)

// A Setting is a key below "memory:" in a file.
type Setting struct {
	Key      string
	Fallback string // as it would be written in a file
	Of       Owner
	kind     parser
	About    string
}

// Known are all settings, as in docs/config.md.
var Known = []Setting{
	{"embedder", EmbedderMiniLM, Personal, embedderName,
		"what makes vectors: `minilm` (built in), `ollama`, `openai`, `none`, or an installed [model](models.md)"},
	{"engine", EngineAuto, Personal, oneOf(EngineAuto, EngineFlat, EngineLanceDB),
		"what keeps vectors: `flat`, `lancedb` in builds that have it, or `auto`: `lancedb`, if it is there, from a million chunks on, else as the index has it"},
	{"indexDir", "", Personal, text, "folder for indexes and cached vectors; empty: `memcore` in your cache folder"},
	{"enabled", "true", Personal, yesOrNo, "`false` gives agents nothing"},
	{"fileNames", "[BEANS.md]", TrustedProject, markdownNames, "[curated memory files](curated-memory.md), later ones of higher priority; `memcore save --shared` writes to the first that exists, without `--shared` beside it"},
	{"home", "~/.beans", Personal, text, "folder of your global memory"},
	{"folder", ".beans", Personal, folderName, "folder of memory and rules in projects (`config.yaml` stays in `.beans`)"},
	{"searchParents", "true", TrustedProject, yesOrNo, "`false` leaves out memory of parent folders"},
	{"searchChildren", "false", TrustedProject, yesOrNo, "`true` gives memory of the folders below, five levels deep, at the start of a session"},
	{"excludePaths", "[node_modules, .git, dist, build]", TrustedProject, list, "folders without curated memory, as `.gitignore` patterns"},
	{"loadLocalFiles", "true", TrustedProject, yesOrNo, "`false` leaves out `.local.md` files"},
	{"imports.enabled", "true", TrustedProject, yesOrNo, "`false` treats imports as text"},
	{"imports.maxDepth", "5", Personal, whole(1, 50), "depth of imports in imports, 1 to 50"},
	{"maxLines", "200", Personal, whole(0, 1_000_000), "lines of curated memory at the start of a session; 0: no limit"},
	{"maxTokens", "12800", Personal, whole(0, 100_000_000), "tokens of curated memory; 0: no limit"},
	{"folderTrust.enabled", "true", Personal, yesOrNo, "`false` trusts every workspace"},
	{"folderTrust.trustedFolders", "[]", Personal, list, "more trusted folders than `memcore trust` has"},
	{"exclude", "[]", AnyProject, list, "files that are not indexed, as `.gitignore` patterns"},
	{"redact", "true", Personal, yesOrNo, "`false` keeps keys, tokens and passwords in the index"},
	{"dataDir", curated.DefaultData, Personal, text, "folder of facts and episodes, in the project unless absolute"},
	{"sessionsDir", "~/.ai/sessions", Personal, text, "folder of sessions"},
	{"sessions.keep", "", Personal, age, "age at which [sessions](notes.md#sessions) go, such as `180d`; empty: never"},
	{"minSimilarity", "0", TrustedProject, number(0, 1), "smallest score of a hit, up to 1; 0: the calibrated one"},
	{"lines", "8", TrustedProject, whole(0, core.MaxLines), "lines of the [list](relevance.md#what-a-turn-gets) of a turn, at most 8; 0: no lists"},
	{"defaultLimit", "5", TrustedProject, whole(1, 100), "results of `recall` and `recall_memory`, 1 to 100"},
	{"tokenBudget", "600", TrustedProject, whole(1, 1_000_000), "tokens of all hits of a turn"},
	{"freshness", "150ms", TrustedProject, span, "time in which a query may index changed files; 0: none"},
	{"ollama.host", "http://127.0.0.1:11434", Personal, text, "address of the Ollama server"},
	{"ollama.model", "all-minilm", Personal, text, "its embedding model"},
	{"openai.baseURL", "", Personal, text, "address of an OpenAI-compatible endpoint, with `/v1`"},
	{"openai.model", "", Personal, text, "its embedding model"},
	{"openai.apiKeyEnv", "OPENAI_API_KEY", Personal, text, "environment variable with its key"},
	{"injection.policy", core.InjectionFrame, Personal, oneOf(core.InjectionFrame, core.InjectionWithhold, core.InjectionOff),
		"text that reads like an [injection](security.md#injections) is marked (`frame`), left out (`withhold`) or not looked for (`off`)"},
	{"daemon.start", "true", Personal, yesOrNo, "`false` keeps hooks from starting the daemon"},
	{"daemon.idle", "30m", Personal, span, "idle time after which the daemon of hooks ends; 0: never"},
	{"hook.budget", "300ms", Personal, span, "time for a hook; a later answer is dropped"},
	{"hook.log", "true", Personal, yesOrNo, "`false` keeps prompts and answers out of sessions"},
	{"hook.index", IndexOff, Personal, oneOf(IndexOff, IndexFiles, IndexAll), "what hooks index in a new project: `off`, `files`, or `all`: also past sessions"},
	{"reflect.auto", "false", Personal, yesOrNo, "`true` queues ended sessions for [reflection](notes.md#reflection)"},
	{"reflect.baseURL", "", Personal, text, "address of the chat model that reflects, with `/v1`"},
	{"reflect.model", "", Personal, text, "its name; it must be able to call tools"},
	{"reflect.apiKeyEnv", "", Personal, text, "environment variable with its key; empty: no key"},
	{"save.requireConfirmation", "true", Personal, yesOrNo, "`false` lets models write curated memory without [your consent](notes.md#a-models-save)"},
	{"service.url", "", Personal, text, "address of a [memory service](service.md#on-a-laptop); empty: none"},
	{"service.keyEnv", serviceKey, Personal, text, "environment variable with its key; without it the key counts that `memcore init --server` keeps"},
}

// ofCurated are the settings of a workspace that choose its curated files.
var ofCurated = []string{"fileNames", "searchParents", "searchChildren", "excludePaths", "loadLocalFiles", "imports.enabled"}

// hides reports whether a workspace uses the setting to hide its files.
func (s Setting) hides() bool { return s.Key == "exclude" || slices.Contains(ofCurated, s.Key) }

// NotIndexed returns why the workspace is not indexed: what to exclude is unknown.
func (l Loaded) NotIndexed() error { return l.Unknown["exclude"] }

// NotCurated returns why the workspace's curated files are not used: it is unknown which.
func (l Loaded) NotCurated() error {
	_, err := l.notCurated()
	return err
}

func (l Loaded) notCurated() (key string, err error) {
	for _, key := range ofCurated {
		if err := l.Unknown[key]; err != nil {
			return key, err
		}
	}
	return "", nil
}

// environment is a variable: openai.baseURL is MEMCORE_OPENAI_BASEURL.
func (s Setting) environment() string {
	return variablePrefix + strings.ToUpper(strings.ReplaceAll(s.Key, ".", "_"))
}

// IndexRoot is the folder of all indexes.
func (s Settings) IndexRoot() (string, error) {
	if s.IndexDir != "" {
		return filepath.Abs(s.IndexDir)
	}
	cache, err := userdir.Cache()
	if err != nil {
		return "", kind.Hint(fmt.Errorf("no folder for the index: %w", err), "set HOME, or name one with --index-dir")
	}
	return cache, nil
}

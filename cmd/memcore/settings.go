package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/viper"

	"github.com/memcore/memcore/core"
)

// settings are what configuration decides. Later wins: ~/.beans/config.yaml,
// <workspace>/.beans/config.yaml, MEMCORE_* environment, flags.
type settings struct {
	Embedder      string        `mapstructure:"embedder"`
	Engine        string        `mapstructure:"engine"`
	IndexDir      string        `mapstructure:"indexDir"`
	Enabled       bool          `mapstructure:"enabled"`
	FileNames     []string      `mapstructure:"fileNames"`
	Exclude       []string      `mapstructure:"exclude"`
	Redact        bool          `mapstructure:"redact"`
	IndexLocal    bool          `mapstructure:"indexLocalFiles"`
	Superseded    bool          `mapstructure:"indexSuperseded"`
	DataDir       string        `mapstructure:"dataDir"`
	SessionsDir   string        `mapstructure:"sessionsDir"`
	MinSimilarity float64       `mapstructure:"minSimilarity"`
	TopK          int           `mapstructure:"topK"`
	Limit         int           `mapstructure:"limit"`
	TokenBudget   int           `mapstructure:"tokenBudget"`
	Freshness     time.Duration `mapstructure:"freshness"`
	Relevance     string        `mapstructure:"relevance"`
	Ollama        struct {
		Host  string `mapstructure:"host"`
		Model string `mapstructure:"model"`
	} `mapstructure:"ollama"`
	OpenAI struct {
		BaseURL   string `mapstructure:"baseURL"`
		Model     string `mapstructure:"model"`
		APIKeyEnv string `mapstructure:"apiKeyEnv"`
	} `mapstructure:"openai"`
	HalfLife  time.Duration `mapstructure:"halfLife"`
	Diversity float64       `mapstructure:"diversity"`
	Rerank    struct {
		BaseURL    string        `mapstructure:"baseURL"`
		Model      string        `mapstructure:"model"`
		By         string        `mapstructure:"by"`
		APIKeyEnv  string        `mapstructure:"apiKeyEnv"`
		Budget     time.Duration `mapstructure:"budget"`
		Candidates int           `mapstructure:"candidates"`
	} `mapstructure:"rerank"`
	Injection struct {
		Policy string `mapstructure:"policy"`
	} `mapstructure:"injection"`
	Daemon struct {
		Start  bool          `mapstructure:"start"`
		Idle   time.Duration `mapstructure:"idle"`
		Memory int           `mapstructure:"memory"`
	} `mapstructure:"daemon"`
	Hook struct {
		Budget time.Duration `mapstructure:"budget"`
		Log    bool          `mapstructure:"log"`
	} `mapstructure:"hook"`
	Reflect struct {
		By        string        `mapstructure:"by"`
		BaseURL   string        `mapstructure:"baseURL"`
		Model     string        `mapstructure:"model"`
		APIKeyEnv string        `mapstructure:"apiKeyEnv"`
		MaxSteps  int           `mapstructure:"maxSteps"`
		MaxTokens int           `mapstructure:"maxTokens"`
		Timeout   time.Duration `mapstructure:"timeout"`
		Auto      bool          `mapstructure:"auto"`
	} `mapstructure:"reflect"`
	Use            bool `mapstructure:"use"`
	staticSettings `mapstructure:",squash"`
	Shared         struct {
		URI       string `mapstructure:"uri"`
		Owner     string `mapstructure:"owner"`
		Publish   string `mapstructure:"publish"`
		Endpoint  string `mapstructure:"endpoint"`
		Region    string `mapstructure:"region"`
		PathStyle bool   `mapstructure:"pathStyle"`
		AllowHTTP bool   `mapstructure:"allowHTTP"`
	} `mapstructure:"shared"`
}

// staticSettings are those of curated memory.
type staticSettings struct {
	Home           string   `mapstructure:"home"`
	Folder         string   `mapstructure:"folder"`
	PluginFolders  []string `mapstructure:"pluginFolders"`
	SearchParents  bool     `mapstructure:"searchParents"`
	SearchChildren bool     `mapstructure:"searchChildren"`
	MaxDepth       int      `mapstructure:"maxDepth"`
	ExcludePaths   []string `mapstructure:"excludePaths"`
	LoadLocalFiles bool     `mapstructure:"loadLocalFiles"`
	Imports        struct {
		Enabled    bool     `mapstructure:"enabled"`
		MaxDepth   int      `mapstructure:"maxDepth"`
		MaxPerFile int      `mapstructure:"maxPerFile"`
		MaxBytes   int      `mapstructure:"maxBytes"`
		Mentions   []string `mapstructure:"mentions"`
	} `mapstructure:"imports"`
	MaxLines           int     `mapstructure:"maxLines"`
	MaxFileLines       int     `mapstructure:"maxFileLines"`
	MaxBytes           int     `mapstructure:"maxBytes"`
	WarnBytes          int     `mapstructure:"warnBytes"`
	ContextTokens      int     `mapstructure:"contextTokens"`
	TokenBudgetPercent float64 `mapstructure:"tokenBudgetPercent"`
	TokenWarnPercent   float64 `mapstructure:"tokenWarnPercent"`
	TokenHardPercent   float64 `mapstructure:"tokenHardPercent"`
	MaxTokens          int     `mapstructure:"maxTokens"`
	WatchFiles         bool    `mapstructure:"watchFiles"`
	DebugProvenance    bool    `mapstructure:"debugProvenance"`
	FolderTrust        struct {
		Enabled        bool     `mapstructure:"enabled"`
		TrustedFolders []string `mapstructure:"trustedFolders"`
	} `mapstructure:"folderTrust"`
}

// aliases are other names of settings, in lower case.
var aliases = map[string]string{"filename": "fileNames", "maximportdepth": "imports.maxDepth"}

// A configuration is the settings and how they came about.
type configuration struct {
	settings settings
	files    []string          // that were read, in the order they count
	origin   map[string]string // where a setting stands, by key, such as "MEMCORE_ENGINE"; not for defaults
	hidden   map[string]string // what a flag took the place of, by key, such as "MEMCORE_ENGINE is flat"
	ignored  []string          // what stands in a file and does not count, and why
}

// An owner says in whose file a setting counts beside the person's own.
type owner int

const (
	// personal settings count nowhere else. A workspace's file comes with the repository, so it must not choose where text is sent, which
	// keys are read or where files are written.
	personal owner = iota
	// trustedProject settings count in the file of a workspace that is trusted: they say what acts as instruction.
	trustedProject
	anyProject
)

// A setting is one key of the configuration, below "memory:" in a file.
type setting struct {
	key      string
	fallback string // as it would be written in a file
	of       owner
	kind     kind
	about    string
}

// knownSettings is the table in docs/config.md, which a test keeps in step.
var knownSettings = []setting{
	{"embedder", "minilm", personal, oneOf("minilm", "ollama", "openai", "none"),
		"what makes vectors: `minilm` (built in), `ollama`, `openai`, `none`"},
	{"engine", engineAuto, personal, oneOf(engineAuto, engineFlat, engineLanceDB),
		"what keeps vectors: `flat`, `lancedb` (in builds that have it), or `auto`: that of the index there is, for a new one the build's default"},
	{"indexDir", "", personal, text(), "folder for indexes and cached vectors; empty is `memcore` in the user's cache folder"},
	{"enabled", "true", personal, yesOrNo(), "`false` turns memory off: nothing is retrieved for turns, injected or given for the system prompt"},
	{"fileNames", "[BEANS.md]", trustedProject, markdownNames(), "names of [curated memory files](static-memory.md), all ending in `.md`, later ones of higher priority; the first is the one written to"},
	{"home", "~/.beans", personal, text(), "folder of global memory"},
	{"folder", ".beans", personal, folderName(), "name of the hidden folder in projects that holds memory and rules (`config.yaml` stays in `.beans`)"},
	{"pluginFolders", "[~/.beans/plugins, plugins, .beans/plugins]", personal, list(), "folders whose folders are plugins, with memory in `memory/`; relative ones are in the project"},
	{"searchParents", "true", trustedProject, yesOrNo(), "`false` reads curated memory of the current folder only, not of those between it and the project's root"},
	{"searchChildren", "false", trustedProject, yesOrNo(), "`true` also reads that of the folders below at the start, not just in time"},
	{"maxDepth", "5", trustedProject, whole(1, 100), "how deep below, 1 to 100"},
	{"excludePaths", "[node_modules, .git, dist, build]", trustedProject, list(), "patterns as in `.gitignore` of folders whose curated memory is not read"},
	{"loadLocalFiles", "true", trustedProject, yesOrNo(), "`false` leaves out `.local.md` files"},
	{"imports.enabled", "true", trustedProject, yesOrNo(), "`false` takes imports as text"},
	{"imports.maxDepth", "5", personal, whole(1, 50), "of imports in imports, 1 to 50 (also `maxImportDepth`)"},
	{"imports.maxPerFile", "20", personal, whole(1, 1000), "imports in a file, 1 to 1000"},
	{"imports.maxBytes", "102400", personal, whole(1, 1<<20), "size of an imported file, to 1048576"},
	{"imports.mentions", "[CLAUDE.md, CLAUDE.local.md, AGENTS.md, GEMINI.md]", trustedProject, list(), "files in which `@path.md` is followed within sentences, too"},
	{"maxLines", "200", personal, whole(0, 1_000_000), "lines of curated memory at the start; 0 is no limit, as for the following"},
	{"maxFileLines", "500", personal, whole(0, 1_000_000), "lines of one file"},
	{"maxBytes", "51200", personal, whole(0, 1<<30), "bytes in all"},
	{"warnBytes", "30720", personal, whole(0, 1<<30), "bytes from which on it is said that there are many"},
	{"contextTokens", "128000", personal, whole(0, 100_000_000), "context window of the model, in tokens"},
	{"tokenBudgetPercent", "10", personal, number(0, 100), "share of it that curated memory should take at most"},
	{"tokenWarnPercent", "8", personal, number(0, 100), "share from which on there is a warning"},
	{"tokenHardPercent", "15", personal, number(0, 100), "share at which it is cut"},
	{"maxTokens", "0", personal, whole(0, 100_000_000), "tokens of curated memory, whatever the window; 0 is no limit of its own"},
	{"watchFiles", "false", personal, yesOrNo(), "`true` lets `memcore memory refresh` go on watching"},
	{"debugProvenance", "false", personal, yesOrNo(), "`true` logs where each segment of curated memory comes from"},
	{"folderTrust.enabled", "true", personal, yesOrNo(), "`false` trusts every workspace"},
	{"folderTrust.trustedFolders", "[]", personal, list(), "folders that are trusted beside those of `memcore trust`"},
	{"exclude", "[]", anyProject, list(), "patterns as in `.gitignore` of files that are not indexed"},
	{"redact", "true", personal, yesOrNo(), "`false` indexes text as it is; else what looks like a key, a token or a password is taken out first"},
	{"indexLocalFiles", "false", personal, yesOrNo(), "`true` also indexes `.local.md` files"},
	{"indexSuperseded", "false", personal, yesOrNo(), "`true` also finds statements that are struck through as superseded"},
	{"dataDir", "data/memory", personal, text(), "folder of facts and episodes, relative to the project"},
	{"sessionsDir", "~/.ai/sessions", personal, text(), "folder of the working memory of sessions"},
	{"minSimilarity", "0", trustedProject, number(0, 1), "least score of what is retrieved, up to 1; 0 is the calibrated default"},
	{"topK", "50", trustedProject, whole(1, 10_000), "candidates each index is asked for, 1 to 10000"},
	{"limit", "8", trustedProject, whole(1, 1000), "hits retrieved for a turn at most, 1 to 1000"},
	{"tokenBudget", "600", trustedProject, whole(1, 1_000_000), "tokens all hits of a turn may cost, 1 to 1000000"},
	{"freshness", "150ms", trustedProject, duration(), "time a query may spend on folding in changed files; negative is not to look"},
	{"relevance", "", personal, text(), "file of a relevance model made by `memcore eval fit`; empty is the one that comes with memcore for the embedder"},
	{"ollama.host", "http://127.0.0.1:11434", personal, text(), "address of the Ollama server"},
	{"ollama.model", "all-minilm", personal, text(), "its embedding model"},
	{"openai.baseURL", "", personal, text(), "address of an OpenAI-compatible endpoint, up to and including `/v1`"},
	{"openai.model", "", personal, text(), "its embedding model"},
	{"openai.apiKeyEnv", "OPENAI_API_KEY", personal, text(), "name of the environment variable that holds its key"},
	{"halfLife", "0s", anyProject, span(), "age at which a score counts half, such as `720h`; 0 is for ever"},
	{"diversity", "0", anyProject, number(0, 0.99), "weight of being unlike the hits before (maximal marginal relevance), below 1; 0 is none"},
	{"rerank.baseURL", "", personal, text(), "address of a server whose model has a second look at the best candidates, up to and including `/v1`; empty is none"},
	{"rerank.model", "", personal, text(), "its model"},
	{"rerank.by", rerankEndpoint, personal, oneOf(rerankEndpoint, rerankJudge), "`endpoint`: the server has `/rerank`; `judge`: a chat model is asked for yes or no, which needs logprobs (Ollama, vLLM, OpenAI)"},
	{"rerank.apiKeyEnv", "", personal, text(), "name of the environment variable that holds its key; empty is no key"},
	{"rerank.budget", "500ms", trustedProject, span(), "time it may take; later is left out"},
	{"rerank.candidates", "16", trustedProject, whole(1, 100), "candidates it looks at, 1 to 100"},
	{"injection.policy", core.InjectionFrame, personal, oneOf(core.InjectionFrame, core.InjectionWithhold, core.InjectionOff),
		"what becomes of retrieved text that reads like instructions to a model: `frame` marks it as not to be followed, `withhold` leaves it out and says so, `off` does not look ([more](security-injection.md))"},
	{"daemon.start", "true", personal, yesOrNo(), "`false` keeps hooks from starting the daemon"},
	{"daemon.idle", "30m", personal, span(), "time without a request after which a daemon that was started by a hook ends; 0 is never"},
	{"daemon.memory", "512", personal, whole(64, 1<<20), "megabytes of memory that the daemon tries to stay below"},
	{"hook.budget", "300ms", personal, span(), "time that a hook of an agent may take from its start; what is late is not given"},
	{"hook.log", "true", personal, yesOrNo(), "`false` keeps hooks from noting prompts and answers in working memory"},
	{"use", "true", personal, yesOrNo(), "`false` keeps no record of what agents were given and whether they used it ([more](daemon.md#what-agents-use))"},
	{"reflect.auto", "false", personal, yesOrNo(), "`true` lets hooks queue a session for reflection when it ends"},
	{"reflect.by", reflectOpenAI, personal, oneOf(reflectOpenAI, reflectOllama), "protocol of the chat model that `memcore reflect` asks: `openai` (chat completions) or `ollama`"},
	{"reflect.baseURL", "", personal, text(), "its address, for `openai` up to and including `/v1`; for `ollama` empty is `ollama.host`"},
	{"reflect.model", "", personal, text(), "its model, one that can call tools"},
	{"reflect.apiKeyEnv", "", personal, text(), "name of the environment variable that holds its key; empty is no key"},
	{"reflect.maxSteps", "12", personal, whole(1, 1000), "answers it may give before the reflection is given up, 1 to 1000"},
	{"reflect.maxTokens", "100000", personal, whole(1000, 100_000_000), "tokens it may cost"},
	{"reflect.timeout", "2m", personal, span(), "time it may take"},
	{"shared.uri", "", personal, text(), "where memories on several machines share their documents: a folder, or such as `s3://bucket/prefix`; empty is not to share ([more](lancedb.md#sharing-a-memory))"},
	{"shared.publish", core.PublishMarkdown, personal, oneOf(core.PublishMarkdown, core.PublishAll, core.PublishNothing), "what the others get of this project: `markdown`, `all` (also agents' logs), `nothing`"},
	{"shared.owner", "", personal, text(), "name of this memory among the others; empty is made of the workspace's and the machine's name"},
	{"shared.endpoint", "", personal, text(), "address of an S3-compatible storage; empty is Amazon's"},
	{"shared.region", "", personal, text(), "its region; empty is us-east-1"},
	{"shared.pathStyle", "false", personal, yesOrNo(), "`true` if buckets are in the path of the address, as with most storages of one's own"},
	{"shared.allowHTTP", "false", personal, yesOrNo(), "`true` to reach it without encryption"},
}

// environment is the variable of a setting: openai.baseURL is MEMCORE_OPENAI_BASEURL.
func (s setting) environment() string {
	return "MEMCORE_" + strings.ToUpper(strings.ReplaceAll(s.key, ".", "_"))
}

// loadSettings reads the configuration. An error comes with what was read before it.
func loadSettings(a *app) (configuration, error) {
	l := loader{merged: viper.New(), app: a}
	l.origin, l.hidden = map[string]string{}, map[string]string{}
	err := l.load()
	return l.configuration, err
}

// A loader puts a configuration together.
type loader struct {
	configuration
	app    *app
	merged *viper.Viper
}

func (l *loader) load() error {
	for _, read := range []func() error{l.defaults, l.mergeFiles, l.environment, l.flags} {
		if err := read(); err != nil {
			return err
		}
	}
	if err := l.merged.UnmarshalExact(&l.settings); err != nil {
		return usagef("configuration: %w", err)
	}
	if s := l.settings; s.Embedder == "openai" && (s.OpenAI.BaseURL == "" || s.OpenAI.Model == "") {
		return usagef("memory.embedder is openai, which needs memory.openai.baseURL and memory.openai.model")
	}
	return nil
}

func (l *loader) defaults() error {
	for _, s := range knownSettings {
		if err := l.take(s, "default", s.fallback); err != nil {
			return err
		}
	}
	clear(l.origin)
	return nil
}

func (l *loader) environment() error {
	for _, s := range knownSettings {
		if value := os.Getenv(s.environment()); value != "" {
			if err := l.take(s, s.environment(), value); err != nil {
				return err
			}
		}
	}
	return nil
}

// flags takes over the settings that have a flag of their own.
func (l *loader) flags() error {
	for _, f := range []struct{ key, flag, value string }{
		{"indexDir", "--index-dir", l.app.flags.indexDir},
		{"engine", "--engine", l.app.flags.engine},
	} {
		if f.value == "" {
			continue
		}
		if origin := l.origin[f.key]; origin != "" {
			l.hidden[f.key] = fmt.Sprintf("%s is %v", origin, l.merged.Get(f.key))
		}
		s := knownSettings[slices.IndexFunc(knownSettings, func(s setting) bool { return s.key == f.key })]
		if err := l.take(s, f.flag, f.value); err != nil {
			return err
		}
	}
	return nil
}

// take puts a value into the merged settings. An error names where it stands, the value and what is
// wanted.
func (l *loader) take(s setting, where string, value any) error {
	parsed, err := s.kind(value)
	if err != nil {
		return usagef("%s is %v, want %w", where, shown(value), err)
	}
	l.merged.Set(s.key, parsed)
	l.origin[s.key] = where
	return nil
}

// shown is a value as an error shows it: on one line, and not all of a long one.
func shown(value any) string {
	text := fmt.Sprintf("%v", value)
	if s, ok := value.(string); ok {
		text = fmt.Sprintf("%q", s)
	}
	if runes := []rune(text); len(runes) > 60 {
		text = string(runes[:60]) + "…"
	}
	return strings.ReplaceAll(text, "\n", " ")
}

// indexRoot is the folder of all indexes.
func (s settings) indexRoot() (string, error) {
	if s.IndexDir != "" {
		return filepath.Abs(s.IndexDir)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", &hintError{fmt.Errorf("no folder for the index: %w", err), "set HOME, or name one with --index-dir"}
	}
	return filepath.Join(cache, "memcore"), nil
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/viper"
)

// settings are what configuration decides. Later wins: ~/.beans/config.yaml,
// <workspace>/.beans/config.yaml, MEMCORE_* environment, flags.
type settings struct {
	Embedder      string        `mapstructure:"embedder"`
	Engine        string        `mapstructure:"engine"`
	IndexDir      string        `mapstructure:"indexDir"`
	FileNames     []string      `mapstructure:"fileNames"`
	Exclude       []string      `mapstructure:"exclude"`
	MinSimilarity float64       `mapstructure:"minSimilarity"`
	TopK          int           `mapstructure:"topK"`
	Limit         int           `mapstructure:"limit"`
	TokenBudget   int           `mapstructure:"tokenBudget"`
	Freshness     time.Duration `mapstructure:"freshness"`
	Ollama        struct {
		Host  string `mapstructure:"host"`
		Model string `mapstructure:"model"`
	} `mapstructure:"ollama"`
	OpenAI struct {
		BaseURL   string `mapstructure:"baseURL"`
		Model     string `mapstructure:"model"`
		APIKeyEnv string `mapstructure:"apiKeyEnv"`
	} `mapstructure:"openai"`
}

// A setting is one key of the configuration, below "memory:" in a file.
type setting struct {
	key      string
	fallback string // as it would be written in a file
	// shared settings are honoured from a workspace's own file. That file comes with the repository,
	// so it must not choose where text is sent, which keys are read or where files are written.
	shared bool
	kind   kind
	about  string
}

// knownSettings is the table in docs/config.md, which a test keeps in step.
var knownSettings = []setting{
	{"embedder", "minilm", false, oneOf("minilm", "ollama", "openai", "none"),
		"what makes vectors: `minilm` (built in), `ollama`, `openai`, `none`"},
	{"engine", "flat", false, oneOf("flat"), "what keeps vectors: `flat`"},
	{"indexDir", "", false, text(), "folder for indexes and cached vectors; empty is `memcore` in the user's cache folder"},
	{"fileNames", "[BEANS.md]", true, markdownNames(), "names of curated memory files, all ending in `.md`; the first is the one written to"},
	{"exclude", "[]", true, list(), "patterns as in `.gitignore` of files that are not indexed"},
	{"minSimilarity", "0", true, number(0, 1), "least score of what is retrieved, up to 1; 0 is the calibrated default"},
	{"topK", "50", true, whole(1, 10_000), "candidates each index is asked for, 1 to 10000"},
	{"limit", "8", true, whole(1, 1000), "hits retrieved for a turn at most, 1 to 1000"},
	{"tokenBudget", "600", true, whole(1, 1_000_000), "tokens all hits of a turn may cost, 1 to 1000000"},
	{"freshness", "150ms", true, duration(), "time a query may spend on folding in changed files; negative is not to look"},
	{"ollama.host", "http://127.0.0.1:11434", false, text(), "address of the Ollama server"},
	{"ollama.model", "all-minilm", false, text(), "its embedding model"},
	{"openai.baseURL", "", false, text(), "address of an OpenAI-compatible endpoint, up to and including `/v1`"},
	{"openai.model", "", false, text(), "its embedding model"},
	{"openai.apiKeyEnv", "OPENAI_API_KEY", false, text(), "name of the environment variable that holds its key"},
}

// environment is the variable of a setting: openai.baseURL is MEMCORE_OPENAI_BASEURL.
func (s setting) environment() string {
	return "MEMCORE_" + strings.ToUpper(strings.ReplaceAll(s.key, ".", "_"))
}

func loadSettings(a *app) (settings, error) {
	merged := viper.New()
	for _, s := range knownSettings {
		if err := take(merged, s, "default", s.fallback); err != nil {
			return settings{}, err
		}
	}
	if err := a.mergeFiles(merged); err != nil {
		return settings{}, err
	}
	for _, s := range knownSettings {
		if value := os.Getenv(s.environment()); value != "" {
			if err := take(merged, s, s.environment(), value); err != nil {
				return settings{}, err
			}
		}
	}
	if a.flags.indexDir != "" {
		merged.Set("indexDir", a.flags.indexDir)
	}
	var s settings
	if err := merged.UnmarshalExact(&s); err != nil {
		return settings{}, usagef("configuration: %w", err)
	}
	if s.Embedder == "openai" && (s.OpenAI.BaseURL == "" || s.OpenAI.Model == "") {
		return settings{}, usagef("memory.embedder is openai, which needs memory.openai.baseURL and memory.openai.model")
	}
	return s, nil
}

// take puts a value into the merged settings. An error names where it stands, the value and what is
// wanted.
func take(merged *viper.Viper, s setting, where string, value any) error {
	parsed, err := s.kind(value)
	if err != nil {
		return usagef("%s is %v, want %w", where, shown(value), err)
	}
	merged.Set(s.key, parsed)
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

package config

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/viper"

	"github.com/memcore/memcore/internal/kind"
)

// Loaded are the settings and where they come from.
type Loaded struct {
	Settings Settings
	Files    []string          // in the order of reading
	Origin   map[string]string // of settings that are no defaults, by key, such as "MEMCORE_ENGINE"
	Ignored  []string          // settings that do not count in their file, and why
	Mistakes []string          // wrong or misspelt settings and variables, which are ignored
	// Unknown are settings that hide files of the workspace and cannot be read, by key.
	Unknown map[string]error
}

// Variables are the environment variables that took effect.
func (c Loaded) Variables() (names []string) {
	for _, s := range Known {
		if c.Origin[s.Key] == s.environment() {
			names = append(names, s.environment())
		}
	}
	return names
}

// A loader puts a configuration together. Viper merges the values; where they come from, and which
// of them count, is up to the loader.
type loader struct {
	Loaded
	config   *Config
	merged   *viper.Viper
	supposed bool // the workspace is treated as trusted
}

func newLoader(c *Config) *loader {
	l := &loader{config: c, merged: viper.New(), Loaded: Loaded{Origin: map[string]string{}, Unknown: map[string]error{}}}
	for _, s := range Known {
		l.merged.SetDefault(s.Key, s.Fallback)
		_ = l.merged.BindEnv(s.Key, s.environment()) // fails without a key only
	}
	return l
}

// Load reads the configuration, incompletely with an error.
func (c *Config) Load() error { return c.load(newLoader(c)) }

// LoadAsTrusted reads the configuration as if the workspace were trusted.
func (c *Config) LoadAsTrusted() error {
	l := newLoader(c)
	l.supposed = true
	return c.load(l)
}

func (c *Config) load(l *loader) error {
	err := l.mergeUser()
	if err == nil {
		err = l.mergeProject()
	}
	if err == nil {
		err = l.finish()
	}
	c.Loaded = l.Loaded
	return err
}

// finish adds variables, flags and imposed values to those of the files.
func (l *loader) finish() error {
	for _, s := range Known {
		if os.Getenv(s.environment()) != "" {
			l.from(s, s.environment())
		}
		flag, value := l.config.Flags.of(s.Key)
		if value != "" {
			l.merged.Set(s.Key, value)
			l.from(s, flag)
		}
		if value, ok := l.config.Imposed[s.Key]; ok {
			l.merged.Set(s.Key, value)
			l.from(s, "the service")
		}
	}
	l.reportVariables()
	l.reportUnknown()
	return l.decode()
}

// of returns the flag that overrides a setting, and its value.
func (f Flags) of(key string) (flag, value string) {
	switch key {
	case "indexDir":
		return "--index-dir", f.IndexDir
	case "engine":
		return "--engine", f.Engine
	}
	return "", ""
}

// from records where the value of a setting comes from.
func (l *loader) from(s Setting, origin string) {
	l.Origin[s.Key] = origin
	delete(l.Unknown, s.Key)
}

// decode parses the merged values.
func (l *loader) decode() error {
	for _, s := range Known {
		parsed, err := s.parse(cmp.Or(l.Origin[s.Key], "default"), l.merged.Get(s.Key))
		if err != nil {
			return err
		}
		l.merged.Set(s.Key, parsed)
	}
	if err := l.merged.UnmarshalExact(&l.Settings); err != nil {
		return kind.Usagef("configuration: %w", err)
	}
	if s := l.Settings; s.Embedder == EmbedderOpenAI && (s.OpenAI.BaseURL == "" || s.OpenAI.Model == "") {
		return kind.Usagef("memory.embedder is openai, which needs memory.openai.baseURL and memory.openai.model")
	}
	return nil
}

// parse reads a value. The error says where it stands.
func (s Setting) parse(where string, value any) (any, error) {
	parsed, err := s.kind(value)
	if err != nil {
		return nil, kind.Usagef("%s is %s, want %w", where, shown(value), err)
	}
	return parsed, nil
}

// shown quotes a value on one line.
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

// reportUnknown says what is not used while settings are unknown.
func (l *loader) reportUnknown() {
	if l.NotIndexed() != nil {
		l.mistake("the workspace is not indexed: its memory.exclude is unknown")
	}
	if key, err := l.notCurated(); err != nil {
		l.mistake("agents get none of the workspace's memory files: its memory.%s is unknown", key)
	}
}

func (l *loader) mistake(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(l.Mistakes, text) {
		l.Mistakes = append(l.Mistakes, text)
	}
}

func (l *loader) ignore(format string, args ...any) {
	l.Ignored = append(l.Ignored, fmt.Sprintf(format, args...))
}

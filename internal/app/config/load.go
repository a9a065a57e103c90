package config

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/viper"

	"github.com/memcore/memcore/internal/app/kind"
)

// aliases are other names of settings, in lower case.
var aliases = map[string]string{"filename": "fileNames", "memoryfilename": "fileNames", "maximportdepth": "imports.maxDepth", "default_limit": "defaultLimit"}

// Loaded are the settings and where they come from.
type Loaded struct {
	Settings Settings
	Files    []string          // in the order of reading
	Origin   map[string]string // of settings that are no defaults, by key, such as "MEMCORE_ENGINE"
	Hidden   map[string]string // what a flag overrides, by key, such as "MEMCORE_ENGINE is flat"
	Ignored  []string          // settings that do not count in their file, and why
	Mistakes []string          // wrong or misspelt settings and variables, which are ignored
	// Unknown are settings that hide files of the workspace and cannot be read, by key.
	Unknown map[string]error
}

// load returns what it read, also with an error.
func load(a *Config) (Loaded, error) {
	l := newLoader(a)
	err := l.load()
	return l.Loaded, err
}

func newLoader(a *Config) *loader {
	return &loader{merged: viper.New(), config: a, Loaded: Loaded{Origin: map[string]string{}, Hidden: map[string]string{}, Unknown: map[string]error{}}}
}

// LoadAsTrusted reads the configuration as if the workspace were trusted.
func (c *Config) LoadAsTrusted() error {
	l := newLoader(c)
	l.supposed = true
	err := l.load()
	c.Loaded = l.Loaded
	return err
}

// A loader puts a configuration together.
type loader struct {
	Loaded
	supposed bool // the workspace is treated as trusted
	config   *Config
	merged   *viper.Viper
}

func (l *loader) load() error {
	for _, read := range []func() error{l.defaults, l.mergeFiles, l.environment, l.flags, l.impose, l.reportUnknown} {
		if err := read(); err != nil {
			return err
		}
	}
	if err := l.merged.UnmarshalExact(&l.Settings); err != nil {
		return kind.Usagef("configuration: %w", err)
	}
	if s := l.Settings; s.Embedder == "openai" && (s.OpenAI.BaseURL == "" || s.OpenAI.Model == "") {
		return kind.Usagef("memory.embedder is openai, which needs memory.openai.baseURL and memory.openai.model")
	}
	return nil
}

func (l *loader) defaults() error {
	for _, s := range Known {
		if err := l.take(s, "default", s.Fallback); err != nil {
			return err
		}
	}
	clear(l.Origin)
	return nil
}

func (l *loader) environment() error {
	for _, name := range unknownVariables() {
		if meant := similarVariable(name); meant != "" {
			l.mistake("%s in the environment is no setting: did you mean %s?", name, meant)
		}
	}
	for _, s := range Known {
		if value := os.Getenv(s.environment()); value != "" {
			if err := l.take(s, s.environment(), value); err != nil {
				return err
			}
		}
	}
	return nil
}

// flags merges the settings that have a flag.
func (l *loader) flags() error {
	for _, f := range []struct{ key, flag, value string }{
		{"indexDir", "--index-dir", l.config.Flags.IndexDir},
		{"engine", "--engine", l.config.Flags.Engine},
	} {
		if f.value == "" {
			continue
		}
		if origin := l.Origin[f.key]; origin != "" {
			l.Hidden[f.key] = fmt.Sprintf("%s is %v", origin, l.merged.Get(f.key))
		}
		s := Known[slices.IndexFunc(Known, func(s Setting) bool { return s.Key == f.key })]
		if err := l.take(s, f.flag, f.value); err != nil {
			return err
		}
	}
	return nil
}

// impose merges the values that nothing may change.
func (l *loader) impose() error {
	for _, s := range Known {
		if value, ok := l.config.Imposed[s.Key]; ok {
			if err := l.take(s, "the service", value); err != nil {
				return err
			}
		}
	}
	return nil
}

// take merges a value.
func (l *loader) take(s Setting, where string, value any) error {
	parsed, err := s.kind(value)
	if err != nil {
		return kind.Usagef("%s is %v, want %w", where, shown(value), err)
	}
	l.merged.Set(s.Key, parsed)
	l.Origin[s.Key] = where
	delete(l.Unknown, s.Key)
	return nil
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

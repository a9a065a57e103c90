package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/core/static"
	"github.com/memcore/memcore/core/trust"
	"github.com/memcore/memcore/embed/minilm"
)

// turnedOff is said where memory would have been.
const turnedOff = "memory is turned off (memory.enabled)"

// expand puts the home folder in the place of "~".
func (a *app) expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && a.home != "" && (rest == "" || rest[0] == '/' || rest[0] == filepath.Separator) {
		return filepath.Join(a.home, rest)
	}
	return path
}

// beans is the folder of global memory; "" if there is none.
func (a *app) beans() string {
	if a.home == "" && strings.HasPrefix(a.settings.Home, "~") {
		return ""
	}
	return a.expand(a.settings.Home)
}

// trustFor returns what is known about trust under some settings.
func (a *app) trustFor(s settings) *trust.Store {
	var folders []string
	for _, folder := range s.FolderTrust.TrustedFolders {
		folders = append(folders, a.expand(folder))
	}
	if !s.FolderTrust.Enabled {
		folders = append(folders, a.project, a.curatedProject(s))
	}
	return trust.Open(a.trustFile(), folders...)
}

// curatedProject is the folder of the project as curated memory has it.
func (a *app) curatedProject(s settings) string {
	return static.New(static.Options{Dir: a.dir, Project: a.project, Home: a.home, Folder: s.Folder}).Project()
}

func (a *app) trustFile() string {
	if a.home == "" {
		return ""
	}
	return filepath.Join(a.home, ".beans", "trust.json")
}

func (a *app) trust() *trust.Store { return a.trustFor(a.settings) }

// layer is the curated memory of the current folder.
func (a *app) layer() *static.Layer { return static.New(a.staticOptions(a.trust())) }

func (a *app) staticOptions(trusted static.Trust) static.Options {
	s := a.settings
	log := a.log
	if s.DebugProvenance {
		log = newLog(a.stderr, slog.LevelDebug)
	}
	plugins := s.PluginFolders
	if len(plugins) == 0 {
		plugins = []string{""}
	}
	return static.Options{
		Dir: a.dir, Project: a.project, Home: a.home, Beans: a.beans(), Folder: s.Folder, Names: s.FileNames, Plugins: plugins,
		NoParents: !s.SearchParents, Children: s.SearchChildren, MaxDepth: s.MaxDepth, Exclude: s.ExcludePaths, NoLocal: !s.LoadLocalFiles,
		Imports: static.ImportOptions{Off: !s.Imports.Enabled, MaxDepth: s.Imports.MaxDepth, MaxPerFile: s.Imports.MaxPerFile, MaxBytes: s.Imports.MaxBytes, Mentions: s.Imports.Mentions},
		Limits: static.Limits{FileLines: limit(s.MaxFileLines), Lines: limit(s.MaxLines), Bytes: limit(s.MaxBytes), WarnBytes: limit(s.WarnBytes), Context: limit(s.ContextTokens),
			Percent: limit(s.TokenBudgetPercent), WarnPercent: limit(s.TokenWarnPercent), HardPercent: limit(s.TokenHardPercent), Tokens: s.MaxTokens},
		Trust: trusted,
		Count: countTokens,
		Log:   log,
	}
}

// longWord is what no word of a language is longer than, in bytes. The tokeniser takes longer ones, such as encoded data, for a single token.
const longWord = 100

// countTokens counts with the built-in tokeniser, and long words as the large models do, at about three bytes a token.
func countTokens(text string) int {
	n := minilm.New().CountTokens(text)
	for word := range strings.FieldsSeq(text) {
		if len(word) > longWord {
			n = max(n, n+len(word)/3-1)
		}
	}
	return n
}

// limit is a limit as package static wants it: there, 0 is the default. Whoever writes 0 wants none.
func limit[T int | float64](n T) T {
	if n == 0 {
		return -1
	}
	return n
}

// loadStatic returns the curated memory, after having asked about trust if there is somebody to ask.
func (a *app) loadStatic(ctx context.Context, layer *static.Layer) (static.Memory, error) {
	m, err := layer.Load(ctx)
	if err != nil {
		return m, err
	}
	if !m.Trusted && countUntrusted(m) > 0 && a.asks() {
		if decided, err := a.trustDialog(ctx, m.Project); err != nil || !decided {
			return m, err
		}
		return layer.Load(ctx)
	}
	return m, nil
}

// staticNotes says what a person should know about curated memory that was loaded.
func (a *app) staticNotes(m static.Memory) {
	for _, w := range m.Warnings {
		a.note("%s", w)
	}
	if n := countUntrusted(m); n > 0 {
		a.note("%s of %s not used: the folder is not trusted; 'memcore trust status' shows them, 'memcore trust add' trusts them", count(n, "memory file"), m.Project)
	}
}

func countUntrusted(m static.Memory) int {
	n := 0
	for _, f := range m.Files {
		if f.Untrusted {
			n++
		}
	}
	return n
}

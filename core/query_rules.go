package core

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/store"
)

// Keys of memcore and Cursor, Claude Code, Copilot, and Kiro.
var globKeys = [...]string{"globs", "paths", "applyTo", "fileMatchPattern"}

const (
	maxGlobs = 32
	maxGlob  = 200 // bytes
	// maxRuleFiles is how many documents with rules a prompt searches.
	maxRuleFiles = 32
	// maxComparedPaths is how many of a section's paths are compared.
	maxComparedPaths = 16
)

// globsOf leaves out globs that match every file.
func globsOf(doc source.Document, meta map[string]any) []string {
	if doc.Kind != source.KindMarkdown || !source.IsRules(doc.Path) {
		return nil
	}
	var globs []string
	for _, key := range globKeys {
		for _, glob := range listed(meta[key]) {
			glob = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(glob), "./"), "/")
			if strings.Trim(glob, "*/.{}") != "" && len(glob) <= maxGlob && len(globs) < maxGlobs && doublestar.ValidatePattern(glob) {
				globs = append(globs, glob)
			}
		}
	}
	return globs
}

// listed also accepts a text with commas.
func listed(value any) []string {
	var all []string
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			if text, ok := one.(string); ok {
				all = append(all, text)
			}
		}
	case string:
		return curated.SplitGlobs(v)
	}
	return all
}

// globMatches compares a named file, or its end, below base.
func globMatches(glob, base, file string) bool {
	if base != "" {
		if inside, ok := strings.CutPrefix(file, base+"/"); ok {
			file = inside
		}
	}
	if strings.HasSuffix(glob, "/") {
		glob += "**"
	}
	if ok, err := doublestar.Match(glob, file); ok && err == nil {
		return true
	}
	name := path.Base(glob)
	inAnyFolder := glob == name || glob == "**/"+name || !strings.Contains(file, "/")
	if !inAnyFolder || strings.Trim(name, "*") == "" {
		return false
	}
	ok, err := doublestar.Match(name, path.Base(file))
	return ok && err == nil
}

// languages are names in rules for files with an extension.
var languages = map[string][]string{
	"go": {"go", "golang"}, "py": {"python"}, "ipynb": {"python", "notebook"}, "js": {"javascript"}, "mjs": {"javascript"}, "cjs": {"javascript"}, "jsx": {"javascript", "react"},
	"ts": {"typescript"}, "tsx": {"typescript", "react"}, "rs": {"rust"}, "java": {"java"}, "kt": {"kotlin"}, "kts": {"kotlin", "gradle"}, "swift": {"swift"}, "c": {"c"}, "h": {"c"},
	"cc": {"c++"}, "cpp": {"c++"}, "hpp": {"c++"}, "cs": {"c#", "csharp"}, "rb": {"ruby"}, "php": {"php"}, "sh": {"shell", "bash"}, "bash": {"bash", "shell"}, "ps1": {"powershell"}, "sql": {"sql"},
	"yaml": {"yaml"}, "yml": {"yaml"}, "toml": {"toml"}, "json": {"json"}, "html": {"html"}, "css": {"css"}, "scss": {"css", "scss"}, "vue": {"vue"}, "svelte": {"svelte"}, "proto": {"protobuf"},
	"graphql": {"graphql"}, "tf": {"terraform"}, "lua": {"lua"}, "r": {"r"}, "jl": {"julia"}, "ex": {"elixir"}, "exs": {"elixir"}, "erl": {"erlang"}, "hs": {"haskell"}, "scala": {"scala"},
	"clj": {"clojure"}, "dart": {"dart"}, "zig": {"zig"}, "nim": {"nim"}, "dockerfile": {"docker", "dockerfile"},
}

// quotedPath matches a path or glob in backquotes.
var quotedPath = lazy.Regexp("`([\\w.@*{},/\\[\\]-]*[/*.][\\w.@*{},/\\[\\]-]*)`")

// governs reports whether at least half of a section's paths name one of the files. For an order, a
// heading with their language suffices.
func governs(r store.Record, base string, files []string, order bool) bool {
	heading := ""
	if len(r.Headings) > 0 {
		heading = r.Headings[len(r.Headings)-1]
	}
	var titled []string
	for _, word := range strings.FieldsFunc(heading, func(r rune) bool { return strings.ContainsRune(" \t,;:/()`*&", r) }) {
		if name := strings.ToLower(word); len(name) > 2 || name != word { // Go, not "where to go"
			titled = append(titled, name)
		}
	}
	named := map[string]bool{}
	for _, m := range quotedPath().FindAllStringSubmatch(r.Text+" "+heading, maxComparedPaths) {
		named[strings.TrimPrefix(m[1], "./")] = true
	}
	return slices.ContainsFunc(files, func(file string) bool {
		extension := strings.ToLower(strings.TrimPrefix(path.Ext(file), "."))
		for _, language := range languages[extension] {
			if order && slices.Contains(titled, language) {
				return true
			}
		}
		matching := 0
		for name := range named {
			if namesFile(name, base, file) {
				matching++
			}
		}
		return matching > 0 && 2*matching >= len(named) // else it is about several places, or a layout
	})
}

// namesFile also matches a folder above the file, or a glob.
func namesFile(name, base, file string) bool {
	switch bare := strings.Trim(name, "*/."); {
	case bare == "":
		return false
	case strings.Contains(name, "*"):
		return globMatches(name, base, file)
	case strings.HasSuffix(name, "/"):
		return strings.Contains("/"+file, "/"+strings.TrimPrefix(name, "/"))
	}
	return file == name || strings.HasSuffix(file, "/"+name) || strings.HasSuffix(name, "/"+file)
}

// forRulesOfFiles searches for rules for a named file, unless the prompt asks: in each document the
// best section, by glob or by content.
func forRulesOfFiles(ctx context.Context, q *query, t *turn) (all []search) {
	if len(t.Files) == 0 || t.Asks && t.question {
		return nil
	}
	documents := q.rules()
	for _, document := range documents[:min(len(documents), maxRuleFiles)] {
		if t.namesDocument(document) {
			continue
		}
		sections, err := q.sectionsFor(ctx, t, document)
		if err != nil {
			return all // it costs the rule, not the turn
		}
		if len(sections) == 0 {
			continue
		}
		all = append(all, search{text: t.text, path: document, known: &sections[0], why: "is a rule of " + document + " for " + t.Files[0],
			wanted: func(_ relevance.Query, c *candidate) bool {
				return slices.ContainsFunc(sections, func(r store.Record) bool { return r.ID == c.ID })
			}})
	}
	return all
}

func (q *query) sectionsFor(ctx context.Context, t *turn, document string) ([]store.Record, error) {
	base := source.RulesBase(document)
	whole := slices.ContainsFunc(q.index.manifest.of(document).Globs, func(glob string) bool {
		return slices.ContainsFunc(t.Files, func(file string) bool { return globMatches(glob, base, file) })
	})
	order := t.Pasted == 0 && (t.Orders || t.AsksForWork)
	records, err := q.index.keywords.Document(ctx, document)
	return slices.DeleteFunc(records, func(r store.Record) bool {
		return isTitle(r.Text) || !whole && !governs(r, base, t.Files, order) || !q.filter.Passes(r.Scope, r.Kind, r.Path) || !q.filter.PassesAt(r.Time)
	}), err
}

// isTitle reports whether a text is headings only. However short, other text of a rules file is a
// rule.
func isTitle(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		title := strings.TrimLeft(line, "#")
		if isHeading := title != line && (title == "" || title[0] == ' '); line != "" && !isHeading {
			return false
		}
	}
	return true
}

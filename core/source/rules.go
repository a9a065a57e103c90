package source

import (
	"path"
	"strings"
)

// rulesNames are lower-case names of files with rules, in any folder.
var rulesNames = map[string]bool{
	"claude.md": true, "agents.md": true, "agent.md": true, "gemini.md": true, "beans.md": true, "contributing.md": true, "conventions.md": true,
	"copilot-instructions.md": true, ".cursorrules": true, ".windsurfrules": true, ".clinerules": true, ".roorules": true, ".goosehints": true, ".rules": true,
}

// rulesPlaces are hidden files and folders with rules. In folders, all Markdown counts, at any
// depth.
var rulesPlaces = []string{
	".github/copilot-instructions.md", ".github/instructions", ".cursor/rules", ".windsurf/rules", ".clinerules", ".roo/rules", ".claude/rules", ".claude/CLAUDE.md",
	".kiro/steering", ".continue/rules", ".trae/rules", ".augment/rules", ".amazonq/rules", ".junie/guidelines.md",
}

// IsRules reports whether a document holds a project's rules for agents.
func IsRules(document string) bool {
	return rulesNames[strings.ToLower(path.Base(document))] || inRulesPlace(document)
}

// inRulesPlace reports whether a file is in rulesPlaces, or Markdown below.
func inRulesPlace(file string) bool {
	hidden := hiddenPart(file)
	if hidden == "" {
		return false
	}
	for _, place := range rulesPlaces {
		if hidden == place || strings.HasPrefix(hidden, place+"/") && isMarkdown(path.Base(file)) {
			return true
		}
	}
	return false
}

// leadsToRules reports whether a folder is in, above or below rulesPlaces.
func leadsToRules(folder string) bool {
	hidden := hiddenPart(folder)
	if hidden == "" {
		return false
	}
	for _, place := range rulesPlaces {
		if hidden == place || strings.HasPrefix(place, hidden+"/") || strings.HasPrefix(hidden, place+"/") {
			return true
		}
	}
	return false
}

// hiddenPart returns a path from its first hidden element.
func hiddenPart(file string) string {
	if strings.HasPrefix(file, ".") {
		return file
	}
	if _, rest, found := strings.Cut(file, "/."); found {
		return "." + rest
	}
	return ""
}

// RulesBase returns the folder that rules govern: their own, or the parent of their hidden folder.
// "" is the workspace.
func RulesBase(document string) string {
	if hidden := hiddenPart(document); hidden != "" && strings.Contains(hidden, "/") {
		return strings.TrimSuffix(strings.TrimSuffix(document, hidden), "/")
	}
	if dir := path.Dir(document); dir != "." {
		return dir
	}
	return ""
}

package source

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsRules(t *testing.T) {
	for document, want := range map[string]bool{
		"CLAUDE.md": true, "app/AGENTS.md": true, ".cursorrules": true, ".github/copilot-instructions.md": true, "app/.cursor/rules/go.mdc": true, ".kiro/steering/tech.md": true,
		"~/work/app/.clinerules/a.md": true, "README.md": false, ".github/x.md": false, ".cursor/rules/x.json": false, "docs/rules/a.md": false,
	} {
		require.Equal(t, want, IsRules(document), document)
	}
}

func TestRulesBase(t *testing.T) {
	for document, want := range map[string]string{
		"CLAUDE.md": "", "app/AGENTS.md": "app", ".cursorrules": "", "app/.cursorrules": "app", ".cursor/rules/go.mdc": "", "app/.cursor/rules/deep/go.mdc": "app",
		".github/instructions/a.instructions.md": "",
	} {
		require.Equal(t, want, RulesBase(document), document)
	}
}

// A watch reports a new rule in a hidden folder.
func TestFoldersOfRules(t *testing.T) {
	dir := tree(t, map[string]string{".cursor/rules/a.mdc": "", ".github/workflows/ci.yml": "", ".other/x": ""})
	found := list(t, NewFolder(FolderOptions{Path: dir, Workspace: dir}))
	sameStrings(t, "folders", found.Folders, []string{dir, filepath.Join(dir, ".cursor"), filepath.Join(dir, ".cursor", "rules"), filepath.Join(dir, ".github")})
}

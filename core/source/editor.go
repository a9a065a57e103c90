package source

import (
	"os"
	"path/filepath"
	"runtime"
)

// editors are the folders in which VS Code and its relatives keep the settings of a user.
var editors = []string{"Code", "Code - Insiders", "VSCodium", "Cursor", "Windsurf", "Trae"}

// editorFolders returns the folders "User" of the editors of a user that exist.
func editorFolders(home string) []string {
	var all []string
	for _, name := range editors {
		all = append(all, filepath.Join(settingsFolder(home), name, "User"))
	}
	for _, server := range []string{".vscode-server", ".vscode-server-insiders", ".cursor-server", ".windsurf-server"} {
		all = append(all, filepath.Join(home, server, "data", "User"))
	}
	var found []string
	for _, path := range all {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			found = append(found, path)
		}
	}
	return found
}

// settingsFolder is where programs with windows keep what they know of a user.
func settingsFolder(home string) string {
	switch runtime.GOOS {
	case "darwin":
		return filepath.Join(home, "Library", "Application Support")
	case "windows":
		return filepath.Join(home, "AppData", "Roaming")
	}
	if folder := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(folder) {
		return folder
	}
	return filepath.Join(home, ".config")
}

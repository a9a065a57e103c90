package source

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/beneath"
	"github.com/memcore/memcore/internal/paths"
)

// Known returns the places where known agents keep the conversations they had in a workspace: Claude
// Code, Gemini CLI, Codex CLI, the pi coding agent and its relatives. Places that do not exist are empty sources, so
// that they may appear later. The folders are the agents' default ones below home.
//
// Nothing is read of them until the sources are listed; offer them, and use them when asked to.
func Known(workspace, home string) []Source {
	if workspace == "" || home == "" {
		return nil
	}
	var all []Source
	add := func(folder, sessionsIn string, exclude ...string) {
		all = append(all, NewFolder(FolderOptions{
			Path: folder, Scope: ScopeProject, Workspace: workspace, Home: home, Optional: true, SessionsIn: sessionsIn, Exclude: exclude,
		}))
	}
	home = paths.Absolute(home)
	for _, folder := range claudeFolders(workspace, home) {
		add(folder, "")
	}
	for _, folder := range geminiFolders(workspace, home) {
		add(folder, "")
	}
	add(filepath.Join(home, ".codex", "sessions"), workspace)
	add(filepath.Join(home, ".codex", "archived_sessions"), workspace)
	// What hooks note of the agents above is in their own logs, too; overviews are in every request of their session.
	ours := []string{"claude-code-*/", "gemini-cli-*/", "codex-*/", "overview.md"}
	own := sessionFolders(workspace, home)
	for _, folder := range own {
		add(folder, "", ours...)
	}
	for _, folder := range piFolders(workspace, home, ".pi", "agent", "sessions") {
		add(folder, "", ours...)
	}
	// Where memcore's own name for the folder is another one, this may be that of another workspace of memcore's. Agents' logs say where they ran, notes do not.
	for _, folder := range piFolders(workspace, home, ".ai", "sessions") {
		if !slices.Contains(own, folder) {
			add(folder, workspace, append(ours, "*.md")...)
		}
	}
	return all
}

var notAlphanumeric = regexp.MustCompile(`[^a-zA-Z0-9]`)

// claudeFolders are named after the working directory with a dash for whatever is no letter or digit.
func claudeFolders(workspace, home string) []string {
	var folders []string
	for _, cwd := range paths.Spellings(workspace) {
		folders = append(folders, filepath.Join(home, ".claude", "projects", notAlphanumeric.ReplaceAllString(cwd, "-")))
	}
	return distinct(folders)
}

// sessionFolders are those of memcore's own sessions, at their default place.
func sessionFolders(workspace, home string) []string {
	var folders []string
	for _, cwd := range paths.Spellings(workspace) {
		folders = append(folders, filepath.Join(home, ".ai", "sessions", paths.FolderName(cwd)))
	}
	return distinct(folders)
}

// piFolders are named after the working directory with dashes for slashes, between two dashes.
func piFolders(workspace, home string, sessions ...string) []string {
	var folders []string
	for _, cwd := range paths.Spellings(workspace) {
		cwd = strings.NewReplacer("/", "-", `\`, "-", ":", "-").Replace(strings.TrimLeft(cwd, `/\`))
		folders = append(folders, filepath.Join(home, filepath.Join(sessions...), "--"+cwd+"--"))
	}
	return distinct(folders)
}

// geminiFolders are named after a hash of the working directory or, since 2026, by a short name that
// ~/.gemini/projects.json and a file in the folder tell.
func geminiFolders(workspace, home string) []string {
	tmp := filepath.Join(home, ".gemini", "tmp")
	var names []string
	for _, cwd := range paths.Spellings(workspace) {
		sum := sha256.Sum256([]byte(cwd))
		names = append(names, hex.EncodeToString(sum[:]))
		if name := geminiRegistered(home, cwd); name != "" {
			names = append(names, name)
		}
	}
	names = append(names, geminiMarked(tmp, paths.Spellings(workspace))...)
	var folders []string
	for _, name := range names {
		folders = append(folders, filepath.Join(tmp, name, "chats"))
	}
	return distinct(folders)
}

func geminiRegistered(home, cwd string) string {
	var registry struct {
		Projects map[string]string `json:"projects"`
	}
	if json.Unmarshal(readSmall(filepath.Join(home, ".gemini", "projects.json")), &registry) != nil {
		return ""
	}
	if name := registry.Projects[cwd]; filepath.IsLocal(name) && name == filepath.Base(name) {
		return name
	}
	return ""
}

func geminiMarked(tmp string, workspace []string) []string {
	entries, _ := os.ReadDir(tmp) // that there is none is usual
	var names []string
	for _, entry := range entries {
		owner := strings.TrimSpace(string(readSmall(filepath.Join(tmp, entry.Name(), ".project_root"))))
		if entry.IsDir() && slices.Contains(workspace, owner) {
			names = append(names, entry.Name())
		}
	}
	return names
}

// readSmall returns the start of a regular file, nothing if it cannot be read.
func readSmall(path string) []byte {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	file, err := os.OpenFile(path, os.O_RDONLY|beneath.Nonblock, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, 1<<20))
	if err != nil {
		return nil
	}
	return text
}

// distinct keeps the first of equal elements.
func distinct(all []string) []string {
	var kept []string
	for _, one := range all {
		if !slices.Contains(kept, one) {
			kept = append(kept, one)
		}
	}
	return kept
}

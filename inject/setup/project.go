package setup

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/git/gitignore"
	"github.com/memcore/memcore/internal/git/repository"
	"github.com/memcore/memcore/internal/paths"
)

// memoryFiles are all agents'. memcore writes to the first.
var memoryFiles = []string{"BEANS.md", "CLAUDE.md", "AGENTS.md", "GEMINI.md"}

// MemoryFiles returns the names of agents' memory files, memcore's own first.
func MemoryFiles() []string { return slices.Clone(memoryFiles) }

// A Folder is a project before memory.
type Folder struct {
	Path string `json:"path"`
	Git  bool   `json:"git"`
	// MemoryFiles are names of files in the folder itself.
	MemoryFiles []string `json:"memoryFiles"`
	Markdown    int      `json:"markdown"` // files to be indexed
	// Logs counts conversations about the project by log format.
	Logs map[string]int `json:"logs"`
	// Hidden counts the Markdown files that are left out because their folder is hidden, by the
	// path of that folder.
	Hidden map[string]int `json:"hidden,omitempty"`
	// Longest is the path of the longest of the files to be indexed, without MemoryFiles, or "".
	Longest string `json:"-"`
}

// Look looks at a project, with sources of files and logs. It ignores what cannot be read. The
// error is ctx's.
func Look(ctx context.Context, project string, files, logs []source.Source) (Folder, error) {
	f := Folder{Path: project, MemoryFiles: memoryFilesOf(project), Logs: map[string]int{}}
	_, err := os.Lstat(filepath.Join(project, ".git"))
	f.Git = err == nil
	longest, listed := int64(0), map[string]bool{}
	found, folders := list(ctx, files)
	for _, d := range found {
		if d.Kind != source.KindMarkdown {
			continue
		}
		f.Markdown++
		listed[d.Path] = true
		if d.Size > longest && !slices.Contains(f.MemoryFiles, d.Path) {
			f.Longest, longest = d.Path, d.Size
		}
	}
	sessions, _ := list(ctx, logs)
	for _, d := range sessions {
		if d.Kind == source.KindConversation {
			f.Logs[d.Format]++
			listed[d.Path] = true // a chat that is Markdown is left out with the logs, if at all
		}
	}
	if len(files) > 0 {
		f.Hidden = hiddenMarkdown(ctx, project, folders, listed)
	}
	return f, ctx.Err()
}

func list(ctx context.Context, sources []source.Source) (documents []source.Document, folders []string) {
	for _, s := range sources {
		if listing, err := s.List(ctx); err == nil {
			documents, folders = append(documents, listing.Documents...), append(folders, listing.Folders...)
		}
	}
	return documents, folders
}

// maxHidden bounds how many files and folders hiddenMarkdown looks at.
const maxHidden = 20_000

// hiddenMarkdown counts the Markdown files that are not listed in the hidden folders of a project's
// folders. It does not look into those that git ignores.
func hiddenMarkdown(ctx context.Context, project string, folders []string, listed map[string]bool) map[string]int {
	var cache gitignore.Cache
	all, seen := map[string]int{}, 0
	for _, folder := range folders {
		above, ok := paths.Within(project, folder)
		if !ok || isHidden(above) || seen > maxHidden {
			continue // of a hidden folder, the outermost counts
		}
		ignores := (*gitignore.Stack)(nil).Push("", cache.In(project))
		if above != "." {
			prefix := ""
			for name := range strings.SplitSeq(filepath.ToSlash(above), "/") {
				prefix += name + "/"
				ignores = ignores.Push(prefix, cache.In(filepath.Join(project, filepath.FromSlash(prefix))))
			}
		}
		entries, _ := os.ReadDir(folder)
		for _, top := range entries {
			path := filepath.ToSlash(filepath.Join(above, top.Name()))
			if !top.IsDir() || !strings.HasPrefix(top.Name(), ".") || top.Name() == ".git" || ignores.Ignores(path, true) {
				continue
			}
			_ = filepath.WalkDir(filepath.Join(folder, top.Name()), func(file string, entry fs.DirEntry, err error) error {
				if seen++; err != nil || seen > maxHidden || ctx.Err() != nil {
					return fs.SkipAll
				}
				if entry.IsDir() && repository.IsLinked(file) {
					return fs.SkipDir // it has second copies of the project's files
				}
				rel, err := filepath.Rel(project, file)
				if err == nil && entry.Type().IsRegular() && strings.EqualFold(filepath.Ext(file), ".md") && !listed[filepath.ToSlash(rel)] {
					all[path]++
				}
				return nil
			})
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// isHidden reports whether a path has a hidden folder.
func isHidden(path string) bool {
	return strings.HasPrefix(path, ".") && path != "." || strings.Contains(filepath.ToSlash(path), "/.")
}

// memoryFilesOf returns no second names of a file: agents would get it twice.
func memoryFilesOf(project string) []string {
	names := []string{}
	var seen []os.FileInfo
	entries, _ := os.ReadDir(project)
	for _, name := range memoryFiles {
		// Some systems ignore case.
		if !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == name }) {
			continue
		}
		info, err := os.Stat(filepath.Join(project, name))
		if err != nil || !info.Mode().IsRegular() || slices.ContainsFunc(seen, func(other os.FileInfo) bool { return os.SameFile(info, other) }) {
			continue
		}
		names, seen = append(names, name), append(seen, info)
	}
	return names
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

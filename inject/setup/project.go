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
	// Hidden counts the Markdown files that are left out because their folder is hidden, by folder.
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
	for _, d := range documents(ctx, files) {
		if d.Kind != source.KindMarkdown {
			continue
		}
		f.Markdown++
		listed[d.Path] = true
		if d.Size > longest && !slices.Contains(f.MemoryFiles, d.Path) {
			f.Longest, longest = d.Path, d.Size
		}
	}
	if len(files) > 0 {
		f.Hidden = hiddenMarkdown(ctx, project, listed)
	}
	for _, d := range documents(ctx, logs) {
		if d.Kind == source.KindConversation {
			f.Logs[d.Format]++
		}
	}
	return f, ctx.Err()
}

func documents(ctx context.Context, sources []source.Source) (all []source.Document) {
	for _, s := range sources {
		if listing, err := s.List(ctx); err == nil {
			all = append(all, listing.Documents...)
		}
	}
	return all
}

// maxHidden bounds how many files and folders hiddenMarkdown looks at.
const maxHidden = 20_000

// hiddenMarkdown counts the Markdown files in hidden folders of a project that are not listed. It
// does not look into folders that git ignores.
func hiddenMarkdown(ctx context.Context, project string, listed map[string]bool) map[string]int {
	var cache gitignore.Cache
	ignores := (*gitignore.Stack)(nil).Push("", cache.In(project))
	all, seen := map[string]int{}, 0
	entries, _ := os.ReadDir(project)
	for _, top := range entries {
		if !top.IsDir() || !strings.HasPrefix(top.Name(), ".") || top.Name() == ".git" || ignores.Ignores(top.Name(), true) {
			continue
		}
		_ = filepath.WalkDir(filepath.Join(project, top.Name()), func(path string, entry fs.DirEntry, err error) error {
			if seen++; err != nil || seen > maxHidden || ctx.Err() != nil {
				return fs.SkipAll
			}
			rel, err := filepath.Rel(project, path)
			if err == nil && entry.Type().IsRegular() && strings.EqualFold(filepath.Ext(path), ".md") && !listed[filepath.ToSlash(rel)] {
				all[top.Name()]++
			}
			return nil
		})
	}
	if len(all) == 0 {
		return nil
	}
	return all
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

package setup

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/core/source"
)

// memoryFiles are all agents'. memcore writes to the first.
var memoryFiles = []string{"BEANS.md", "CLAUDE.md", "AGENTS.md", "GEMINI.md"}

// A Folder is a project before memory.
type Folder struct {
	Path string `json:"path"`
	Git  bool   `json:"git"`
	// MemoryFiles are names of files in the folder itself.
	MemoryFiles []string `json:"memoryFiles"`
	Markdown    int      `json:"markdown"` // files to be indexed
	// Logs counts conversations about the project by log format.
	Logs map[string]int `json:"logs"`
	// Longest is the path of the longest of the files to be indexed, without MemoryFiles, or "".
	Longest string `json:"-"`
}

// Look looks at a project, with sources of files and logs. It ignores what cannot be read. The
// error is ctx's.
func Look(ctx context.Context, project string, files, logs []source.Source) (Folder, error) {
	f := Folder{Path: project, MemoryFiles: memoryFilesOf(project), Logs: map[string]int{}}
	_, err := os.Lstat(filepath.Join(project, ".git"))
	f.Git = err == nil
	longest := int64(0)
	for _, d := range documents(ctx, files) {
		if d.Kind != source.KindMarkdown {
			continue
		}
		f.Markdown++
		if d.Size > longest && !slices.Contains(f.MemoryFiles, d.Path) {
			f.Longest, longest = d.Path, d.Size
		}
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

// AddConfig proposes .beans/config.yaml for found files, unless it exists or the default has them.
// In the home folder, it is the user's own.
func (p *Proposal) AddConfig(o Options, found []string) error {
	names := append([]string{"BEANS.md"}, slices.DeleteFunc(slices.Clone(found), func(name string) bool { return name == "BEANS.md" })...)
	if len(names) == 1 || sameFile(o.Project, o.Home) {
		return nil
	}
	const shown = ".beans/config.yaml"
	f, err := openFile(filepath.Join(o.Project, filepath.FromSlash(shown)), shown, []string{o.Project}, "the project", 0o644)
	if err != nil || !f.Created {
		return err
	}
	f.text = configBefore + strings.Join(names, ", ") + configAfter
	return p.addFile(f, Note{Text: shown + " counts once the folder is trusted: 'memcore trust add'"})
}

// The project's configuration before and after the names of files.
const (
	configBefore = "# Settings of memcore for this project. They count once the folder is trusted: memcore trust add\n" +
		"memory:\n  # Curated memory files, later ones of higher priority. memcore saves into the first that exists.\n  fileNames: ["
	configAfter = "]\n"
)

// IsOwnConfig reports whether a project's configuration is as AddConfig writes it.
func IsOwnConfig(text string) bool {
	names, starts := strings.CutPrefix(text, configBefore)
	names, ends := strings.CutSuffix(names, configAfter)
	return starts && ends && !strings.ContainsAny(names, "]\n")
}

// AddIgnored proposes a .gitignore.
func (p *Proposal) AddIgnored(o Options, path, text string) error {
	f, err := openFile(path, o.shown(path), []string{o.Project, o.Home}, "the project", 0o644)
	if err != nil {
		return err
	}
	f.text = text
	return p.addFile(f)
}

func (p *Proposal) addFile(f *file, notes ...Note) error {
	c, _, err := f.change()
	if err == nil {
		p.add([]Change{c}, notes)
	}
	return err
}

func sameFile(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

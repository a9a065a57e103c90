package setup

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/core/source"
)

// memoryFiles are names of memory files of all agents, in the order in which they are proposed: memcore writes to the first.
var memoryFiles = []string{"BEANS.md", "CLAUDE.md", "AGENTS.md", "GEMINI.md"}

// A Folder is what a project has that memory can be made of.
type Folder struct {
	Path string `json:"path"`
	Git  bool   `json:"git"`
	// MemoryFiles are the names of those in the folder itself.
	MemoryFiles []string `json:"memoryFiles"`
	Markdown    int      `json:"markdown"` // files that would be indexed
	// Logs counts agents' conversations about the project, by the format of their logs.
	Logs map[string]int `json:"logs"`
}

// Look looks at a project: files are the sources of its memory, logs those of conversations, which are counted and not read. What cannot be
// read counts as nothing; indexing says what that is. The error is that of ctx.
func Look(ctx context.Context, project string, files, logs []source.Source) (Folder, error) {
	f := Folder{Path: project, MemoryFiles: []string{}, Logs: map[string]int{}}
	_, err := os.Lstat(filepath.Join(project, ".git"))
	f.Git = err == nil
	f.MemoryFiles = append(f.MemoryFiles, memoryFilesOf(project)...)
	for _, s := range files {
		for _, d := range documents(ctx, s) {
			if d.Kind == source.KindMarkdown {
				f.Markdown++
			}
		}
	}
	for _, s := range logs {
		for _, d := range documents(ctx, s) {
			if d.Kind == source.KindConversation {
				f.Logs[d.Format]++
			}
		}
	}
	return f, ctx.Err()
}

func documents(ctx context.Context, s source.Source) []source.Document {
	listing, err := s.List(ctx)
	if err != nil {
		return nil
	}
	return listing.Documents
}

// memoryFilesOf leaves out a file that is another one by a second name, as CLAUDE.md often is AGENTS.md: agents would be given it twice.
func memoryFilesOf(project string) []string {
	var names []string
	var seen []os.FileInfo
	entries, err := os.ReadDir(project)
	if err != nil {
		return nil
	}
	for _, name := range memoryFiles {
		// Some systems find files whatever the case of their names.
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

// AddConfig proposes the project's .beans/config.yaml with the names of the memory files that were found, if there is no such file and the default would
// leave one out. In the home folder, that file is the person's own, which is not proposed.
func (p *Proposal) AddConfig(o Options, found []string) error {
	names := append([]string{"BEANS.md"}, slices.DeleteFunc(slices.Clone(found), func(name string) bool { return name == "BEANS.md" })...)
	if len(names) == 1 || sameFolder(o.Project, o.Home) {
		return nil
	}
	const shown = ".beans/config.yaml"
	f, err := openFile(filepath.Join(o.Project, filepath.FromSlash(shown)), shown, []string{o.Project}, "the project", 0o644)
	if err != nil || !f.Created {
		return err
	}
	f.text = "# Settings of memcore for this project. They count once the folder is trusted: memcore trust add\n" +
		"memory:\n  # Curated memory files, later ones of higher priority. What is saved goes into the first.\n  fileNames: [" + strings.Join(names, ", ") + "]\n"
	c, _, err := f.change()
	if err != nil {
		return err
	}
	p.add([]Change{c}, []Note{{Text: shown + " counts once the folder is trusted: 'memcore trust add'"}})
	return nil
}

func sameFolder(a, b string) bool {
	x, errX := os.Stat(a)
	y, errY := os.Stat(b)
	return errX == nil && errY == nil && os.SameFile(x, y)
}

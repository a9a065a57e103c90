package archive

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/inventory"
	"github.com/memcore/memcore/internal/app/plain"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/workspace"
)

// A found file is on disk and has no name in an export yet.
type found struct {
	File
	disk string // absolute
}

// A gatherer finds what a person has.
type gatherer struct {
	w       *app.Workspace
	files   []found
	seen    map[string]bool // by path on disk
	leftOut []LeftOut
	logs    int // of agents
}

// gather finds the files of all projects.
func gather(ctx context.Context, w *app.Workspace) (*gatherer, error) {
	g := &gatherer{w: w, seen: map[string]bool{}}
	if beans := w.Beans(); beans != "" {
		g.walk(ctx, beans, File{Place: Global})
	}
	if w.Home != "" {
		for _, name := range []string{settingsFile, trustFile} {
			g.add(File{Place: Settings, Path: name}, filepath.Join(w.Home, ".beans", name))
		}
	}
	projects, err := inventory.Projects(w.Config)
	if err != nil {
		return nil, err
	}
	for _, p := range projects {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		g.kept(ctx, p)
		if p.Path == "" {
			g.leave("the documents of "+filepath.Base(p.State+p.Sessions), "where the project is, is not known; run a command in it once")
			continue
		}
		if err := g.documents(ctx, p.Path); err != nil {
			return nil, err
		}
	}
	if g.logs > 0 {
		g.leave(plain.Count(g.logs, "log")+" of agents", "the agents keep them: copy their folders, such as ~/.claude")
	}
	g.leave("indexes and caches", "'memcore index' makes them again")
	g.leave("the journal of save --undo, traces and what running sessions got", "they are of this machine")
	return g, ctx.Err()
}

// add adds a file once, if it is there and may be in an export.
func (g *gatherer) add(f File, disk string) {
	info, err := os.Lstat(disk)
	switch {
	case errors.Is(err, fs.ErrNotExist) || g.seen[disk]:
		return
	case err != nil:
		g.leave(disk, err.Error())
	case info.Mode()&fs.ModeSymlink != 0:
		g.leave(disk, "it is a symbolic link")
	case !info.Mode().IsRegular():
		g.leave(disk, "it is not a file")
	case info.Size() > largestFile:
		g.leave(disk, fmt.Sprintf("it is larger than %d MB", largestFile>>20))
	default:
		if reason := refusal(f.Place, f.Path, g.w.Settings.Folder); reason != "" {
			g.leave(disk, reason)
			break
		}
		f.ModTime = info.ModTime()
		g.files = append(g.files, found{f, disk})
	}
	g.seen[disk] = true
}

func (g *gatherer) leave(what, why string) { g.leftOut = append(g.leftOut, LeftOut{what, why}) }

// walk adds the files in a folder.
func (g *gatherer) walk(ctx context.Context, folder string, f File) {
	err := filepath.WalkDir(folder, func(disk string, entry fs.DirEntry, err error) error {
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		hidden := disk != folder && strings.HasPrefix(entry.Name(), ".")
		if entry.IsDir() {
			if hidden {
				g.leave(disk, "it is hidden")
				return fs.SkipDir
			}
			return nil
		}
		if hidden || strings.HasSuffix(entry.Name(), ".lock") {
			return nil
		}
		rel, err := filepath.Rel(folder, disk)
		if err != nil {
			return err
		}
		f.Path = filepath.ToSlash(rel)
		if f.Place == Global && (f.Path == settingsFile || f.Path == trustFile) {
			return nil // settings
		}
		g.add(f, disk)
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		g.leave(folder, err.Error())
	}
}

// kept adds sessions and state of a project.
func (g *gatherer) kept(ctx context.Context, p inventory.Project) {
	if p.Sessions != "" {
		g.walk(ctx, p.Sessions, File{Place: Sessions, Project: p.Path, Folder: filepath.Base(p.Sessions)})
	}
	if p.State == "" {
		return
	}
	f := File{Place: State, Project: p.Path, Folder: p.Name}
	for _, name := range stateFiles {
		f.Path = name
		g.add(f, filepath.Join(p.State, name))
	}
	runs, _ := filepath.Glob(filepath.Join(p.State, runsFolder, "*.json"))
	for _, run := range runs {
		f.Path = runsFolder + "/" + filepath.Base(run)
		g.add(f, run)
	}
}

// documents adds the memory in a project's folder and in its other sources.
func (g *gatherer) documents(ctx context.Context, path string) error {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		g.leave("the documents of "+path, "the folder is gone")
		return nil
	}
	there, err := g.w.In(path)
	if err != nil || there.Project != path {
		g.leave("the documents of "+path, strings.TrimPrefix(fmt.Sprintf("%v; it is part of %s", err, there.Project), "<nil>; "))
		return nil
	}
	at, err := there.Folders()
	if err != nil {
		return err
	}
	registered, err := workspace.Load(at.Sources())
	if err != nil {
		g.leave("the documents of "+path, err.Error())
		return nil
	}
	if registered.Conversations {
		for _, from := range there.Index().Logs(registered) {
			if listing, err := from.List(ctx); err == nil {
				g.logs += len(listing.Documents)
			}
		}
		registered.Conversations = false
	}
	for _, from := range there.Index().ProjectSources(registered) {
		listing, err := from.List(ctx)
		if err != nil && ctx.Err() == nil {
			g.leave(from.Name(), err.Error())
		}
		for _, d := range listing.Documents {
			g.document(there, d.File)
		}
	}
	memory, err := there.Curated().Layer().Load(ctx)
	if err != nil {
		g.leave("curated memory of "+path, err.Error())
	}
	for _, f := range memory.Files {
		if f.Plugin == "" {
			g.document(there, f.File)
		}
	}
	for _, name := range []string{casesFile, filepath.Join(".beans", settingsFile)} {
		g.document(there, filepath.Join(path, name))
	}
	return ctx.Err()
}

// document adds a file of a project, or one elsewhere.
func (g *gatherer) document(there *app.Workspace, disk string) {
	if disk == "" || g.seen[disk] {
		return
	}
	if rel, inside := paths.Within(there.Project, disk); inside {
		g.add(File{Place: Project, Project: there.Project, Path: filepath.ToSlash(rel)}, disk)
		return
	}
	g.add(File{Place: Document, Path: filepath.ToSlash(disk)}, disk)
}

// name gives each file a name of its own in the export, in order.
func (g *gatherer) name() {
	taken := map[string]bool{indexName: true, ManifestName: true}
	for i := range g.files {
		f := &g.files[i]
		folder := f.Place
		switch f.Place {
		case Project:
			folder = "projects/" + workspace.IndexName(f.Project)
		case Sessions, State:
			folder += "/" + f.Folder
		case Document:
			folder = "documents"
		}
		stem := folder + "/" + strings.TrimPrefix(strings.ReplaceAll(f.Path, ":", ""), "/")
		base := stem[strings.LastIndexByte(stem, '/')+1:]
		f.Name = stem
		for n := 0; taken[strings.ToLower(f.Name)] || slices.Contains(reserved, strings.ToLower(base)) && n == 0; n++ {
			ext := filepath.Ext(stem)
			f.Name = strings.TrimSuffix(stem, ext) + strings.Repeat("_", n+1) + ext
		}
		taken[strings.ToLower(f.Name)] = true
	}
	slices.SortFunc(g.files, func(a, b found) int { return strings.Compare(a.Name, b.Name) })
}

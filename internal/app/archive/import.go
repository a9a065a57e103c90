package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/forgotten"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/app/inventory"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/internal/workspace"
)

// Actions of an import.
const (
	Add      = "add"
	Same     = "same"     // it is there already
	Conflict = "conflict" // a file with other content is there
	Leave    = "leave"    // it is outside of memory's own folders
	Refuse   = "refuse"
)

// A Step is what import does with a file, or that it leaves out a place of a project.
type Step struct {
	Action string `json:"action"`
	Name   string `json:"name"`             // in the export
	Folder string `json:"folder,omitempty"` // on this machine
	Path   string `json:"path,omitempty"`   // on this machine
	Why    string `json:"why,omitempty"`    // it is not added
	Effect string `json:"effect,omitempty"` // what the file does beside being found

	file  File
	holds string
	data  []byte // of a list of what is forgotten
}

// A Plan is what an import does, or has done.
type Plan struct {
	Counts map[string]int `json:"counts"` // of steps, by action
	Steps  []Step         `json:"steps"`
	// Indexes is what projects get to index, beside what is registered here.
	Indexes []Indexed `json:"indexes,omitempty"`
	// Ignores are the .gitignore files that got a line for a private file.
	Ignores []string `json:"ignores,omitempty"`
	Done    bool     `json:"done"`
}

// An Indexed is what a project gets to index.
type Indexed struct {
	Project       string   `json:"project"` // on this machine
	Paths         []string `json:"paths,omitempty"`
	Conversations bool     `json:"conversations,omitempty"` // agents' logs about the project
	// Folders are other places of the project: what agents did there counts as done in it.
	Folders []string `json:"folders,omitempty"`
}

// A Move says that a folder of the other machine is elsewhere on this one.
type Move struct{ From, To string }

// ParseMove reads OLD=NEW.
func ParseMove(text string) (Move, error) {
	from, to, ok := strings.Cut(text, "=")
	if !ok || from == "" || to == "" {
		return Move{}, kind.Usagef("--map is %q, want OLD=NEW, two folders", text)
	}
	return Move{filepath.Clean(from), paths.Absolute(to)}, nil
}

// Options change an import.
type Options struct {
	Moves []Move
	Skip  bool // leave out files in conflict, and refused ones, instead of refusing all
	// Outside also takes in files outside of memory's own folders, such as CLAUDE.md.
	Outside bool
}

// Import plans what an export brings, and does it if agreed says so. With a conflict or a refused
// file it does nothing, unless o.Skip is set.
func Import(ctx context.Context, w *app.Workspace, name string, o Options, agreed func(Plan) bool) (p Plan, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("import %s: %w", name, err)
		}
	}()
	at, err := w.Folders()
	if err != nil {
		return p, err
	}
	i := &importer{w: w, at: at, given: o.Moves, moves: slices.Clone(o.Moves), outside: o.Outside}
	if p, err = i.plan(ctx, name); err != nil || !agreed(p) {
		return p, err
	}
	if n := p.Counts[Conflict] + p.Counts[Refuse]; n > 0 && !o.Skip {
		err := fmt.Errorf("nothing was written: %d of %d files cannot be taken in", n, len(p.Steps))
		return p, kind.Hint(err, "move the files that are named above away, say with --map OLD=NEW where folders are, or leave these files out with --skip")
	}
	if err := i.apply(ctx, name, &p); err != nil {
		return p, fmt.Errorf("%w; import again to continue", err)
	}
	p.Done = true
	return p, nil
}

// An importer takes in an export.
type importer struct {
	Manifest
	w       *app.Workspace
	at      config.Folders
	given   []Move // of --map
	moves   []Move // also of the home folder; the longest first
	outside bool
}

// here returns where a path of the other machine is on this one; "" if it is nowhere, as a path of
// another system.
func (i *importer) here(there string) string {
	for _, move := range i.moves {
		if rel, inside := paths.Within(move.From, there); inside {
			return paths.Resolve(filepath.Join(move.To, rel))
		}
	}
	if !filepath.IsAbs(there) {
		return ""
	}
	return paths.Resolve(there)
}

// isCovered reports whether an export may bring something to a path: below the home folder, this
// workspace, or what --map names. In hidden folders, such as ~/.claude/rules, agents take any
// Markdown for instruction.
func (i *importer) isCovered(path string) bool {
	folders := []string{i.w.Home, i.w.Project}
	for _, move := range i.given {
		folders = append(folders, move.To)
	}
	return slices.ContainsFunc(folders, func(folder string) bool {
		rel, inside := paths.Within(paths.Resolve(folder), path)
		return folder != "" && inside && (rel == "." || !isHidden(filepath.ToSlash(rel)))
	})
}

// folderOf returns where the files of a folder go.
func (i *importer) folderOf(f Folder) (string, error) {
	name, project, parent := path.Base(f.Name), i.here(f.Project), ""
	if f.Project != "" && project == "" {
		return "", errors.New("this machine has no such folder: name one with --map OLD=NEW")
	}
	switch f.Holds {
	case Global:
		parent, name = filepath.Split(i.w.Beans())
	case Settings:
		parent, name = i.w.Home, ".beans"
	case Project:
		if parent, name = filepath.Split(project); !i.isCovered(project) {
			return "", errors.New("it is outside of the home folder, or hidden: name its place with --map OLD=NEW")
		}
	case Forgotten:
		parent, name = filepath.Split(i.at.State)
	case Sessions:
		parent = i.w.Expand(i.w.Settings.SessionsDir)
		if project != "" {
			name = paths.FolderName(project)
		}
	case State:
		parent = i.at.Workspaces()
		if project != "" {
			name = workspace.IndexName(project)
		}
	}
	if !filepath.IsAbs(parent) || !filepath.IsLocal(name) || strings.ContainsAny(name, `/\`) || name == "." {
		return "", errors.New("there is no place for it on this machine")
	}
	return filepath.Join(parent, name), nil
}

// plan decides about each file, and changes nothing.
func (i *importer) plan(ctx context.Context, name string) (p Plan, err error) {
	p = Plan{Counts: map[string]int{}, Steps: []Step{}}
	sums := map[string]string{}  // of what the export has
	lists := map[string][]byte{} // of what is forgotten
	err = each(ctx, name, func(entry string, data []byte) error {
		if _, twice := sums[entry]; twice {
			return fmt.Errorf("%w: it has %.100q twice", ErrRefused, entry)
		}
		sums[entry] = sumOf(data)
		if path.Dir(entry) == Forgotten {
			lists[entry] = data
		}
		if entry == ManifestName {
			return i.decode(data)
		}
		return nil
	})
	if err != nil {
		return p, err
	}
	if sums[ManifestName] == "" {
		return p, fmt.Errorf("%w: it has no %s", ErrRefused, ManifestName)
	}
	for _, home := range i.Home {
		if home != "" && i.w.Home != "" {
			i.moves = append(i.moves, Move{home, i.w.Home})
		}
	}
	slices.SortStableFunc(i.moves, func(a, b Move) int { return cmp.Compare(len(b.From), len(a.From)) })
	folders, taken := map[string]Folder{}, map[string]bool{}
	for _, f := range i.Folders {
		folders[f.Name] = f
	}
	for _, f := range i.Files {
		s := Step{Name: f.name(), file: f, holds: folders[f.Folder].Holds}
		if s.holds == Forgotten {
			s.data = lists[f.name()]
		}
		if sum, ok := sums[f.name()]; !ok || sum != f.SHA256 {
			s.Action, s.Why = Refuse, "it was changed since it was exported: its checksum differs"
		} else {
			i.decide(&s, folders[f.Folder])
		}
		if key := strings.ToLower(s.Path); s.Action != Refuse && taken[key] {
			s.Action, s.Why = Refuse, "another file goes there"
		} else {
			taken[key] = true
		}
		p.Counts[s.Action]++
		p.Steps = append(p.Steps, s)
	}
	others, err := i.others()
	if err != nil {
		return p, err
	}
	for f, project := range i.registers() {
		was, err := workspace.Load(i.at.OwnOf(workspace.IndexName(project)).Sources())
		if err != nil {
			return p, err
		}
		is := was
		is.Workspace = project
		unseen := is.Unseen(append(slices.Clone(f.Sources.Folders), f.Project))
		f.Sources.Folders = nil // apply takes those that the plan names
		for _, folder := range unseen {
			if i.isAnothers(folder, project, others) {
				p.Counts[Leave]++
				p.Steps = append(p.Steps, Step{Action: Leave, Name: f.Name, Path: folder, Why: "it does not count as a place of " + project + ": something else is or was there"})
				continue
			}
			f.Sources.Folders = append(f.Sources.Folders, folder)
		}
		i.merge(&is, f, project)
		more := Indexed{project, is.Paths[len(was.Paths):], is.HasConversations() && !was.HasConversations(), is.Folders[len(was.Folders):]}
		if len(more.Paths) > 0 || more.Conversations || len(more.Folders) > 0 {
			p.Indexes = append(p.Indexes, more)
		}
	}
	return p, ctx.Err()
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// decide says what becomes of a file.
func (i *importer) decide(s *Step, in Folder) {
	f := s.file
	s.Action, s.Effect = Refuse, i.effect(in.Holds, f.Path)
	if s.Why = refusal(in.Holds, f.Path, i.w.Settings.Folder); s.Why != "" {
		return
	}
	var err error
	if s.Folder, err = i.folderOf(in); err != nil {
		s.Why = err.Error()
		return
	}
	if in.Holds == Settings {
		s.file.Path = importedFile
	}
	s.Path = filepath.Join(s.Folder, filepath.FromSlash(s.file.Path))
	if in.Holds == Project && strings.EqualFold(s.Path, filepath.Join(paths.Resolve(i.w.Home), ".beans", settingsFile)) {
		s.Why = "these would be your own settings"
		return
	}
	if in.Holds == Forgotten {
		here, projects := i.workspacesHere()
		switch more, err := forgotten.Missing(s.Path, s.data, here); {
		case err != nil:
			s.Why = err.Error()
		case more == 0:
			s.Action = Same
		default:
			s.Action, s.Effect = Add, fmt.Sprintf("hides %s in what is here of %s", plain.Count(more, "text"), strings.Join(projects, ", "))
		}
		return
	}
	here, _, err := safefile.ReadFile(paths.Resolve(s.Folder), filepath.FromSlash(s.file.Path), maxFile)
	if filepath.Ext(f.Path) == ".jsonl" && f.Size >= 0 && f.Size < int64(len(here)) {
		here = here[:f.Size] // a log only grows
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.Action = Add
	case err != nil:
		s.Why = err.Error()
	case sumOf(here) == f.SHA256:
		s.Action = Same
	default:
		s.Action, s.Why = Conflict, "another is here"
	}
	if s.Action != Same && in.Holds == Project && !i.outside && !i.isOwn(f.Path) {
		s.Action, s.Why = Leave, "it is outside of memory's own folders: --outside takes it in"
	}
}

// isOwn reports whether a file of a project is in a folder of memory, or is memcore's by its name.
func (i *importer) isOwn(file string) bool {
	return i.isData(file) || strings.HasPrefix(file, i.w.Settings.Folder+"/") || file == ".beans/"+settingsFile || file == casesFile ||
		slices.Contains(ownNames, path.Base(file)) && !isHidden(file)
}

// isData reports whether a file of a project is a fact or an episode.
func (i *importer) isData(file string) bool {
	data, err := filepath.Rel(i.w.Project, i.w.DataDir())
	_, inside := paths.Within(filepath.ToSlash(data), file)
	return err == nil && inside
}

// workspacesHere returns the names here of the workspaces that the export brings, by their names
// there, and their paths here, or names if nobody knows the paths.
func (i *importer) workspacesHere() (names map[string]string, projects []string) {
	names = map[string]string{}
	for _, f := range i.Folders {
		name, project := path.Base(f.Name), i.here(f.Project)
		if f.Holds != State || f.Project != "" && project == "" {
			continue
		}
		if names[name] = name; project != "" {
			names[name] = workspace.IndexName(project)
		}
		projects = append(projects, cmp.Or(project, name))
	}
	slices.Sort(projects)
	return names, slices.Compact(projects)
}

// effect says what a file does beside being found.
func (i *importer) effect(holds, path string) string {
	switch {
	case holds == Settings:
		return "holds settings, which can name servers: they do nothing there; copy those that you want into " + settingsFile
	case path == ".beans/"+settingsFile:
		return "holds settings of the workspace"
	case path == casesFile:
		return "holds questions of 'memcore eval'"
	case holds == Global && !i.isData(path), holds == Project && (!i.isData(path) || source.IsRules(path)):
		return "can instruct your agents"
	}
	return ""
}

// apply writes the files that are added, with their times, and registers projects.
func (i *importer) apply(ctx context.Context, name string, p *Plan) error {
	adds := map[string]Step{}
	for _, s := range p.Steps {
		if s.Action == Add {
			adds[s.Name] = s
		}
	}
	used := map[string]time.Time{} // folders of sessions
	var exposed error              // of private files that git would commit
	err := each(ctx, name, func(entry string, data []byte) error {
		s, ok := adds[entry]
		if !ok {
			return nil
		}
		if sumOf(data) != s.file.SHA256 {
			return fmt.Errorf("%w: %.100q has changed", ErrRefused, entry)
		}
		for dir := filepath.Dir(s.Path); s.holds == Sessions && dir != s.Folder; dir = filepath.Dir(dir) {
			if used[dir].Before(s.file.ModTime) {
				used[dir] = s.file.ModTime
			}
		}
		if s.holds == Forgotten {
			here, _ := i.workspacesHere()
			return forgotten.Merge(ctx, s.Path, data, here)
		}
		if err := i.keepOutOfGit(s, p); err != nil {
			exposed = errors.Join(exposed, fmt.Errorf("%s is not written, since git would see it: %w", s.Path, err))
			return nil
		}
		return s.write(data)
	})
	for dir, at := range used { // a session keeps its age
		err = errors.Join(err, os.Chtimes(dir, at, at))
	}
	for f, project := range i.registers() {
		if err == nil {
			err = i.register(ctx, f, project)
		}
	}
	return errors.Join(err, exposed)
}

// keepOutOfGit makes git ignore a private file before it is there.
func (i *importer) keepOutOfGit(s Step, p *Plan) error {
	if !paths.IsPrivate(s.Path) {
		return nil
	}
	if err := safefile.MakeFolder(filepath.Dir(s.Path), 0o644); err != nil {
		return err
	}
	changed, err := curated.KeepOutOfGit(s.Path, curated.UserIgnores(i.w.Home))
	if changed != "" && !slices.Contains(p.Ignores, changed) {
		p.Ignores = append(p.Ignores, changed)
	}
	return err
}

// write writes a new file, with its time.
func (s Step) write(data []byte) error {
	mode := fs.FileMode(0o600)
	if s.holds == Project {
		mode = 0o644
	}
	if err := safefile.MakeFolder(s.Folder, mode); err != nil {
		return err
	}
	dir, name := paths.Resolve(s.Folder), filepath.FromSlash(s.file.Path)
	if err := safefile.Create(dir, name, data, mode); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(root.Chtimes(name, s.file.ModTime, s.file.ModTime), root.Close())
}

// registers are the folders that register something for a project, and its path here.
func (i *importer) registers() iter.Seq2[Folder, string] {
	return func(yield func(Folder, string) bool) {
		for _, f := range i.Folders {
			if project := i.here(f.Project); f.Holds == State && f.Sources != nil && project != "" && !yield(f, project) {
				return
			}
		}
	}
}

// register notes the path of a project in its state, where it was, and what it had registered.
func (i *importer) register(ctx context.Context, f Folder, project string) error {
	at := i.at.OwnOf(workspace.IndexName(project))
	if err := safefile.MkdirAll(at.Own(), 0o700); err != nil {
		return err
	}
	err := safefile.Create(paths.Resolve(at.Own()), filepath.Base(at.WorkspacePath()), []byte(project+"\n"), 0o600)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	_, err = workspace.Change(ctx, at.Sources(), func(s *workspace.Sources) error {
		i.merge(s, f, project)
		return nil
	})
	return err
}

// merge adds what a project had registered to what it has here.
func (i *importer) merge(s *workspace.Sources, f Folder, project string) {
	s.Workspace = project
	for _, there := range f.Sources.Paths {
		if path := i.here(there); i.isCovered(path) && !slices.Contains(s.Paths, path) {
			s.Paths = append(s.Paths, path)
		}
	}
	if s.Conversations == nil { // what was decided here stays
		s.Conversations = f.Sources.Conversations
	}
	s.Saw(f.Sources.Folders...)
}

// others returns the places of each workspace here, by its path.
func (i *importer) others() (map[string][]string, error) {
	all := map[string][]string{}
	projects, err := inventory.Projects(i.w.Config)
	for _, p := range projects {
		if p.Path != "" {
			sources, _ := workspace.Load(i.at.OwnOf(p.Name).Sources()) // a damaged list costs its own
			all[p.Path] = append(sources.Folders, p.Path)
		}
	}
	return all, err
}

// isAnothers reports whether a place that a project had on the other machine is, or was, anything
// but the project's on this one: the project would get what agents did there. Only the user can say
// by --map that a workspace which is gone has become the project.
func (i *importer) isAnothers(folder, project string, others map[string][]string) bool {
	if !filepath.IsAbs(folder) {
		return true
	}
	folder = paths.Resolve(folder)
	near := folder // the nearest that exists
	for isMissing(near) && near != filepath.Dir(near) {
		near = filepath.Dir(near)
	}
	contains := func(outer, inner string) bool { _, inside := paths.Within(outer, inner); return inside }
	given := importer{moves: i.given}
	for other, places := range others {
		if other == project || isMissing(other) && given.here(other) == project {
			continue
		}
		for _, at := range places {
			if at == folder || near != folder && (contains(folder, at) || contains(at, folder) && !contains(at, project)) {
				return true
			}
		}
	}
	found, err := workspace.Find(near, i.w.Home)
	switch {
	case err != nil:
		return true
	case workspace.ProjectOf(found).Folder == workspace.ProjectOf(project).Folder:
		return false
	}
	return near == folder || workspace.IsMarked(found) && !contains(found, project)
}

func isMissing(file string) bool {
	_, err := os.Lstat(file)
	return errors.Is(err, fs.ErrNotExist)
}

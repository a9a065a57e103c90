package archive

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
)

// Actions of an import.
const (
	Add      = "add"
	Extend   = "extend"   // a log that has grown
	Merge    = "merge"    // a list or counts of memcore's own
	Same     = "same"     // it is there already
	Keep     = "keep"     // this machine's is newer, or is made again
	Conflict = "conflict" // this machine has another; it stays
	Replace  = "replace"  // a conflict with Options.Overwrite
	Refuse   = "refuse"
)

// A Step is what import does with a file.
type Step struct {
	Action string `json:"action"`
	Name   string `json:"name"`           // in the export
	Path   string `json:"path,omitempty"` // on this machine
	Why    string `json:"why,omitempty"`

	file   File
	target target
	before [sha256.Size]byte // of this machine's file when the plan was made
}

// A Plan is what an import does, or has done.
type Plan struct {
	Counts   map[string]int `json:"counts"` // of steps, by action
	Steps    []Step         `json:"steps"`
	Projects []string       `json:"projects"` // workspaces on this machine
	Missing  []string       `json:"missing"`  // those whose folder import makes
	Trusted  []string       `json:"trusted"`  // folders that may instruct agents from now on
	LeftOut  []LeftOut      `json:"leftOut"`  // by the export
	Done     bool           `json:"done"`

	mapper *mapper
}

// Options change an import. The zero value overwrites nothing.
type Options struct {
	Moves     []Move
	Overwrite bool
}

// Import plans what an export brings, and does it if agreed says so.
func Import(ctx context.Context, w *app.Workspace, name string, o Options, agreed func(Plan) bool) (p Plan, err error) {
	at, err := w.Folders()
	if err != nil {
		return p, err
	}
	r, err := open(name, at.State)
	if err != nil {
		return p, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if p, err = r.plan(ctx, w, o); err != nil || !agreed(p) {
		return p, err
	}
	err = r.apply(ctx, &p)
	p.Done = err == nil
	return p, err
}

// plan changes nothing.
func (r *reader) plan(ctx context.Context, w *app.Workspace, o Options) (p Plan, err error) {
	p = Plan{Counts: map[string]int{}, Steps: []Step{}, LeftOut: r.LeftOut}
	if p.mapper, err = newMapper(w, r.Home, o.Moves); err != nil {
		return p, err
	}
	projects, taken := map[string]bool{}, map[string]bool{}
	for _, f := range r.Files {
		if err := ctx.Err(); err != nil {
			return p, err
		}
		step := r.step(p.mapper, f, o)
		if path := strings.ToLower(step.Path); step.Action != Refuse && taken[path] {
			step.Action, step.Why = Refuse, "another file goes there"
		} else {
			taken[path] = true
		}
		if f.Project != "" && step.Action != Refuse {
			projects[p.mapper.path(f.Project)] = true
		}
		if step.Action == Merge && f.Path == trustFile {
			if p.Trusted, err = r.trusted(p.mapper, f); err != nil {
				return p, err
			}
		}
		p.Counts[step.Action]++
		p.Steps = append(p.Steps, step)
	}
	p.Projects, p.Missing = []string{}, []string{}
	for project := range projects {
		p.Projects = append(p.Projects, project)
		makes := slices.ContainsFunc(p.Steps, func(s Step) bool { return s.Action == Add && s.target.folder == project })
		if _, err := os.Stat(project); errors.Is(err, fs.ErrNotExist) && makes {
			p.Missing = append(p.Missing, project)
		}
	}
	slices.Sort(p.Projects)
	slices.Sort(p.Missing)
	return p, nil
}

// step decides about a file.
func (r *reader) step(m *mapper, f File, o Options) Step {
	s := Step{Name: f.Name, file: f}
	refuse := func(err error) Step {
		s.Action, s.Why = Refuse, err.Error()
		return s
	}
	var err error
	if s.target, err = m.of(f); err != nil {
		return refuse(err)
	}
	s.Path = s.target.path()
	data, err := r.read(f)
	if err != nil {
		return refuse(err)
	}
	if merges(f) {
		s.Action = Merge
		return s
	}
	here, _, err := safefile.ReadFile(paths.Resolve(s.target.folder), s.target.name, largestFile+(1<<20))
	s.before = sha256.Sum256(here)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.Action = Add
	case err != nil:
		return refuse(err)
	case bytes.Equal(here, data):
		s.Action = Same
	case filepath.Ext(f.Path) == ".jsonl" && bytes.HasPrefix(data, here):
		s.Action = Extend
	case filepath.Ext(f.Path) == ".jsonl" && bytes.HasPrefix(here, data):
		s.Action, s.Why = Keep, "this machine's has more"
	case f.Place == State:
		s.Action, s.Why = Keep, "this machine has its own"
	case isDerived(f):
		s.Action, s.Why = Keep, "it is made from proposals"
	case o.Overwrite:
		s.Action = Replace
	default:
		s.Action, s.Why = Conflict, "this machine has another; --overwrite takes the export's"
	}
	return s
}

// apply does what was planned.
func (r *reader) apply(ctx context.Context, p *Plan) error {
	sessions := map[string]bool{}
	for i := range p.Steps {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("import: %w; run it again to continue", err)
		}
		s := &p.Steps[i]
		data, err := r.read(s.file)
		if err == nil || s.Action == Refuse {
			err = r.do(ctx, p.mapper, s, data)
		}
		if err != nil {
			return fmt.Errorf("import %s: %w; run it again to continue", s.Name, err)
		}
		if id, _, inside := strings.Cut(s.file.Path, "/"); inside && s.file.Place == Sessions && s.Action == Add {
			sessions[filepath.Join(s.target.folder, id)] = true
		}
	}
	for dir := range sessions {
		if err := asLastUsed(dir); err != nil {
			return err
		}
	}
	return p.mapper.nameProjects(ctx, *p)
}

func (r *reader) do(ctx context.Context, m *mapper, s *Step, data []byte) error {
	switch s.Action {
	case Merge:
		return m.merge(ctx, s, data)
	case Add, Extend, Replace:
		return s.write(data)
	}
	return nil
}

// write puts a file in place, with its time.
func (s *Step) write(data []byte) error {
	mode := fs.FileMode(0o600)
	if s.file.Place == Project || s.file.Place == Document {
		mode = 0o644
	}
	if err := safefile.MakeFolder(s.target.folder, mode); err != nil {
		return err
	}
	folder := paths.Resolve(s.target.folder)
	if err := s.put(folder, data, mode); err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	return errors.Join(root.Chtimes(s.target.name, s.file.ModTime, s.file.ModTime), root.Close())
}

// put writes a file if it still is what the plan was made for.
func (s *Step) put(folder string, data []byte, mode fs.FileMode) error {
	if s.Action == Add {
		return safefile.Create(folder, s.target.name, data, mode)
	}
	here, _, err := safefile.ReadFile(folder, s.target.name, largestFile+(1<<20))
	if err != nil {
		return err
	}
	if sha256.Sum256(here) != s.before {
		return safefile.ErrChanged
	}
	return safefile.Swap(folder, s.target.name, here, data)
}

// asLastUsed gives the folders of a session the time of its newest file.
func asLastUsed(dir string) error {
	var folders []string
	var used fs.FileInfo
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			folders = append(folders, path)
			return err
		}
		info, err := entry.Info()
		if err == nil && (used == nil || info.ModTime().After(used.ModTime())) {
			used = info
		}
		return err
	})
	for _, folder := range slices.Backward(folders) {
		if used != nil && err == nil {
			err = os.Chtimes(folder, used.ModTime(), used.ModTime())
		}
	}
	return err
}

// IsSettings reports whether a step is about settings.
func (s Step) IsSettings() bool {
	return s.file.Place == Settings || s.file.Place == Project && s.file.Path == ".beans/"+settingsFile
}

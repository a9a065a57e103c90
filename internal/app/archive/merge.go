package archive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/workspace"
)

// proposalsFile is in the sessions of a project.
const proposalsFile = "proposals.json"

// merges reports whether a file is memcore's own, and its entries are taken one by one.
func merges(f File) bool {
	switch f.Place {
	case Settings:
		return f.Path == trustFile
	case State:
		return slices.Contains([]string{"sources.json", "forgotten.json", "use.jsonl", "use.earlier.jsonl"}, f.Path)
	case Sessions:
		return f.Path == proposalsFile
	}
	return false
}

// isDerived reports whether a file is made from proposals.
func isDerived(f File) bool {
	return f.Place == Sessions && (f.Path == core.StatedFile || f.Path == core.SolvedFile)
}

func (m *mapper) merge(ctx context.Context, s *Step, data []byte) error {
	file := s.Path
	switch path.Base(s.file.Path) {
	case trustFile:
		return m.mergeTrust(ctx, data)
	case "sources.json":
		return m.mergeSources(ctx, s, data)
	case "forgotten.json":
		_, err := core.AddForgotten(ctx, file, data)
		return err
	case proposalsFile:
		return m.mergeProposals(ctx, s, data)
	}
	return mergeLines(ctx, file, data)
}

// folders of a trust file, and whether they are trusted.
type trustedFolders struct {
	Folders map[string]struct {
		Trusted bool `json:"trusted"`
	} `json:"folders"`
}

// trusted returns the folders that import would trust.
func (r *reader) trusted(m *mapper, f File) (all []string, err error) {
	data, err := r.read(f)
	if err != nil {
		return nil, err
	}
	decisions, err := m.newDecisions(data)
	for _, folder := range slices.Sorted(maps.Keys(decisions)) {
		if decisions[folder] {
			all = append(all, folder)
		}
	}
	return all, err
}

// newDecisions are those about folders of this machine that nothing was decided about. None trusts
// the whole home or what is outside of what an export may bring something to.
func (m *mapper) newDecisions(data []byte) (map[string]bool, error) {
	var there trustedFolders
	if err := json.Unmarshal(data, &there); err != nil {
		return nil, fmt.Errorf("%s: %w", trustFile, err)
	}
	decided, err := m.w.Trust().All()
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, d := range decided {
		known[d.Folder] = true
	}
	decisions := map[string]bool{}
	for folder, d := range there.Folders {
		folder = m.path(folder)
		mayTrust := m.covering(folder) != "" && folder != paths.Resolve(m.w.Home)
		if folder != "" && !known[folder] && (mayTrust || !d.Trusted) {
			decisions[folder] = d.Trusted
		}
	}
	return decisions, nil
}

// mergeTrust decides about folders that are there by now. The others stay undecided.
func (m *mapper) mergeTrust(ctx context.Context, data []byte) error {
	decisions, err := m.newDecisions(data)
	if err != nil {
		return err
	}
	for _, folder := range slices.Sorted(maps.Keys(decisions)) {
		if _, err := m.w.Trust().Set(ctx, folder, decisions[folder]); err != nil { // most often it is not here
			m.w.Note("no decision of trust about %s: %v", folder, err)
		}
	}
	return ctx.Err()
}

func (m *mapper) mergeSources(ctx context.Context, s *Step, data []byte) error {
	var there workspace.Sources
	if err := json.Unmarshal(data, &there); err != nil {
		return err
	}
	_, err := workspace.Change(ctx, s.Path, func(here *workspace.Sources) error {
		if s.file.Project != "" {
			here.Workspace = m.path(s.file.Project)
		}
		for _, source := range there.Paths {
			if source = m.path(source); source != "" && !slices.Contains(here.Paths, source) {
				here.Paths = append(here.Paths, source)
			}
		}
		here.Conversations = here.Conversations || there.Conversations
		here.WasAt(there.Earlier...)
		return nil
	})
	return err
}

// mergeProposals adds those that wait. A file that is not there is taken as it is, with what was
// decided.
func (m *mapper) mergeProposals(ctx context.Context, s *Step, data []byte) error {
	if _, err := os.Lstat(s.Path); errors.Is(err, fs.ErrNotExist) {
		s.Action = Add
		return s.write(data)
	}
	var there struct {
		Waiting []notes.Proposal `json:"waiting"`
	}
	if err := json.Unmarshal(data, &there); err != nil {
		return err
	}
	_, err := notes.OpenProposals(s.target.folder, core.StatedFile, core.SolvedFile).Add(ctx, there.Waiting...)
	return err
}

// mergeLines adds the lines that a file lacks.
func mergeLines(ctx context.Context, file string, data []byte) error {
	unlock, err := jsonfile.Lock(ctx, file)
	if err != nil {
		return err
	}
	defer unlock()
	here, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	known := map[string]bool{}
	for line := range bytes.Lines(here) {
		known[string(bytes.TrimSpace(line))] = true
	}
	added := slices.Clone(here)
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); !known[string(line)] {
			added = append(append(added, line...), '\n')
		}
	}
	if len(added) == len(here) {
		return nil
	}
	return jsonfile.Write(file, added)
}

// nameProjects notes the paths of projects in their state, and where they were.
func (m *mapper) nameProjects(ctx context.Context, p Plan) error {
	earlier := map[string][]string{}
	for _, s := range p.Steps {
		if project := m.path(s.file.Project); s.file.Project != "" && s.Action != Refuse && project != s.file.Project {
			earlier[project] = append(earlier[project], s.file.Project)
		}
	}
	for _, project := range p.Projects {
		at := m.at.OwnOf(workspace.IndexName(project))
		if err := safefile.MkdirAll(at.Own(), 0o700); err != nil {
			return err
		}
		err := safefile.Create(paths.Resolve(at.Own()), filepath.Base(at.WorkspacePath()), []byte(project+"\n"), 0o600)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		_, err = workspace.Change(ctx, at.Sources(), func(s *workspace.Sources) error {
			if len(earlier[project]) > 0 {
				s.Workspace = project
				s.WasAt(earlier[project]...)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

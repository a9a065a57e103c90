// Package archive exports what memcore keeps of a person and cannot make again, and imports it on
// another machine.
//
// An export is a .tar.gz file of named folders: global memory, settings, and the memory, sessions
// and state of each project. Its manifest says what each folder holds and lists every file with
// size, time and SHA-256. The same files always make the same export.
//
// Import writes only files of the manifest, only below the folders that it knows itself, and never
// over a file with other content. A project's files outside of memory's own folders, such as
// CLAUDE.md, need a flag. Settings come under a name that nothing reads: they can name servers. A
// project gets what agents did in its places there only if nothing else here is, or was, there.
package archive

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core/journal"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/source/keptlog"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/workspace"
)

// ManifestName is the manifest's file in an export. It is the last one.
const ManifestName = "memcore-export.json"

// format is that of the manifest. Import refuses others.
const format = 2

// Bounds of an export, so that a hostile one cannot fill a disk or the memory.
const (
	maxFiles = 200_000
	maxBytes = 8 << 30
	maxFile  = 96 << 20 // larger than the log of a session, and than a manifest of maxFiles
	maxName  = 1024
)

// ErrRefused means that an export is not one, or is damaged, or tries to do harm.
var ErrRefused = errors.New("this is not an export that memcore can trust")

// A Manifest describes an export.
type Manifest struct {
	Format  int      `json:"format"`
	Version string   `json:"version"` // of memcore
	Home    []string `json:"home"`    // the user's home folder, in all spellings
	Folders []Folder `json:"folders"`
	Files   []File   `json:"files"`
}

// A Folder is a named folder of an export.
type Folder struct {
	Name  string `json:"name"` // in the export, such as "state/work-1a2b3c4d5e6f"
	Holds string `json:"holds"`
	// Project is the absolute path of the workspace; "" for a folder of no project, or of one
	// whose path is not known.
	Project string `json:"project,omitempty"`
	// Sources are what the project has registered; only with State.
	Sources *workspace.Sources `json:"sources,omitempty"`
}

// A File is a file of an export. Its name there is Folder/Path.
type File struct {
	Folder  string    `json:"folder"` // the Name of a Folder
	Path    string    `json:"path"`   // slash-separated
	Size    int64     `json:"size"`
	SHA256  string    `json:"sha256"`
	ModTime time.Time `json:"modTime"`
}

func (f File) name() string { return f.Folder + "/" + f.Path }

// What a folder holds.
const (
	Global   = "global"   // global memory
	Settings = "settings" // the user's settings
	Project  = "project"  // the memory in a project's folder
	Sessions = "sessions" // the sessions of a project
	State    = "state"    // the state of a project

	Forgotten = "forgotten" // the list of what is forgotten, which is added to the one here
)

// stateFiles are the files of a project's state that an export has. The rest is about this machine.
var stateFiles = journal.In(config.JournalFile).Files()

// isKept reports whether a file of a project's state is what is kept of a log.
func isKept(file string) bool {
	dir, name := path.Split(file)
	return dir == config.KeptFolder+"/" && keptlog.IsName(name)
}

// Files with a meaning of their own.
const (
	trustFile     = "trust.json"
	settingsFile  = "config.yaml"
	casesFile     = "memcore-eval.yaml"
	proposalsFile = "proposals.json"
	// importedFile is where settings come, beside settingsFile.
	importedFile = "config.imported.yaml"
)

// ownNames are curated memory files that are memcore's own, in any folder.
var ownNames = []string{"BEANS.md", "BEANS.local.md"}

// refusal says why a file cannot be in a folder that holds this; "" if it can. hidden is the name
// of the projects' hidden folder.
func refusal(holds, file, hidden string) string {
	odd := func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }
	if len(file) > maxName || !filepath.IsLocal(filepath.FromSlash(file)) || path.Clean(file) != file || strings.ContainsFunc(file, odd) {
		return "its path leads elsewhere"
	}
	if reason := source.DenyReason(file); reason != "" {
		return reason
	}
	markdown := slices.Contains([]string{".md", ".mdc", ".markdown"}, strings.ToLower(filepath.Ext(file)))
	ok := false
	switch holds {
	case Global:
		ok = markdown && !isHidden(file)
	case Settings:
		ok = file == settingsFile
	case Project:
		ok = file == casesFile || file == ".beans/"+settingsFile || source.IsRules(file) ||
			markdown && !isHidden(strings.TrimPrefix(file, hidden+"/"))
	case Sessions:
		_, inSession, _ := strings.Cut(file, "/")
		ok = file == proposalsFile || session.IsRecord(inSession) || markdown && !isHidden(file)
	case State:
		ok = slices.Contains(stateFiles, file) || isKept(file)
	case Forgotten:
		ok = file == config.ForgottenFile
	}
	if !ok {
		return "such a file does not belong there"
	}
	return ""
}

// isFile reports whether a system may take a path for the file of this name: some fold case, and
// some drop dots and spaces at the end.
func isFile(file, name string) bool {
	parts := strings.Split(file, "/")
	for i, part := range parts {
		parts[i] = strings.TrimRight(part, ". ")
	}
	return strings.EqualFold(path.Join(parts...), name)
}

func isHidden(path string) bool { return strings.HasPrefix(path, ".") || strings.Contains(path, "/.") }

// each reads the files of an export one after another. Names are as in the export, which may be
// hostile: they are no paths.
func each(ctx context.Context, export string, do func(name string, data []byte) error) error {
	file, _, err := safefile.OpenPath(export)
	if err != nil {
		return err
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrRefused, err)
	}
	entries, total := tar.NewReader(unpacked), int64(0)
	for n := 0; ; n++ {
		h, err := entries.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrRefused, err)
		}
		total += h.Size
		switch {
		case h.Typeflag != tar.TypeReg:
			return fmt.Errorf("%w: %.100q is a link, a folder or a device", ErrRefused, h.Name)
		case h.Size > maxFile || n >= maxFiles || total > maxBytes:
			return fmt.Errorf("%w: it has more than %d files or %d GB, or %.100q has more than %d MB", ErrRefused, maxFiles, maxBytes>>30, h.Name, maxFile>>20)
		}
		data, err := io.ReadAll(entries)
		if err != nil {
			return fmt.Errorf("%w: %.100q: %w", ErrRefused, h.Name, err)
		}
		if err := errors.Join(do(h.Name, data), ctx.Err()); err != nil {
			return err
		}
	}
}

func (m *Manifest) decode(data []byte) error {
	if err := json.Unmarshal(data, m); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrRefused, ManifestName, err)
	}
	if m.Format != format {
		return fmt.Errorf("%s has format %d, and this release knows %d: use the release that wrote it (%.40s)", ManifestName, m.Format, format, m.Version)
	}
	if len(m.Files) > maxFiles {
		return fmt.Errorf("%w: it names %d files, more than %d", ErrRefused, len(m.Files), maxFiles)
	}
	return nil
}

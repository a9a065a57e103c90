package archive

import (
	"archive/tar"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/memcore/memcore/core/source/keptlog"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/app/inventory"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/secret"
	"github.com/memcore/memcore/internal/workspace"
)

// Exported sums up an export.
type Exported struct {
	Path     string    `json:"path"`
	Files    int       `json:"files"`
	Bytes    int64     `json:"bytes"` // before they were packed
	Projects int       `json:"projects"`
	Sessions int       `json:"sessions"`
	Redacted []string  `json:"redacted"` // lines of files on this machine that secrets were taken out of
	LeftOut  []LeftOut `json:"leftOut"`
}

// A LeftOut says what is not in an export, and why.
type LeftOut struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Export writes what memcore keeps of all projects to a new .tar.gz file.
func Export(ctx context.Context, w *app.Workspace, target string) (e Exported, err error) {
	target = paths.Absolute(target)
	defer func() {
		if err != nil {
			err = fmt.Errorf("export to %s: %w", target, err)
		}
	}()
	if _, err := os.Lstat(target); !errors.Is(err, fs.ErrNotExist) {
		return e, errors.Join(err, errors.New("it exists already: name another file, or move it away"))
	}
	dir := filepath.Dir(target)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) { // it may be misspelt, or a disk that is not there
		return e, fmt.Errorf("there is no folder %s: make it first", dir)
	}
	file, err := os.CreateTemp(dir, filepath.Base(target)+".*.partly")
	if err != nil {
		return e, err
	}
	partly := file.Name()
	packed := gzip.NewWriter(file)
	x := &exporter{w: w, out: tar.NewWriter(packed), seen: map[string]bool{paths.Resolve(partly): true}, sessions: map[string]bool{}, Exported: Exported{Path: target}}
	x.manifest = Manifest{Format: format, Version: w.Version, Home: paths.Spellings(w.Home)}
	x.all(ctx)
	err = errors.Join(x.err, x.out.Close(), packed.Close(), file.Sync(), file.Close())
	if err != nil {
		return x.Exported, errors.Join(err, os.Remove(partly))
	}
	return x.Exported, os.Rename(partly, target)
}

// An exporter writes an export.
type exporter struct {
	Exported
	w        *app.Workspace
	out      *tar.Writer
	manifest Manifest
	seen     map[string]bool // files of this machine
	sessions map[string]bool // that it has something of
	err      error           // the first error of writing
}

func (x *exporter) all(ctx context.Context) {
	if beans := x.w.Beans(); beans != "" {
		x.walk(ctx, Folder{Name: Global, Holds: Global}, beans, ".")
	}
	if x.w.Home != "" {
		x.add(Folder{Name: Settings, Holds: Settings}, filepath.Join(x.w.Home, ".beans"), settingsFile)
	}
	at, placeless := x.w.Folders()
	if placeless == nil {
		x.add(Folder{Name: Forgotten, Holds: Forgotten}, at.State, config.ForgottenFile)
	}
	projects, err := inventory.Projects(x.w.Config)
	err = errors.Join(placeless, err)
	for _, p := range projects {
		x.project(ctx, p)
	}
	x.leave("decisions of trust", "'memcore trust add' makes them on the other machine")
	x.leave("documents that memcore only reads, and agents' logs themselves", "they are yours: copy them")
	x.leave("indexes, caches, the journal of save --undo and what running sessions got", "they are of this machine")
	manifest, encoding := json.MarshalIndent(x.manifest, "", " ")
	x.err = errors.Join(x.err, err, encoding, ctx.Err())
	x.write(ManifestName, append(manifest, '\n'))
}

// project adds the sessions, the state and the memory of a project.
func (x *exporter) project(ctx context.Context, p inventory.Project) {
	x.Projects++
	if p.Sessions != "" {
		x.walk(ctx, Folder{Name: "sessions/" + filepath.Base(p.Sessions), Holds: Sessions, Project: p.Path}, p.Sessions, ".")
	}
	if p.State != "" {
		sources, err := workspace.Load(filepath.Join(p.State, "sources.json"))
		if err != nil { // the memory goes along
			x.leave("registered paths of "+cmp.Or(p.Path, p.Name), err.Error())
		}
		to := Folder{Name: "state/" + p.Name, Holds: State, Project: p.Path, Sources: &sources}
		x.manifest.Folders = append(x.manifest.Folders, to)
		for _, name := range stateFiles {
			x.add(to, p.State, name)
		}
		x.walk(ctx, to, p.State, config.KeptFolder)
	}
	there, err := x.w.In(p.Path)
	if p.Path == "" || err != nil || there.Project != p.Path {
		x.leave("memory in the folder of "+filepath.Base(p.State+p.Sessions), "the folder is gone, not known or part of another workspace")
		return
	}
	memory, err := there.Curated().Layer().Load(ctx)
	if err != nil {
		x.leave("curated memory of "+p.Path, err.Error())
	}
	files := []string{filepath.Join(p.Path, casesFile)}
	if !there.AtHome() { // there they are the user's
		files = append(files, filepath.Join(p.Path, ".beans", settingsFile))
	}
	for _, f := range memory.Files {
		if f.Plugin == "" {
			files = append(append(files, f.File), f.Imported...)
		}
	}
	to := Folder{Name: "projects/" + workspace.IndexName(p.Path), Holds: Project, Project: p.Path}
	for _, file := range files {
		if rel, inside := paths.Within(p.Path, file); inside {
			x.add(to, p.Path, filepath.ToSlash(rel))
		}
	}
	for _, dir := range []string{there.DataDir(), filepath.Join(p.Path, there.Settings.Folder)} {
		if rel, inside := paths.Within(p.Path, dir); inside && rel != "." {
			x.walk(ctx, to, p.Path, rel)
		} else {
			x.leave(dir, "it is outside of the project: copy it")
		}
	}
}

func (x *exporter) leave(what, why string) { x.LeftOut = append(x.LeftOut, LeftOut{what, why}) }

// walk adds the files below dir, which is relative to top, in order.
func (x *exporter) walk(ctx context.Context, to Folder, top, dir string) {
	top = paths.Resolve(top)
	_ = filepath.WalkDir(filepath.Join(top, dir), func(disk string, entry fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(top, disk)
		_, within, _ := strings.Cut(filepath.ToSlash(rel), "/")
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			x.leave(disk, err.Error())
		case rel != dir && strings.HasPrefix(entry.Name(), ".") && entry.IsDir():
			return fs.SkipDir
		case to.Holds == Sessions && within == app.UndoOfSession && entry.IsDir():
			return fs.SkipDir // it is of this machine
		case !entry.IsDir() && !strings.HasSuffix(rel, ".lock"):
			x.add(to, top, filepath.ToSlash(rel))
		}
		return errors.Join(x.err, ctx.Err())
	})
}

// add adds the file at path below top once, without secrets, if it may be in an export and can be
// read.
func (x *exporter) add(to Folder, top, path string) {
	disk := filepath.Join(top, filepath.FromSlash(path))
	info, err := os.Lstat(disk)
	if x.seen[disk] || errors.Is(err, fs.ErrNotExist) || to.Holds == Global && (isFile(path, settingsFile) || isFile(path, trustFile)) {
		return // the last two are not memory
	}
	x.seen[disk] = true
	if reason := refusal(to.Holds, path, x.w.Settings.Folder); reason != "" {
		x.leave(disk, reason)
		return
	}
	data, err := x.read(to, paths.Resolve(top), path)
	if err != nil {
		x.leave(disk, err.Error())
		return
	}
	if n := len(x.manifest.Folders); n == 0 || x.manifest.Folders[n-1].Name != to.Name {
		x.manifest.Folders = append(x.manifest.Folders, to)
	}
	f := File{to.Name, path, int64(len(data)), sumOf(data), info.ModTime().UTC()}
	x.manifest.Files = append(x.manifest.Files, f)
	x.Files++
	x.Bytes += f.Size
	if id, _, inSession := strings.Cut(path, "/"); to.Holds == Sessions && inSession && !x.sessions[to.Name+"/"+id] {
		x.sessions[to.Name+"/"+id] = true
		x.Sessions++
	}
	x.write(f.name(), data)
}

// read returns a file without secrets.
func (x *exporter) read(to Folder, top, path string) ([]byte, error) {
	disk := filepath.Join(top, filepath.FromSlash(path))
	if to.Holds == State && isKept(path) {
		redact := func(text string) string { return text }
		if x.w.Settings.Redact {
			redact = func(text string) string { text, _ = secret.Redact(text); return text }
		}
		return keptlog.In(filepath.Dir(disk)).Copy(filepath.Base(disk), redact)
	}
	data, _, err := safefile.ReadFile(top, filepath.FromSlash(path), maxFile)
	if err != nil || to.Holds == Forgotten { // hashes are no secrets, whatever they look like
		return data, err
	}
	return x.withoutSecrets(disk, data)
}

// write writes a file of the export, without times and users: the manifest has the times.
func (x *exporter) write(name string, data []byte) {
	if x.err == nil {
		x.err = x.out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o600, ModTime: time.Unix(0, 0), Format: tar.FormatPAX})
	}
	if x.err == nil {
		_, x.err = x.out.Write(data)
	}
}

// withoutSecrets takes secrets out of a file. Settings with one would no longer be settings.
func (x *exporter) withoutSecrets(disk string, data []byte) ([]byte, error) {
	if !x.w.Settings.Redact {
		return data, nil
	}
	take := secret.Redact
	if ext := filepath.Ext(disk); ext == ".json" || ext == ".jsonl" {
		take = redactJSON
	}
	text, found := take(string(data))
	if len(found) == 0 {
		return data, nil
	}
	if filepath.Ext(disk) == ".yaml" {
		return nil, errors.New("it holds a secret: copy it yourself")
	}
	name := paths.NewNames("", "").Of(disk)
	for _, f := range found {
		x.Redacted = append(x.Redacted, paths.Citation(name, f.Line, f.Line))
	}
	return []byte(text), nil
}

var jsonString = lazy.Regexp(`"(?:[^"\\]|\\.)*"`)

// redactJSON looks at each string of JSON alone, so that JSON stays JSON: beside a name such as
// "key", a hash of memcore's own would count as a secret.
func redactJSON(text string) (clean string, found []secret.Finding) {
	var b strings.Builder
	at, line := 0, 1
	for _, place := range jsonString().FindAllStringIndex(text, -1) {
		literal := text[place[0]:place[1]]
		line += strings.Count(text[at:place[0]], "\n")
		b.WriteString(text[at:place[0]])
		at = place[1]
		var value string
		if json.Unmarshal([]byte(literal), &value) == nil {
			if value, in := secret.Redact(value); len(in) > 0 {
				quoted, _ := json.Marshal(value)
				literal = string(quoted)
				for _, f := range in {
					found = append(found, secret.Finding{Rule: f.Rule, Line: line})
				}
			}
		}
		b.WriteString(literal)
	}
	return b.String() + text[at:], found
}

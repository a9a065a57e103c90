package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/private"
	"github.com/memcore/memcore/internal/workspace"
	"github.com/memcore/memcore/store"
)

// configuration finds the workspace and reads the configuration; false if either fails.
func (d *doctor) configuration() bool {
	a := d.app
	if err := a.locate(); err != nil {
		d.problem("workspace", "name a folder that exists", "%v", err)
		return false
	}
	d.ok("workspace", "%s", a.project)
	if a.flags.workspace == "" {
		_, passed, _ := workspace.Look(a.from(), a.home)
		for _, strange := range passed {
			d.warn("workspace", "if its folder is where you work, name it with --workspace", "passed over %s", strange)
		}
	}
	err := a.configure()
	for _, text := range a.config.ignored {
		d.warn("configuration", "take it out, or set it where it counts", "%s", text)
	}
	for _, file := range a.config.files {
		if info, err := os.Stat(file); err == nil && others(info, 0o022) {
			d.warn("configuration", "chmod go-w "+file, "%s can be changed by other users", file)
		}
	}
	for _, name := range unknownVariables() {
		d.warn("configuration", "see docs/config.md for the names", "%s in the environment is no setting", name)
	}
	if err != nil {
		d.problem("configuration", "mend the value; docs/config.md has what is possible", "%v", err)
		return false
	}
	d.ok("configuration", "%s", or(strings.Join(append(a.config.files, a.config.variables()...), ", "), "no file and no variable; defaults hold"))
	return true
}

// others tells whether other users than the owner have one of these permissions.
func others(info fs.FileInfo, permissions fs.FileMode) bool {
	return runtime.GOOS != "windows" && info.Mode().Perm()&permissions != 0
}

// variables are the names of environment variables that count.
func (c configuration) variables() []string {
	var names []string
	for _, s := range knownSettings {
		if c.origin[s.key] == s.environment() {
			names = append(names, s.environment())
		}
	}
	return names
}

// unknownVariables are those that look like settings and are none, probably by a slip.
func unknownVariables() []string {
	var names []string
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		known := func(s setting) bool { return s.environment() == name }
		if strings.HasPrefix(name, "MEMCORE_") && !slices.ContainsFunc(knownSettings, known) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// curated looks at trust, and at the memory files for the system prompt.
func (d *doctor) curated(ctx context.Context) {
	a := d.app
	if _, err := a.trust().All(); err != nil {
		d.problem("trust", "mend or delete the file", "%v", err)
	}
	m, err := a.layer().Load(ctx)
	if err != nil {
		return // cancelled
	}
	if _, decided, _ := a.trust().Of(m.Project); countUntrusted(m) > 0 && !decided {
		n := countUntrusted(m)
		d.warn("trust", "memcore trust status, and if you like what it shows: memcore trust add", "%s of the workspace not used: it is not trusted", count(n, "memory file"))
	}
	for _, w := range m.Warnings {
		d.warn("curated memory", "memcore memory list", "%s", w)
	}
	if !a.settings.Enabled {
		d.warn("curated memory", "set memory.enabled to true", "%s", turnedOff)
		return
	}
	d.ok("curated memory", "%s", a.footer(m))
}

// enginesOfBuild lets each engine keep two vectors and find the right one.
func (d *doctor) enginesOfBuild(ctx context.Context) {
	for _, engine := range builtEngines {
		if err := tryEngine(ctx, engine); err != nil {
			d.problem("engines", "use another with memory.engine, and build memcore anew", "%s does not work: %v", engine.name, err)
			continue
		}
		d.ok("engines", "%s works", engine.name)
	}
}

func tryEngine(ctx context.Context, engine vectorEngine) (err error) {
	dir, err := os.MkdirTemp("", "memcore-doctor-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	index, err := engine.open(ctx, dir, 2)
	if err != nil {
		return err
	}
	defer func() {
		if closing := index.Close(); err == nil {
			err = closing
		}
	}()
	return tryIndex(ctx, index)
}

func tryIndex(ctx context.Context, index store.VectorIndex) error {
	record := func(id string, vector ...float32) store.Record {
		return store.Record{ID: id, Scope: source.ScopeProject, Kind: source.KindMarkdown, Path: "a.md", StartLine: 1, EndLine: 1, Text: "text", Vector: vector}
	}
	if err := index.Put(ctx, []store.Record{record("a", 1, 0), record("b", 0, 1)}); err != nil {
		return err
	}
	if err := index.Commit(ctx); err != nil {
		return err
	}
	hits, err := index.Nearest(ctx, []float32{0, 1}, 1, store.Filter{})
	if err != nil {
		return err
	}
	if len(hits) != 1 || hits[0].Record.ID != "b" {
		return fmt.Errorf("of two vectors the wrong one was nearest: %v", hits)
	}
	return nil
}

// sources lists every source and opens every file. It returns what core would say of those that fail.
func (d *doctor) sources(ctx context.Context, at place) (failed []string) {
	registered, err := workspace.Load(at.sources)
	if err != nil {
		d.problem("sources", "delete the file, and name the memory of this workspace again: memcore index PATH", "%v", err)
		return nil
	}
	total := 0
	all := append(d.app.projectSources(registered), d.app.globalSources()...)
	for _, from := range all {
		listing, err := from.List(ctx)
		if err != nil {
			d.problem("sources", "bring it back, or: memcore index --forget PATH", "%s: %v", from.Name(), err)
			failed = append(failed, fmt.Sprintf("%s: %v", from.Name(), err))
			continue
		}
		total += len(listing.Documents)
		if len(listing.Documents) > 0 {
			d.files(from.Name(), listing)
		}
	}
	if total == 0 && len(failed) == 0 {
		d.warn("sources", "name a folder that has some: memcore index PATH", "no Markdown file and no conversation log in %s", count(len(all), "place"))
	}
	return failed
}

func (d *doctor) files(name string, listing source.Listing) {
	var unreadable []error
	for _, doc := range listing.Documents {
		if err := tryReading(doc.File); err != nil {
			unreadable = append(unreadable, err)
		}
	}
	if n := len(unreadable); n > 0 {
		d.warn("sources", "make them readable, or leave them out with memory.exclude", "%s: %s cannot be read, such as: %v", name, count(n, "file"), unreadable[0])
		return
	}
	text := fmt.Sprintf("%s: %s", name, count(len(listing.Documents), "document"))
	if n := len(listing.Skipped); n > 0 {
		text += fmt.Sprintf("; %d passed over ('memcore index' says why)", n)
	}
	d.ok("sources", "%s", text)
}

// tryReading opens a file; "" is none.
func tryReading(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return f.Close()
}

// folder looks at the place of the index, as far as it exists: nothing is made.
func (d *doctor) folder(at place) {
	const name = "index folder"
	const do = "mend its permissions, or name another folder with --index-dir or memory.indexDir"
	there, info, err := nearest(at.index)
	switch {
	case err != nil:
		d.problem(name, do, "%v", err)
		return
	case !info.IsDir():
		d.problem(name, "move that file away, or name another folder with --index-dir", "%s is a file", there)
		return
	}
	if err := tryWriting(there); err != nil {
		d.problem(name, do, "%v", err)
		return
	}
	if there == at.index && others(info, 0o077) {
		d.warn(name, "chmod 700 "+at.index, "%s holds the text of your memory and is open to other users", at.index)
	}
	d.ok(name, "%s can be written", there)
}

// private looks who else can get at what memcore keeps. The first are closed by the next command that is no check; the others are the user's own.
func (d *doctor) private() {
	const name = "private folders"
	all := append(d.app.ownFolders(), filepath.Dir(d.app.sessions()))
	if beans := d.app.beans(); beans != "" {
		all = append(all, beans)
	}
	n := len(d.checks)
	for _, dir := range all {
		note, err := private.Look(dir)
		if err != nil {
			d.problem(name, foreignHint, "%v", err)
		} else if note != "" {
			d.warn(name, "chmod 700 "+dir, "%s", note)
		}
	}
	if len(d.checks) == n {
		d.ok(name, "nobody else can enter %s", strings.Join(all, ", "))
	}
}

// nearest is the path itself or the folder above it that exists.
func nearest(path string) (string, fs.FileInfo, error) {
	for {
		info, err := os.Stat(path)
		if err == nil || path == filepath.Dir(path) {
			return path, info, err
		}
		if _, linkErr := os.Lstat(path); linkErr == nil {
			return path, nil, err // there is something, and it cannot be entered
		}
		path = filepath.Dir(path)
	}
}

func tryWriting(dir string) error {
	f, err := os.CreateTemp(dir, ".memcore-doctor-*")
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		return fmt.Errorf("%s cannot be written: %w", dir, failed.Err) // the file's name says nothing to a person
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/memcore/memcore/internal/git/gitignore"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/safefile/secretfile"
	"github.com/memcore/memcore/internal/text/charset"
)

// Larger files are skipped. Logs of lines are of any size.
const (
	maxMarkdown = 32 << 20
	maxJSONLog  = 64 << 20 // a log in one JSON document, which must be read as a whole
)

// FolderOptions say what a Folder reads. Only Path is required.
type FolderOptions struct {
	// Path is a folder or file; it may be a link, hidden or ignored. Files are Markdown unless
	// .jsonl or .json.
	Path string
	// Scope is that of all documents; default ScopeProject.
	Scope string
	// Workspace and Home are what Document.Path is relative to; may be "".
	Workspace, Home string
	// Name is what Document.Path begins with instead, such as "@platform" or "session:"; may be "".
	Name string
	// Hidden folders are read even if git ignores them; default ".beans".
	Hidden string
	// Private also reads .local.md files, which git ignores.
	Private bool
	// Exclude are patterns as in .gitignore, relative to Path.
	Exclude []string
	// Optional means that a missing Path is no error.
	Optional bool
	// Sessions means that each folder in Path belongs to the session of that name, also the notes
	// in it. Files beside these folders are not read.
	Sessions bool
	// OfAgent, if set, reports whether a session of Sessions is one of an agent at work, which
	// keeps no log of its own. Nil is none.
	OfAgent func(session string) bool
	// SessionsOf, if set, keeps only logs of sessions of a project. Their records say where they
	// ran.
	SessionsOf Project
	// Rotated is that of all logs.
	Rotated bool

	// groups, if set, says of each folder in Path whether logs of SessionsOf may be in it. Only
	// then Markdown files of SessionsOf can be told from those of other projects.
	groups groups
	// shared means that the folder also holds logs that are not agents'.
	shared bool
	facts  factsFile
}

// A Folder is a source of Markdown files and conversation logs: a folder, or one file.
//
// It skips hidden files and folders other than Hidden and rules (IsRules), dependencies and build
// output, what .gitignore files exclude, links, pipes, sockets, devices, and what looks like a
// secret.
type Folder struct {
	options FolderOptions
	names   paths.Names
	exclude gitignore.Patterns
	readDir func(string) ([]fs.DirEntry, error)

	maxMarkdown, maxJSONLog int64 // bytes

	ignores gitignore.Cache

	mu    sync.Mutex
	known map[string]fileFacts // by path on disk; nil before the first List
}

// NewFolder reads nothing before List.
func NewFolder(options FolderOptions) *Folder {
	options.Scope = cmp.Or(options.Scope, ScopeProject)
	options.Hidden = cmp.Or(options.Hidden, ".beans")
	options.Path = paths.Absolute(options.Path)
	names := paths.NewNames(options.Workspace, options.Home)
	if options.Name != "" {
		names = names.With(options.Name, options.Path)
	}
	return &Folder{
		options: options,
		names:   names,
		exclude: gitignore.Compile(options.Exclude),
		readDir: os.ReadDir,

		maxMarkdown: maxMarkdown,
		maxJSONLog:  maxJSONLog,
	}
}

// Name returns the folder as citations name it.
func (f *Folder) Name() string { return f.names.Of(f.options.Path) }

// A missingError is the path of a folder that is not there.
type missingError string

func (path missingError) Error() string {
	return fmt.Sprintf("%s does not exist: create it, or leave it out: memcore index --forget '%[1]s'", string(path))
}

func (missingError) Unwrap() error { return fs.ErrNotExist }

// A root is the current place of a Folder on disk.
type root struct {
	path string // as given, absolute
	real string // links resolved
	info fs.FileInfo
}

func (f *Folder) locate() (root, error) {
	path := f.options.Path
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return root{}, missingError(path)
	}
	if err != nil {
		return root{}, fmt.Errorf("%s cannot be reached: %w", path, err)
	}
	for _, p := range []string{path, real} {
		if reason := secretfile.Reason(p); reason != "" {
			return root{}, fmt.Errorf("%s is never read: %s", path, reason)
		}
	}
	info, err := os.Stat(real)
	if err != nil {
		return root{}, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return root{}, fmt.Errorf("%s is %s: name a file or a folder", path, safefile.KindOf(info.Mode()))
	}
	return root{path: path, real: real, info: info}, nil
}

// List opens only new and changed logs.
func (f *Folder) List(ctx context.Context) (Listing, error) {
	at, err := f.locate()
	if err != nil {
		if f.options.Optional && errors.Is(err, fs.ErrNotExist) {
			return Listing{Folders: []string{f.options.Path}}, ctx.Err() // it may come
		}
		return Listing{}, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	began := time.Now()
	if f.known == nil {
		f.known = f.options.facts.load()
	}
	w := walker{ctx: ctx, folder: f, root: at, facts: make(map[string]fileFacts, len(f.known))}
	if project := f.options.SessionsOf; project != nil {
		w.holds, w.strange = project.Holder(), map[string]string{}
		if f.options.groups != nil {
			w.belongs = f.options.groups(project)
		}
	}
	if at.info.IsDir() {
		err = w.rootFolder()
	} else {
		w.rootFile()
	}
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return Listing{}, err
	}
	w.leaveStrange()
	if f.known = w.facts; w.examined >= enoughExamined {
		f.options.facts.save(w.facts, began)
	}
	slices.SortFunc(w.found.Documents, func(a, b Document) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(w.found.Skipped, func(a, b Skip) int { return cmp.Compare(a.Path, b.Path) })
	return w.found, nil
}

// Read returns a log up to its last whole line.
func (f *Folder) Read(ctx context.Context, doc Document, from Position) (Content, error) {
	content, err := f.read(ctx, doc, from)
	if err != nil {
		return Content{}, fmt.Errorf("read %s: %w", doc.Path, err)
	}
	return content, nil
}

func (f *Folder) read(ctx context.Context, doc Document, from Position) (Content, error) {
	file, info, err := f.open(doc)
	if err != nil {
		return Content{}, err
	}
	defer file.Close()
	if doc.Kind == KindConversation {
		content, err := readConversation(ctx, file, info.Size(), doc, from, maxHeld)
		if f.options.OfAgent != nil && f.options.OfAgent(doc.Session) {
			content.Agent, content.Noted = true, true
		}
		return content, err
	}
	content, err := readMarkdown(ctx, file, info.Size(), f.maxMarkdown)
	if errors.Is(err, charset.ErrBinary) { // the next List skips it
		f.remember(doc.File, fileFacts{fileState: stateOf(info), reason: err.Error()})
	}
	return content, err
}

func readMarkdown(ctx context.Context, file io.Reader, size, limit int64) (Content, error) {
	text, err := readText(ctx, file, size, limit)
	if err != nil {
		return Content{}, err
	}
	content := Content{Markdown: text.all, Encoding: text.encoding, From: 1}
	if text.nul > 0 {
		content.Skipped, content.SkippedAt = map[string]int{hasNUL: 1}, map[string]int{hasNUL: text.nul}
	}
	return content, nil
}

func (f *Folder) remember(path string, facts fileFacts) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = f.options.facts.load()
	}
	f.known[path] = facts
}

// open opens a document at the current place of the folder.
func (f *Folder) open(doc Document) (*os.File, fs.FileInfo, error) {
	at, err := f.locate()
	if err != nil {
		return nil, nil, err
	}
	dir, name := at.real, "."
	if !at.info.IsDir() {
		dir, name = filepath.Split(at.real)
	} else if name, err = filepath.Rel(at.path, doc.File); err != nil || !filepath.IsLocal(name) {
		return nil, nil, fmt.Errorf("%s is not inside %s", doc.File, at.path)
	}
	path := filepath.Join(dir, name)
	if reason := secretfile.Reason(path); reason != "" {
		return nil, nil, fmt.Errorf("never opened: %s", reason)
	}
	return safefile.Open(dir, name)
}

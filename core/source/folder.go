package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/memcore/memcore/internal/beneath"
	"github.com/memcore/memcore/internal/deny"
	"github.com/memcore/memcore/internal/filetime"
	"github.com/memcore/memcore/internal/gitignore"
	"github.com/memcore/memcore/internal/paths"
)

// Sizes above which a file is passed over, and named in Listing.Skipped.
const (
	// defaultMaxMarkdown is far above any text a person wrote: what is larger is a dump or generated.
	defaultMaxMarkdown = 32 << 20
	// defaultMaxLog bounds the memory that one conversation may take while it is indexed.
	defaultMaxLog = 256 << 20
	// maxJSONLog is for conversations in one JSON document, which has to be read as a whole.
	maxJSONLog = 64 << 20
)

// FolderOptions say what a Folder reads. Path is needed.
type FolderOptions struct {
	// Path is a folder, or one file. It may be a symbolic link, be hidden, or lie in an ignored place:
	// who names it wants it. A file named here is read as Markdown whatever its extension, unless it
	// is .jsonl or .json.
	Path string
	// Scope is that of all documents; empty means ScopeProject.
	Scope string
	// Workspace and Home are the folders that Document.Path is relative to; empty means none.
	Workspace, Home string
	// Hidden is the name of the hidden folders that are read, and read even where git ignores them; empty means ".beans".
	Hidden string
	// Private also reads ".local.md" files, which else are passed over unless one is Path.
	Private bool
	// Include and Exclude are patterns as in a .gitignore file, relative to Path. With Include, only
	// files that match are read, and hidden folders that a pattern names are entered.
	Include, Exclude []string
	// NoGitignore reads what .gitignore files leave out, too.
	NoGitignore bool
	// Optional means that a Path which does not exist is an empty folder, not an error.
	Optional bool
	// SessionsIn keeps only the logs of sessions that ran in this folder or below; those that do
	// not tell where they ran are left out. Empty keeps all.
	SessionsIn string
	// MaxMarkdown and MaxLog are the largest sizes that are read, in bytes; 0 means 32 MB and 256 MB.
	// Logs that are one JSON document are read up to 64 MB.
	MaxMarkdown, MaxLog int64
}

// A Folder is the Markdown files and conversation logs in a folder and below, or one such file.
//
// It passes over hidden files and folders other than Hidden ones, folders of dependencies and build output
// (ignoredFolders), and what .gitignore files leave out. Symbolic links are not followed: what they
// point to is found where it lies, if that is inside the folder. What looks like a secret is never
// opened, nor are pipes, sockets and devices.
type Folder struct {
	options FolderOptions
	names   paths.Names
	ranIn   []string // spellings of options.SessionsIn
	include gitignore.Patterns
	exclude gitignore.Patterns
	shown   map[string]bool // hidden folders that an Include pattern names
	readDir func(string) ([]fs.DirEntry, error)

	ignores gitignore.Cache

	mu    sync.Mutex
	known map[string]fileFacts // by path on disk
}

// NewFolder returns the source that options describe. Nothing is read before List.
func NewFolder(options FolderOptions) *Folder {
	options.Scope = cmp.Or(options.Scope, ScopeProject)
	options.Hidden = cmp.Or(options.Hidden, ".beans")
	options.MaxMarkdown = cmp.Or(options.MaxMarkdown, defaultMaxMarkdown)
	options.MaxLog = cmp.Or(options.MaxLog, defaultMaxLog)
	options.Path = paths.Absolute(options.Path)
	return &Folder{
		options: options,
		names:   paths.NewNames(options.Workspace, options.Home),
		ranIn:   paths.Spellings(options.SessionsIn),
		include: gitignore.Compile(options.Include),
		exclude: gitignore.Compile(options.Exclude),
		shown:   hiddenNames(options.Include),
		readDir: os.ReadDir,
		known:   map[string]fileFacts{},
	}
}

// Name returns the folder as citations would name it.
func (f *Folder) Name() string { return f.names.Of(f.options.Path) }

// A root is where a Folder lies on disk now.
type root struct {
	path string // as given, absolute
	real string // links resolved
	info fs.FileInfo
}

func (f *Folder) locate() (root, error) {
	path := f.options.Path
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return root{}, fmt.Errorf("%s does not exist: create it, or index another path: %w", path, fs.ErrNotExist)
	}
	if err != nil {
		return root{}, fmt.Errorf("%s cannot be reached: %w", path, err)
	}
	for _, p := range []string{path, real} {
		if reason := deny.Reason(p); reason != "" {
			return root{}, fmt.Errorf("%s is never read: %s", path, reason)
		}
	}
	info, err := os.Stat(real)
	if err != nil {
		return root{}, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return root{}, fmt.Errorf("%s is %s: name a file or a folder", path, beneath.KindOf(info.Mode()))
	}
	return root{path: path, real: real, info: info}, nil
}

// List returns the documents in the folder. It costs a stat a file; a log is opened only when its
// size or time differs from the last List of this Folder.
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
	w := walker{ctx: ctx, folder: f, root: at, facts: make(map[string]fileFacts, len(f.known))}
	if at.info.IsDir() {
		err = w.top()
	} else {
		w.only()
	}
	if err := cmp.Or(ctx.Err(), err); err != nil {
		return Listing{}, err
	}
	f.known = w.facts
	slices.SortFunc(w.found.Documents, func(a, b Document) int { return cmp.Compare(a.Path, b.Path) })
	slices.SortFunc(w.found.Skipped, func(a, b Skip) int { return cmp.Compare(a.Path, b.Path) })
	return w.found, nil
}

// Read returns the content of a document of this folder's last List. A log is read up to its last
// whole line.
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
		return readConversation(ctx, file, info.Size(), doc, from)
	}
	text, err := readMarkdown(ctx, file, info.Size(), f.options.MaxMarkdown)
	if errors.Is(err, errBinary) { // the next List need not offer it
		f.remember(doc.File, fileFacts{size: info.Size(), modTime: info.ModTime(), changed: filetime.Changed(info), reason: err.Error()})
	}
	if err != nil {
		return Content{}, err
	}
	return Content{Markdown: text, From: 1}, nil
}

func (f *Folder) remember(path string, facts fileFacts) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known[path] = facts
}

// open opens a document for reading, wherever the folder lies by now. The folder may have changed
// since List: what has become a link is refused.
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
	if reason := deny.Reason(path); reason != "" {
		return nil, nil, fmt.Errorf("never opened: %s", reason)
	}
	return beneath.Open(dir, name)
}

// hiddenNames returns the hidden folders that patterns name.
func hiddenNames(lines []string) map[string]bool {
	names := map[string]bool{}
	for _, line := range lines {
		for name := range strings.SplitSeq(line, "/") {
			if strings.HasPrefix(name, ".") {
				names[name] = true
			}
		}
	}
	return names
}

package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memcore/memcore/internal/filetime"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile/secretfile"
	"github.com/memcore/memcore/internal/sqlite"
)

// A databaseFormat is how an agent keeps its sessions in an SQLite database. To add one, write a
// file format_NAME.go, enter it below and in docs/sources.md, and put a database into testdata.
type databaseFormat struct {
	name string // Document.Format of its sessions
	// files returns the databases of a user that exist.
	files func(home string) []string
	// sessions returns what the database at a path holds, at least of folders that are ours.
	sessions func(db *sqlite.DB, path string, ours func(cwd string) bool) ([]dbSession, error)
	// read adds the messages of a session.
	read func(db *sqlite.DB, c *conversation, id string) error
}

var databaseFormats = []databaseFormat{
	{"cursor", cursorFiles, cursorSessions, readCursor},
	{"opencode", opencodeFiles, opencodeSessions, readOpencode},
}

// A dbSession is one that the user began.
type dbSession struct {
	id, cwd string
	updated time.Time
}

// A database is a Source of the sessions of a project in one SQLite database. Lines of their turns
// number the messages.
type database struct {
	format  databaseFormat
	path    string
	project Project
	names   paths.Names

	mu     sync.Mutex
	known  [2]fs.FileInfo // the database and its log when they were listed
	listed []Document
}

// databases returns those of known agents that exist.
func databases(project Project, o KnownOptions) []Source {
	var all []Source
	for _, f := range databaseFormats {
		for _, path := range f.files(paths.Absolute(o.Home)) {
			all = append(all, &database{format: f, path: path, project: project, names: paths.NewNames(o.Workspace, o.Home)})
		}
	}
	return all
}

func (d *database) Name() string { return d.names.Of(d.path) }

// assumedSession is the Document.Size of a session, in bytes. The database does not tell it unless
// all of the session is read.
const assumedSession = 64 << 10

// List reads a database again only if it has changed.
func (d *database) List(ctx context.Context) (Listing, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	listing := Listing{Folders: []string{filepath.Dir(d.path)}}
	now := d.stat()
	if now[0] == nil {
		return listing, ctx.Err()
	}
	if !same(now[0], d.known[0]) || !same(now[1], d.known[1]) {
		err := d.open(ctx, func(db *sqlite.DB) error {
			holds := d.project.Holder()
			ours := func(cwd string, last time.Time) bool { return filepath.IsAbs(cwd) && holds(filepath.Clean(cwd), last) }
			sessions, err := d.format.sessions(db, d.path, func(cwd string) bool { return ours(cwd, time.Time{}) })
			d.listed = d.documents(sessions, ours)
			return err
		})
		if err != nil {
			d.known = [2]fs.FileInfo{}
			return Listing{}, err
		}
		d.known = now
	}
	listing.Documents = slices.Clone(d.listed)
	return listing, ctx.Err()
}

func (d *database) stat() (now [2]fs.FileInfo) {
	now[0], _ = os.Stat(d.path)
	now[1], _ = os.Stat(d.path + "-wal")
	return now
}

func same(a, b fs.FileInfo) bool {
	return a == nil && b == nil || a != nil && b != nil && filetime.Same(a, b) && filetime.Changed(a).Equal(filetime.Changed(b))
}

// documents returns the sessions of the project, sorted by path.
func (d *database) documents(sessions []dbSession, ours func(cwd string, last time.Time) bool) []Document {
	all := []Document{}
	for _, s := range sessions {
		if !ours(s.cwd, s.updated) || s.id == "" || strings.ContainsAny(s.id, `/\#`) {
			continue
		}
		all = append(all, Document{Path: d.Name() + "/" + paths.Spell(s.id), File: d.path, Scope: ScopeProject, Kind: KindConversation, Format: d.format.name,
			Size: assumedSession, ModTime: s.updated, Rotated: true})
	}
	slices.SortFunc(all, func(a, b Document) int { return strings.Compare(a.Path, b.Path) })
	return slices.CompactFunc(all, func(a, b Document) bool { return a.Path == b.Path })
}

// Read reads a session from its beginning.
func (d *database) Read(ctx context.Context, doc Document, _ Position) (Content, error) {
	id := paths.Unspell(doc.Path[strings.LastIndex(doc.Path, "/")+1:])
	var c *conversation
	err := d.open(ctx, func(db *sqlite.DB) error {
		c = &conversation{progress: progress{session: id}}
		return d.format.read(db, c, id)
	})
	if err != nil {
		return Content{}, fmt.Errorf("read %s: %w", doc.Path, err)
	}
	return Content{Turns: c.finished(), Agent: true, From: 1, Unknown: c.unknown, Skipped: c.skipped, SkippedAt: c.skippedAt}, nil
}

// open reads a database until nobody has changed it meanwhile, three times at most.
func (d *database) open(ctx context.Context, read func(*sqlite.DB) error) error {
	if reason := secretfile.Reason(d.path); reason != "" {
		return fmt.Errorf("%s is never opened: %s", d.path, reason)
	}
	var problem error
	for range 3 {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		db, err := sqlite.Open(d.path)
		if err == nil {
			err = read(db)
			unchanged := db.Unchanged()
			db.Close()
			if unchanged {
				return err
			}
			problem = sqlite.ErrBusy
			continue
		}
		if problem = err; !errors.Is(err, sqlite.ErrBusy) && !errors.Is(err, sqlite.ErrDamaged) {
			break
		}
	}
	return fmt.Errorf("sessions in %s: %w", d.path, problem)
}

// addRow adds the next message of a database.
func (c *conversation) addRow(number int, m message) {
	c.add(record{line: number, endLine: number}, m)
}

// existing returns the files that patterns match.
func existing(patterns ...string) []string {
	var all []string
	for _, pattern := range patterns {
		found, _ := filepath.Glob(pattern) // the error is a wrong pattern's
		all = append(all, found...)
	}
	return all
}

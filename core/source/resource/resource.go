// Package resource makes documents of the resources of MCP servers.
//
// Only Source.Refresh asks a server. It stores the resources in a folder, without secrets, so they
// stay if the server is unavailable.
package resource

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/filetime"
	"github.com/memcore/memcore/internal/jsonfile"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/text/lazy"
)

// Scheme begins the path of each document: "mcp:SERVER/URI".
const Scheme = "mcp:"

// A Server needs a Name, and either Command or URL.
type Server struct {
	// Name is 1 to 32 letters, digits, dashes and underscores.
	Name string
	// Command runs in Dir. Env is its whole environment.
	Command string
	Args    []string
	Dir     string
	Env     []string
	// Secrets are values of Env that no error shows.
	Secrets []string
	// URL is a running server's. Token is a bearer token.
	URL, Token string
	// Resources are URIs, or patterns: "**" matches any text, "*" any without a slash. URIs need
	// not be listed. None means all.
	Resources []string
	// MaxResources and MaxBytes are 200 and 4 MB by default.
	MaxResources int
	MaxBytes     int64
	// Timeout bounds a refresh; 0 means 20 s.
	Timeout time.Duration
}

func (s Server) keys() []string { return append([]string{s.Token}, s.Secrets...) }

// Defaults of Server.
const (
	DefaultResources = 200
	DefaultBytes     = 4 << 20
	DefaultTimeout   = 20 * time.Second
)

var serverName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$`)

// Check returns an error if the settings are wrong.
func (s Server) Check() error {
	switch {
	case !serverName().MatchString(s.Name):
		return fmt.Errorf("name is %.40q, want 1 to 32 letters, digits, dashes and underscores", s.Name)
	case s.Command == "" && s.URL == "":
		return fmt.Errorf("%s has neither a command nor a url", s.Name)
	case s.Command != "" && s.URL != "":
		return fmt.Errorf("%s has a command and a url, want one of them", s.Name)
	case s.MaxResources < 0 || s.MaxBytes < 0 || s.Timeout < 0:
		return fmt.Errorf("%s has a limit below 0", s.Name)
	case slices.ContainsFunc(s.Resources, func(p string) bool { return p == "" || !utf8.ValidString(p) }):
		return fmt.Errorf("%s has a pattern of resources that is empty or not valid text", s.Name)
	}
	if s.URL != "" {
		at, err := url.Parse(s.URL)
		if err != nil || at.Hostname() == "" || at.Scheme != "http" && at.Scheme != "https" {
			return fmt.Errorf("%s: its url is not of the form https://host/mcp", s.Name) // without its text, which may hold a key
		}
	}
	return nil
}

// key differs for another server of the same name.
func (s Server) key() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", s.Command, s.Args, s.URL))
	return s.Name + "-" + hex.EncodeToString(sum[:4])
}

// A storedResource is in a file named after its hash.
type storedResource struct {
	URI      string    `json:"uri"`
	Hash     string    `json:"hash"`
	Size     int64     `json:"size"`
	Modified time.Time `json:"modified"` // as the server says, else as Changed
	Changed  time.Time `json:"changed"`  // when this text was first read
}

// A state is what is stored about a server.
type state struct {
	Tried     time.Time        `json:"tried"` // last refresh
	Read      time.Time        `json:"read"`  // last successful one
	Documents []storedResource `json:"documents"`
}

// A Source is one server's resources, safe for concurrent use.
type Source struct {
	server      Server
	folder      string
	keepSecrets bool

	mu    sync.Mutex
	seen  os.FileInfo // of the state's file when it was read
	state state
}

// Options are of a Source.
type Options struct {
	// Folder holds a folder for each server, which may be deleted.
	Folder string
	// KeepSecrets does not redact stored text.
	KeepSecrets bool
}

// New takes a server that Check accepts. It reads nothing.
func New(s Server, o Options) *Source {
	s.MaxResources, s.MaxBytes, s.Timeout = cmp.Or(s.MaxResources, DefaultResources), cmp.Or(s.MaxBytes, DefaultBytes), cmp.Or(s.Timeout, DefaultTimeout)
	return &Source{server: s, folder: filepath.Join(o.Folder, s.key()), keepSecrets: o.KeepSecrets}
}

// Name implements source.Source.
func (s *Source) Name() string { return Scheme + s.server.Name }

// pathOf returns the path of a resource's document.
func (s *Source) pathOf(uri string) string { return s.Name() + "/" + paths.Spell(uri) }

func (s *Source) stateFile() string { return filepath.Join(s.folder, "state.json") }

// List implements source.Source. It returns what the last Refresh stored.
func (s *Source) List(ctx context.Context) (source.Listing, error) {
	now, err := s.load()
	if err != nil {
		return source.Listing{}, fmt.Errorf("stored resources of MCP server %s: %w", s.server.Name, err)
	}
	listing := source.Listing{Folders: []string{s.folder}}
	for _, k := range now.Documents {
		listing.Documents = append(listing.Documents, source.Document{
			Path: s.pathOf(k.URI), Scope: source.ScopeGlobal, Kind: source.KindDocument, Format: "mcp", Size: k.Size, ModTime: k.Modified, Changed: k.Changed})
	}
	slices.SortFunc(listing.Documents, func(a, b source.Document) int { return cmp.Compare(a.Path, b.Path) })
	return listing, ctx.Err()
}

// load reads the state's file only if changed.
func (s *Source) load() (state, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Stat(s.stateFile())
	if errors.Is(err, os.ErrNotExist) {
		s.seen, s.state = nil, state{}
		return state{}, nil
	}
	if err != nil {
		return state{}, err
	}
	if !filetime.Same(s.seen, info) {
		read, err := jsonfile.LoadDerived[state](s.stateFile())
		if err != nil {
			return state{}, err
		}
		s.seen, s.state = info, read
	}
	return s.state, nil
}

// Read implements source.Source.
func (s *Source) Read(ctx context.Context, doc source.Document, _ source.Position) (source.Content, error) {
	now, err := s.load()
	if err != nil {
		return source.Content{}, fmt.Errorf("read %s: %w", doc.Path, err)
	}
	uri := paths.Unspell(strings.TrimPrefix(doc.Path, s.pathOf("")))
	i := slices.IndexFunc(now.Documents, func(k storedResource) bool { return k.URI == uri })
	if i < 0 {
		return source.Content{}, fmt.Errorf("read %s: %w", doc.Path, os.ErrNotExist)
	}
	text, err := s.readStored(now.Documents[i])
	if err != nil {
		return source.Content{}, fmt.Errorf("read %s: %w", doc.Path, err)
	}
	return source.Content{Markdown: text, From: 1}, ctx.Err()
}

// readStored checks the hash.
func (s *Source) readStored(k storedResource) ([]byte, error) {
	text, _, err := safefile.ReadFile(s.folder, k.Hash, k.Size)
	if err == nil && hashOf(text) != k.Hash {
		err = errors.New("the copy is damaged: 'memcore index' makes a new one")
	}
	return text, err
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// RemoveOthers removes from folder the servers that are not among sources.
func RemoveOthers(folder string, sources []*Source) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if !slices.ContainsFunc(sources, func(s *Source) bool { return s.folder == path }) {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	return err
}

package static

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/beneath"
	"github.com/memcore/memcore/internal/deny"
	"github.com/memcore/memcore/internal/sanitize"
	"github.com/memcore/memcore/internal/statement"
)

// maxFile is the largest file that is read, in bytes; imported ones have a limit of their own.
const maxFile = 1 << 20

// A content is a file as it was read. It is not changed afterwards.
type content struct {
	real     string // its path, links resolved
	size     int64
	modTime  time.Time
	readAt   time.Time
	hash     string
	head     Head
	lines    []string        // of the text behind the frontmatter, without "\n"
	skipped  int             // lines before that
	imports  map[int][]named // by index in lines
	problems []Warning       // without Path
}

// unsure is how long a file's time of change may stay the same while it changes: the clock of a file system has steps.
const unsure = 20 * time.Millisecond

// fresh tells whether the content is still that of a file.
func (c *content) fresh(info fs.FileInfo) bool {
	return c.size == info.Size() && c.modTime.Equal(info.ModTime()) && c.readAt.Sub(c.modTime) > unsure
}

// A Cache keeps files and folder listings as they were read, while sizes and times of change are the same. The zero Cache is ready
// and safe for concurrent use.
type Cache struct {
	mu      sync.Mutex
	files   map[string]*content // by real path
	folders map[string]*listing // by path
	count   CacheStats
}

// CacheStats tell how a cache has served.
type CacheStats struct {
	Files   int   `json:"files"`
	Bytes   int64 `json:"bytes"`
	Folders int   `json:"folders"`
	// Hits were answered without opening the file, Same by reading it and finding it unchanged, Misses by reading what was new.
	Hits   int `json:"hits"`
	Same   int `json:"same"`
	Misses int `json:"misses"`
	// Cleared is when everything was forgotten for the last time, zero if never.
	Cleared time.Time `json:"cleared,omitzero"`
}

func (c *Cache) stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.count
	s.Files, s.Folders = len(c.files), len(c.folders)
	for _, f := range c.files {
		s.Bytes += f.size
	}
	return s
}

func (c *Cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files, c.folders = nil, nil
	c.count.Cleared = time.Now()
}

func (c *Cache) file(real string) *content {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.files[real]
}

func (c *Cache) keep(f *content, count *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = map[string]*content{}
	}
	c.files[f.real] = f
	*count++
}

func (c *Cache) hit() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count.Hits++
}

// Errors of reading, as they stand behind a file's name.
var (
	errOutside = errors.New("it is outside of the folders that are trusted")
	errKind    = errors.New("only .md files can be read as memory")
)

// open reads a file that is inside of Beans or of a trusted folder, its links resolved; with own also elsewhere, as the user's
// own links in Beans may lead. limit is in bytes.
func (r *reading) open(file string, own bool, limit int) (*content, error) {
	if len(file) > longestPath || strings.ContainsRune(file, 0) {
		return nil, errors.New("its path is longer than any file's, or has a NUL in it")
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil, reasonOf(err)
	}
	for _, path := range []string{file, real} {
		if reason := deny.Reason(path); reason != "" {
			return nil, fmt.Errorf("it is never read: %s", reason)
		}
	}
	if !isMarkdown(real) {
		return nil, errKind
	}
	root, err := r.rootOf(real)
	if err != nil {
		return nil, err
	}
	if root == "" {
		if !own {
			return nil, errOutside
		}
		root = filepath.Dir(real)
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, reasonOf(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("it is %s, not a file", beneath.KindOf(info.Mode()))
	}
	if info.Size() > int64(limit) {
		return nil, fmt.Errorf("it is larger than %d KB", limit>>10)
	}
	known := r.o.Cache.file(real)
	if known != nil && known.fresh(info) {
		r.o.Cache.hit()
		return known, nil
	}
	return r.fetch(root, real, limit, known)
}

// fetch reads a file through its root.
func (r *reading) fetch(root, real string, limit int, known *content) (*content, error) {
	inside, err := filepath.Rel(root, real)
	if err != nil {
		return nil, errOutside
	}
	now := time.Now()
	file, info, err := beneath.Open(root, inside)
	if err != nil {
		return nil, reasonOf(err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, int64(limit)+1))
	if err != nil {
		return nil, reasonOf(err)
	}
	if len(data) > limit {
		return nil, fmt.Errorf("it is larger than %d KB", limit>>10)
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return nil, errors.New("it is no text")
	}
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:8])
	if known != nil && known.hash == hash {
		again := *known
		again.size, again.modTime, again.readAt = info.Size(), info.ModTime(), now
		r.o.Cache.keep(&again, &r.o.Cache.count.Same)
		return &again, nil
	}
	c := r.parse(real, data)
	c.hash, c.size, c.modTime, c.readAt = hash, info.Size(), info.ModTime(), now
	r.o.Cache.keep(c, &r.o.Cache.count.Misses)
	return c, nil
}

func (r *reading) parse(real string, data []byte) *content {
	c := &content{real: real}
	head, text, skipped, err := Frontmatter(data, r.o.Migrate)
	c.head, c.skipped = head, skipped
	var broken *chunker.FrontmatterError
	switch {
	case errors.As(err, &broken):
		c.problem(broken.Line, "frontmatter is not used: %v", err)
	case err != nil:
		c.problem(1, "frontmatter is used but for this: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if head.Version > Version {
		c.problem(1, "frontmatter has version %d, which is newer than %d; what is known of it is used", head.Version, Version)
	}
	c.inspect(head)
	for _, glob := range head.Globs {
		if !doublestar.ValidatePattern(glob) {
			c.problem(1, "glob %.100q is broken and matches nothing", glob)
		}
	}
	c.lines = strings.Split(statement.WithoutStruck(strings.Join(c.reveal(text), "\n")), "\n")
	c.imports = importsOf(c.lines)
	if open := openFence(c.lines); open.Open() {
		c.problem(skipped+len(c.lines), "a code fence is not closed; it is closed here, so that what follows the file is not code")
		c.lines = append(c.lines, open.String())
	}
	return c
}

// mostHidden is how many lines with hidden characters are reported one by one.
const mostHidden = 5

// reveal returns the lines of a text without what nobody who reads the file would see, and reports it. A line stays one.
func (c *content) reveal(text string) []string {
	if !strings.Contains(text, "\n") {
		text = strings.ReplaceAll(text, "\r", "\n") // of an old system
	}
	lines := strings.Split(strings.TrimRight(text, "\n \t"), "\n")
	bad := 0
	for i, line := range lines {
		seen, findings := sanitize.Reveal(line)
		lines[i] = strings.ReplaceAll(seen, "\n", " ")
		if len(findings) == 0 {
			continue
		}
		if bad++; bad <= mostHidden {
			c.problem(c.skipped+i+1, "%s, removed: nobody who reads the file would see them", findings[0].Detail)
		}
	}
	if bad > mostHidden {
		c.problem(0, "%d more lines have characters that nobody sees; they are removed", bad-mostHidden)
	}
	return lines
}

func (c *content) problem(line int, format string, args ...any) {
	c.problems = append(c.problems, Warning{Line: line, Text: fmt.Sprintf(format, args...)})
}

// inspect reports instruction-like text in frontmatter, which holds data.
func (c *content) inspect(h Head) {
	fields := append(append([]string{h.Name}, h.Triggers...), h.Globs...)
	for _, key := range slices.Sorted(maps.Keys(h.Other)) {
		fields = append(fields, fmt.Sprint(h.Other[key]))
	}
	for _, field := range fields {
		if _, findings := sanitize.Text(field); len(findings) > 0 {
			c.problem(1, "frontmatter holds text that reads like an instruction (%s)", findings[0].Detail)
			return
		}
	}
}

// reasonOf is an error without the path, which stands beside it already.
func reasonOf(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		if errors.Is(at.Err, fs.ErrNotExist) {
			return errMissing
		}
		return at.Err
	}
	return err
}

var errMissing = fmt.Errorf("no such file%w", silent{fs.ErrNotExist})

// silent is an error that callers can tell, without words of its own.
type silent struct{ error }

func (silent) Error() string   { return "" }
func (s silent) Unwrap() error { return s.error }

func isMarkdown(path string) bool { return strings.EqualFold(filepath.Ext(path), ".md") }

package curated

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/filetime"
	"github.com/memcore/memcore/internal/markdown/statement"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/safefile/secretfile"
	"github.com/memcore/memcore/internal/text/charset"
	"github.com/memcore/memcore/internal/text/sanitize"
	"github.com/memcore/memcore/internal/text/secret"
)

// maxFile is in bytes. Imports have their own limit.
const maxFile = 1 << 20

// A parsed file does not change after it was read.
type parsed struct {
	real     string // its path, links resolved
	info     fs.FileInfo
	readAt   time.Time
	hash     string
	head     Head
	lines    []string            // behind the frontmatter, without "\n"
	skipped  int                 // lines before that
	imports  map[int][]importRef // by index in lines
	problems []Warning           // without Path
}

// fresh reports whether a file is unchanged since it was read.
func (c *parsed) fresh(info fs.FileInfo) bool {
	return filetime.Same(c.info, info) && !filetime.Doubtful(info.ModTime(), c.readAt)
}

// Errors that follow a file's name.
var (
	errOutside = errors.New("it is outside of the trusted folders")
	errData    = errors.New("agents write to its folder, so it is reference and no instruction")
	errKind    = errors.New("only .md files can be read as memory")
)

// open reads a file whose real path is in Beans or a trusted folder. With inBeans it may be
// anywhere: the user made the link. limit is in bytes.
func (r *reader) open(file string, inBeans bool, limit int) (*parsed, error) {
	if len(file) > paths.Longest || strings.ContainsRune(file, 0) {
		return nil, errors.New("its path is too long or has a NUL character")
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return nil, reasonOf(err)
	}
	for _, path := range []string{file, real} {
		if reason := secretfile.Reason(path); reason != "" {
			return nil, fmt.Errorf("it is never read: %s", reason)
		}
	}
	if !isMarkdown(real) {
		return nil, errKind
	}
	if r.isData(real) || file != real && r.isData(file) {
		return nil, errData
	}
	root, err := r.rootOf(real)
	if err != nil {
		return nil, err
	}
	if root == "" && !inBeans {
		return r.openCopy(real, limit)
	}
	if root == "" {
		root = filepath.Dir(real)
	}
	return r.openThrough(root, real, limit)
}

// openCopy reads a file that has the bytes of a trusted original. Both are compared as they were
// read: a file may change at any time.
func (r *reader) openCopy(real string, limit int) (*parsed, error) {
	there := r.original(real)
	if there == "" {
		return nil, errOutside
	}
	root, err := r.rootOf(there)
	if err != nil || root == "" {
		return nil, errOutside
	}
	copied, err := r.openThrough(r.project, real, limit)
	if err != nil {
		return nil, err
	}
	original, err := r.openThrough(root, there, limit)
	if err != nil || original.hash != copied.hash {
		return nil, errOutside
	}
	return copied, nil
}

// openThrough reads a file below a folder, unless it is unchanged.
func (r *reader) openThrough(root, real string, limit int) (*parsed, error) {
	info, err := os.Stat(real)
	if err != nil {
		return nil, reasonOf(err)
	}
	known := r.o.Cache.file(real)
	if known != nil && known.fresh(info) && info.Size() <= int64(limit) {
		return known, nil
	}
	return r.fetch(root, real, limit, known)
}

// isData reports whether agents of any project write to a file's folder: it may lie within what
// another project reads as rules.
func (r *reader) isData(file string) bool {
	for _, folder := range r.data {
		if _, inside := below(folder, file); inside {
			return true
		}
	}
	file = strings.ToLower(filepath.ToSlash(r.inside(file)))
	for _, folder := range []string{DefaultData, r.o.Data} {
		folder = strings.ToLower(path.Clean(filepath.ToSlash(folder)))
		if folder != "." && !filepath.IsAbs(folder) && strings.Contains(file, "/"+folder+"/") {
			return true
		}
	}
	return false
}

// inside returns a path, with a slash before it, below the folder that lets it instruct.
func (r *reader) inside(file string) string {
	trusted := r.covering(filepath.Dir(file))
	if trusted != "" {
		trusted = filepath.Dir(trusted) // a plugin may be named "data"
	}
	for _, root := range []string{r.project, r.beans, trusted} {
		if rel, inside := below(root, file); root != "" && inside {
			return "/" + rel
		}
	}
	return file
}

// fetch reads a file through its root, unless known is current.
func (r *reader) fetch(root, real string, limit int, known *parsed) (*parsed, error) {
	inside, err := filepath.Rel(root, real)
	if err != nil {
		return nil, errOutside
	}
	now := time.Now()
	data, info, err := safefile.ReadFile(root, inside, int64(limit))
	if err != nil {
		return nil, reasonOf(err)
	}
	data, encoding := charset.Decode(data)
	data, nul, err := charset.CutNULs(data)
	if err != nil {
		return nil, errors.New("it is not text")
	}
	sum := sha256.Sum256(data)
	hash := hex.EncodeToString(sum[:8])
	if known != nil && known.hash == hash {
		again := *known
		again.info, again.readAt = info, now
		return r.o.Cache.store(&again), nil
	}
	c := parse(real, data)
	if nul > 0 {
		c.problem(nul, "has NUL bytes, left out")
	}
	switch encoding {
	case "":
	case charset.Unknown:
		c.problem(0, "is not UTF-8, and its encoding is not known, so that only its ASCII is read: save it as UTF-8")
	default:
		c.problem(0, "is read as %s, since it is not UTF-8", encoding)
	}
	c.hash, c.info, c.readAt = hash, info, now
	return r.o.Cache.store(c), nil
}

// parse reads a file's text; real is its path.
func parse(real string, data []byte) *parsed {
	c := &parsed{real: real}
	head, text, skipped, err := frontmatter(data)
	c.head, c.skipped = head, skipped
	var broken *chunker.FrontmatterError
	switch {
	case errors.As(err, &broken):
		c.problem(broken.Line, "frontmatter is not used: %v", err)
	case err != nil:
		c.problem(1, "frontmatter has values that are not used: %s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	if head.Version > Version {
		c.problem(1, "frontmatter has version %d, newer than %d; only its known keys are used", head.Version, Version)
	}
	c.inspect(head)
	for _, glob := range head.Globs {
		if !doublestar.ValidatePattern(glob) {
			c.problem(1, "glob %.100q is broken and matches nothing", glob)
		}
	}
	c.lines = strings.Split(statement.WithoutStruck(strings.Join(c.reveal(text), "\n")), "\n")
	c.imports = importsOf(c.lines)
	if _, found := secret.Redact(strings.Join(c.lines, "\n")); len(found) > 0 {
		c.problem(skipped+found[0].Line, "this looks like a secret (%s), and every agent and its provider get it: keep it in a variable of the environment or a password store, and write the name of that here", secret.Kinds(found))
		c.problems[len(c.problems)-1].Secret = true
	}
	if open := openFence(c.lines); open.Open() {
		c.problem(skipped+len(c.lines), "a code fence is not closed; it is closed here, so that what follows the file is not code")
		c.lines = append(c.lines, open.String())
	}
	return c
}

// maxHidden lines with hidden characters get a warning each.
const maxHidden = 5

// reveal removes invisible characters and reports them.
func (c *parsed) reveal(text string) []string {
	if !strings.Contains(text, "\n") {
		text = strings.ReplaceAll(text, "\r", "\n") // old Mac OS
	}
	lines := strings.Split(strings.TrimRight(text, "\n \t"), "\n")
	bad := 0
	for i, line := range lines {
		seen, findings := sanitize.Reveal(line)
		lines[i] = strings.ReplaceAll(seen, "\n", " ")
		if len(findings) == 0 {
			continue
		}
		if bad++; bad <= maxHidden {
			c.problem(c.skipped+i+1, "%s, removed: a reader of the file cannot see them", findings[0].Detail)
		}
	}
	if bad > maxHidden {
		c.problem(0, "%d more lines have characters that a reader cannot see; they are removed", bad-maxHidden)
	}
	return lines
}

func (c *parsed) problem(line int, format string, args ...any) {
	c.problems = append(c.problems, Warning{Line: line, Text: fmt.Sprintf(format, args...)})
}

// inspect reports text in frontmatter that hides something or imitates a message.
func (c *parsed) inspect(h Head) {
	fields := append(append([]string{h.Name}, h.Triggers...), h.Globs...)
	for _, key := range slices.Sorted(maps.Keys(h.Other)) {
		fields = append(fields, fmt.Sprint(h.Other[key]))
	}
	for _, field := range fields {
		if _, findings := sanitize.Text(field); len(findings) > 0 {
			c.problem(1, "frontmatter holds text that may pass for something else (%s)", findings[0].Detail)
			return
		}
	}
}

// reasonOf drops an error's path, which the caller shows.
func reasonOf(err error) error {
	var at *fs.PathError
	switch {
	case !errors.As(err, &at):
		return err
	case errors.Is(at.Err, fs.ErrNotExist):
		return missingError{}
	}
	return at.Err
}

// missingError is fs.ErrNotExist with shorter text.
type missingError struct{}

func (missingError) Error() string        { return "no such file" }
func (missingError) Is(target error) bool { return target == fs.ErrNotExist }

// isMissing includes paths below a file.
func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func isMarkdown(path string) bool { return strings.EqualFold(filepath.Ext(path), ".md") }

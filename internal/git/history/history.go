// Package history reports when commits changed files last. It asks git, which would run commands
// that a hostile repository configures: so git gets the repository's objects only, in a repository
// without any configuration.
//
// It does not know branches in a reftable, and what a shallow or partial clone left out; files
// whose commit it cannot find have no date. Neither has any where there is no git.
package history

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memcore/memcore/internal/git/gitindex"
	"github.com/memcore/memcore/internal/git/repository"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/safefile"
)

// A File is one of a working directory.
type File struct {
	Name     string // relative to the working directory, with slashes
	Size     int64
	Modified time.Time
}

// LastChanged returns, by name, the date of the newest commit that gave each file in a working
// directory the content that it has. Files that are not tracked, or not as they were committed, are
// left out, and those whose commit has no likely date or is not found before ctx ends. Where there
// is no repository there are none. Beside an error is what was found.
func LastChanged(ctx context.Context, root string, files []File) (map[string]time.Time, error) {
	dir, err := repository.Dir(root)
	if r, ok := repository.Of(root); !ok || err != nil || dir == "" || r.Shared == "" {
		return nil, err
	}
	committed, err := unchanged(dir, files)
	if err != nil || len(committed) == 0 {
		return nil, err
	}
	shared := paths.Resolve(repository.Common(dir))
	head, err := headOf(dir, shared)
	if err != nil || head == "" {
		return nil, err
	}
	objects := filepath.Join(shared, "objects")
	if _, err := os.Lstat(filepath.Join(objects, "info", "alternates")); err == nil {
		return nil, nil // it may name any folder, of another machine, too
	}
	// A repository without a list of what a shallow clone left out has all.
	shallow, _, _ := safefile.ReadFile(shared, "shallow", maxRefs)
	found, err := newest(ctx, objects, string(shallow), head, committed)
	if err != nil {
		err = fmt.Errorf("history of %s: %w", root, err)
	}
	return found, err
}

// unchanged returns the hashes of files that look as git's index has them.
func unchanged(dir string, files []File) (map[string]string, error) {
	wanted := map[string]bool{}
	for _, f := range files {
		wanted[f.Name] = true
	}
	entries, err := gitindex.Entries(dir, func(name string) bool { return wanted[name] })
	if err != nil {
		return nil, fmt.Errorf("index in %s: %w", dir, err)
	}
	same := map[string]string{}
	for _, f := range files {
		e, ok := entries[f.Name]
		if ok && e.Size == uint32(f.Size) && int64(e.Seconds) == f.Modified.Unix() && (e.Nanoseconds == 0 || int(e.Nanoseconds) == f.Modified.Nanosecond()) {
			same[f.Name] = hex.EncodeToString([]byte(e.Hash))
		}
	}
	return same, nil
}

// Bounds of the files that are read, in bytes.
const (
	maxHead = 1 << 16
	maxRefs = 64 << 20
)

// headOf returns the ID of the commit that is checked out, or "".
func headOf(dir, shared string) (string, error) {
	text, _, err := safefile.ReadPath(filepath.Join(dir, "HEAD"), maxHead)
	if err != nil {
		return "", err
	}
	name, isBranch := strings.CutPrefix(strings.TrimSpace(string(text)), "ref: ")
	if !isBranch {
		return idOf(name), nil
	}
	if !strings.HasPrefix(name, "refs/") || !filepath.IsLocal(name) {
		return "", nil
	}
	text, _, err = safefile.ReadFile(shared, name, maxHead)
	if err == nil {
		return idOf(strings.TrimSpace(string(text))), nil
	}
	all, _, err := safefile.ReadFile(shared, "packed-refs", maxRefs)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil // nothing is committed yet
	}
	for line := range strings.Lines(string(all)) {
		if id, ref, ok := strings.Cut(strings.TrimSpace(line), " "); ok && ref == name {
			return idOf(id), nil
		}
	}
	return "", err
}

// idOf returns a hash, or "" if it is none.
func idOf(text string) string {
	if id, err := hex.DecodeString(text); err != nil || len(id) != 20 && len(id) != 32 {
		return ""
	}
	return text
}

// maxObject bounds what git holds of an object. It makes large ones of few bytes.
const maxObject = "64m"

// newest returns, for files of the commit head, by their names, the date of the newest commit that
// gave each one the content that it has.
func newest(ctx context.Context, objects, shallow, head string, files map[string]string) (map[string]time.Time, error) {
	program, err := exec.LookPath("git")
	if err != nil {
		return nil, nil
	}
	dir, err := emptyRepository(len(head), shallow)
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	git := exec.CommandContext(ctx, program, "log", "-z", "--raw", "-c", "--no-abbrev", "--no-renames", "--format=%H %ct", head)
	git.Dir = dir
	git.Env = []string{"PATH=" + os.Getenv("PATH"), "SystemRoot=" + os.Getenv("SystemRoot"), "HOME=" + dir, "GIT_DIR=" + dir,
		"GIT_OBJECT_DIRECTORY=" + objects, "GIT_CONFIG_NOSYSTEM=1", "GIT_ALLOC_LIMIT=" + maxObject}
	var problem bytes.Buffer
	git.Stderr = &problem
	out, err := git.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := git.Start(); err != nil {
		if ctx.Err() != nil {
			err = nil
		}
		return nil, err
	}
	found, all := read(out, strings.Fields(shallow), files)
	if all {
		stop()
	}
	if err := git.Wait(); err != nil && ctx.Err() == nil {
		return found, fmt.Errorf("%w: %s", err, strings.TrimSpace(problem.String()))
	}
	return found, nil
}

// emptyRepository makes a git folder without commits for IDs of a length.
func emptyRepository(id int, shallow string) (string, error) {
	dir, err := os.MkdirTemp("", "memcore-git-")
	if err != nil {
		return "", err
	}
	config := "[core]\nrepositoryFormatVersion = 1\n"
	if id == 64 {
		config += "[extensions]\nobjectFormat = sha256\n"
	}
	files := map[string]string{"HEAD": "ref: refs/heads/none\n", "config": config}
	if shallow != "" {
		files["shallow"] = shallow
	}
	err = os.Mkdir(filepath.Join(dir, "refs"), 0o700)
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	if err != nil {
		os.RemoveAll(dir)
	}
	return dir, err
}

// read reads commits, newest first, until all files have the one that gave them their content.
// After the ID and the date of a commit it has two fields for each file that the commit changed:
// modes and IDs of the contents before and after, and the name.
func read(log io.Reader, shallow []string, files map[string]string) (found map[string]time.Time, all bool) {
	found, left := map[string]time.Time{}, maps.Clone(files)
	fields := bufio.NewReader(log)
	var at time.Time
	whole := false // the commit's parents are known
	for len(left) > 0 {
		field, err := fields.ReadString(0)
		if err != nil {
			break
		}
		field = strings.Trim(field, "\n\x00")
		if !strings.HasPrefix(field, ":") {
			id, date, _ := strings.Cut(field, " ")
			at, whole = dateOf(date), !slices.Contains(shallow, id)
			continue
		}
		name, err := fields.ReadString(0)
		if err != nil {
			break
		}
		name = strings.TrimSuffix(name, "\x00")
		values := strings.Fields(field)
		if hash := left[name]; hash == "" || len(values) < 2 || values[len(values)-2] != hash {
			continue
		}
		delete(left, name)
		if whole && !at.IsZero() {
			found[name] = at
		}
	}
	return found, len(left) == 0
}

// dateOf reads the date of a commit, in seconds. It is zero if no one can have committed then: git
// keeps any number, also of years that JSON cannot have.
func dateOf(text string) time.Time {
	const first, end = 24 * 60 * 60, 7258118400 // 1970-01-02 and 2200
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < first || seconds >= end {
		return time.Time{}
	}
	return time.Unix(seconds, 0)
}

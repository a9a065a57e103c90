// Package gitignore matches paths against the patterns of .gitignore files (gitignore(5)).
package gitignore

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/memcore/memcore/internal/beneath"
)

// A pattern is one line of a .gitignore file.
type pattern struct {
	glob     string
	plain    bool // no wildcards
	anchored bool // matches the whole path, not only the last element
	negate   bool
	dirOnly  bool
}

// Patterns are the lines of a .gitignore file; the last one that matches decides.
type Patterns []pattern

// Compile reads lines of such a file.
func Compile(lines []string) Patterns {
	var all Patterns
	for _, line := range lines {
		if p, ok := compilePattern(line); ok {
			all = append(all, p)
		}
	}
	return all
}

// compilePattern follows gitignore(5). Braces are ordinary characters there; a line that makes no
// pattern matches nothing, as in git.
func compilePattern(line string) (pattern, bool) {
	line = trimTrailingSpace(strings.TrimSuffix(line, "\r"))
	if line == "" || line[0] == '#' {
		return pattern{}, false
	}
	var p pattern
	line, p.negate = strings.CutPrefix(line, "!")
	line, p.dirOnly = strings.CutSuffix(line, "/")
	p.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	p.glob = strings.NewReplacer(`\{`, `\{`, `\}`, `\}`, "{", `\{`, "}", `\}`).Replace(line)
	if strings.HasSuffix(p.glob, "/**") {
		p.glob += "/*" // what is inside, not the folder itself
	}
	if p.glob == "" || !doublestar.ValidatePattern(p.glob) {
		return pattern{}, false
	}
	p.plain = !strings.ContainsAny(p.glob, `*?[\`)
	return p, true
}

// Escape returns a line that matches files of this name only, which has no line break: with a backslash before what git would take for a part of a pattern.
func Escape(name string) string {
	escaped := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "]", `\]`).Replace(name)
	if strings.HasPrefix(escaped, "#") || strings.HasPrefix(escaped, "!") {
		escaped = `\` + escaped
	}
	kept := strings.TrimRight(escaped, " ")
	return kept + strings.Repeat(`\ `, len(escaped)-len(kept))
}

func trimTrailingSpace(line string) string {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	return line
}

func (p pattern) match(path, base string, isDir bool) bool {
	if p.dirOnly && !isDir {
		return false
	}
	if !p.anchored {
		path = base
	}
	if p.plain {
		return p.glob == path
	}
	return doublestar.MatchUnvalidated(p.glob, path)
}

// Match tells whether the patterns select a path, and whether they say anything about it. The path is
// slash-separated and relative to where the patterns stand.
func (all Patterns) Match(path string, isDir bool) (selected, decided bool) {
	base := path[strings.LastIndexByte(path, '/')+1:]
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].match(path, base, isDir) {
			return !all[i].negate, true
		}
	}
	return false, false
}

// A Stack is the .gitignore files above a place, innermost first; nil is none.
type Stack struct {
	dir      string // relative to the root, slash-separated, with a slash at its end unless empty
	patterns Patterns
	above    *Stack
}

// Push returns the stack below a folder with patterns of its own. dir is relative to the root that all paths are relative
// to, slash-separated, with a slash at its end, or "" for the root.
func (s *Stack) Push(dir string, own Patterns) *Stack {
	if len(own) == 0 {
		return s
	}
	return &Stack{dir: dir, patterns: own, above: s}
}

// Ignores tells whether git would leave a path out; it is relative to the root and slash-separated.
func (s *Stack) Ignores(path string, isDir bool) bool {
	for ; s != nil; s = s.above {
		if ignored, decided := s.patterns.Match(path[len(s.dir):], isDir); decided {
			return ignored
		}
	}
	return false
}

// A Cache keeps the patterns of .gitignore files while they do not change. The zero Cache is ready; it is safe for concurrent use.
type Cache struct {
	mu    sync.Mutex
	files map[string]cached
}

// cached are the patterns of a .gitignore file as it was at a time.
type cached struct {
	size     int64
	modTime  time.Time
	patterns Patterns
}

// maxSize is more than any real .gitignore file has.
const maxSize = 1 << 20

// In returns the patterns of the .gitignore file in dir, none if there is none to be read.
func (c *Cache) In(dir string) Patterns {
	path := filepath.Join(dir, ".gitignore")
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxSize {
		return nil
	}
	c.mu.Lock()
	known, ok := c.files[path]
	c.mu.Unlock()
	if ok && known.size == info.Size() && known.modTime.Equal(info.ModTime()) {
		return known.patterns
	}
	file, err := os.OpenFile(path, os.O_RDONLY|beneath.Nonblock, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxSize))
	if err != nil {
		return nil
	}
	lines := Compile(strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n"))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = map[string]cached{}
	}
	c.files[path] = cached{size: info.Size(), modTime: info.ModTime(), patterns: lines}
	return lines
}

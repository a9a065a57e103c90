// Package gitignore matches paths against .gitignore files (gitignore(5)).
package gitignore

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/memcore/memcore/internal/filetime"
	"github.com/memcore/memcore/internal/safefile"
)

// A pattern is one line of a .gitignore file.
type pattern struct {
	glob     string
	plain    bool // no wildcards
	anchored bool // matches the whole path, not only the last element
	negate   bool
	dirOnly  bool
}

// Patterns are in order. The last match decides.
type Patterns []pattern

// Compile parses lines of a .gitignore file.
func Compile(lines []string) Patterns {
	var all Patterns
	for _, line := range lines {
		if p, ok := compilePattern(line); ok {
			all = append(all, p)
		}
	}
	return all
}

// compilePattern takes braces as literal, as git does. An invalid pattern matches nothing.
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
		p.glob += "/*" // not the folder itself
	}
	if p.glob == "" || !doublestar.ValidatePattern(p.glob) {
		return pattern{}, false
	}
	p.plain = !strings.ContainsAny(p.glob, `*?[\`)
	return p, true
}

// Escape returns a line that matches only a name.
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

// Match reports whether the patterns select a path, and whether any matches. path is relative to
// their folder, with slashes.
func (all Patterns) Match(path string, isDir bool) (selected, decided bool) {
	base := path[strings.LastIndexByte(path, '/')+1:]
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].match(path, base, isDir) {
			return !all[i].negate, true
		}
	}
	return false, false
}

// A Stack is .gitignore files, innermost first; nil is empty.
type Stack struct {
	dir      string // see Push
	patterns Patterns
	above    *Stack
}

// Push adds a folder's patterns. dir is relative to the root, as "sub/"; "" is the root.
func (s *Stack) Push(dir string, own Patterns) *Stack {
	if len(own) == 0 {
		return s
	}
	return &Stack{dir: dir, patterns: own, above: s}
}

// Ignores takes a path relative to the root, with slashes.
func (s *Stack) Ignores(path string, isDir bool) bool {
	for ; s != nil; s = s.above {
		if ignored, decided := s.patterns.Match(path[len(s.dir):], isDir); decided {
			return ignored
		}
	}
	return false
}

// A Cache keeps patterns of unchanged files. The zero value is ready. It is safe for concurrent
// use.
type Cache struct {
	mu    sync.Mutex
	files map[string]cached
}

type cached struct {
	info     fs.FileInfo
	patterns Patterns
}

// maxSize is in bytes.
const maxSize = 1 << 20

// In returns dir's own patterns.
func (c *Cache) In(dir string) Patterns { return c.Of(filepath.Join(dir, ".gitignore")) }

// Of returns a file's patterns, if it is readable.
func (c *Cache) Of(path string) Patterns {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	c.mu.Lock()
	known, ok := c.files[path]
	c.mu.Unlock()
	if ok && filetime.Same(known.info, info) {
		return known.patterns
	}
	text, _, err := safefile.ReadPath(path, maxSize)
	if err != nil {
		return nil
	}
	patterns := Compile(strings.Split(strings.TrimPrefix(string(text), "\ufeff"), "\n"))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = map[string]cached{}
	}
	c.files[path] = cached{info, patterns}
	return patterns
}

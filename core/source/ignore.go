package source

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"
)

// A pattern is one line of a .gitignore file.
type pattern struct {
	glob     string
	plain    bool // no wildcards
	anchored bool // matches the whole path, not only the last element
	negate   bool
	dirOnly  bool
}

// patterns are the lines of a .gitignore file; the last one that matches decides.
type patterns []pattern

func compilePatterns(lines []string) patterns {
	var all patterns
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

// match tells whether the patterns select a path, and whether they say anything about it. The path is
// slash-separated and relative to where the patterns stand.
func (all patterns) match(path string, isDir bool) (selected, decided bool) {
	base := path[strings.LastIndexByte(path, '/')+1:]
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].match(path, base, isDir) {
			return !all[i].negate, true
		}
	}
	return false, false
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

// cachedIgnores are the patterns of a .gitignore file as it was at a time.
type cachedIgnores struct {
	size     int64
	modTime  time.Time
	patterns patterns
}

// maxGitignore is more than any real .gitignore file has.
const maxGitignore = 1 << 20

// gitignore returns the patterns of the .gitignore file in dir, none if there is none to be read.
func (f *Folder) gitignore(dir string) patterns {
	path := filepath.Join(dir, ".gitignore")
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxGitignore {
		return nil
	}
	cached, ok := f.ignores[path]
	if ok && cached.size == info.Size() && cached.modTime.Equal(info.ModTime()) {
		return cached.patterns
	}
	file, err := os.OpenFile(path, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxGitignore))
	if err != nil {
		return nil
	}
	lines := compilePatterns(strings.Split(strings.TrimPrefix(string(text), string(byteOrderMark)), "\n"))
	f.ignores[path] = cachedIgnores{size: info.Size(), modTime: info.ModTime(), patterns: lines}
	return lines
}

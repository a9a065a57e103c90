// Package paths compares paths, and names files as citations do: relative to the project or to the home folder.
package paths

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Names are the folders that files are named after.
type Names struct {
	workspace, home []string // as given, and with links resolved
}

// NewNames returns the names by a workspace and a home folder; "" is none.
func NewNames(workspace, home string) Names {
	return Names{workspace: Spellings(workspace), home: Spellings(home)}
}

// Spellings returns a folder's absolute path as given and, if different, with links resolved.
func Spellings(folder string) []string {
	if folder == "" {
		return nil
	}
	all := []string{Absolute(folder)}
	if real, err := filepath.EvalSymlinks(all[0]); err == nil && real != all[0] {
		all = append(all, real)
	}
	return all
}

// Of returns the name of a file: relative to the workspace, else "~/…", else its path, slash-separated. Bytes that are no UTF-8 are written
// as \xNN, since names are stored and shown as text.
func (n Names) Of(path string) string { return validUTF8(n.relative(path)) }

func validUTF8(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	var valid strings.Builder
	for i, r := range name {
		if r == utf8.RuneError && !strings.HasPrefix(name[i:], "\ufffd") {
			fmt.Fprintf(&valid, `\x%02x`, name[i])
		} else {
			valid.WriteRune(r)
		}
	}
	return valid.String()
}

func (n Names) relative(path string) string {
	for _, folder := range n.workspace {
		if rel, ok := Within(folder, path); ok {
			return filepath.ToSlash(rel)
		}
	}
	for _, folder := range n.home {
		if rel, ok := Within(folder, path); ok {
			return filepath.ToSlash(filepath.Join("~", rel))
		}
	}
	return filepath.ToSlash(path)
}

// Within returns path relative to folder ("." if they are the same) if it lies inside.
func Within(folder, path string) (string, bool) {
	if path == folder {
		return ".", true
	}
	if !strings.HasSuffix(folder, string(filepath.Separator)) {
		folder += string(filepath.Separator)
	}
	return strings.CutPrefix(path, folder)
}

// Absolute returns a path as an absolute one.
func Absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path) // no working directory; List will tell
}

// Bounds of a name as FolderName makes it, in bytes: what is shown of the path, and what tells paths apart that are shown alike.
const (
	longestSlug = 150
	hashDigits  = 12
)

// FolderName returns a name for what is kept about a folder: /home/me/project is --home-me-project--. The path is absolute, with its links resolved. One that could be
// taken for another's in this way, or would be too long for a name, is cut if need be and gets a hash of the path: /home/me-project is
// --home-me-project-0d7cf19f2a5b--, say.
func FolderName(path string) string {
	slashed := filepath.ToSlash(path)
	slug := strings.Trim(strings.NewReplacer("/", "-", `\`, "-", ":", "").Replace(slashed), "-")
	below := slashed[len(filepath.VolumeName(path)):]
	if !strings.ContainsAny(below, `-\:`) && !strings.HasPrefix(slashed, "//") && len(slug) <= longestSlug && !endsLikeHash(slug) {
		return "--" + slug + "--"
	}
	if end := longestSlug; len(slug) > end {
		for end > longestSlug-utf8.UTFMax && !utf8.RuneStart(slug[end]) {
			end--
		}
		slug = slug[:end]
	}
	sum := sha256.Sum256([]byte(path))
	return "--" + slug + "-" + hex.EncodeToString(sum[:])[:hashDigits] + "--"
}

// endsLikeHash tells what would be taken for a name that has a hash.
func endsLikeHash(slug string) bool {
	last := slug[strings.LastIndexByte(slug, '-')+1:]
	return len(last) == hashDigits && strings.Trim(last, "0123456789abcdef") == ""
}

// longest is more than any system allows for a path, in bytes.
const longest = 4096

// Resolve returns an absolute path with its links resolved; the end of one that does not exist stays as it is, and so does a path that
// is longer than any file's.
func Resolve(path string) string {
	path = Absolute(path)
	if len(path) > longest {
		return path
	}
	for at, rest := path, ""; ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		if _, err := os.Lstat(at); err == nil {
			if real, err := filepath.EvalSymlinks(at); err == nil {
				return filepath.Join(real, rest)
			}
		}
		if at == filepath.Dir(at) {
			return path
		}
	}
}

// IsPrivate tells files that their owner keeps to themselves by their name, ".local.md".
func IsPrivate(path string) bool { return strings.HasSuffix(strings.ToLower(path), ".local.md") }

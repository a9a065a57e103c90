// Package paths compares paths and names files in citations.
package paths

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names are relative to a workspace or home folder.
type Names struct {
	workspace, home []string // Spellings
	mounts          []mount
}

// A mount is a folder with a name of its own.
type mount struct {
	name   string
	folder []string // Spellings
}

// NewNames takes the workspace and the home folder. Either may be "".
func NewNames(workspace, home string) Names {
	return Names{workspace: Spellings(workspace), home: Spellings(home)}
}

// With returns names in which the paths of a folder begin with a name of their own, such as
// "@platform", or "session:", which no slash follows.
func (n Names) With(name, folder string) Names {
	n.mounts = append(slices.Clip(n.mounts), mount{name, Spellings(folder)})
	return n
}

// Spellings returns a folder's absolute path and, if different, the resolved one.
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

// Of returns the name of a file: the spelling of its path relative to the workspace, to a folder of
// With, else "~/…" in the home, else the path itself, with slashes.
func (n Names) Of(path string) string {
	for _, m := range n.mounts {
		for _, folder := range m.folder {
			rel, ok := Within(folder, path)
			if ok && rel != "." && strings.HasSuffix(m.name, ":") {
				return m.name + spelled(rel)
			}
			if ok {
				return strings.TrimSuffix(m.name+"/"+spelled(rel), "/.")
			}
		}
	}
	for _, folder := range n.workspace {
		if rel, ok := Within(folder, path); ok {
			return n.inWorkspace(spelled(rel))
		}
	}
	for _, folder := range n.home {
		if rel, ok := Within(folder, path); ok {
			return strings.TrimSuffix("~/"+spelled(rel), "/.")
		}
	}
	volume := filepath.VolumeName(path)
	return filepath.ToSlash(volume) + spelled(path[len(volume):])
}

func spelled(path string) string { return Spell(filepath.ToSlash(path)) }

// inWorkspace returns the name of a file of the workspace: a folder "~" in it is not the home, nor
// is one named like a mount that.
func (n Names) inWorkspace(name string) string {
	first, _, _ := strings.Cut(name, "/")
	if first == "~" || slices.ContainsFunc(n.mounts, func(m mount) bool { return m.name == first }) {
		return "./" + name
	}
	return name
}

// Within returns path relative to folder, if inside. The folder is ".".
func Within(folder, path string) (string, bool) {
	if path == folder {
		return ".", true
	}
	if !strings.HasSuffix(folder, string(filepath.Separator)) {
		folder += string(filepath.Separator)
	}
	return strings.CutPrefix(path, folder)
}

// Absolute returns an absolute path.
func Absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path) // there is no working directory
}

// Bounds of FolderName, in bytes.
const (
	maxSlug    = 150
	hashDigits = 12
)

// FolderName names a folder with data about path, absolute and resolved: --home-me-project-- for
// /home/me/project. If that is ambiguous or too long, it gets a hash: /home/me-project is
// --home-me-project-0d7cf19f2a5b--.
func FolderName(path string) string {
	slashed := filepath.ToSlash(path)
	slug := strings.Trim(strings.NewReplacer("/", "-", `\`, "-", ":", "").Replace(slashed), "-")
	below := slashed[len(filepath.VolumeName(path)):]
	if !strings.ContainsAny(below, `-\:`) && !strings.HasPrefix(slashed, "//") && len(slug) <= maxSlug && !endsLikeHash(slug) {
		return "--" + slug + "--"
	}
	if len(slug) > maxSlug {
		slug = strings.ToValidUTF8(slug[:maxSlug], "")
	}
	sum := sha256.Sum256([]byte(path))
	return "--" + slug + "-" + hex.EncodeToString(sum[:])[:hashDigits] + "--"
}

func endsLikeHash(slug string) bool {
	last := slug[strings.LastIndexByte(slug, '-')+1:]
	return len(last) == hashDigits && strings.Trim(last, "0123456789abcdef") == ""
}

// Longest exceeds what any system allows in a path.
const Longest = 4096

// Resolve resolves links. Missing elements and a path over Longest stay.
func Resolve(path string) string {
	path = Absolute(path)
	if len(path) > Longest {
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

// IsPrivate reports whether a file stays out of git and shared memories.
func IsPrivate(path string) bool { return strings.HasSuffix(strings.ToLower(path), ".local.md") }

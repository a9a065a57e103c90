package source

import (
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// places are the folders that documents are named after.
type places struct {
	workspace, home []string // as given, and with links resolved
}

func newPlaces(workspace, home string) places {
	return places{workspace: spellings(workspace), home: spellings(home)}
}

// spellings returns a folder's absolute path as given and, if different, with links resolved.
func spellings(folder string) []string {
	if folder == "" {
		return nil
	}
	all := []string{absolute(folder)}
	if real, err := filepath.EvalSymlinks(all[0]); err == nil && real != all[0] {
		all = append(all, real)
	}
	return all
}

// display returns the name of a file by the rule of Document.Path. Bytes that are no UTF-8 are written
// as \xNN, since names are stored and shown as text.
func (p places) display(path string) string { return validUTF8(p.relative(path)) }

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

func (p places) relative(path string) string {
	for _, folder := range p.workspace {
		if rel, ok := within(folder, path); ok {
			return filepath.ToSlash(rel)
		}
	}
	for _, folder := range p.home {
		if rel, ok := within(folder, path); ok {
			return filepath.ToSlash(filepath.Join("~", rel))
		}
	}
	return filepath.ToSlash(path)
}

// within returns path relative to folder ("." if they are the same) if it lies inside.
func within(folder, path string) (string, bool) {
	if path == folder {
		return ".", true
	}
	if !strings.HasSuffix(folder, string(filepath.Separator)) {
		folder += string(filepath.Separator)
	}
	return strings.CutPrefix(path, folder)
}

// extension is that of a file name, "" for a hidden file without one (".md" is no Markdown file).
func extension(name string) string {
	if ext := filepath.Ext(name); ext != name {
		return ext
	}
	return ""
}

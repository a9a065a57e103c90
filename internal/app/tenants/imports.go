package tenants

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"regexp"
)

// imported returns, by stored path, what curated memory of all users or of a team may import. It
// finds too many rather than too few, such as imports in code. The caller holds mu.
func (m *mirror) imported() (map[string]bool, error) {
	names := maps.Clone(m.documents)
	for name, p := range m.pending {
		if names[name] = p.document; p.Gone {
			delete(names, name)
		}
	}
	var open []string
	for name := range names {
		if instructsOthers(name) {
			open = append(open, name)
		}
	}
	all := map[string]bool{}
	for len(open) > 0 {
		name := open[0]
		open = open[1:]
		text, err := m.root.ReadFile(filepath.FromSlash(name))
		if errors.Is(err, fs.ErrNotExist) { // the change that is judged removes it
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, found := range importsIn(name, string(text)) {
			if _, known := names[found]; known && !all[found] {
				open = append(open, found)
			}
			all[found] = true // perhaps before there is one
		}
	}
	return all, nil
}

var (
	wholeLine = regexp.MustCompile(`@import[ \t]+["']?([^\r\n]*?\.[mM][dD])["']?[ \t]*(?:\r?\n|$)`)
	anywhere  = regexp.MustCompile(`@["']?([^\s@"'<>|]*?\.[mM][dD])`)
)

// importsIn returns the documents of several users that a text may import.
func importsIn(name, text string) (all []string) {
	for _, form := range []*regexp.Regexp{wholeLine, anywhere} {
		for _, match := range form.FindAllStringSubmatch(text, -1) {
			to := path.Join(path.Dir(name), match[1])
			if fs.ValidPath(to) && isOfSeveral(to) {
				all = append(all, to)
			}
		}
	}
	return all
}

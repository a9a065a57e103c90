package archive

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// indexName and the log are the reserved files of OKF.
const indexName = "index.md"

var reserved = []string{indexName, "log.md"}

// isConcept reports whether a file of an export is a concept of OKF.
func isConcept(name string) bool { return strings.HasSuffix(name, ".md") }

// typeOf is the OKF type of a Markdown file.
func typeOf(f File) string {
	switch {
	case f.Place == Sessions && path.Base(f.Path) == "overview.md":
		return "Session Overview"
	case f.Place == Sessions && strings.Contains(f.Path, "/"):
		return "Session Note"
	case f.Place == Sessions:
		return "Statements Of Sessions"
	case strings.Contains("/"+f.Path, "/episodes/"):
		return "Episode"
	case strings.Contains("/"+f.Path, "/facts/"):
		return "Fact"
	case slices.Contains([]string{"BEANS.md", "CLAUDE.md", "AGENTS.md", "GEMINI.md"}, path.Base(f.Path)):
		return "Curated Memory"
	case strings.Contains(f.Path, "rules/"):
		return "Rule"
	}
	return "Note"
}

// withType makes a Markdown file a concept of OKF. It returns the bytes that it added.
func withType(f File, data []byte) (out []byte, at, added int) {
	line := "type: " + typeOf(f) + "\n"
	at, has := typeGoesAt(data)
	if has {
		return data, 0, 0
	}
	if at == 0 {
		line = "---\n" + line
		if title := titleOf(data); title != "" {
			text, err := yaml.Marshal(map[string]string{"title": title})
			if err == nil {
				line += string(text)
			}
		}
		line += "---\n"
	}
	return slices.Concat(data[:at], []byte(line), data[at:]), at, len(line)
}

// typeGoesAt returns where a file's front matter takes a type, or 0 if it needs front matter; has
// means that it has a type.
func typeGoesAt(data []byte) (at int, has bool) {
	const fence = "---\n"
	rest, ok := bytes.CutPrefix(data, []byte(fence))
	if !ok {
		return 0, false
	}
	head, _, ok := bytes.Cut(append([]byte("\n"), rest...), []byte("\n---"))
	if !ok {
		return 0, false
	}
	var fields map[string]any
	if yaml.Unmarshal(head, &fields) != nil || fields == nil && len(bytes.TrimSpace(head)) > 0 {
		return 0, false
	}
	kind, known := fields["type"]
	if text, isText := kind.(string); isText && text != "" {
		return 0, true
	}
	if known || bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) {
		return 0, false // a second type would be an error
	}
	return len(fence), false
}

// titleOf is the first heading.
func titleOf(data []byte) string {
	for line := range bytes.Lines(data) {
		if title, ok := bytes.CutPrefix(line, []byte("# ")); ok {
			return strings.TrimSpace(strings.ToValidUTF8(string(title), ""))
		}
	}
	return ""
}

// index is the root of the bundle.
func index(m Manifest) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "---\nokf_version: \"0.2\"\n---\n\n# Memory\n\nExported by memcore %s. Where each file belongs is in [%s](%s).\n", m.Version, ManifestName, ManifestName)
	section := ""
	for _, f := range m.Files {
		if !isConcept(f.Name) {
			continue
		}
		if at, _, _ := strings.Cut(f.Name, "/"); at != section {
			section = at
			fmt.Fprintf(&b, "\n# %s\n\n", section)
		}
		fmt.Fprintf(&b, "* [%s](<%s>)\n", strings.NewReplacer("[", "(", "]", ")").Replace(f.Name), strings.NewReplacer("<", "%3C", ">", "%3E").Replace(f.Name))
	}
	return []byte(b.String())
}

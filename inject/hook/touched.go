package hook

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
)

const (
	// Bounds of a call's files, and of a path in bytes.
	maxTouched     = 32
	maxTouchedPath = 4096
	// maxShell is in bytes; longer commands are scripts.
	maxShell = 4096
)

// pathKeys name the tools' arguments that hold paths.
var pathKeys = []string{"file_path", "notebook_path", "path", "absolute_path", "dir_path", "target_file", "working_directory", "directory", "filePath", "paths", "files", "include"}

// touchedBy returns the paths in a tool's arguments, patches and simple shell commands. They may
// not exist, and are absolute if dir is.
func touchedBy(input json.RawMessage, dir string) []string {
	var text string
	if json.Unmarshal(input, &text) == nil { // some agents send the arguments as text
		input = json.RawMessage(text)
	}
	var arguments map[string]json.RawMessage
	if json.Unmarshal(input, &arguments) != nil {
		if json.Unmarshal(input, new(any)) == nil || text == "" {
			return nil
		}
		arguments = map[string]json.RawMessage{"input": mustJSON(text)}
	}
	t := touched{dir: dir}
	for _, key := range pathKeys {
		for _, path := range stringsIn(arguments[key]) {
			t.add(dir, path)
		}
	}
	if at := stringsIn(arguments["working_directory"]); len(at) == 1 && isPath(at[0]) {
		dir = join(dir, at[0])
	}
	for _, key := range []string{"command", "input", "patch", "cmd"} {
		words := stringsIn(arguments[key])
		if len(words) == 0 {
			continue
		}
		command := words[len(words)-1] // of ["bash", "-c", "…"]
		if strings.Contains(command, "*** Begin Patch") {
			t.patch(dir, command)
		} else if key == "command" || key == "cmd" {
			t.shell(dir, command)
		}
	}
	return t.paths
}

func mustJSON(text string) json.RawMessage {
	data, _ := json.Marshal(text) // strings always encode
	return data
}

// stringsIn takes a string or a list.
func stringsIn(value json.RawMessage) []string {
	var one string
	if json.Unmarshal(value, &one) == nil {
		return []string{one}
	}
	var all []string
	if json.Unmarshal(value, &all) == nil {
		return all
	}
	return nil
}

type touched struct {
	dir   string
	paths []string
}

func (t *touched) add(dir, path string) {
	if path = strings.TrimSpace(path); !isPath(path) || len(t.paths) == maxTouched {
		return
	}
	if path = join(dir, path); !slices.Contains(t.paths, path) {
		t.paths = append(t.paths, path)
	}
}

// isPath reports whether an argument can be a path.
func isPath(text string) bool {
	return text != "" && len(text) <= maxTouchedPath && text[0] != '~' && !strings.Contains(text, "://") && !strings.ContainsFunc(text, unicode.IsControl)
}

// isPlain reports whether a word looks like a plain path.
func isPlain(word string) bool {
	return (strings.Contains(word, "/") || hasExtension(word)) && word[0] != '-' && !strings.ContainsAny(word, "*?[]{}$`<>()=")
}

func join(dir, path string) string {
	if filepath.IsAbs(path) || dir == "" {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// patchMarks precede names of files in patches.
var patchMarks = []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "}

func (t *touched) patch(dir, text string) {
	for line := range strings.Lines(text) {
		for _, mark := range patchMarks {
			if path, ok := strings.CutPrefix(line, mark); ok {
				t.add(dir, path)
			}
		}
	}
}

// shell adds words that look like paths, in the folder of a cd before them. It understands only
// quotes and separators.
func (t *touched) shell(dir, command string) {
	if len(command) > maxShell || strings.Contains(command, "<<") {
		return
	}
	for _, words := range commandsOf(command) {
		if len(words) == 2 && words[0] == "cd" {
			if isPath(words[1]) && words[1][0] != '-' && words[1][0] != '$' {
				dir = join(dir, words[1])
				t.add("", dir)
			}
			continue
		}
		for _, word := range words[min(1, len(words)):] {
			if isPlain(word) {
				t.add(dir, word)
			}
		}
	}
}

// hasExtension is true for "main.go", not "1.5" or "v2.0".
func hasExtension(word string) bool {
	extension := strings.TrimPrefix(filepath.Ext(word), ".")
	return extension != "" && extension != word[1:] && len(extension) <= 8 && unicode.IsLetter(rune(extension[0]))
}

// commandsOf returns each simple command's words.
func commandsOf(line string) (all [][]string) {
	var words []string
	var word strings.Builder
	var quote rune
	within := false // a word
	end := func() {
		if within {
			words = append(words, word.String())
		}
		word.Reset()
		within = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, within = r, true
		case r == ';' || r == '&' || r == '|' || r == '\n':
			end()
			if len(words) > 0 {
				all = append(all, words)
			}
			words = nil
		case unicode.IsSpace(r):
			end()
		default:
			word.WriteRune(r)
			within = true
		}
	}
	if end(); len(words) > 0 && quote == 0 {
		all = append(all, words)
	}
	return all
}

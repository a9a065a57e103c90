package digest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/internal/text/lazy"
)

// editors are the tools that change a file, shells those that run a command.
var (
	editors = []string{"Edit", "MultiEdit", "Write", "NotebookEdit", "Create", "edit", "write", "edit_file", "write_file", "replace", "create_file", "str_replace_editor", "str_replace_based_edit_tool", "apply_patch", "write_to_file", "replace_in_file", "apply_diff", "insert_content", "editor", "edit_file_v2", "search_replace"}
	shells  = []string{"Bash", "bash", "shell", "Shell", "local_shell", "container.exec", "exec_command", "shell_command", "run_shell_command", "Execute", "terminal", "run_terminal_cmd", "execute_command", "run_terminal_command_v2", "run_in_terminal", "developer__shell"}
)

var patched = lazy.Regexp(`(?m)^\*\*\* (?:Add|Update|Delete) File: (.+)$`)

// changed returns the files that a call changed, as it named them.
func changed(use chunker.ToolUse) (files []string) {
	isShell := slices.Contains(shells, use.Name)
	if !isShell && !slices.Contains(editors, use.Name) {
		return nil
	}
	if strings.Contains(use.Input, "*** Begin Patch") {
		input := use.Input
		if strings.HasPrefix(input, "{") { // JSON has no lines
			input = strings.ReplaceAll(input, `\n`, "\n")
		}
		for _, m := range patched().FindAllStringSubmatch(input, maxFiles) {
			files = append(files, strings.TrimSpace(m[1]))
		}
		return files
	}
	if isShell {
		return nil
	}
	var input struct {
		Command, Path string
		FilePath      string `json:"file_path"`
		Notebook      string `json:"notebook_path"`
		Absolute      string `json:"absolute_path"`
		Target        string `json:"target_file"`
		Camel         string `json:"filePath"`
		Relative      string `json:"relativeWorkspacePath"`
	}
	if json.Unmarshal([]byte(use.Input), &input) != nil || input.Command == "view" {
		return nil
	}
	for _, file := range []string{input.FilePath, input.Notebook, input.Absolute, input.Path, input.Target, input.Camel, input.Relative} {
		if file = line(file); file != "" {
			return []string{file}
		}
	}
	return nil
}

// commandOf returns the command line of a shell's call, or "".
func commandOf(use chunker.ToolUse) string {
	if !slices.Contains(shells, use.Name) {
		return ""
	}
	input := strings.TrimSpace(use.Input)
	if !strings.HasPrefix(input, "{") {
		return unwrapped(input)
	}
	var args struct {
		Command json.RawMessage `json:"command"`
		Cmd     json.RawMessage `json:"cmd"`
	}
	if json.Unmarshal([]byte(input), &args) != nil {
		return ""
	}
	for _, raw := range []json.RawMessage{args.Command, args.Cmd} {
		var text string
		var words []string
		switch {
		case json.Unmarshal(raw, &text) == nil && text != "":
			return unwrapped(text)
		case json.Unmarshal(raw, &words) == nil && len(words) == 3 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c"):
			return strings.TrimSpace(words[2]) // ["bash", "-lc", "go test"]
		case len(words) > 0:
			return strings.Join(words, " ")
		}
	}
	return ""
}

var wrapping = lazy.Regexp(`^(?:/\S*/)?(?:ba|z|da)?sh -l?c `)

// unwrapped makes `bash -lc go test` "go test".
func unwrapped(command string) string {
	command = strings.TrimSpace(command)
	begin := wrapping().FindString(command)
	if begin == "" {
		return command
	}
	command = strings.TrimSpace(command[len(begin):])
	if n := len(command); n > 1 && (command[0] == '\'' || command[0] == '"') && command[n-1] == command[0] {
		command = command[1 : n-1]
	}
	return command
}

package setup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Binary returns memcore's path for agents: as called, if that leads to this executable. A package
// manager's link outlives versions.
func Binary(name string) (string, error) {
	running, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("where memcore is: %w", err)
	}
	if called, err := exec.LookPath(name); err == nil {
		if called, err = filepath.Abs(called); err == nil && sameFile(called, running) {
			return called, nil
		}
	}
	return running, nil
}

// hookCommand returns what an agent gives to a shell.
func hookCommand(binary, agent string) string { return Quoted(binary) + " hook " + agent }

// Quoted returns a path as a shell's word. Shells of Windows differ in single quotes and
// backslashes.
func Quoted(path string) string {
	if runtime.GOOS == "windows" {
		path = filepath.ToSlash(path)
		if strings.ContainsAny(path, " &()") {
			return `"` + path + `"`
		}
		return path
	}
	if path != "" && strings.Trim(path, plainCharacters) == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// plainCharacters need no quotes in a shell.
const plainCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%,="

// A word is a word of a command line.
type word struct {
	text       string // without quotes
	start, end int    // in the line
}

// words splits a command line as a shell does.
func words(line string) []word {
	var all []word
	var text strings.Builder
	start, quote := -1, byte(0)
	for i := 0; i <= len(line); i++ {
		if i == len(line) || quote == 0 && (line[i] == ' ' || line[i] == '\t') {
			if start >= 0 {
				all = append(all, word{text.String(), start, i})
				text.Reset()
			}
			start = -1
			continue
		}
		if start < 0 {
			start = i
		}
		switch c := line[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == '\\' && quote != '\'' && i+1 < len(line) && strings.IndexByte(` "'\$`, line[i+1]) >= 0:
			i++
			text.WriteByte(line[i])
		default:
			text.WriteByte(c)
		}
	}
	return all
}

// ownCommand finds what runs our hook in a command line: an executable named memcore, or binary,
// then "hook" and an agent; variables may precede it.
func ownCommand(line, binary string) (start, end int, ours bool) {
	all := words(line)
	for len(all) > 0 && isAssignment(all[0].text) {
		all = all[1:]
	}
	if len(all) < 2 || !isMemcore(all[0].text, binary) || all[1].text != "hook" {
		return 0, 0, false
	}
	end = all[1].end
	if len(all) > 2 && !strings.HasPrefix(all[2].text, "-") {
		raw := line[all[2].start:all[2].end] // ";" may follow without a space
		if agent := len(raw) - len(strings.TrimLeft(raw, "abcdefghijklmnopqrstuvwxyz-")); agent > 0 {
			end = all[2].start + agent
		}
	}
	return all[0].start, end, true
}

// updated changes our command's binary and agent.
func updated(line, binary, agent string) string {
	start, end, _ := ownCommand(line, binary)
	return line[:start] + hookCommand(binary, agent) + line[end:]
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// isMemcore reports whether a path of any system is memcore's.
func isMemcore(path, binary string) bool {
	base := path[strings.LastIndexAny(path, `/\`)+1:]
	return base == "memcore" || strings.EqualFold(base, "memcore.exe") || binary != "" && path == binary
}

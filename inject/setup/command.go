package setup

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Binary returns the path that agents should run: that by which memcore was called (name, the process's first argument) if it leads to this very
// executable, else the executable. So a link that a package manager keeps is not replaced by the file of one version behind it.
func Binary(name string) (string, error) {
	running, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("where memcore is: %w", err)
	}
	called, err := exec.LookPath(name)
	if err != nil {
		return running, nil
	}
	if called, err = filepath.Abs(called); err != nil {
		return running, nil
	}
	a, errA := os.Stat(called)
	b, errB := os.Stat(running)
	if errA != nil || errB != nil || !os.SameFile(a, b) {
		return running, nil
	}
	return called, nil
}

// hookCommand is the command line that an agent runs at its events. Agents give it to a shell.
func hookCommand(binary, agent string) string { return quoted(binary) + " hook " + agent }

// quoted is a path as one word of a shell. On Windows it is one of all the shells that agents use there, which share neither quotes nor
// the meaning of backslashes.
func quoted(path string) string {
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

// plainCharacters mean nothing but themselves to a shell.
const plainCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%,="

// A word is one of a command line.
type word struct {
	text       string // without quotes
	start, end int    // in the line
}

// words splits a command line as a shell does, as far as quotes and spaces go.
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

// ownCommand finds in a command line what runs a hook of memcore: an executable of that name, or binary itself, with "hook" and an agent behind it.
// Variables may be set before it. It returns where that part is.
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
		raw := line[all[2].start:all[2].end] // what a shell does next, such as ";", may follow without a space
		if agent := len(raw) - len(strings.TrimLeft(raw, "abcdefghijklmnopqrstuvwxyz-")); agent > 0 {
			end = all[2].start + agent
		}
	}
	return all[0].start, end, true
}

// updated is a command line of ours with binary and agent as they are now, and whatever a person has put around them.
func updated(line, binary, agent string) string {
	start, end, _ := ownCommand(line, binary)
	return line[:start] + hookCommand(binary, agent) + line[end:]
}

func isAssignment(word string) bool {
	name, _, ok := strings.Cut(word, "=")
	return ok && name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

// isMemcore tells whether a path is that of memcore, on whichever system it was written.
func isMemcore(path, binary string) bool {
	base := path[strings.LastIndexAny(path, `/\`)+1:]
	return base == "memcore" || strings.EqualFold(base, "memcore.exe") || binary != "" && path == binary
}

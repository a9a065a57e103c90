package gitignore

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/internal/safefile"
)

// UserFile returns the user's file for all repositories, which may not exist: core.excludesFile,
// else git/ignore. It follows no includes.
func UserFile(home string) string {
	folder := os.Getenv("XDG_CONFIG_HOME")
	if folder == "" && home != "" {
		folder = filepath.Join(home, ".config")
	}
	file := ""
	if folder != "" {
		file = filepath.Join(folder, "git", "ignore")
	}
	for _, config := range []string{filepath.Join(folder, "git", "config"), filepath.Join(home, ".gitconfig")} {
		if !filepath.IsAbs(config) {
			continue
		}
		text, _, err := safefile.ReadPath(config, maxSize)
		if err != nil {
			continue
		}
		named, ok := excludesFile(string(text))
		switch rest, below := strings.CutPrefix(named, "~/"); {
		case !ok:
		case below:
			file = filepath.Join(home, rest)
		default:
			file = named
		}
	}
	if !filepath.IsAbs(file) {
		return ""
	}
	return file
}

// excludesFile returns core.excludesFile (git-config(1)).
func excludesFile(config string) (value string, ok bool) {
	section := ""
	for lines := bufio.NewScanner(strings.NewReader(config)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") {
			section, line, _ = strings.Cut(line[1:], "]")
			line = strings.TrimSpace(line)
		}
		key, text, has := strings.Cut(line, "=")
		if has && strings.EqualFold(strings.TrimSpace(section), "core") && strings.EqualFold(strings.TrimSpace(key), "excludesfile") {
			value, ok = configValue(strings.TrimSpace(text)), true
		}
	}
	return value, ok
}

// configValue removes quotes, escapes and comment.
func configValue(text string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		case (c == '#' || c == ';') && !quoted:
			return strings.TrimRight(b.String(), " \t")
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

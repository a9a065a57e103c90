package gitignore

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/memcore/memcore/internal/git/repository"
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
		named := repository.Setting(text, "core", "excludesFile")
		switch rest, below := strings.CutPrefix(named, "~/"); {
		case named == "":
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

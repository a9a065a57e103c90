//go:build unix

package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Mark returns what a repository's git folder keeps when the folder of the project moves on its disk,
// and no other has: number and time of a file that git writes once, when it makes the folder. "" if
// there is none. A download cannot bring the number along.
func (p Project) Mark() string {
	if !p.IsRepository() || p.repository.Shared == "" {
		return ""
	}
	for _, name := range []string{"description", filepath.Join("info", "exclude")} {
		info, err := os.Lstat(filepath.Join(p.repository.Shared, name))
		if err != nil {
			continue
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && info.Mode().IsRegular() {
			return fmt.Sprintf("%s %d %d", filepath.Base(name), stat.Ino, info.ModTime().UnixNano())
		}
	}
	return ""
}

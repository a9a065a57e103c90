//go:build unix

package workspace

import (
	"fmt"
	"syscall"
)

// Mark returns what a repository's git folder keeps when the folder of the project moves on its
// disk, and no other has: number and time of a file that git writes once, when it makes the folder.
// "" if there is none. A download cannot bring the number along.
func (p Project) Mark() string {
	if !p.IsRepository() {
		return ""
	}
	info := p.firstFile()
	if info == nil {
		return ""
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s %d %d", info.Name(), stat.Ino, info.ModTime().UnixNano())
}

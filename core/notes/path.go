package notes

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/safefile/secretfile"
	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/text/sanitize"
)

// ErrPath means that no memory file has such a path.
var ErrPath = errors.New("not the path of a memory file")

// curatedNames act as instructions, so models must not write them.
var curatedNames = []string{"BEANS.md", "CLAUDE.md", "AGENT.md", "AGENTS.md", "GEMINI.md", "QWEN.md", "SKILL.md", "WARP.md"}

// writable are the paths that models may write: so plain that no system takes one for another, nor
// an agent for a kind of file of its own, such as x.instructions.md.
var writable = lazy.Regexp(`^(?:` + FactsFolder + `|` + EpisodesFolder + `)/[a-z0-9-]+\.md$`)

// checkWritten is checkPath for a file that is to be written.
func (d *Data) checkWritten(name string) (string, error) {
	clean, err := checkPath(name)
	if err != nil {
		return "", err
	}
	if d.detail != "" && !strings.HasPrefix(clean, d.detail+"/") {
		return "", fmt.Errorf("%w: %.200q; want %s/NAME.md", ErrPath, name, d.detail)
	}
	// The name of a session's note is as plain as that of a fact.
	plain := clean
	if d.detail != "" {
		plain = FactsFolder + strings.TrimPrefix(clean, d.detail)
	}
	if !writable().MatchString(plain) {
		return "", fmt.Errorf("%w: %.200q cannot be written; want facts/NAME.md or episodes/NAME.md, where NAME has a-z, 0-9 and - only, such as facts/user.md", ErrPath, name)
	}
	base := path.Base(clean)
	named := func(curated string) bool { return strings.EqualFold(curated, base) }
	if slices.ContainsFunc(curatedNames, named) || slices.ContainsFunc(d.curated, named) {
		return "", fmt.Errorf("%w: %.200q has the name of a file that agents take for instructions; want one such as facts/user.md", ErrPath, name)
	}
	return clean, nil
}

// checkPath returns the shortest form of a memory file's path.
func checkPath(name string) (string, error) {
	clean := path.Clean(name)
	if reason := wrongPath(name, clean); reason != "" {
		return "", fmt.Errorf("%w: %.200q %s", ErrPath, name, reason)
	}
	return clean, nil
}

func wrongPath(name, clean string) string {
	switch {
	case name == "":
		return "is empty; want one such as facts/user.md"
	case len(name) > 512:
		return "is too long"
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "has control characters in it"
	case strings.ContainsAny(name, `\:*?"<>|`):
		return "has characters that some systems do not allow in file names"
	case path.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(clean)):
		return "leads out of the memory folder"
	case !strings.HasSuffix(clean, ".md"):
		return "does not end in .md"
	}
	if seen, findings := sanitize.Reveal(name); len(findings) > 0 || seen != name {
		return "has invisible characters in it"
	}
	for element := range strings.SplitSeq(clean, "/") {
		if strings.HasPrefix(element, ".") || strings.TrimRight(element, ". ") != element {
			return "has a hidden element, or one that ends in a dot or a blank"
		}
	}
	if reason := secretfile.Reason("/" + clean); reason != "" {
		return "is that of a secret: " + reason
	}
	return ""
}

package source

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/git/gitignore"
	"github.com/memcore/memcore/internal/paths"
)

// A format is one kind of conversation log. To add one, write a file format_NAME.go, enter it
// below, and put a log into testdata.
//
// Formats keep nothing between records: the conversation does, so that reading can go on anywhere.
type format struct {
	name string // Document.Format of its logs
	// sniff reports whether a record is of this format.
	sniff func(f fields) bool
	// parse adds a record, or says why it cannot.
	parse func(c *conversation, r record) (skipped string)
	// folders returns where the agent keeps logs of a workspace, which is given in several
	// spellings.
	folders func(workspace []string, home string) []FolderOptions
	// agent means that all logs are of agents at work.
	agent bool
}

// formats are tried in order, the least specific last.
var formats = []format{
	{"claude-code", sniffClaude, parseClaude, claudeFolders, true},
	{"codex", sniffCodex, parseCodex, codexFolders, true},
	{"gemini-cli", sniffGemini, parseGemini, geminiFolders, true},
	{"pi", sniffPi, parsePi, piFolders, true},
	{"openai", sniffOpenAI, parseOpenAI, nil, false},
}

func formatNamed(name string) (format, bool) {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		return format{}, false
	}
	return formats[i], true
}

// Known returns the folders in which known agents keep the logs of a workspace. Index them only if
// the user asks for it. A missing folder is an empty source. earlier are paths of the workspace
// before it moved, under which agents know it. One that is a folder again is another project.
func Known(workspace, home string, earlier ...string) []Source {
	if workspace == "" || home == "" {
		return nil
	}
	var all []Source
	seen := map[string]bool{}
	earlier = slices.DeleteFunc(slices.Clone(earlier), func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
	for _, f := range formats {
		if f.folders == nil {
			continue
		}
		for _, o := range f.folders(append(paths.Spellings(workspace), earlier...), paths.Absolute(home)) {
			if seen[o.Path] {
				continue
			}
			seen[o.Path] = true
			o.Scope, o.Workspace, o.Home, o.Optional = ScopeProject, workspace, home, true
			all = append(all, NewFolder(o))
		}
	}
	return all
}

// foldersBelow reads the sessions in folders of the workspace, whose names begin like its name up
// to a tail. So may other workspaces' names.
func foldersBelow(workspace []string, in string, name func(cwd string) string, tail string) FolderOptions {
	exclude := []string{"/*"}
	for _, cwd := range workspace {
		exclude = append(exclude, "!/"+gitignore.Escape(strings.TrimSuffix(name(cwd), tail))+"-*")
	}
	for _, cwd := range workspace { // folderOfEach has these
		exclude = append(exclude, "/"+gitignore.Escape(name(cwd)))
	}
	return FolderOptions{Path: in, SessionsIn: workspace, Exclude: exclude}
}

// isPartOf reports whether a folder is one of the workspace's, or in one, and of no other workspace
// below it.
func isPartOf(workspace []string, folder string) bool {
	for _, root := range workspace {
		if _, inside := paths.Within(root, folder); !inside {
			continue
		}
		for dir := folder; dir != root && len(dir) > len(root); dir = filepath.Dir(dir) {
			for _, mark := range []string{".git", ".beans"} {
				if _, err := os.Stat(filepath.Join(dir, mark)); err == nil {
					return false
				}
			}
		}
		return true
	}
	return false
}

func folderOfEach(workspace []string, in string, name func(cwd string) string) []FolderOptions {
	var all []FolderOptions
	for _, cwd := range workspace {
		all = append(all, FolderOptions{Path: filepath.Join(in, name(cwd))})
	}
	return all
}

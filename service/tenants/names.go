package tenants

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
)

// Folders of a tenant's documents.
const (
	sharedFolder = "shared" // of all its users
	teamsFolder  = "teams"  // has a folder for each team
	usersFolder  = "users"  // has a folder for each user
)

// tenantName matches names of tenants, teams and users.
var tenantName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$`) })

func checkName(what, name string) error {
	if !tenantName().MatchString(name) || strings.Contains(name, "..") {
		return kind.Usagef("the name of the %s is %.80q: want 1 to 63 small letters, digits, and '.', '_', '-' between them", what, name)
	}
	return nil
}

// homePrefix begins the paths of a user's own documents.
const homePrefix = "~/"

// teamMark begins the paths of a team's documents.
const teamMark = "@"

// hidden is the only folder whose name may begin with a dot.
const hidden = ".beans"

// storedAs returns the path in the log of a document that a principal names: "a.md" is shared by
// all users, "@platform/…" by a team, "~/.beans/…" is the user's own.
func storedAs(p service.Principal, name string) (string, error) {
	stored := path.Join(sharedFolder, name)
	if own, isOwn := strings.CutPrefix(name, homePrefix); isOwn {
		stored = path.Join(usersFolder, p.User, own)
		if !strings.HasPrefix(own, hidden+"/") {
			return "", kind.Usagef("%.200q: a user's own documents are below ~/%s/, such as ~/%s/memories/tea.md", name, hidden, hidden)
		}
	} else if rest, ofTeam := strings.CutPrefix(name, teamMark); ofTeam {
		team, _, _ := strings.Cut(rest, "/")
		stored = path.Join(teamsFolder, rest)
		if !slices.Contains(p.Teams, team) {
			return "", kind.As(kind.Forbidden, fmt.Errorf("%.200q: you are in no team %.80q", name, team))
		}
	}
	if !fs.ValidPath(strings.TrimPrefix(name, homePrefix)) {
		return "", kind.Usagef("%.200q is not the path of a document: want a relative path without '..' and '//'", name)
	}
	return stored, checkStored(stored)
}

// shownAs reverses storedAs. It returns "" for documents of other users and teams.
func shownAs(p service.Principal, stored string) string {
	scope, rest, _ := strings.Cut(stored, "/")
	owner, name, _ := strings.Cut(rest, "/")
	switch {
	case scope == sharedFolder:
		return rest
	case scope == usersFolder && owner == p.User && name != "":
		return homePrefix + name
	case scope == teamsFolder && slices.Contains(p.Teams, owner) && name != "":
		return teamMark + rest
	}
	return ""
}

// foldersOf are the folders in the log that a principal sees.
func foldersOf(p service.Principal) []string {
	all := []string{sharedFolder}
	for _, team := range p.Teams {
		all = append(all, teamsFolder+"/"+team)
	}
	return append(all, usersFolder+"/"+p.User)
}

// mostTeams bounds the teams of a principal.
const mostTeams = 64

// teamsOf sorts and checks names of teams for a Principal.
func teamsOf(names []string) ([]string, error) {
	teams := slices.Compact(slices.Sorted(slices.Values(names)))
	if len(teams) > mostTeams {
		return nil, kind.Usagef("there are %d teams, want at most %d", len(teams), mostTeams)
	}
	for _, team := range teams {
		if err := checkName("team", team); err != nil {
			return nil, err
		}
	}
	return teams, nil
}

// extensions of documents.
var extensions = []string{".md", ".json", ".jsonl"}

// longestPath is in bytes.
const longestPath = 512

// checkStored refuses files that configure memcore, hidden files, and names that a file system or a
// person could take for others.
func checkStored(stored string) error {
	parts := strings.Split(stored, "/")
	var within []string // below the folder of all users, of a team, or of a user
	switch {
	case parts[0] == sharedFolder && len(parts) > 1 && !strings.HasPrefix(parts[1], teamMark):
		within = parts[1:]
	case parts[0] == teamsFolder && len(parts) > 2 && checkName("team", parts[1]) == nil:
		within = parts[2:]
	case parts[0] == usersFolder && len(parts) > 2 && checkName("user", parts[1]) == nil:
		within = parts[2:]
	}
	shown := strings.Join(within, "/")
	refuse := func(format string, args ...any) error {
		return kind.Usagef("%.200q is not the path of a document: %s", shown, fmt.Sprintf(format, args...))
	}
	if len(within) == 0 || !fs.ValidPath(stored) || len(stored) > longestPath || !utf8.ValidString(stored) {
		return refuse("want a relative path of at most %d bytes", longestPath)
	}
	file := within[len(within)-1]
	if !slices.Contains(extensions, path.Ext(file)) || within[0] == hidden && path.Ext(file) != ".md" {
		return refuse("want a name that ends in %s; in %s in .md", strings.Join(extensions, ", "), hidden)
	}
	for i, part := range within {
		switch {
		case strings.HasPrefix(part, ".") && !(i == 0 && part == hidden):
			return refuse("%q is hidden", part)
		case strings.ContainsFunc(part, func(r rune) bool { return r == '\\' || r == ':' || !unicode.IsPrint(r) }):
			return refuse("%q has a character that names of files should not have", part)
		case strings.HasSuffix(part, " ") || strings.HasSuffix(part, ".") || strings.HasPrefix(part, "~"):
			return refuse("%q begins with '~' or ends with a dot or a space", part)
		case len(part) > 200:
			return refuse("%.20q… is longer than 200 bytes", part)
		case i < len(within)-1 && slices.Contains(extensions, path.Ext(part)):
			return refuse("folder %q is named like a document", part)
		}
	}
	if why := source.DenyReason(stored); why != "" {
		return refuse("%s", why)
	}
	return nil
}

// instructs reports whether a document acts as instruction. What agents save below .beans/memories
// does not. names are those of curated files.
func instructs(stored string, names []string) bool {
	parts := strings.Split(stored, "/")
	within := parts[1:]
	if parts[0] != sharedFolder {
		within = parts[2:]
	}
	file := within[len(within)-1]
	if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, file) }) {
		return true
	}
	return within[0] == hidden && (len(within) < 3 || within[1] != "memories")
}

// isOfSeveral reports whether several users may see a document.
func isOfSeveral(stored string) bool {
	return strings.HasPrefix(stored, sharedFolder+"/") || strings.HasPrefix(stored, teamsFolder+"/")
}

// instructsOthers reports whether a document instructs the agents of several users.
func instructsOthers(stored string) bool {
	return isOfSeveral(stored) && instructs(stored, curatedNames)
}

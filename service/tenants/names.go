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
	"github.com/memcore/memcore/service/postgres"
)

// tenantName matches names of tenants, teams and users.
var tenantName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$`) })

func checkName(what, name string) error {
	if !tenantName().MatchString(name) || strings.Contains(name, "..") {
		return kind.Usagef("the name of the %s is %.80q: want 1 to 63 small letters, digits, and '.', '_', '-' between them", what, name)
	}
	return nil
}

// isPrintable reports whether a text can be kept and shown as it is.
func isPrintable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) })
}

// homePrefix begins the paths of a user's own documents.
const homePrefix = "~/"

// teamMark begins the paths of a team's documents.
const teamMark = "@"

// hidden is the only folder whose name may begin with a dot.
const hidden = ".beans"

// A placed document is in a scope: what all users of a tenant share, a team's, or a user's own.
type placed struct {
	kind   postgres.ScopeKind
	team   string // of a team's
	within string // its path below that
}

// place returns where a document is by its path, as all who may see it name it: "a.md" is shared by
// all users, "@platform/…" by a team, "~/.beans/…" is the user's own.
func place(name string) placed {
	if own, isOwn := strings.CutPrefix(name, homePrefix); isOwn {
		return placed{kind: postgres.User, within: own}
	}
	if rest, ofTeam := strings.CutPrefix(name, teamMark); ofTeam {
		team, within, _ := strings.Cut(rest, "/")
		return placed{postgres.Team, team, within}
	}
	return placed{kind: postgres.Shared, within: name}
}

// Folders of a desk.
const (
	sharedFolder = "shared"
	teamsFolder  = "teams" // has a folder for each team
	homeFolder   = "home"
)

// file is where a document is on a desk, slash-separated.
func (p placed) file() string {
	switch p.kind {
	case postgres.User:
		return homeFolder + "/" + p.within
	case postgres.Team:
		return teamsFolder + "/" + p.team + "/" + p.within
	}
	return sharedFolder + "/" + p.within
}

// nameAt reverses file; "" for other files.
func nameAt(file string) string {
	folder, rest, _ := strings.Cut(file, "/")
	switch folder {
	case sharedFolder:
		return rest
	case teamsFolder:
		return teamMark + rest
	case homeFolder:
		return homePrefix + rest
	}
	return ""
}

// ofSeveral reports whether several users may see a document.
func (p placed) ofSeveral() bool { return p.kind != postgres.User }

// checkPath refuses paths that are no document's, or of a team that the principal is not in.
func checkPath(p service.Principal, name string) error {
	at := place(name)
	switch {
	case at.kind == postgres.Team && !slices.Contains(p.Teams, at.team):
		return kind.As(kind.Forbidden, fmt.Errorf("%.200q: you are in no team %.80q", name, at.team))
	case at.kind == postgres.User && !strings.HasPrefix(at.within, hidden+"/"):
		return kind.Usagef("%.200q: a user's own documents are below ~/%s/, such as ~/%s/memories/tea.md", name, hidden, hidden)
	case !fs.ValidPath(at.within):
		return kind.Usagef("%.200q is not the path of a document: want a relative path without '..' and '//'", name)
	}
	return checkWithin(at.within)
}

// maxTeams bounds the teams of a principal.
const maxTeams = 64

// teamsOf sorts and checks names of teams for a Principal.
func teamsOf(names []string) ([]string, error) {
	teams := slices.Compact(slices.Sorted(slices.Values(names)))
	if len(teams) > maxTeams {
		return nil, kind.Usagef("there are %d teams, want at most %d", len(teams), maxTeams)
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

// maxPath is in bytes.
const maxPath = 512

// checkWithin refuses files that configure memcore, hidden files, and names that a file system or a
// person could take for others.
func checkWithin(shown string) error {
	refuse := func(format string, args ...any) error {
		return kind.Usagef("%.200q is not the path of a document: %s", shown, fmt.Sprintf(format, args...))
	}
	if len(shown) > maxPath || !utf8.ValidString(shown) || shown == "." {
		return refuse("want a relative path of at most %d bytes", maxPath)
	}
	within := strings.Split(shown, "/")
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
	if why := source.DenyReason(shown); why != "" {
		return refuse("%s", why)
	}
	return nil
}

// curatedNames follow from fileNames in imposed.
var curatedNames = []string{"BEANS.md", "BEANS.local.md"}

// instructs reports whether a document acts as instruction. What agents save below .beans/memories
// does not.
func (p placed) instructs() bool {
	within := strings.Split(p.within, "/")
	file := within[len(within)-1]
	if slices.ContainsFunc(curatedNames, func(name string) bool { return strings.EqualFold(name, file) }) {
		return true
	}
	return within[0] == hidden && (len(within) < 3 || within[1] != "memories")
}

// instructsOthers reports whether a document instructs the agents of several users.
func (p placed) instructsOthers() bool { return p.ofSeveral() && p.instructs() }

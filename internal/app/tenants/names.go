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
	"github.com/memcore/memcore/internal/app/kind"
)

// Folders of a tenant's documents.
const (
	sharedFolder = "shared" // of all its users
	usersFolder  = "users"  // has a folder for each user
)

// tenantName is the form of names of tenants and users.
var tenantName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,61}[a-z0-9])?$`) })

func checkName(what, name string) error {
	if !tenantName().MatchString(name) || strings.Contains(name, "..") {
		return kind.Usagef("the name of the %s is %.80q: want 1 to 63 small letters, digits, and '.', '_', '-' between them", what, name)
	}
	return nil
}

// homePrefix begins the paths of a user's own documents.
const homePrefix = "~/"

// hidden is the only folder whose name may begin with a dot.
const hidden = ".beans"

// storedAs returns the path in the log of a document that a user names: relative for one of all
// users, "~/.beans/…" for their own.
func storedAs(user, name string) (string, error) {
	own, isOwn := strings.CutPrefix(name, homePrefix)
	stored := path.Join(sharedFolder, name)
	if isOwn {
		stored = path.Join(usersFolder, user, own)
		if !strings.HasPrefix(own, hidden+"/") {
			return "", kind.Usagef("%.200q: a user's own documents are below ~/%s/, such as ~/%s/memories/tea.md", name, hidden, hidden)
		}
	}
	if !fs.ValidPath(own) {
		return "", kind.Usagef("%.200q is not the path of a document: want a relative path without '..' and '//'", name)
	}
	return stored, checkStored(stored)
}

// shownAs returns the path that a user has for a document, or "" if it is another user's.
func shownAs(user, stored string) string {
	if name, ok := strings.CutPrefix(stored, sharedFolder+"/"); ok {
		return name
	}
	if name, ok := strings.CutPrefix(stored, path.Join(usersFolder, user)+"/"); ok {
		return homePrefix + name
	}
	return ""
}

// extensions of documents.
var extensions = []string{".md", ".json", ".jsonl"}

// longestPath is in bytes.
const longestPath = 512

// checkStored refuses paths that are no documents of a tenant, above all files that configure
// memcore, hidden files, and names that a file system or a reader could take for others.
func checkStored(stored string) error {
	parts := strings.Split(stored, "/")
	var within []string // below the folder of all users, or of one
	switch {
	case parts[0] == sharedFolder && len(parts) > 1:
		within = parts[1:]
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

// instructs reports whether a document acts as instruction: curated memory, but not what agents
// save below .beans/memories. names are those of curated files.
func instructs(stored string, names []string) bool {
	parts := strings.Split(stored, "/")
	within := parts[1:]
	if parts[0] == usersFolder {
		within = parts[2:]
	}
	file := within[len(within)-1]
	if slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, file) }) {
		return true
	}
	return within[0] == hidden && (len(within) < 3 || within[1] != "memories")
}

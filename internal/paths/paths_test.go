package paths

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// A folder of the workspace cannot be named as the home is.
func TestFolderNamedAsTheHome(t *testing.T) {
	names := NewNames("/home/ada/project", "/home/ada")
	for path, want := range map[string]string{
		"/home/ada/project/~/.beans/BEANS.md": "./~/.beans/BEANS.md", "/home/ada/project/~": "./~", "/home/ada/project/~a.md": "~a.md", "/home/ada/.beans/BEANS.md": "~/.beans/BEANS.md",
	} {
		if got := names.Of(filepath.FromSlash(path)); filepath.Separator == '/' && got != want {
			t.Errorf("Of(%q) = %q, want %q", path, got, want)
		}
	}
}

// A folder with a name of its own is shown by it, wherever it is.
func TestNamesWith(t *testing.T) {
	names := NewNames("/srv/shared", "/srv/users/ada").With("@ops", "/srv/teams/ops").With("@web", "/srv/shared/web")
	for path, want := range map[string]string{
		"/srv/teams/ops/a/b.md": "@ops/a/b.md", "/srv/teams/ops": "@ops", "/srv/teams/opsx/a.md": "/srv/teams/opsx/a.md", "/srv/shared/web/a.md": "@web/a.md", "/srv/shared/a.md": "a.md", "/srv/users/ada/a.md": "~/a.md", "/srv/shared/@ops/a.md": "./@ops/a.md", "/srv/shared/@opsx/a.md": "@opsx/a.md",
	} {
		if got := names.Of(filepath.FromSlash(path)); filepath.Separator == '/' && got != want {
			t.Errorf("Of(%q) = %q, want %q", path, got, want)
		}
	}
}

// Names are unique and bounded; an ordinary path's name shows the path.
func TestFolderName(t *testing.T) {
	long := "/x/" + strings.Repeat("ä", 200)
	hashed := FolderName("/x/acme-internal")
	digits := strings.TrimSuffix(strings.TrimPrefix(hashed, "--x-acme-internal-"), "--")
	seen := map[string]string{}
	for path, want := range map[string]string{
		"/home/me/project":                  "--home-me-project--",
		"/x/acme/internal":                  "--x-acme-internal--",
		"/x/acme-internal":                  `--x-acme-internal-[0-9a-f]{12}--`,
		"/x-acme/internal":                  `--x-acme-internal-[0-9a-f]{12}--`,
		"/x/acme/internal/" + digits:        `--x-acme-internal-[0-9a-f]{12}-[0-9a-f]{12}--`,
		"/x/acme/internal/0123456789abc":    "--x-acme-internal-0123456789abc--",
		"/":                                 "----",
		"/-":                                `---[0-9a-f]{12}--`,
		"/x/" + strings.Repeat("n", 148):    "--x-" + strings.Repeat("n", 148) + "--",
		"/x/" + strings.Repeat("n", 149):    "--x-" + strings.Repeat("n", 148) + "-[0-9a-f]{12}--",
		"/x/" + strings.Repeat("n", 150):    "--x-" + strings.Repeat("n", 148) + "-[0-9a-f]{12}--",
		long:                                "--x-ä{74}-[0-9a-f]{12}--",
		long + "b":                          "--x-ä{74}-[0-9a-f]{12}--",
		"/x/" + strings.Repeat("\xa9", 300): "",
	} {
		got := FolderName(filepath.FromSlash(path))
		if !regexp.MustCompile("^("+want+")$").MatchString(got) && want != "" {
			t.Errorf("FolderName(%q) = %q, want %s", path, got, want)
		}
		if len(got) > 170 || utf8.ValidString(path) && !utf8.ValidString(got) {
			t.Errorf("FolderName(%q) = %q, too long or cut within a character", path, got)
		}
		if seen[got] != "" {
			t.Errorf("%q and %q are both %q", seen[got], path, got)
		}
		seen[got] = path
	}
	if filepath.Separator == '\\' {
		if got := FolderName(`C:\a\b`); got != "--C-a-b--" {
			t.Errorf(`C:\a\b is %q`, got)
		}
		if got := FolderName(`\\C\a\b`); got == "--C-a-b--" {
			t.Error("a share is named like a disk")
		}
		return
	}
	for _, path := range []string{"/x/a:b", `/x/a\b`} {
		if got := FolderName(path); got == FolderName("/x/ab") || got == FolderName("/x/a/b") {
			t.Errorf("%q is named like another folder, %q", path, got)
		}
	}
}

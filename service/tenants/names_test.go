package tenants

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service"
)

func TestStoredAs(t *testing.T) {
	ann := service.Principal{User: "ann", Teams: []string{"dev", "ops"}}
	for name, want := range map[string]string{
		"notes/deploy.md":                  "shared/notes/deploy.md",
		"BEANS.md":                         "shared/BEANS.md",
		".beans/rules/go.md":               "shared/.beans/rules/go.md",
		"a/ü 日本.md":                        "shared/a/ü 日本.md",
		"log.jsonl":                        "shared/log.jsonl",
		"conversations/x.json":             "shared/conversations/x.json",
		"~/.beans/memories/t.md":           "users/ann/.beans/memories/t.md",
		"~/.beans/BEANS.md":                "users/ann/.beans/BEANS.md",
		"users/bob/.x/a.md":                "",
		"users/bob/a.md":                   "shared/users/bob/a.md",
		"shared/a.md":                      "shared/shared/a.md",
		"a~/b.md":                          "shared/a~/b.md",
		"":                                 "",
		".":                                "",
		"..":                               "",
		"/":                                "",
		"~":                                "",
		"~/":                               "",
		"~/.beans":                         "",
		"~/.beans/":                        "",
		"~/a.md":                           "",
		"~/.beans.md":                      "",
		"~/.beans/../../bob/a.md":          "",
		"~/../bob/.beans/a.md":             "",
		"~/.beans/./a.md":                  "",
		"~bob/.beans/a.md":                 "",
		"../users/bob/a.md":                "",
		"a/../../users/bob/a.md":           "",
		"a/./b.md":                         "",
		"a//b.md":                          "",
		"/etc/passwd.md":                   "",
		"a/":                               "",
		"./a.md":                           "",
		"a.md/b.md":                        "",
		"a.MD":                             "",
		"a.txt":                            "",
		"a":                                "",
		".md":                              "",
		".git/config.md":                   "",
		"a/.git/x.md":                      "",
		"a/.beans/x.md":                    "",
		".beans/config.yaml":               "",
		".beans/settings.json":             "",
		"memcore-eval.yaml":                "",
		"a\x00.md":                         "",
		"a\n.md":                           "",
		"a\u202e.md":                       "",
		"a\u200b.md":                       "",
		"a\xff.md":                         "",
		`a\b.md`:                           "",
		"C:/a.md":                          "",
		"a.md:stream.md":                   "",
		"a /b.md":                          "",
		"a./b.md":                          "",
		".writing":                         "",
		"credentials.json":                 "",
		"id_rsa.md":                        "",
		strings.Repeat("a", 198) + ".md":   "",
		strings.Repeat("a/", 300) + "b.md": "",
		strings.Repeat("a", 197) + ".md":   "shared/" + strings.Repeat("a", 197) + ".md",
		"%2e%2e/users/bob/a.md":            "shared/%2e%2e/users/bob/a.md",
		"\uff0e\uff0e/users/bob/a.md":      "shared/\uff0e\uff0e/users/bob/a.md",
		"~/.beans/memories/BEANS.md":       "users/ann/.beans/memories/BEANS.md",
		"~/.beans/memories/" + strings.Repeat("ü", 101): "",
		"@ops/runbooks/deploy.md":                       "teams/ops/runbooks/deploy.md",
		"@ops/BEANS.md":                                 "teams/ops/BEANS.md",
		"@ops/.beans/rules/go.md":                       "teams/ops/.beans/rules/go.md",
		"@ops/@web/a.md":                                "teams/ops/@web/a.md",
		"a/@ops/b.md":                                   "shared/a/@ops/b.md",
		"@web/a.md":                                     "",
		"@op/a.md":                                      "",
		"@ops":                                          "",
		"@ops/":                                         "",
		"@ops.md":                                       "",
		"@":                                             "",
		"@/a.md":                                        "",
		"@ops/../web/a.md":                              "",
		"@ops/../../shared/a.md":                        "",
		"@ops//a.md":                                    "",
		"@ops/.git/a.md":                                "",
		"@ops/.beans/config.yaml":                       "",
		"@@ops/a.md":                                    "",
		"~/@ops/a.md":                                   "",
		"~/.beans/@ops/a.md":                            "users/ann/.beans/@ops/a.md",
		"teams/ops/a.md":                                "shared/teams/ops/a.md",
	} {
		got, err := storedAs(ann, name)
		if want == "" {
			require.Error(t, err, "%q", name)
			continue
		}
		require.NoError(t, err, "%q", name)
		require.Equal(t, want, got)
		require.Equal(t, name, shownAs(ann, got))
		if strings.HasPrefix(name, homePrefix) {
			for _, user := range []string{"bob", "an", "ann.b", ""} {
				require.Empty(t, shownAs(service.Principal{User: user, Teams: []string{"ops", "ann"}}, got), "%q of another user", name)
			}
		}
		if strings.HasPrefix(name, teamMark) {
			for _, teams := range [][]string{nil, {"op"}, {"ops.b", "web"}, {""}} {
				require.Empty(t, shownAs(service.Principal{User: "ann", Teams: teams}, got), "%q of another team", name)
			}
		}
	}
}

func TestNames(t *testing.T) {
	for _, name := range []string{"a", "acme", "a.b-c_d", "7", strings.Repeat("a", 63), "con", "users"} {
		require.NoError(t, checkName("tenant", name), "%q", name)
	}
	for _, name := range []string{"", ".", "..", "a..b", "-a", "a-", ".a", "a.", "A", "ü", "a b", "a/b", `a\b`, "a\n", "a\x00", "a:b", "~", "*", strings.Repeat("a", 64), "acme ", "аcme"} {
		require.Error(t, checkName("tenant", name), "%q", name)
	}
}

func TestInstructs(t *testing.T) {
	for stored, want := range map[string]bool{
		"shared/BEANS.md": true, "shared/a/b/BEANS.md": true, "shared/beans.md": true, "shared/BEANS.local.md": true, "shared/.beans/rules/x.md": true, "shared/.beans/x.md": true,
		"shared/.beans/memories/x.md": false, "shared/.beans/memories/BEANS.md": true, "shared/.beans/memories.md": true, "shared/notes/x.md": false, "users/ann/.beans/BEANS.md": true,
		"users/ann/.beans/memories/x.md": false, "shared/.beans/memories/deep/rules/x.md": false,
		"teams/ops/BEANS.md": true, "teams/ops/a/beans.md": true, "teams/ops/.beans/rules/x.md": true, "teams/ops/.beans/memories/x.md": false, "teams/ops/x.md": false,
	} {
		require.Equal(t, want, instructs(stored, curatedNames), "%s", stored)
	}
}

// Whatever name a user sends, its path stays in the mirror, and in what the user may see.
func FuzzStoredAs(f *testing.F) {
	for _, name := range []string{"a.md", "@ops/a.md", "@ops/../web/a.md", "~/.beans/a.md", "../a.md", "~/.beans/../../bob/.beans/a.md", "%2e%2e/a.md", "a/\u202e.md", `..\a.md`, "~/.beans/memories/a.md\x00.md", ".beans/rules/x.md"} {
		f.Add("ann", name)
	}
	f.Add("bob", "users/ann/.beans/x.md")
	f.Fuzz(func(t *testing.T, user, name string) {
		if checkName("user", user) != nil {
			return
		}
		p, other := service.Principal{User: user, Teams: []string{"ops"}}, service.Principal{User: user + "x", Teams: []string{"web"}}
		stored, err := storedAs(p, name)
		if err != nil {
			return
		}
		if path.Clean(stored) != stored || !filepath.IsLocal(filepath.FromSlash(stored)) {
			t.Errorf("%q is stored as %q", name, stored)
		}
		if !strings.HasPrefix(stored, sharedFolder+"/") && !strings.HasPrefix(stored, usersFolder+"/"+user+"/"+hidden+"/") && !strings.HasPrefix(stored, teamsFolder+"/ops/") {
			t.Errorf("%q of %s is stored as %q", name, user, stored)
		}
		if got := shownAs(p, stored); got != name {
			t.Errorf("%q is stored as %q and shown as %q", name, stored, got)
		}
		if shown := shownAs(other, stored); shown != "" && !strings.HasPrefix(stored, sharedFolder+"/") {
			t.Errorf("%q of %s is shown to another as %q", name, user, shown)
		}
		instructs(stored, curatedNames)
	})
}

// What passes the check is a file below one of the three folders, and no name has a place twice.
func FuzzCheckStored(f *testing.F) {
	for _, name := range []string{"shared/a.md", "teams/ops/a.md", "teams/a.md", "shared/@ops/a.md", "users/ann/.beans/a.md", "users/ann/a.md", "users/../shared/a.md", "shared/.beans/config.yaml", "shared", "users/ann", "a.md", "shared//a.md", "shared/a.md/"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, stored string) {
		if checkStored(stored) != nil {
			return
		}
		if path.Clean(stored) != stored || !filepath.IsLocal(filepath.FromSlash(stored)) || strings.ContainsAny(stored, "\\:\x00") {
			t.Errorf("%q passes", stored)
		}
		parts := strings.Split(stored, "/")
		p := service.Principal{User: "ann"}
		switch parts[0] {
		case usersFolder:
			p.User = parts[1]
		case teamsFolder:
			p.Teams = []string{parts[1]}
		}
		shown := shownAs(p, stored)
		if shown == "" {
			t.Errorf("%q is shown to nobody", stored)
		}
		if again, err := storedAs(p, shown); err == nil && again != stored {
			t.Errorf("%q is shown as %q, which is stored as %q", stored, shown, again)
		}
		instructs(stored, curatedNames)
	})
}

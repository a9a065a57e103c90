package tenants

import (
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/postgres"
)

func TestPlaces(t *testing.T) {
	ann := service.Principal{User: "ann", Teams: []string{"dev", "ops"}}
	for name, want := range map[string]string{
		"notes/deploy.md":                  "shared/notes/deploy.md",
		"BEANS.md":                         "shared/BEANS.md",
		".beans/rules/go.md":               "shared/.beans/rules/go.md",
		"a/ü 日本.md":                        "shared/a/ü 日本.md",
		"log.jsonl":                        "shared/log.jsonl",
		"conversations/x.json":             "shared/conversations/x.json",
		"~/.beans/memories/t.md":           "home/.beans/memories/t.md",
		"~/.beans/BEANS.md":                "home/.beans/BEANS.md",
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
		"~/.beans/memories/BEANS.md":       "home/.beans/memories/BEANS.md",
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
		"~/.beans/@ops/a.md":                            "home/.beans/@ops/a.md",
		"teams/ops/a.md":                                "shared/teams/ops/a.md",
	} {
		err := checkPath(ann, name)
		if want == "" {
			require.Error(t, err, "%q", name)
			continue
		}
		require.NoError(t, err, "%q", name)
		require.Equal(t, want, place(name).file())
		require.Equal(t, name, nameAt(want))
	}
	require.Error(t, checkPath(service.Principal{User: "ann", Teams: []string{"op", "ops.b"}}, "@ops/a.md"), "of another team")
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
	for name, want := range map[string]bool{
		"BEANS.md": true, "a/b/BEANS.md": true, "beans.md": true, "BEANS.local.md": true, ".beans/rules/x.md": true, ".beans/x.md": true,
		".beans/memories/x.md": false, ".beans/memories/BEANS.md": true, ".beans/memories.md": true, "notes/x.md": false, "~/.beans/BEANS.md": true,
		"~/.beans/memories/x.md": false, ".beans/memories/deep/rules/x.md": false,
		"@ops/BEANS.md": true, "@ops/a/beans.md": true, "@ops/.beans/rules/x.md": true, "@ops/.beans/memories/x.md": false, "@ops/x.md": false,
	} {
		require.Equal(t, want, place(name).instructs(), "%s", name)
	}
}

// Whatever name a user sends, its file stays on the desk, where its scope is, and no other name is
// of that file.
func FuzzPlaces(f *testing.F) {
	for _, name := range []string{"a.md", "@ops/a.md", "@ops/../web/a.md", "~/.beans/a.md", "../a.md", "~/.beans/../../bob/.beans/a.md", "%2e%2e/a.md", "a/\u202e.md", `..\a.md`, "~/.beans/memories/a.md\x00.md", ".beans/rules/x.md", "shared/a.md", "teams/ops/a.md"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		p := service.Principal{User: "ann", Teams: []string{"ops"}}
		if checkPath(p, name) != nil {
			return
		}
		at := place(name)
		file := at.file()
		if path.Clean(file) != file || !filepath.IsLocal(filepath.FromSlash(file)) || strings.ContainsAny(file, "\\:\x00") {
			t.Errorf("%q is the file %q", name, file)
		}
		folder := map[postgres.ScopeKind]string{postgres.Shared: sharedFolder + "/", postgres.Team: teamsFolder + "/ops/", postgres.User: homeFolder + "/" + hidden + "/"}[at.kind]
		if !strings.HasPrefix(file, folder) || nameAt(file) != name {
			t.Errorf("%q is the file %q, whose name is %q", name, file, nameAt(file))
		}
		at.instructs()
	})
}

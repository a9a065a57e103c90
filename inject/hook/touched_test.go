package hook

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var toolInputs = []struct {
	name, input string
	want        []string
}{
	{"a file", `{"file_path":"/p/web/a.ts","offset":3}`, []string{"/p/web/a.ts"}},
	{"relative", `{"file_path":"web/a.ts"}`, []string{"/p/web/a.ts"}},
	{"characters of patterns", `{"file_path":"/p/app/(shop)/[id]/page.tsx"}`, []string{"/p/app/(shop)/[id]/page.tsx"}},
	{"a notebook", `{"notebook_path":"/p/n.ipynb","new_source":"see other/x.md"}`, []string{"/p/n.ipynb"}},
	{"folders", `{"pattern":"*.go","path":"api","dir_path":"/p/web"}`, []string{"/p/api", "/p/web"}},
	{"lists", `{"paths":["a.go","b/c.go","a.go"],"include":["docs/**/*.md","d.md"]}`, []string{"/p/a.go", "/p/b/c.go", "/p/docs/**/*.md", "/p/d.md"}},
	{"text of arguments", `"{\"target_file\":\"web/a.ts\"}"`, []string{"/p/web/a.ts"}},
	{"a patch", `{"command":"*** Begin Patch\n*** Update File: web/a.ts\n*** Move to: web/b.ts\n@@\n-*** Add File: no\n+x\n*** Add File: /p/c.md\n+y\n*** End Patch\n"}`, []string{"/p/web/a.ts", "/p/web/b.ts", "/p/c.md"}},
	{"a patch as text", `"*** Begin Patch\n*** Delete File: a.go\n*** End Patch"`, []string{"/p/a.go"}},
	{"a patch in a shell", `{"command":["bash","-lc","apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a.go\n*** End Patch\nEOF"]}`, []string{"/p/a.go"}},
	{"a command", `{"command":"sed -n 1,20p web/a.ts && cat 'my notes.md' main.go"}`, []string{"/p/web/a.ts", "/p/my notes.md", "/p/main.go"}},
	{"cd", `{"command":"cd web && go test ./deep/... ; cat a.go"}`, []string{"/p/web", "/p/web/deep/...", "/p/web/a.go"}},
	{"a folder of its own", `{"command":"ls sub/x","working_directory":"/p/web"}`, []string{"/p/web", "/p/web/sub/x"}},
	{"what is no path", `{"command":"curl https://example.com/x.md -o ~/y.md $HOME/z.md *.go FOO=a/b 1.5 v2.0 --file=a.md"}`, nil},
	{"an open quote", `{"command":"echo a.md; cat 'b.md"}`, []string{"/p/a.md"}},
	{"a script", `{"command":"cat >x.sh <<E\na/b.md\nE"}`, nil},
	{"nothing", `{}`, nil},
	{"no object", `[1]`, nil},
	{"no JSON", `{`, nil},
	{"other types", `{"file_path":5,"path":null,"command":{"a":1},"paths":[1]}`, nil},
	{"no path", `{"file_path":"","path":"a\u0000b","dir_path":"a\nb"}`, nil},
}

func TestTouched(t *testing.T) {
	for _, tt := range toolInputs {
		t.Run(tt.name, func(t *testing.T) {
			var want []string
			for _, path := range tt.want {
				want = append(want, filepath.FromSlash(path))
			}
			require.Equal(t, want, touchedBy(json.RawMessage(tt.input), "/p"))
		})
	}
	many, err := json.Marshal(map[string]any{"paths": strings.Split(strings.Repeat("a", 100), ""), "files": strings.Fields(strings.Repeat("x/", 5000))})
	require.NoError(t, err)
	require.Equal(t, []string{filepath.FromSlash("/p/a")}, touchedBy(many, "/p"))
}

func FuzzTouched(f *testing.F) {
	for _, tt := range toolInputs {
		f.Add(tt.input, "/p")
	}
	f.Fuzz(func(t *testing.T, input, dir string) {
		all := touchedBy(json.RawMessage(input), dir)
		if len(all) > maxTouched {
			t.Errorf("%d paths", len(all))
		}
		for _, path := range all {
			if path == "" || strings.Contains(path, "\x00") && !strings.Contains(dir, "\x00") {
				t.Errorf("%q", path)
			}
		}
	})
}

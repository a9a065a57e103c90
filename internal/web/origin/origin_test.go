package origin

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIsForeign(t *testing.T) {
	for _, c := range []struct {
		name   string
		header http.Header
		want   bool
	}{
		{"no browser", nil, false},
		{"own page", http.Header{"Origin": {"http://localhost:7473"}, "Sec-Fetch-Site": {"same-origin"}}, false},
		{"own page, in capitals", http.Header{"Origin": {"HTTP://LOCALHOST:7473"}}, false},
		{"typed", http.Header{"Sec-Fetch-Site": {"none"}}, false},
		{"other site", http.Header{"Origin": {"https://evil.example"}}, true},
		{"other site without its name", http.Header{"Sec-Fetch-Site": {"cross-site"}}, true},
		{"other port", http.Header{"Origin": {"http://localhost:3000"}}, true},
		{"other port without its name", http.Header{"Sec-Fetch-Site": {"same-site"}}, true},
		{"no port", http.Header{"Origin": {"http://localhost"}}, true},
		{"nobody's page", http.Header{"Origin": {"null"}}, true},
		{"nothing", http.Header{"Origin": {""}}, true},
		{"extension", http.Header{"Origin": {"chrome-extension://localhost:7473"}}, true},
		{"user", http.Header{"Origin": {"http://localhost:7473@evil.example"}}, true},
		{"suffix", http.Header{"Origin": {"http://localhost:7473.evil.example"}}, true},
		{"two", http.Header{"Origin": {"http://localhost:7473", "https://evil.example"}}, true},
		{"no URL", http.Header{"Origin": {"http://[::1"}}, true},
		{"unknown word", http.Header{"Sec-Fetch-Site": {"Same-Origin"}}, true},
		{"two words", http.Header{"Sec-Fetch-Site": {"none", "cross-site"}}, true},
	} {
		require.Equal(t, c.want, IsForeign(&http.Request{Host: "localhost:7473", Header: c.header}), c.name)
	}
	require.True(t, IsForeign(&http.Request{Header: http.Header{"Origin": {"null"}}}), "HTTP/1.0 has no host, and null none either")
}

func TestIsLocal(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost:80": true, "127.0.0.1": true, "127.0.0.1:7473": true, "127.9.9.9:1": true, "[::1]": true, "[::1]:7473": true, "::1": true, "[::ffff:127.0.0.1]:80": true,
		"desk": true, "desk:7473": true,
		"": false, ":7473": false, "localhost.": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false, "127.1": false, "2130706433": false, "0x7f.0.0.1": false, "127.0.0.1.": false,
		"0.0.0.0": false, "0.0.0.0:7473": false, "[::]": false, "[::]:7473": false, "192.168.1.2": false, "evil.example:7473": false, "localhost:7473@evil.example": false,
		"[::1%25lo]:80": false, "[localhost": true, "[[::1]]": false,
	} {
		require.Equal(t, want, IsLocal(host, "desk", ""), host)
	}
}

func TestIsToken(t *testing.T) {
	require.True(t, IsToken("abc", "abc"))
	for _, given := range []string{"", "ab", "abcd", "ABC", "abc\x00", "abc "} {
		require.False(t, IsToken(given, "abc"), given)
	}
	require.False(t, IsToken("", ""), "no token lets nobody in")
	for header, want := range map[string]bool{"Bearer abc": true, "bearer abc": true, "abc": false, "Basic abc": false, "Bearerabc": false, "Bearer  abc": false, "Bearer abc, Bearer x": false, "": false} {
		require.Equal(t, want, HasBearer(&http.Request{Header: http.Header{"Authorization": {header}}}, "abc"), header)
	}
}

// Tokens are compared in this package only, in constant time.
func TestTokensAreComparedHere(t *testing.T) {
	root, files := filepath.Join("..", "..", ".."), 0
	secret := regexp.MustCompile(`(?i)(token|secret|password|apikey|authorization)s?$`)
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		in := filepath.ToSlash(path)
		if !strings.HasSuffix(in, ".go") || strings.HasSuffix(in, "_test.go") || strings.Contains(in, "web/origin/") {
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, 0)
		require.NoError(t, err)
		for _, spec := range file.Imports {
			require.NotContains(t, spec.Path.Value, "crypto/subtle", "%s: package origin compares tokens", in)
		}
		if !strings.Contains(in, "/inject/") && !strings.Contains(in, "/cmd/") {
			return nil // there, a token is part of a text or of Go's syntax
		}
		ast.Inspect(file, func(n ast.Node) bool {
			b, ok := n.(*ast.BinaryExpr)
			if !ok || b.Op != token.EQL && b.Op != token.NEQ || isEmpty(b.X) || isEmpty(b.Y) {
				return true
			}
			for _, side := range []ast.Expr{b.X, b.Y} {
				if name := nameOf(side); secret.MatchString(name) {
					t.Errorf("%s compares %s with %s, which takes the longer the more of it is right", set.Position(b.Pos()), name, b.Op)
				}
			}
			return true
		})
		return nil
	}))
	require.Greater(t, files, 100)
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

func isEmpty(e ast.Expr) bool {
	if l, ok := e.(*ast.BasicLit); ok {
		return l.Value == `""` || l.Value == "0"
	}
	return nameOf(e) == "nil"
}

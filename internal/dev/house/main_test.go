package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// tree has one of everything that counts, and some that does not.
var tree = map[string]string{
	"core/core.go": `// Package core has four words.
package core

/* one comment */
const text = ` + "`a\n\n// no comment\nb`" + ` // trailing

type T[K any] struct{}

func (t *T[K]) A() {}
func (T[K]) B()    { /* x */ }

func long() {
` + strings.Repeat("\tprintln()\n", 60) + `}

	// ` + strings.Repeat("x", 95) + `
`,
	"core/core_test.go":          "package core\n\nfunc test() {}\n",
	"core/testdata/x.go":         "not Go",
	".git/x.go":                  "not Go",
	"eval/eval.go":               "package eval\n\nvar a, b = 1, 2\n",
	"store/storetest/kit.go":     "package storetest\n",
	"docs/use.md":                "Three words here\n",
	"docs/dev/internals.md":      "not for users\n",
	"internal/dev/tool/main.go":  "package main\n\nfunc main() {\n}\n",
	"internal/device/product.go": "package device\n",
}

// mostMethods is for a type of product code.
const mostMethods = 25

func TestTypesAreSmall(t *testing.T) {
	f, err := measure("../../..")
	require.NoError(t, err)
	for name, n := range f.methods {
		if _, folder, _ := strings.Cut(name, " in "); !apart.MatchString(folder + "/") {
			require.LessOrEqual(t, n, mostMethods, "methods of %s", name)
		}
	}
}

func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	for name, text := range tree {
		name = filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	f, err := measure(dir)
	require.NoError(t, err)
	// core: package, const of four lines, type, two methods, long of 62; device's package
	require.Equal(t, 1+4+1+2+62+1, f.product)
	require.Equal(t, f.product+2+1+3, f.code, "with eval, the kit and the tool")
	require.ElementsMatch(t, []int{1, 1, 62, 2}, f.functions)
	require.Equal(t, map[string]int{"T in core": 2}, f.methods)
	require.Equal(t, 3, f.docWords)
	require.Equal(t, 3, f.comments, "lines that begin with //, in raw strings, too")
	require.Equal(t, 5+2+1, f.commentWords)
	require.Equal(t, 1, f.longComments)

	var out bytes.Buffer
	f.print(&out)
	require.Equal(t, `code 77 lines, product 71
functions: median 2 lines; 75.0 % within 20, 25.0 % over 60 (1)
comments: 2.7 words a line; 33.3 % over 100 columns (1)
most methods on a type: 2 (T in core)
words in docs for users: 3
`, out.String())
}

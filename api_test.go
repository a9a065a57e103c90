package memcore_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Exported functions, methods, fields, constants and variables have types that are exported and not
// of an internal package, or an alias names them.
func TestExportedNamesAreOfExportedTypes(t *testing.T) {
	packages := 0
	require.NoError(t, filepath.WalkDir(".", func(dir string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		switch name := entry.Name(); {
		case name == "internal", name == "cmd", name == "testdata", name == "lab", name == "service", strings.HasPrefix(name, ".") && name != ".":
			return filepath.SkipDir
		}
		for _, found := range unnameable(t, dir) {
			t.Error(found)
		}
		packages++
		return nil
	}))
	require.Greater(t, packages, 20)
}

func TestUnnameable(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.go"), []byte(`package a

import "example.com/a/internal/b"

type hidden struct{ Field b.T }
type Alias = b.T
type Shown struct {
	Of   []hidden
	own  hidden
	Func func(*b.T) error
}
type Set interface{ Add(hidden) }
func Ask(h hidden) {}
func Give[T any](T) map[string]hidden { return nil }
func (h *hidden) Method(hidden) {}
func (s Shown) Method() hidden { return hidden{} }
func (s Shown) fine() hidden { return hidden{} }
func Fine(s Shown, err error) []string { return nil }
var V hidden
`), 0o644))
	var names []string
	for _, found := range unnameable(t, dir) {
		_, name, _ := strings.Cut(found, ": ")
		names = append(names, name)
	}
	require.Equal(t, []string{"Of has hidden", "Func has b.T", "Add has hidden", "Ask has hidden", "Give has hidden", "Method has hidden", "V has hidden"}, names)
}

// unnameable lists what a package exports with types that its importers cannot name.
func unnameable(t *testing.T, dir string) (found []string) {
	t.Helper()
	set := token.NewFileSet()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		c := checker{set: set, internal: map[string]bool{}}
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			require.NoError(t, err)
			if strings.Contains(path, "/internal/") {
				name := filepath.Base(path)
				if spec.Name != nil {
					name = spec.Name.Name
				}
				c.internal[name] = true
			}
		}
		for _, decl := range file.Decls {
			c.declaration(decl)
		}
		found = append(found, c.found...)
	}
	return found
}

type checker struct {
	set      *token.FileSet
	internal map[string]bool // packages that the file imports
	found    []string
}

func (c *checker) declaration(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type))) {
			c.function(d.Name, d.Type)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() && !s.Assign.IsValid() {
					c.named(s.Name, s.Type)
				}
			case *ast.ValueSpec:
				if s.Type != nil && s.Names[0].IsExported() {
					c.expression(s.Names[0], s.Type, nil)
				}
			}
		}
	}
}

// named looks at the type of a type declaration: its exported fields and methods, or all of it.
func (c *checker) named(name *ast.Ident, of ast.Expr) {
	var fields *ast.FieldList
	switch of := of.(type) {
	case *ast.StructType:
		fields = of.Fields
	case *ast.InterfaceType:
		fields = of.Methods
	case *ast.Ident: // a type of its own, whatever it is made of
		return
	default:
		c.expression(name, of, nil)
		return
	}
	for _, field := range fields.List {
		for _, name := range field.Names {
			if name.IsExported() {
				c.expression(name, field.Type, nil)
			}
		}
	}
}

func (c *checker) function(name *ast.Ident, of *ast.FuncType) {
	parameters := map[string]bool{}
	if of.TypeParams != nil {
		for _, field := range of.TypeParams.List {
			for _, name := range field.Names {
				parameters[name.Name] = true
			}
		}
	}
	c.expression(name, of.Params, parameters)
	if of.Results != nil {
		c.expression(name, of.Results, parameters)
	}
}

// expression reports the first type in an expression that importers cannot name.
func (c *checker) expression(name *ast.Ident, in ast.Node, parameters map[string]bool) {
	bad := ""
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			ast.Inspect(n.Type, func(n ast.Node) bool { return c.look(n, parameters, &bad) })
			return false
		case *ast.ArrayType: // its length is no type
			ast.Inspect(n.Elt, func(n ast.Node) bool { return c.look(n, parameters, &bad) })
			return false
		}
		return c.look(n, parameters, &bad)
	})
	if bad != "" {
		c.found = append(c.found, c.set.Position(name.Pos()).String()+": "+name.Name+" has "+bad)
	}
}

func (c *checker) look(n ast.Node, parameters map[string]bool, bad *string) bool {
	switch n := n.(type) {
	case *ast.SelectorExpr:
		if pkg, ok := n.X.(*ast.Ident); ok && c.internal[pkg.Name] {
			*bad = pkg.Name + "." + n.Sel.Name
		}
		return false
	case *ast.Field:
		ast.Inspect(n.Type, func(n ast.Node) bool { return c.look(n, parameters, bad) })
		return false
	case *ast.Ident:
		if !n.IsExported() && !predeclared[n.Name] && !parameters[n.Name] {
			*bad = n.Name
		}
	}
	return true
}

var predeclared = map[string]bool{"any": true, "bool": true, "byte": true, "comparable": true, "error": true, "float32": true, "float64": true,
	"int": true, "int8": true, "int16": true, "int32": true, "int64": true, "rune": true, "string": true, "uint": true, "uint8": true,
	"uint16": true, "uint32": true, "uint64": true, "uintptr": true}

func receiver(of ast.Expr) string {
	switch of := of.(type) {
	case *ast.StarExpr:
		return receiver(of.X)
	case *ast.IndexExpr:
		return receiver(of.X)
	case *ast.Ident:
		return of.Name
	}
	return ""
}

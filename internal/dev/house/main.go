// Command house measures a tree: code, lengths of functions and comments, methods of types, and
// words in user documents.
//
//	house [FOLDER]
//
// Tests do not count. Product code leaves out eval, store/lancedb, internal/dev, test kits and
// generators.
package main

import (
	"bufio"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// longComment is the limit in columns, with tabs of four.
const longComment = 100

// apart matches paths outside product code.
var apart = regexp.MustCompile(`^(eval|store/lancedb|internal/dev|testdata)/` +
	`|^embed/(minilm/internal/(makeweights|reference)|internal/encoder/kernel/gen)|(^|/)(storetest|embedtest|remotetest)/`)

func main() {
	log.SetFlags(0)
	folder := "."
	if len(os.Args) > 1 {
		folder = os.Args[1]
	}
	f, err := measure(folder)
	if err != nil {
		log.Fatal("house: ", err)
	}
	f.print(os.Stdout)
}

type figures struct {
	code, product          int // lines with a token that is no comment
	comments, commentWords int // comment lines, and the words in them
	longComments           int
	functions              []int // lines of each
	methods                map[string]int
	docWords               int
}

func measure(folder string) (*figures, error) {
	f := &figures{methods: map[string]int{}}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		switch {
		case entry.IsDir() && (entry.Name() == "testdata" || name != "." && entry.Name()[0] == '.'):
			return filepath.SkipDir
		case entry.IsDir():
			return nil
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			return f.addCode(path, name)
		case strings.HasSuffix(name, ".md") && strings.HasPrefix(name, "docs/") && !strings.HasPrefix(name, "docs/dev/"):
			text, err := os.ReadFile(path)
			f.docWords += len(strings.Fields(string(text)))
			return err
		}
		return nil
	})
	return f, err
}

// addCode counts a file.
func (f *figures) addCode(path, name string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, path, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	lines := codeLines(text)
	f.code += lines
	if !apart.MatchString(name) {
		f.product += lines
	}
	f.addComments(string(text))
	folder := name[:max(strings.LastIndexByte(name, '/'), 0)]
	for _, declaration := range tree.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok {
			continue
		}
		first, last := files.Position(function.Pos()).Line, files.Position(function.End()).Line
		f.functions = append(f.functions, last-first+1)
		if receiver := receiverOf(function); receiver != "" {
			f.methods[receiver+" in "+folder]++
		}
	}
	return nil
}

// codeLines counts lines with a token other than a comment. All lines of a raw string count.
func codeLines(text []byte) int {
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	lines := map[int]bool{}
	for {
		at, kind, literal := s.Scan()
		switch {
		case kind == token.EOF:
			return len(lines)
		case kind == token.SEMICOLON && literal != ";": // inserted at a line break
			continue
		}
		first := file.Line(at)
		for n := range strings.Count(literal, "\n") + 1 {
			lines[first+n] = true
		}
	}
}

// addComments counts lines that are only a comment.
func (f *figures) addComments(text string) {
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		line := strings.TrimRight(strings.ReplaceAll(lines.Text(), "\t", "    "), " ")
		comment, ok := strings.CutPrefix(strings.TrimSpace(line), "//")
		if !ok {
			continue
		}
		f.comments++
		f.commentWords += len(strings.Fields(comment))
		if len([]rune(line)) > longComment {
			f.longComments++
		}
	}
}

// receiverOf returns a method's type, or "".
func receiverOf(function *ast.FuncDecl) string {
	if function.Recv == nil || len(function.Recv.List) == 0 {
		return ""
	}
	of := function.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

func (f *figures) print(w io.Writer) {
	slices.Sort(f.functions)
	within, over, median := 0, 0, 0
	for _, lines := range f.functions {
		if lines <= 20 {
			within++
		}
		if lines > 60 {
			over++
		}
	}
	if n := len(f.functions); n > 0 {
		median = f.functions[n/2]
	}
	most := ""
	for name, n := range f.methods {
		if by := cmp.Compare(n, f.methods[most]); by > 0 || by == 0 && name < most {
			most = name
		}
	}
	fmt.Fprintf(w, "code %d lines, product %d\n", f.code, f.product)
	fmt.Fprintf(w, "functions: median %d lines; %.1f %% within 20, %.1f %% over 60 (%d)\n", median,
		percent(within, len(f.functions)), percent(over, len(f.functions)), over)
	fmt.Fprintf(w, "comments: %.1f words a line; %.1f %% over %d columns (%d)\n",
		float64(f.commentWords)/float64(max(f.comments, 1)), percent(f.longComments, f.comments), longComment, f.longComments)
	fmt.Fprintf(w, "most methods on a type: %d (%s)\n", f.methods[most], most)
	fmt.Fprintf(w, "words in docs for users: %d\n", f.docWords)
}

func percent(n, of int) float64 { return 100 * float64(n) / float64(max(of, 1)) }

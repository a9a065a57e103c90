package curated

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/memcore/memcore/internal/paths"
)

// monorepo makes a repository of 50,000 files in 2,500 folders, 200 of which hold a memory file of
// 12 lines.
func monorepo(b *testing.B) (root string, memories []string) {
	b.Helper()
	root = paths.Resolve(b.TempDir())
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	must(os.Mkdir(filepath.Join(root, ".git"), 0o755))
	for i := range 2500 {
		dir := filepath.Join(root, fmt.Sprint("team", i%10), fmt.Sprint("service", i/10%25), fmt.Sprint("package", i/250))
		must(os.MkdirAll(dir, 0o755))
		for j := range 20 {
			must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%d.go", j)), []byte("package p\n"), 0o644))
		}
		if i%25 == 0 || i%25 == 13 {
			file := filepath.Join(dir, "BEANS.md")
			must(os.WriteFile(file, fmt.Appendf(nil, "---\npriority: %d\n---\n# Package %d\n\n- Owner: team %d\n- Tests live in `test/`\n\nSee the handbook for package %d.\n", i%3, i, i%10, i), 0o644))
			memories = append(memories, file)
		}
	}
	must(os.WriteFile(filepath.Join(root, ".gitignore"), []byte("bin/\n*.log\n"), 0o644))
	return root, memories
}

// BenchmarkMonorepo measures a session's start, the next start in the same process, and the first
// touch of a folder.
func BenchmarkMonorepo(b *testing.B) {
	root, memories := monorepo(b)
	options := func() Options {
		return Options{Dir: root, Home: filepath.Join(root, "nowhere"), Children: true, Trust: allIn{root}, Limits: NoLimits}
	}
	load := func(b *testing.B, l *Layer) {
		m, err := l.Load(b.Context())
		if err != nil || m.Usage.Files != len(memories) {
			b.Fatalf("%d files, %v", m.Usage.Files, err)
		}
	}
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			load(b, New(options()))
		}
	})
	b.Run("warm", func(b *testing.B) {
		l := New(options())
		load(b, l)
		for b.Loop() {
			load(b, l)
		}
	})
	b.Run("just-in-time", func(b *testing.B) {
		o := options()
		o.Children = false
		l := New(o)
		i := 0
		for b.Loop() {
			if i%len(memories) == 0 { // a new session
				b.StopTimer()
				o.Cache = nil
				l = New(o)
				if _, err := l.Load(b.Context()); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			m, err := l.Now(b.Context(), Moment{Touched: []string{filepath.Join(filepath.Dir(memories[i%len(memories)]), "file1.go")}})
			if err != nil || m.Usage.Files != 1 {
				b.Fatalf("%+v, %v", m.Usage, err)
			}
			i++
		}
	})
}

// Package static reads curated memory files: Markdown with frontmatter, which may import other files.
//
// Text of such a file goes into the system prompt, so what it can pull in is narrow: Markdown files below the
// folders of Options.Roots, symbolic links included in that rule (os.Root), five levels deep, twenty in a file, 100 KB each. What
// is refused leaves an HTML comment in its place and a Warning.
package static

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Limits of imports.
const (
	MaxDepth   = 5         // of imports in imports
	MaxImports = 20        // in one file
	MaxBytes   = 100 << 10 // of an imported file
	maxFile    = 1 << 20   // bytes of a file that is not imported
	longest    = 4096      // of a path
)

// Options say what is read.
type Options struct {
	// Files in order of priority, lowest first; those that do not exist are left out.
	Files []string
	// Roots are the folders that imports may come from. None means no imports.
	Roots []string
	// Home is what "~" stands for; "" refuses it.
	Home string
}

// Memory is what was read.
type Memory struct {
	// Files that are enabled and hold text, in order: by the priority of their frontmatter, equal ones as in Options.
	Files []File
	// Warnings say what was refused or could not be used, and what to do.
	Warnings []Warning
}

// A File is one of Options.Files.
type File struct {
	Path     string
	Text     string   // without frontmatter, imports in place
	Imported []string // files whose text is in Text
	Priority int
}

// A Warning is about a line of a file; 0 is the file as a whole.
type Warning struct {
	Path string
	Line int
	Text string
}

func (w Warning) String() string {
	if w.Line == 0 {
		return fmt.Sprintf("%s: %s", w.Path, w.Text)
	}
	return fmt.Sprintf("%s:%d: %s", w.Path, w.Line, w.Text)
}

// Load reads all files. Errors are those of ctx only: what cannot be read is a Warning, and the rest is used.
func Load(ctx context.Context, o Options) (Memory, error) {
	l := &loader{ctx: ctx, options: o, seen: map[string]bool{}}
	for _, path := range o.Files {
		if err := ctx.Err(); err != nil {
			return Memory{}, err
		}
		l.file(path)
	}
	slices.SortStableFunc(l.memory.Files, func(a, b File) int { return a.Priority - b.Priority })
	return l.memory, ctx.Err()
}

type loader struct {
	ctx     context.Context
	options Options
	memory  Memory
	seen    map[string]bool // files whose text is in the memory, by real path
}

func (l *loader) warn(path string, line int, format string, args ...any) {
	l.memory.Warnings = append(l.memory.Warnings, Warning{path, line, fmt.Sprintf(format, args...)})
}

func (l *loader) file(path string) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return
	case err != nil:
		l.warn(path, 0, "cannot be read: %v", err)
		return
	case !info.Mode().IsRegular():
		l.warn(path, 0, "is not a file")
		return
	case info.Size() > maxFile:
		l.warn(path, 0, "is left out: it has %d bytes, more than %d; what a system prompt needs is short", info.Size(), maxFile)
		return
	}
	data, err := os.ReadFile(path)
	if err != nil {
		l.warn(path, 0, "cannot be read: %v", err)
		return
	}
	real := realPath(path)
	if l.seen[real] {
		return
	}
	l.seen[real] = true
	head, body, skipped, err := Frontmatter(data)
	if err != nil {
		l.warn(path, 1, "frontmatter is not used: %v", err)
	}
	if !head.Enabled {
		return
	}
	f := File{Path: path, Priority: head.Priority}
	f.Text = strings.TrimSpace(l.expand(&f, path, body, skipped, []string{real}))
	if f.Text != "" {
		l.memory.Files = append(l.memory.Files, f)
	}
}

func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if absolute, err := filepath.Abs(path); err == nil {
		path = absolute
	}
	return path
}

// expand puts the text of imports in their places. Chain are the files that led here, the last one being expanded.
func (l *loader) expand(f *File, path, text string, skipped int, chain []string) string {
	var b strings.Builder
	imports, number, fence := 0, skipped, ""
	for line := range strings.Lines(text) {
		number++
		var code bool
		code, fence = fenced(line, fence)
		name, ok := importOf(line)
		if code || !ok || l.ctx.Err() != nil {
			b.WriteString(line)
			continue
		}
		imports++
		inserted, refused := l.imported(f, path, name, imports, chain)
		if refused != "" {
			l.warn(path, number, "import of %.200q is left out: %s", name, refused)
		}
		b.WriteString(inserted)
		if strings.HasSuffix(line, "\n") && !strings.HasSuffix(inserted, "\n") {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// imported returns what stands in the place of an import, and why it was refused, if it was.
func (l *loader) imported(f *File, from, name string, imports int, chain []string) (text, refused string) {
	shown := comment(name)
	if len(chain) > MaxDepth {
		return fmt.Sprintf("<!-- Import depth exceeded for %s -->", shown), fmt.Sprintf("imports are %d levels deep at most", MaxDepth)
	}
	if imports > MaxImports {
		return fmt.Sprintf("<!-- Too many imports: %s -->", shown), fmt.Sprintf("a file has %d imports at most", MaxImports)
	}
	data, path, err := l.read(from, name)
	if err != nil {
		return fmt.Sprintf("<!-- Import refused: %s -->", shown), err.Error()
	}
	real := realPath(path)
	if slices.Contains(chain, real) {
		return fmt.Sprintf("<!-- Circular import detected: %s -->", shown), "it imports itself, by way of other files or none"
	}
	if l.seen[real] {
		return "", "" // once is enough
	}
	l.seen[real] = true
	head, body, skipped, err := Frontmatter(data)
	if err != nil {
		l.warn(path, 1, "frontmatter is not used: %v", err)
	}
	if !head.Enabled {
		return "", ""
	}
	f.Imported = append(f.Imported, path)
	return strings.TrimSpace(l.expand(f, path, body, skipped, append(slices.Clip(chain), real))), ""
}

// comment is a name as it may stand in an HTML comment, on one line.
func comment(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == '<' || r == '>' || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	for strings.Contains(name, "--") {
		name = strings.ReplaceAll(name, "--", "-")
	}
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "") + "…"
	}
	return name
}

// Errors of imports.
var (
	errOutside = errors.New("it is outside of the folders that imports may come from")
	errKind    = errors.New("only .md files can be imported")
)

// read reads an imported file through its root, so that no symbolic link leads out of it, also not one that is
// made while we look.
func (l *loader) read(from, name string) (data []byte, path string, err error) {
	if path, err = l.resolve(from, name); err != nil {
		return nil, "", err
	}
	err = errOutside
	for _, folder := range l.options.Roots {
		inside, ok := below(folder, path)
		if !ok {
			continue
		}
		if data, err = readBelow(folder, inside); err == nil {
			return data, path, nil
		}
	}
	return nil, "", err
}

// resolve returns where an import points, which may be anywhere.
func (l *loader) resolve(from, name string) (string, error) {
	switch {
	case len(name) > longest:
		return "", fmt.Errorf("its path has %d bytes, more than any file's", len(name))
	case strings.ContainsRune(name, 0):
		return "", errors.New("its path has a NUL in it")
	case !strings.EqualFold(filepath.Ext(name), ".md"):
		return "", errKind
	case name == "~" || strings.HasPrefix(name, "~/") || strings.HasPrefix(name, `~\`):
		if l.options.Home == "" {
			return "", errors.New("there is no home folder")
		}
		return filepath.Join(l.options.Home, filepath.FromSlash(name[1:])), nil
	case strings.HasPrefix(name, "~"):
		return "", errors.New("other users' home folders cannot be imported from")
	case runtime.GOOS != "windows" && (strings.Contains(name, `\`) || len(name) > 1 && name[1] == ':'):
		return "", errors.New("its path is of another system; write it with /")
	case filepath.IsAbs(name):
		return filepath.Clean(name), nil
	case runtime.GOOS == "windows" && (filepath.VolumeName(name) != "" || strings.HasPrefix(name, "/") || strings.HasPrefix(name, `\`)):
		return "", errOutside
	}
	return filepath.Join(filepath.Dir(from), filepath.FromSlash(name)), nil
}

// below returns the path inside a folder, if it is there by its name.
func below(folder, path string) (string, bool) {
	absolute, err := filepath.Abs(folder)
	if err != nil {
		return "", false
	}
	inside, err := filepath.Rel(absolute, path)
	return inside, err == nil && filepath.IsLocal(inside)
}

func readBelow(folder, inside string) ([]byte, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("its folder cannot be opened: %w", reason(err))
	}
	defer root.Close()
	// Looked at before it is opened: opening a pipe waits.
	if info, err := root.Stat(inside); err != nil {
		return nil, reason(err)
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	file, err := root.Open(inside)
	if err != nil {
		return nil, reason(err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, MaxBytes+1))
	if err != nil {
		return nil, reason(err)
	}
	if len(data) > MaxBytes {
		return nil, fmt.Errorf("it is larger than %d KB", MaxBytes>>10)
	}
	return data, nil
}

// reason is an error without the path, which the warning names already.
func reason(err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// fenced tells whether a line belongs to fenced code, its fences included, and which fence is open behind it; open is the
// one before it, "" for none (CommonMark 0.31, section 4.5).
func fenced(line, open string) (code bool, next string) {
	trimmed := strings.TrimLeft(line, " ")
	if len(line)-len(trimmed) > 3 {
		return open != "", open
	}
	for _, mark := range []string{"`", "~"} {
		n := len(trimmed) - len(strings.TrimLeft(trimmed, mark))
		if n < 3 {
			continue
		}
		rest := strings.TrimSpace(trimmed[n:])
		switch {
		case open == "" && (mark == "~" || !strings.Contains(rest, "`")):
			return true, strings.Repeat(mark, n)
		case strings.HasPrefix(open, mark) && n >= len(open) && rest == "":
			return true, ""
		}
	}
	return open != "", open
}

// importOf returns what a line imports: "@import PATH", or "@PATH.md" on a line of its own.
func importOf(line string) (path string, ok bool) {
	if strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") {
		return "", false // indented code
	}
	rest, ok := strings.CutPrefix(strings.TrimSpace(line), "@")
	if !ok {
		return "", false
	}
	if path, ok := strings.CutPrefix(rest, "import"); ok && strings.TrimLeft(path, " \t") != path {
		path = strings.Trim(strings.TrimSpace(path), `"'`)
		return path, path != ""
	}
	return rest, !strings.ContainsAny(rest, " \t") && strings.EqualFold(filepath.Ext(rest), ".md")
}

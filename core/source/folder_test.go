package source

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// tree writes files by slash-separated path into a new folder.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, text := range files {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	return dir
}

func write(t testing.TB, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func list(t testing.TB, f *Folder) Listing {
	t.Helper()
	found, err := f.List(t.Context())
	require.NoError(t, err)
	return found
}

// pathsOf returns the documents of a listing; skips "path: reason".
func pathsOf(found Listing) []string {
	var all []string
	for _, doc := range found.Documents {
		all = append(all, doc.Path)
	}
	return all
}

func skips(found Listing) []string {
	var all []string
	for _, skip := range found.Skipped {
		all = append(all, skip.Path+": "+skip.Reason)
	}
	return all
}

func sameStrings(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s =\n\t%s\nwant\n\t%s", what, strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

const chatLine = `{"role":"user","content":"which port does staging use"}` + "\n"

func TestListFindsDocuments(t *testing.T) {
	for _, tt := range []struct {
		name          string
		files         map[string]string
		options       FolderOptions
		limit         int64 // of sizes in bytes; 0 is the default
		documents     []string
		skipped       []string
		onlyDocuments bool
	}{
		{
			name: "Markdown by its extensions",
			files: map[string]string{"a.md": "", "b/B.MARKDOWN": "", "c.mdx": "", "d.txt": "", "e.go": "",
				"z.md.bak": "", "sub.md/inner.md": ""},
			documents: []string{"a.md", "b/B.MARKDOWN", "c.mdx", "sub.md/inner.md"},
		},
		{
			name: "logs by their content",
			files: map[string]string{"chat.jsonl": chatLine, "chat.json": "[" + chatLine + "]", "package.json": `{"name":"x","type":"module"}`,
				"rows.jsonl": `{"a":1}` + "\n", "empty.jsonl": "", "broken.json": `{"messages":[`, "i18n.json": `{"messages":{"role":"user"}}`},
			documents: []string{"chat.json", "chat.jsonl"},
			skipped:   []string{"rows.jsonl: no known conversation format"},
		},
		{
			name: "hidden places are left out, .beans is not",
			files: map[string]string{".hidden.md": "", ".github/x.md": "", ".beans/BEANS.md": "", ".beans/notes/n.md": "",
				".git/info.md": "", ".beans/.cache/x.md": "", "a/.beans/b.md": ""},
			documents: []string{".beans/BEANS.md", ".beans/notes/n.md", "a/.beans/b.md"},
		},
		{
			name: "rules for agents are read where they are hidden, and nothing else there",
			files: map[string]string{".cursorrules": "", ".windsurfrules": "", ".clinerules/style.md": "", ".github/copilot-instructions.md": "", ".github/instructions/go.instructions.md": "",
				".github/PULL_REQUEST_TEMPLATE.md": "", ".github/instructions/x.txt": "", ".cursor/rules/db/sql.mdc": "", ".cursor/x.md": "", "app/.cursor/rules/a.mdc": "", ".claude/rules/a.md": "",
				".claude/commands/review.md": "", ".claude/settings.json": chatLine, ".beans/.cursor/rules/x.mdc": "", ".gitignore": ".windsurfrules\n", ".cursor/rules/.git/x.md": ""},
			documents: []string{".claude/rules/a.md", ".clinerules/style.md", ".cursor/rules/db/sql.mdc", ".cursorrules", ".github/copilot-instructions.md", ".github/instructions/go.instructions.md",
				"app/.cursor/rules/a.mdc"},
		},
		{
			name:      "the hidden folder that is read has another name",
			files:     map[string]string{".beans/a.md": "", ".notes/b.md": "", ".gitignore": ".notes"},
			options:   FolderOptions{Hidden: ".notes"},
			documents: []string{".notes/b.md"},
		},
		{
			name:      "private files are left out",
			files:     map[string]string{"a.md": "", "a.local.md": "", ".beans/BEANS.local.md": "", "local.md": ""},
			documents: []string{"a.md", "local.md"},
		},
		{
			name:      "private files, if asked for, although git ignores them",
			files:     map[string]string{"a.md": "", "a.local.md": "", "b.md": "", ".gitignore": "*.local.md\nb.md\n", "out/c.local.md": "", "out/.gitignore": "*.local.md\n"},
			options:   FolderOptions{Private: true},
			documents: []string{"a.local.md", "a.md", "out/c.local.md"},
		},
		{
			name: "what others wrote is left out",
			files: map[string]string{"node_modules/x/README.md": "", "vendor/y/README.md": "", "a/target/z.md": "", "dist/d.md": "",
				"vendor.md": ""},
			documents: []string{"vendor.md"},
		},
		{
			name: ".gitignore is respected, innermost first, and .beans is read whatever it says",
			files: map[string]string{".gitignore": "/drafts/\n*.tmp.md\nsecret[0-9].md\n.beans\n# no\n\\#x.md\nlogs/**\n", "drafts/a.md": "", "x/drafts/a.md": "",
				"a.tmp.md": "", "x/b.tmp.md": "", "x/.gitignore": "!b.tmp.md\r\nown.md\n", "x/own.md": "", "own.md": "",
				"secret1.md": "", "secretx.md": "", ".beans/a.md": "", "#x.md": "", "logs/deep/l.md": "", "x{1,2}.md": ""},
			documents: []string{".beans/a.md", "own.md", "secretx.md", "x%7B1,2%7D.md", "x/b.tmp.md", "x/drafts/a.md"},
		},
		{
			name:      "exclude",
			files:     map[string]string{"docs/a.md": "", "docs/old/b.md": "", "src/d.md": "", "src/notes.md": ""},
			options:   FolderOptions{Exclude: []string{"old/", "/src/d.md"}},
			documents: []string{"docs/a.md", "src/notes.md"},
		},
		{
			name: "what looks like a secret is never opened",
			files: map[string]string{"secrets.md": "", "credentials.json": "[" + chatLine + "]", ".env": "", ".ssh/config.md": "", "a/gcloud/x.md": "",
				"fine.md": "", ".env.md": "", "private.key": ""},
			documents: []string{"fine.md"},
			skipped: []string{"a/gcloud: never opened: folder gcloud holds credentials",
				"credentials.json: never opened: its name is that of a secret (credentials.*)",
				"secrets.md: never opened: its name is that of a secret (secrets.*)"},
		},
		{
			name:      "large files are named",
			files:     map[string]string{"big.md": strings.Repeat("x", 101), "ok.md": strings.Repeat("x", 100), "big.json": "[" + chatLine + strings.Repeat(","+chatLine, 3) + "]", "big.jsonl": strings.Repeat(chatLine, 4)},
			limit:     100,
			documents: []string{"big.jsonl", "ok.md"},
			skipped:   []string{"big.json: 229 bytes, larger than the limit of 100 bytes", "big.md: 101 bytes, larger than the limit of 100 bytes"},
		},
		{
			name:      "a binary log is named, a binary .json is some JSON-like file",
			files:     map[string]string{"a.jsonl": "{\"role\"\x00", "b.json": "{\"role\"\x00"},
			documents: nil,
			skipped:   []string{"a.jsonl: no known conversation format"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := tree(t, tt.files)
			tt.options.Path, tt.options.Workspace = dir, dir
			f := NewFolder(tt.options)
			if tt.limit > 0 {
				f.maxMarkdown, f.maxJSONLog = tt.limit, tt.limit
			}
			found := list(t, f)
			sameStrings(t, "documents", pathsOf(found), tt.documents)
			sameStrings(t, "skipped", skips(found), tt.skipped)
		})
	}
}

func TestDocumentFields(t *testing.T) {
	dir := tree(t, map[string]string{"a.md": "# A\n", "chat.jsonl": chatLine})
	at := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "a.md"), at, at))
	found := list(t, NewFolder(FolderOptions{Path: dir, Workspace: dir, Scope: ScopeGlobal}))
	require.Len(t, found.Documents, 2)
	got := found.Documents[0]
	got.ModTime = got.ModTime.UTC()
	require.Equal(t, runtime.GOOS == "windows", got.Changed.IsZero(), "the system says when it changed")
	got.Changed = time.Time{}
	want := Document{Path: "a.md", File: filepath.Join(dir, "a.md"), Scope: "global", Kind: "markdown", Format: "markdown", Size: 4, ModTime: at}
	if got != want {
		t.Errorf("Documents[0] = %+v, want %+v", got, want)
	}
	if log := found.Documents[1]; log.Kind != "conversation" || log.Format != "openai" {
		t.Errorf("Documents[1] = %+v, want an openai conversation", log)
	}
}

func TestPathNamesDocuments(t *testing.T) {
	base := tree(t, map[string]string{"home/ws/notes/a.md": "", "home/other/b.md": "", "far/c.md": ""})
	require.NoError(t, os.Symlink(filepath.Join(base, "far"), filepath.Join(base, "home", "ws", "link")))
	require.NoError(t, os.Symlink(filepath.Join(base, "home"), filepath.Join(base, "house")))
	slash := filepath.ToSlash(base)
	for _, tt := range []struct{ name, path, workspace, home, want, source string }{
		{"the workspace", "home/ws", "home/ws", "home", "notes/a.md", "."},
		{"inside the workspace", "home/ws/notes", "home/ws", "home", "notes/a.md", "notes"},
		{"one file", "home/ws/notes/a.md", "home/ws", "home", "notes/a.md", "notes/a.md"},
		{"above the workspace", "home", "home/ws", "home", "notes/a.md", "~"},
		{"in the home folder", "home/other", "home/ws", "home", "~/other/b.md", "~/other"},
		{"elsewhere", "far", "home/ws", "home", slash + "/far/c.md", slash + "/far"},
		{"a link in the workspace", "home/ws/link", "home/ws", "home", "link/c.md", "link"},
		{"a workspace through a link", "home/ws/notes", "house/ws", "house", "notes/a.md", "notes"},
		{"no workspace and no home", "far", "", "", slash + "/far/c.md", slash + "/far"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := func(path string) string {
				if path == "" {
					return ""
				}
				return filepath.Join(base, filepath.FromSlash(path))
			}
			f := NewFolder(FolderOptions{Path: at(tt.path), Workspace: at(tt.workspace), Home: at(tt.home)})
			if got := pathsOf(list(t, f)); !slices.Contains(got, tt.want) {
				t.Errorf("paths = %q, want %q among them", got, tt.want)
			}
			if got := f.Name(); got != tt.source {
				t.Errorf("Name() = %q, want %q", got, tt.source)
			}
		})
	}
}

func TestListErrors(t *testing.T) {
	dir := tree(t, map[string]string{"file.md": "", "id_rsa.md": "", ".ssh/notes.md": ""})
	unreadable := NewFolder(FolderOptions{Path: dir})
	unreadable.readDir = func(string) ([]fs.DirEntry, error) {
		return nil, &fs.PathError{Op: "open", Path: dir, Err: fs.ErrPermission}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name   string
		folder *Folder
		ctx    context.Context
		want   string
		is     error
	}{
		{"missing", NewFolder(FolderOptions{Path: filepath.Join(dir, "gone")}), t.Context(),
			filepath.Join(dir, "gone") + " does not exist: create it, or leave it out: memcore index --forget '" + filepath.Join(dir, "gone") + "'", fs.ErrNotExist},
		{"a file where a folder should be", NewFolder(FolderOptions{Path: filepath.Join(dir, "file.md", "x")}), t.Context(), "cannot be reached", nil},
		{"unreadable", unreadable, t.Context(), "cannot be read: check its permissions", fs.ErrPermission},
		{"a secret", NewFolder(FolderOptions{Path: filepath.Join(dir, "id_rsa.md")}), t.Context(), "is never read: its name is that of a secret", nil},
		{"a folder of secrets", NewFolder(FolderOptions{Path: filepath.Join(dir, ".ssh")}), t.Context(), "is never read: folder .ssh", nil},
		{"cancelled", NewFolder(FolderOptions{Path: dir}), cancelled, "context canceled", context.Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.folder.List(tt.ctx)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("List: error %v, want one with %q", err, tt.want)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("List: error %v is not %v", err, tt.is)
			}
		})
	}
	found, err := NewFolder(FolderOptions{Path: filepath.Join(dir, "gone"), Optional: true}).List(t.Context())
	if err != nil || len(found.Documents) > 0 {
		t.Errorf("List of a missing optional folder = %v, %v, want nothing", found, err)
	}
}

func TestUnreadableFolderIsPassedOver(t *testing.T) {
	dir := tree(t, map[string]string{"a.md": "", "locked/b.md": "", "z/c.md": ""})
	f := NewFolder(FolderOptions{Path: dir, Workspace: dir})
	f.readDir = func(path string) ([]fs.DirEntry, error) {
		if filepath.Base(path) == "locked" {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}
		}
		return os.ReadDir(path)
	}
	found := list(t, f)
	sameStrings(t, "documents", pathsOf(found), []string{"a.md", "z/c.md"})
	sameStrings(t, "skipped", skips(found), []string{"locked: folder cannot be read: permission denied"})
	if !found.Skipped[0].Unreadable {
		t.Error("it is not told from what is left out on purpose")
	}
	f.readDir = func(path string) ([]fs.DirEntry, error) {
		if filepath.Base(path) == "locked" {
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}
		return os.ReadDir(path)
	}
	sameStrings(t, "skipped once it is gone", skips(list(t, f)), nil)
}

func TestReadMarkdown(t *testing.T) {
	dir := tree(t, map[string]string{"a.md": "# Größe\r\n\xff\n", "bom.md": "\xef\xbb\xbf# B\n", "empty.md": "", "bin.md": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
		"nul.md": "# D\na \x00\x00b\n\x00\nIt lost blocks of its text.\x00\x00", "zero.md": "\x00\n\x00", "wide_unmarked.md": "#\x00 \x00\xf6\x00\n\x00",
		"latin.md": "# Gr\xf6\xdfe\r\n", "wide.md": "\xff\xfe#\x00 \x00\xf6\x00\n\x00", "wide_nul.md": "\xff\xfe#\x00\x00\x00"})
	f := NewFolder(FolderOptions{Path: dir, Workspace: dir})
	want := map[string]string{"a.md": "# Größe\r\n\xff\n", "bom.md": "# B\n", "empty.md": "", "latin.md": "# Größe\r\n", "wide.md": "# ö\n",
		"nul.md": "# D\na  […] b\n\nIt lost blocks of its text.", "wide_unmarked.md": "# ö\n", "wide_nul.md": "#"}
	encodings := map[string]string{"latin.md": "Windows-1252", "wide.md": "UTF-16", "wide_unmarked.md": "UTF-16", "wide_nul.md": "UTF-16"}
	nuls := map[string]int{"nul.md": 2, "wide_nul.md": 1}
	for _, doc := range list(t, f).Documents {
		content, err := f.Read(t.Context(), doc, Position{})
		text, readable := want[doc.Path]
		if (err == nil) != readable || string(content.Markdown) != text {
			t.Errorf("Read(%s) = %q, %v, want %q", doc.Path, content.Markdown, err, text)
		}
		if content.Encoding != encodings[doc.Path] {
			t.Errorf("Read(%s).Encoding = %q, want %q", doc.Path, content.Encoding, encodings[doc.Path])
		}
		if content.SkippedAt[hasNUL] != nuls[doc.Path] || content.Skipped[hasNUL] != len(content.Skipped) {
			t.Errorf("Read(%s) skipped %v at %v, want NUL bytes in line %d", doc.Path, content.Skipped, content.SkippedAt, nuls[doc.Path])
		}
		if err == nil && content.From != 1 {
			t.Errorf("Read(%s).From = %d, want 1", doc.Path, content.From)
		}
	}
	found := list(t, f)
	sameStrings(t, "documents after reading", pathsOf(found), []string{"a.md", "bom.md", "empty.md", "latin.md", "nul.md", "wide.md", "wide_nul.md", "wide_unmarked.md"})
	sameStrings(t, "skipped after reading", skips(found), []string{"bin.md: not text: it contains NUL bytes", "zero.md: not text: it contains NUL bytes"})
	write(t, filepath.Join(dir, "bin.md"), "# text now\n")
	sameStrings(t, "documents after a change", pathsOf(list(t, f)), []string{"a.md", "bin.md", "bom.md", "empty.md", "latin.md", "nul.md", "wide.md", "wide_nul.md", "wide_unmarked.md"})
}

func TestReadRefuses(t *testing.T) {
	dir := tree(t, map[string]string{"in/a.md": "a", "in/b.md": "b", "in/grows.md": "x", "out.md": "out"})
	in := filepath.Join(dir, "in")
	f := NewFolder(FolderOptions{Path: in, Workspace: in})
	f.maxMarkdown = 10
	docs := list(t, f).Documents
	require.Len(t, docs, 3)
	require.NoError(t, os.Remove(docs[0].File))
	require.NoError(t, os.Remove(docs[1].File))
	require.NoError(t, os.Symlink(filepath.Join(dir, "out.md"), docs[1].File))
	write(t, docs[2].File, strings.Repeat("x", 11))
	outside := docs[1]
	outside.File = filepath.Join(dir, "out.md")
	for _, tt := range []struct {
		name, want string
		doc        Document
	}{
		{"a file that is gone", "no such file", docs[0]},
		{"what has become a link", "symbolic link", docs[1]},
		{"a file that has grown too large", "11 bytes, larger than the limit of 10 bytes", docs[2]},
		{"a document of another folder", "is not inside", outside},
	} {
		t.Run(tt.name, func(t *testing.T) {
			content, err := f.Read(t.Context(), tt.doc, Position{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Read = %q, %v, want an error with %q", content.Markdown, err, tt.want)
			}
		})
	}
}

func TestSymbolicLinks(t *testing.T) {
	dir := tree(t, map[string]string{"root/a.md": "", "root/deep/b.md": "", "out/c.md": ""})
	root := filepath.Join(dir, "root")
	link := func(target, name string) {
		require.NoError(t, os.Symlink(target, filepath.Join(root, name)))
	}
	link(filepath.Join(dir, "out"), "out")
	link(filepath.Join(dir, "out", "c.md"), "c.md")
	link("a.md", "CLAUDE.md")
	link(".", "loop")
	link("../..", "deep/up")
	link("self.md", "self.md")
	link("nowhere.md", "dangling.md")
	link("nowhere", "irrelevant.so")
	link(filepath.Join(dir, "out"), ".hidden")
	require.NoError(t, os.Symlink(root, filepath.Join(dir, "given")))
	for _, path := range []string{root, filepath.Join(dir, "given")} {
		found := list(t, NewFolder(FolderOptions{Path: path, Workspace: path}))
		sameStrings(t, "documents", pathsOf(found), []string{"a.md", "deep/b.md"})
		sameStrings(t, "skipped", skips(found), []string{
			"c.md: symbolic link out of the folder; name its target to read it",
			"dangling.md: broken symbolic link",
			"deep/up: symbolic link out of the folder; name its target to read it",
			"out: symbolic link out of the folder; name its target to read it",
			"self.md: broken symbolic link",
		})
	}
}

func TestOneFile(t *testing.T) {
	dir := tree(t, map[string]string{"notes.txt": "x", "chat.jsonl": chatLine, "other.json": "{}", "node_modules/.x/a.md": "y"})
	for _, tt := range []struct {
		file, kind string
		skipped    []string
	}{
		{"notes.txt", "markdown", nil},
		{"chat.jsonl", "conversation", nil},
		{"node_modules/.x/a.md", "markdown", nil},
		{"other.json", "", []string{"other.json: no known conversation format"}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			f := NewFolder(FolderOptions{Path: filepath.Join(dir, tt.file), Workspace: dir})
			found := list(t, f)
			sameStrings(t, "skipped", skips(found), tt.skipped)
			if tt.kind == "" {
				sameStrings(t, "documents", pathsOf(found), nil)
				return
			}
			sameStrings(t, "documents", pathsOf(found), []string{tt.file})
			if found.Documents[0].Kind != tt.kind {
				t.Errorf("kind = %q, want %q", found.Documents[0].Kind, tt.kind)
			}
			_, err := f.Read(t.Context(), found.Documents[0], Position{})
			if err != nil {
				t.Errorf("Read: %v", err)
			}
		})
	}
}

// What cannot be read is said before it becomes a source.
func TestTry(t *testing.T) {
	dir := tree(t, map[string]string{"notes.md": "x", "chat.jsonl": chatLine, "other.json": "{}", "zeros.md": strings.Repeat("\x00", 64), "shut.md": "x", "shut/a.md": "x", ".env": "x"})
	for _, name := range []string{"shut.md", "shut"} {
		path := filepath.Join(dir, name)
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(path, 0o700) })
	}
	for name, want := range map[string]string{"notes.md": "", "chat.jsonl": "", ".": "", "other.json": "no known conversation format",
		"zeros.md": "not text", "shut.md": "permission denied", "shut": "permission denied", ".env": "never read", "absent": "does not exist"} {
		t.Run(name, func(t *testing.T) {
			if want == "permission denied" && (os.Geteuid() == 0 || runtime.GOOS == "windows") {
				t.Skip("no file is shut")
			}
			switch err := Try(t.Context(), filepath.Join(dir, name)); {
			case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("Try: %v, want %q", err, want)
			}
		})
	}
}

package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core/forgotten"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/apptest"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/paths"
	"github.com/memcore/memcore/internal/workspace"
)

func workspaceIn(t *testing.T, dir string) *app.Workspace {
	t.Helper()
	w := &app.Workspace{Config: &config.Config{Cwd: dir, Log: slog.New(slog.DiscardHandler)}, Version: "test", Note: t.Logf}
	require.NoError(t, w.Prepare())
	return w
}

// key is shaped like one, and made of parts so that nobody takes it for one.
var key = "AKIA" + "QWERTYUIOPASDFGH"

var files = map[string]string{
	"notes/plain.md":                "# A document, which memcore only reads\n",
	"BEANS.md":                      "# Ours\r\n\n- The colour is red.",
	"data/memory/facts/user.md":     "# User\n\n> Summary: name\n\n- Name: Zoe\n",
	"data/memory/facts/empty.md":    "",
	"data/memory/episodes/2026.md":  "# 2026\n\n- Fixed the boiler. The key is " + key + ". ok\n",
	"memcore-eval.yaml":             "cases: []\n",
	".beans/config.yaml":            "memory:\n  exclude: [drafts]\n",
	"drafts/unfinished.md":          "# Not indexed, so not exported\n",
	"../home/.beans/BEANS.md":       "- I like tea.\n",
	"../home/.beans/config.yaml":    "memory:\n  limit: 7\n",
	"../home/.beans/.git/hooks/run": "#!/bin/sh\n",
	"../home/.beans/secrets.md":     "never\n",
}

// exporting makes a workspace with all kinds of files and exports it.
func exporting(t *testing.T, name string) (w *app.Workspace, target string, e Exported) {
	t.Helper()
	project := apptest.Project(t, files)
	w = workspaceIn(t, project)
	s, err := session.New(w.SessionsDir(), "codex-1")
	require.NoError(t, err)
	_, err = s.Append(t.Context(), session.Message{Role: "user", Content: "where is the boiler?"}, session.AppendOptions{})
	require.NoError(t, err)
	old := time.Now().AddDate(0, -7, 0).Truncate(time.Second)
	require.NoError(t, filepath.WalkDir(s.Dir, func(path string, _ fs.DirEntry, err error) error {
		require.NoError(t, err)
		return os.Chtimes(path, old, old)
	}))
	// Its agent keeps the messages; its notes were changed.
	logged, err := session.New(w.SessionsDir(), "claude-code-2")
	require.NoError(t, err)
	undo := filepath.Join(logged.Dir, app.UndoOfSession, "journal.json")
	require.NoError(t, os.MkdirAll(filepath.Dir(undo), 0o700))
	require.NoError(t, os.WriteFile(undo, []byte("{}"), 0o600))
	_, err = w.Trust().Set(t.Context(), project, true)
	require.NoError(t, err)
	at, err := w.Folders()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(at.Own(), 0o700))
	require.NoError(t, forgotten.Add(t.Context(), at.Forgotten(), forgotten.Part{In: at.Name(), Path: "notes/old.md", Whole: true, Passages: forgotten.OfMarkdown(walrus), Some: []int{0}}))
	require.NoError(t, os.WriteFile(at.Sources(), []byte(`{"workspace":"`+project+`","paths":["`+project+`"]}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(at.Own(), config.JournalFile), []byte(`{"id":"a","key":"db689a5733e364f2"}`+"\n"), 0o600))
	target = filepath.Join(t.TempDir(), name)
	e, err = Export(t.Context(), w, target)
	require.NoError(t, err)
	return w, target, e
}

// elsewhere is another machine with an empty home.
func elsewhere(t *testing.T) (w *app.Workspace, home string) {
	t.Helper()
	dir := apptest.Project(t, nil)
	w = workspaceIn(t, dir)
	return w, w.Home
}

func always(Plan) bool { return true }

func never(Plan) bool { return false }

// kept reports whether an export has a file of exporting's.
func kept(name string) bool {
	return !slices.ContainsFunc([]string{".git/", "secrets", "drafts/", "notes/"}, func(part string) bool { return strings.Contains(name, part) })
}

const walrus = "The grey walrus sleeps below the pier, where nobody looks for it."

// What is exported is the same after an import at other paths.
func TestMove(t *testing.T) {
	from, target, e := exporting(t, "file.tar.gz")
	require.NoError(t, os.Rename(from.Project, from.Project+"-of-the-other-machine"))
	require.Equal(t, []string{filepath.ToSlash(filepath.Join(from.Project, "data", "memory", "episodes", "2026.md")) + "#L3"}, e.Redacted, "not memcore's own hashes")
	require.Equal(t, 2, e.Sessions)
	require.NotContains(t, fmt.Sprint(e.LeftOut), "journal.json")
	there, home := elsewhere(t)
	own, err := there.Folders()
	require.NoError(t, err)
	require.NoError(t, forgotten.Add(t.Context(), own.Forgotten(), forgotten.Part{Path: "a.md", Whole: true}))
	project := filepath.Join(home, "moved")
	o := Options{Moves: []Move{{from.Project, project}}}
	planned, err := Import(t.Context(), there, target, o, never)
	require.NoError(t, err)
	require.False(t, planned.Done)
	require.NoDirExists(t, project, "a plan changes nothing")
	effects := map[string]string{}
	for _, s := range planned.Steps {
		if s.Effect != "" {
			effects[s.Path] = s.Effect
		}
	}
	require.Equal(t, map[string]string{
		filepath.Join(project, "BEANS.md"):              "can instruct your agents",
		filepath.Join(home, ".beans", "BEANS.md"):       "can instruct your agents",
		filepath.Join(project, ".beans", "config.yaml"): "holds settings of the workspace",
		filepath.Join(project, "memcore-eval.yaml"):     "holds questions of 'memcore eval'",
		own.Forgotten(): "hides 2 texts in what is here of " + project,
		filepath.Join(home, ".beans", "config.imported.yaml"): "holds settings, which can name servers: they do nothing there; copy those that you want into config.yaml",
	}, effects)
	p, err := Import(t.Context(), there, target, o, always)
	require.NoError(t, err)
	require.True(t, p.Done)
	require.Equal(t, map[string]int{Add: len(p.Steps)}, p.Counts)
	for name, want := range files {
		file := filepath.Join(project, name)
		if strings.HasPrefix(name, "../home/") {
			file = filepath.Join(home, strings.TrimPrefix(name, "../home/"))
		}
		if name == "../home/.beans/config.yaml" {
			require.NoFileExists(t, file, "settings do nothing by being imported")
			file = filepath.Join(home, ".beans", "config.imported.yaml")
		}
		if !kept(name) {
			require.NoFileExists(t, file)
			continue
		}
		got, err := os.ReadFile(file)
		require.NoError(t, err, name)
		require.Equal(t, strings.ReplaceAll(want, key, "[redacted: aws-access-token]"), string(got), name)
	}
	require.NoError(t, os.MkdirAll(filepath.Join(project, ".git"), 0o700))
	w := workspaceIn(t, project)
	sessions, err := w.Sessions().Kept(false)
	require.NoError(t, err)
	require.Len(t, sessions, 2)
	require.Equal(t, 1, sessions[1].Messages)
	require.Greater(t, time.Since(sessions[1].Used), 200*24*time.Hour, "a session keeps its age")
	require.False(t, w.Trusted(), "an import trusts nothing")
	at, err := w.Folders()
	require.NoError(t, err)
	sources, err := workspace.Load(at.Sources())
	require.NoError(t, err)
	require.Equal(t, workspace.Sources{Workspace: project, Paths: []string{project}, Folders: []string{from.Project}}, sources)
	list, err := forgotten.Load(at.Forgotten(), at.Name())
	require.NoError(t, err)
	require.True(t, list.Whole(at.Name(), "notes/old.md"), "by the name of the workspace here")
	_, hidden := list.Markdown([]byte("# Beasts\n\n" + walrus + "\n"))
	require.Equal(t, 1, hidden, "beside what is forgotten here")
	mine, err := forgotten.Load(at.Forgotten(), own.Name())
	require.NoError(t, err)
	_, hidden = mine.Markdown([]byte("# Beasts\n\n" + walrus + "\n"))
	require.Zero(t, hidden, "an import hides nothing in other projects")

	again, err := Import(t.Context(), there, target, o, always)
	require.NoError(t, err)
	require.Equal(t, map[string]int{Same: len(p.Steps)}, again.Counts)
	same, err := workspace.Load(at.Sources())
	require.NoError(t, err)
	require.Equal(t, sources, same)
}

func TestExportsAreReproducible(t *testing.T) {
	w, target, _ := exporting(t, "a.tar.gz")
	second := filepath.Join(t.TempDir(), "b.tar.gz")
	_, err := Export(t.Context(), w, second)
	require.NoError(t, err)
	a, err := os.ReadFile(target)
	require.NoError(t, err)
	b, err := os.ReadFile(second)
	require.NoError(t, err)
	require.True(t, bytes.Equal(a, b))
}

// With a conflict nothing is written; Skip takes in the rest, and what is here stays.
func TestConflicts(t *testing.T) {
	from, target, _ := exporting(t, "file.tar.gz")
	there, home := elsewhere(t)
	project := filepath.Join(home, "moved")
	o := Options{Moves: []Move{{from.Project, project}}}
	mine := filepath.Join(project, "BEANS.md")
	require.NoError(t, os.MkdirAll(project, 0o700))
	require.NoError(t, os.WriteFile(mine, []byte("mine"), 0o600))
	p, err := Import(t.Context(), there, target, o, always)
	require.ErrorContains(t, err, "nothing was written: 1 of")
	require.Equal(t, 1, p.Counts[Conflict])
	left, err := os.ReadDir(project)
	require.NoError(t, err)
	require.Len(t, left, 1)
	p, err = Import(t.Context(), there, target, o, never)
	require.NoError(t, err, "who does not agree gets the plan alone")
	require.False(t, p.Done)
	o.Skip = true
	p, err = Import(t.Context(), there, target, o, always)
	require.NoError(t, err)
	require.Equal(t, 1, p.Counts[Conflict])
	text, err := os.ReadFile(mine)
	require.NoError(t, err)
	require.Equal(t, "mine", string(text))

	// A file that is made while the person is asked stays.
	require.NoError(t, os.Remove(mine))
	_, err = Import(t.Context(), there, target, o, func(Plan) bool { return os.WriteFile(mine, []byte("edited"), 0o600) == nil })
	require.ErrorIs(t, err, fs.ErrExist)
	text, err = os.ReadFile(mine)
	require.NoError(t, err)
	require.Equal(t, "edited", string(text))
	require.NoError(t, os.Remove(mine))

	// A log that has grown is the same, and one that is behind is in conflict.
	log, err := filepath.Glob(filepath.Join(home, ".ai", "sessions", "*", "codex-1", "messages.jsonl"))
	require.NoError(t, err)
	require.Len(t, log, 1)
	data, err := os.ReadFile(log[0])
	require.NoError(t, err)
	for text, conflicts := range map[string]int{"": 1, string(data) + `{"role":"user"}` + "\n": 0, `{"role":"other"}` + "\n": 1} {
		require.NoError(t, os.WriteFile(log[0], []byte(text), 0o600))
		p, err := Import(t.Context(), there, target, o, never)
		require.NoError(t, err)
		require.Equal(t, conflicts, p.Counts[Conflict], "%q: %v", text, p.Counts)
	}
}

func TestExportIsNotOverwritten(t *testing.T) {
	w, target, _ := exporting(t, "x.tar.gz")
	_, err := Export(t.Context(), w, target)
	require.ErrorContains(t, err, "exists already")
	missing := filepath.Join(t.TempDir(), "missing")
	_, err = Export(t.Context(), w, filepath.Join(missing, "x.tar.gz"))
	require.ErrorContains(t, err, "there is no folder "+missing)
	require.NoDirExists(t, missing)
	// What lies beside it is not written to, nor where it leads.
	mine := filepath.Join(t.TempDir(), "mine")
	require.NoError(t, os.WriteFile(mine, []byte("mine"), 0o600))
	third := filepath.Join(t.TempDir(), "z.tar.gz")
	require.NoError(t, os.Symlink(mine, third+".partly"))
	_, err = Export(t.Context(), w, third)
	require.NoError(t, err)
	text, err := os.ReadFile(mine)
	require.NoError(t, err)
	require.Equal(t, "mine", string(text))

	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err = Export(ctx, w, filepath.Join(filepath.Dir(target), "y.tar.gz"))
	require.ErrorIs(t, err, context.Canceled)
	left, err := os.ReadDir(filepath.Dir(target))
	require.NoError(t, err)
	require.Len(t, left, 1, "an interrupted export leaves nothing")
}

// pack makes an archive of entries, with a manifest of files.
func pack(t *testing.T, m Manifest, entries ...tar.Header) string {
	t.Helper()
	manifest, err := json.Marshal(m)
	require.NoError(t, err)
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	w := tar.NewWriter(packed)
	add := func(h tar.Header, text string) {
		if h.Typeflag == tar.TypeReg && h.Size == 0 {
			h.Size = int64(len(text))
		}
		require.NoError(t, w.WriteHeader(&h))
		if h.Typeflag == tar.TypeReg && h.Size == int64(len(text)) {
			_, err := w.Write([]byte(text))
			require.NoError(t, err)
		}
	}
	add(tar.Header{Typeflag: tar.TypeReg, Name: ManifestName}, string(manifest))
	for _, h := range entries {
		add(h, "evil")
	}
	_ = w.Close() // an entry can be shorter than it says
	require.NoError(t, packed.Close())
	file := filepath.Join(t.TempDir(), "evil.tar.gz")
	require.NoError(t, os.WriteFile(file, b.Bytes(), 0o600))
	return file
}

func TestHostileArchives(t *testing.T) {
	w, home := elsewhere(t)
	for name, entry := range map[string]tar.Header{
		"a link":         {Typeflag: tar.TypeSymlink, Name: "a", Linkname: "/etc"},
		"a hard link":    {Typeflag: tar.TypeLink, Name: "a", Linkname: "/etc/passwd"},
		"a device":       {Typeflag: tar.TypeChar, Name: "a"},
		"a folder":       {Typeflag: tar.TypeDir, Name: "a/"},
		"a huge file":    {Typeflag: tar.TypeReg, Name: "a", Size: 1 << 40},
		"a cut file":     {Typeflag: tar.TypeReg, Name: "a", Size: 1 << 10},
		"the same twice": {Typeflag: tar.TypeReg, Name: ManifestName},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Import(t.Context(), w, pack(t, Manifest{Format: format}, entry), Options{}, always)
			require.ErrorIs(t, err, ErrRefused)
		})
	}
	sum := sumOf([]byte("evil"))
	for _, f := range []struct{ holds, project, folder, path string }{
		{Project, home, "", "../evil.md"},
		{Project, home, "", ".bashrc"},
		{Project, home, "", ".ssh/config.md"},
		{Project, home, "", ".git/hooks/pre-commit"},
		{Project, home, "", "run.sh"},
		{Project, home, "", "a/.env"},
		{Project, "relative", "", "a.md"},
		{Project, "", "", "a.md"},
		{Project, "/etc", "", "evil.md"},
		{Project, filepath.Dir(home), "", "evil.md"},
		{Project, "/", "", "evil.md"},
		{Project, home + "/../..", "", "evil.md"},
		{Sessions, "", "..", "a.md"},
		{Sessions, "", "a/..", "a.md"},
		{Sessions, "", `a\..\..\b`, "a.md"},
		{Sessions, "", "--a--", "../../a.md"},
		{State, "", "state/..", "journal.jsonl"},
		{State, "", "a", "evil.json"},
		{State, "", "a", "sources.json"},
		{Settings, "", "", "other.yaml"},
		{Settings, "", "", "trust.json"},
		{Global, "", "", "/etc/passwd"},
		{Global, "", "", ".git/config"},
		{Global, "", "", "config.yaml"},
		{Global, "", "", "trust.json"},
		{Global, "", "", "Trust.json"},
		{Global, "", "", "CONFIG.yaml"},
		{Global, "", "", "config.yaml. ."},
		{Global, "", "", "trust.json "},
		{Global, "", "", " /trust.json"},
		{Global, "", "", "a\x01b.md"},
		{Global, "", "", strings.Repeat("a/", 600) + "b"},
		{"elsewhere", "", "", "a.md"},
		{"", "", "", "a.md"},
	} {
		folder := Folder{Name: "f", Holds: f.holds, Project: f.project}
		if f.folder != "" {
			folder.Name = f.folder
		}
		m := Manifest{Format: format, Folders: []Folder{folder}, Files: []File{{Folder: folder.Name, Path: f.path, Size: 4, SHA256: sum}}}
		p, err := Import(t.Context(), w, pack(t, m, tar.Header{Typeflag: tar.TypeReg, Name: m.Files[0].name()}), Options{}, always)
		require.ErrorContains(t, err, "nothing was written", "%+v", f)
		require.Equal(t, 1, p.Counts[Refuse], "%+v: %v", f, p.Steps)
		require.NotEmpty(t, p.Steps[0].Why)
	}
	good := Manifest{Format: format, Folders: []Folder{{Name: Global, Holds: Global}}, Files: []File{{Folder: Global, Path: "good.md", Size: 4, SHA256: sum}}}
	for name, change := range map[string]func(*File){
		"another checksum": func(f *File) { f.SHA256 = strings.Repeat("0", 64) },
		"no checksum":      func(f *File) { f.SHA256 = "" },
		"missing":          func(f *File) { f.Path = "missing.md" },
		"missing, no sum":  func(f *File) { f.Path, f.SHA256 = "missing.md", "" },
		"in no folder":     func(f *File) { f.Folder = "elsewhere" },
		"the manifest":     func(f *File) { f.Folder, f.Path = ".", ManifestName },
	} {
		m := good
		m.Files = slices.Clone(good.Files)
		change(&m.Files[0])
		p, err := Import(t.Context(), w, pack(t, m, tar.Header{Typeflag: tar.TypeReg, Name: "global/good.md"}), Options{}, always)
		require.ErrorContains(t, err, "nothing was written", name)
		require.Equal(t, 1, p.Counts[Refuse], name)
	}
	p, err := Import(t.Context(), w, pack(t, good, tar.Header{Typeflag: tar.TypeReg, Name: "global/good.md"}, tar.Header{Typeflag: tar.TypeReg, Name: "../../evil.md"}), Options{}, always)
	require.NoError(t, err)
	require.Equal(t, map[string]int{Add: 1}, p.Counts, "without harm, it is taken in, and what the manifest does not name is not")
	require.NoFileExists(t, filepath.Join(home, "evil.md"))
	for _, m := range []Manifest{{Format: 1}, {}} {
		_, err := Import(t.Context(), w, pack(t, m), Options{}, always)
		require.ErrorContains(t, err, "has format")
	}
	_, err = Import(t.Context(), w, filepath.Join(home, ".beans", "good.md"), Options{}, always)
	require.ErrorIs(t, err, ErrRefused)
}

// An export registers no folder that it may bring nothing to.
func TestImportedSources(t *testing.T) {
	w, home := elsewhere(t)
	project := filepath.Join(home, "work")
	m := Manifest{Format: format, Folders: []Folder{{Name: "state/a", Holds: State, Project: project, Sources: &workspace.Sources{Paths: []string{"/etc", project}}}}}
	m.Folders[0].Sources.Conversations = new(true)
	p, err := Import(t.Context(), w, pack(t, m), Options{}, always)
	require.NoError(t, err)
	require.Equal(t, []Indexed{{project, []string{project}, true, nil}}, p.Indexes)
	p, err = Import(t.Context(), w, pack(t, m), Options{}, never)
	require.NoError(t, err)
	require.Empty(t, p.Indexes, "it is registered already")
	at, err := w.Folders()
	require.NoError(t, err)
	sources, err := workspace.Load(at.OwnOf(workspace.IndexName(project)).Sources())
	require.NoError(t, err)
	require.Equal(t, []string{project}, sources.Paths)
}

// What agents did in a folder that is, or was, another's here does not become a project's by an
// import, and what does is named.
func TestImportedPlaces(t *testing.T) {
	w, home := elsewhere(t)
	home = paths.Resolve(home)
	at, err := w.Folders()
	require.NoError(t, err)
	in := func(name string) string { return filepath.Join(home, name) }
	for _, dir := range []string{"work/.git", "work/docs", "other/.git", "plain", "dot/.beans"} {
		require.NoError(t, os.MkdirAll(in(dir), 0o700))
	}
	require.NoError(t, os.Symlink(in("other"), in("link")))
	require.NoError(t, os.Symlink(in("nowhere"), in("dangling")))
	for path, places := range map[string][]string{in("gone"): {in("gone-tree")}, in("other"): {in("deep/other-tree")}, home: nil, in("earlier"): nil} {
		own := at.OwnOf(workspace.IndexName(path))
		require.NoError(t, os.MkdirAll(own.Own(), 0o700))
		require.NoError(t, os.WriteFile(own.WorkspacePath(), []byte(path+"\n"), 0o600))
		_, err := workspace.Change(t.Context(), own.Sources(), func(s *workspace.Sources) error { s.Workspace = path; s.Saw(places...); return nil })
		require.NoError(t, err)
	}
	project := in("work")
	mine := []string{"/srv/old/work", in("work-tree"), in("work/docs"), in("work/gone"), in("earlier")}
	others := []string{in("other"), in("other/gone"), in("link"), in("link/gone"), in("dangling"), in("plain"), in("dot"), in("gone"), in("gone/sub"), in("gone-tree"), in("deep"), home, "/", "", "other", "../other"}
	m := Manifest{Format: format, Folders: []Folder{{Name: "state/a", Holds: State, Project: in("other"), Sources: &workspace.Sources{Folders: slices.Concat(others, mine)}}}}
	m.Folders[0].Sources.Conversations = new(true)
	o := Options{Moves: []Move{{in("other"), project}, {in("earlier"), project}}}
	for _, agreed := range []func(Plan) bool{never, always} {
		p, err := Import(t.Context(), w, pack(t, m), o, agreed)
		require.NoError(t, err)
		require.Equal(t, []Indexed{{project, nil, true, mine}}, p.Indexes)
		var left []string
		for _, s := range p.Steps {
			require.Equal(t, Leave, s.Action)
			require.Contains(t, s.Why, project)
			left = append(left, s.Path)
		}
		require.Equal(t, others, left)
		require.Equal(t, map[string]int{Leave: len(others)}, p.Counts)
	}
	sources, err := workspace.Load(at.OwnOf(workspace.IndexName(project)).Sources())
	require.NoError(t, err)
	require.Equal(t, mine, sources.Folders)
}

// A link is followed neither when exporting nor where a file goes.
func TestLinks(t *testing.T) {
	from, target, _ := exporting(t, "file.tar.gz")
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(from.Project, "data", "memory", "link.md")))
	e, err := Export(t.Context(), from, target+".second.tar.gz")
	require.NoError(t, err)
	require.True(t, slices.ContainsFunc(e.LeftOut, func(l LeftOut) bool { return strings.HasSuffix(l.What, "link.md") }), e.LeftOut)

	there, home := elsewhere(t)
	outside := t.TempDir()
	project := filepath.Join(home, "moved")
	require.NoError(t, os.MkdirAll(project, 0o700))
	require.NoError(t, os.Symlink(outside, filepath.Join(project, "data")))
	p, err := Import(t.Context(), there, target, Options{Moves: []Move{{from.Project, project}}, Skip: true}, always)
	require.NoError(t, err)
	require.Equal(t, 3, p.Counts[Refuse], p.Steps)
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A damaged list of paths is left out, and nothing else.
func TestExportOfDamagedSources(t *testing.T) {
	w, target, before := exporting(t, "file.tar.gz")
	at, err := w.Folders()
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(at.Sources(), []byte(`{"paths":`), 0o600))
	e, err := Export(t.Context(), w, target+".second.tar.gz")
	require.NoError(t, err)
	require.Equal(t, before.Files, e.Files)
	require.True(t, slices.ContainsFunc(e.LeftOut, func(l LeftOut) bool { return l.What == "registered paths of "+w.Project }), e.LeftOut)
}

// What instructs agents is named, and what other programs read or start is not written, whatever an
// export calls its folders and files.
func TestHostileExportOfHarmlessLooks(t *testing.T) {
	w, home := elsewhere(t)
	sum := sumOf([]byte("evil"))
	m := Manifest{Format: format}
	var entries []tar.Header
	want := map[string]string{}
	for _, f := range []struct{ holds, folder, project, file, action string }{
		{Settings, "settings", "", "config.yaml", Add},
		{Global, "global", "", "BEANS.md", Add},
		{Global, "global", "", "package.json", Refuse},
		{Global, "global", "", "run.sh", Refuse},
		{Project, "home", home, "BEANS.md", Add},
		{Project, "home", home, "data/memory/facts/a.md", Add},
		{Project, "home", home, "AGENTS.md", Leave},
		{Project, "home", home, "README.md", Leave},
		{Project, "home", home, ".claude/CLAUDE.md", Leave},
		{Project, "home", home, ".beans/../CLAUDE.md", Refuse},
		{Project, "home", home, "data/memory/../../CLAUDE.md", Refuse},
		{Project, "home", home, ".beans/config.yaml", Refuse},
		{Project, "home", home, "package.json", Refuse},
		{Project, "home", home, "chat.json", Refuse},
		{Project, "home", home, "Library/Application Support/Claude/claude_desktop_config.json", Refuse},
		{Project, "claude", home + "/.claude", "BEANS.md", Refuse},
		{Project, "claude", home + "/.claude", "CLAUDE.md", Refuse},
		{Project, "rules", home + "/.claude/rules", "data/memory/facts/a.md", Refuse},
		{Project, "cursor", home + "/work/.cursor/rules", "data/memory/facts/a.md", Refuse},
		{Sessions, "sessions/--a--", "", "proposals.json", Add},
		{Sessions, "sessions/--a--", "", "s1/messages.jsonl", Add},
		{Sessions, "sessions/--a--", "", "s1/working-memory/detail/a.md", Add},
		{Sessions, "sessions/--a--", "", "s1/allowed.json", Refuse},
		{Sessions, "sessions/--a--", "", "package.json", Refuse},
	} {
		folder := Folder{Name: f.folder, Holds: f.holds, Project: f.project}
		if !slices.Contains(m.Folders, folder) {
			m.Folders = append(m.Folders, folder)
		}
		file := File{Folder: f.folder, Path: f.file, Size: 4, SHA256: sum}
		m.Files = append(m.Files, file)
		entries = append(entries, tar.Header{Typeflag: tar.TypeReg, Name: file.name()})
		want[file.name()] = f.action
	}
	before := below(t, home)
	target := pack(t, m, entries...)
	p, err := Import(t.Context(), w, target, Options{Skip: true}, always)
	require.NoError(t, err)
	got := map[string]string{}
	for _, s := range p.Steps {
		got[s.Name] = s.Action
	}
	require.Equal(t, want, got)
	added := []string{".ai/sessions/--a--/proposals.json", ".ai/sessions/--a--/s1/messages.jsonl", ".ai/sessions/--a--/s1/working-memory/detail/a.md",
		".beans/BEANS.md", ".beans/config.imported.yaml", "BEANS.md", "data/memory/facts/a.md"}
	require.ElementsMatch(t, append(added, before...), below(t, home))

	p, err = Import(t.Context(), w, target, Options{Skip: true, Outside: true}, always)
	require.NoError(t, err)
	require.Equal(t, 3, p.Counts[Add])
	require.Zero(t, p.Counts[Leave])
	require.ElementsMatch(t, append(added, append(before, "AGENTS.md", "README.md", ".claude/CLAUDE.md")...), below(t, home))
}

// below returns the files below a folder.
func below(t *testing.T, dir string) (files []string) {
	t.Helper()
	require.NoError(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, name)
		}
		return err
	}))
	return files
}

// Other spellings of trust and settings, which are theirs on some systems, are not exported as
// memory.
func TestExportOfOtherSpellings(t *testing.T) {
	w, target, before := exporting(t, "file.tar.gz")
	for _, name := range []string{"Trust.json", "CONFIG.yaml"} {
		require.NoError(t, os.WriteFile(filepath.Join(w.Beans(), name), []byte("{}"), 0o600))
	}
	e, err := Export(t.Context(), w, target+".second.tar.gz")
	require.NoError(t, err)
	require.Equal(t, before.Files, e.Files)
}

func TestJSONWithoutSecretsKeepsHashes(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		lines      []int
	}{
		{`{"key":"db689a5733e364f2","score":0.25}`, `{"key":"db689a5733e364f2","score":0.25}`, nil},
		{"{}\n" + `{"key":"db689a5733e364f2","prompt":"use \"ghp_16C7e42F292c6912E7710c838347Ae178B4a\" <b>"}` + "\n",
			"{}\n" + `{"key":"db689a5733e364f2","prompt":"use \"[redacted: github-pat]\" \u003cb\u003e"}` + "\n", []int{2}},
	} {
		clean, found := redactJSON(tt.text)
		require.Equal(t, tt.want, clean)
		var lines []int
		for _, f := range found {
			lines = append(lines, f.Line)
		}
		require.Equal(t, tt.lines, lines)
	}
}

package archive

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/apptest"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/safefile"
	"github.com/memcore/memcore/internal/workspace"
)

func workspaceIn(t *testing.T, dir string) *app.Workspace {
	t.Helper()
	w := &app.Workspace{Config: &config.Config{Cwd: dir, Log: slog.New(slog.DiscardHandler)}, Version: "test", Note: t.Logf, Provenance: slog.New(slog.DiscardHandler)}
	require.NoError(t, w.Prepare())
	return w
}

// key is shaped like one, and made of parts so that nobody takes it for one.
var key = "AKIA" + "QWERTYUIOPASDFGH"

var files = map[string]string{
	"notes/plain.md":                "# Plain\n\nThe port is 5432.\n",
	"notes/index.md":                "# A note named like a list\n",
	"notes/log.md":                  "---\ntags: [a]\n---\nA log.\r\n",
	"notes/typed.md":                "---\ntype: Playbook\n---\nKept as it is.",
	"notes/broken.md":               "---\n: [\n---\nNot YAML.\n",
	"notes/empty-type.md":           "---\ntype: \"\"\n---\nx\n",
	"notes/unclosed.md":             "---\ntags: [a]\n",
	"notes/empty.md":                "",
	"notes/cloud.md":                "The key is " + key + ". ok\n",
	"BEANS.md":                      "# Ours\n\n- The colour is red.\n",
	"data/memory/facts/user.md":     "# User\n\n> Summary: name\n\n- Name: Zoe\n",
	"data/memory/episodes/2026.md":  "# 2026\n\n- Fixed the boiler.\n",
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
	_, err = w.Trust().Set(t.Context(), project, true)
	require.NoError(t, err)
	at, err := w.Folders()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(at.Own(), 0o700))
	require.NoError(t, os.WriteFile(at.Forgotten(), []byte(`{"forgotten":[{"path":"notes/old.md","at":"2026-01-02T03:04:05Z"}]}`), 0o600))
	require.NoError(t, os.WriteFile(at.Sources(), []byte(`{"workspace":"`+project+`","paths":["`+project+`"]}`), 0o600))
	require.NoError(t, os.WriteFile(at.Use(), []byte(`{"turn":"a","key":"db689a5733e364f2"}`+"\n"), 0o600))
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

// What is exported is the same after an import at other paths.
func TestMove(t *testing.T) {
	for _, name := range []string{"folder", "file.tar.gz"} {
		t.Run(name, func(t *testing.T) {
			from, target, e := exporting(t, name)
			require.Equal(t, 1, e.Redacted, "not memcore's own hashes")
			require.Len(t, e.RedactedIn, 1)
			require.Equal(t, 1, e.Sessions)
			there, home := elsewhere(t)
			project := filepath.Join(home, "moved")
			o := Options{Moves: []Move{{from.Project, project}}}
			planned, err := Import(t.Context(), there, target, o, func(Plan) bool { return false })
			require.NoError(t, err)
			require.False(t, planned.Done)
			require.NoDirExists(t, project, "a plan changes nothing")
			require.Equal(t, []string{project}, planned.Missing)
			require.Equal(t, []string{project}, planned.Trusted)
			p, err := Import(t.Context(), there, target, o, always)
			require.NoError(t, err)
			require.True(t, p.Done)
			require.Zero(t, p.Counts[Refuse]+p.Counts[Conflict], p.Steps)
			for name, want := range files {
				got, err := os.ReadFile(filepath.Join(project, name))
				if strings.HasPrefix(name, "../home/") {
					got, err = os.ReadFile(filepath.Join(home, strings.TrimPrefix(name, "../home/")))
				}
				if strings.Contains(name, ".git/") || strings.Contains(name, "secrets") || strings.HasPrefix(name, "drafts/") {
					require.Error(t, err, name)
					continue
				}
				require.NoError(t, err, name)
				require.Equal(t, strings.ReplaceAll(want, key, "[redacted: aws-access-token]"), string(got), name)
			}
			require.NoError(t, os.MkdirAll(filepath.Join(project, ".git"), 0o700))
			w := workspaceIn(t, project)
			kept, err := w.Sessions().Kept(false)
			require.NoError(t, err)
			require.Len(t, kept, 1)
			require.Equal(t, 1, kept[0].Messages)
			require.Greater(t, time.Since(kept[0].Used), 200*24*time.Hour, "a session keeps its age")
			require.True(t, w.Trusted())
			at, err := w.Folders()
			require.NoError(t, err)
			sources, err := workspace.Load(at.Sources())
			require.NoError(t, err)
			require.Equal(t, workspace.Sources{Workspace: project, Paths: []string{project}, Earlier: []string{from.Project}}, sources)
			forgotten, err := os.ReadFile(at.Forgotten())
			require.NoError(t, err)
			require.Contains(t, string(forgotten), "notes/old.md")

			again, err := Import(t.Context(), there, target, o, always)
			require.NoError(t, err)
			require.Zero(t, again.Counts[Add]+again.Counts[Extend]+again.Counts[Replace]+again.Counts[Conflict]+again.Counts[Refuse], again.Counts)
			same, err := os.ReadFile(at.Forgotten())
			require.NoError(t, err)
			require.Equal(t, string(forgotten), string(same))
		})
	}
}

// Each concept of the bundle has a type, and the root names the version of OKF.
func TestBundleIsOKF(t *testing.T) {
	_, target, _ := exporting(t, "bundle")
	concepts := 0
	require.NoError(t, filepath.WalkDir(target, func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		rel, _ := filepath.Rel(target, path)
		if entry.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		rest, ok := strings.CutPrefix(string(data), "---\n")
		require.True(t, ok, rel)
		head, _, ok := strings.Cut("\n"+rest, "\n---")
		require.True(t, ok, rel)
		var fields map[string]any
		require.NoError(t, yaml.Unmarshal([]byte(head), &fields), rel)
		if rel == "index.md" {
			require.Equal(t, map[string]any{"okf_version": "0.2"}, fields)
			return nil
		}
		require.NotContains(t, reserved, entry.Name())
		require.NotEmpty(t, fields["type"], rel)
		concepts++
		return nil
	}))
	require.Greater(t, concepts, 10)
}

// What is here stays, and is named; --overwrite takes the export's.
func TestConflicts(t *testing.T) {
	from, target, _ := exporting(t, "folder")
	there, home := elsewhere(t)
	project := filepath.Join(home, "moved")
	o := Options{Moves: []Move{{from.Project, project}}}
	mine := filepath.Join(project, "BEANS.md")
	require.NoError(t, os.MkdirAll(project, 0o700))
	require.NoError(t, os.WriteFile(mine, []byte("mine"), 0o600))
	p, err := Import(t.Context(), there, target, o, always)
	require.NoError(t, err)
	require.Equal(t, 1, p.Counts[Conflict])
	text, err := os.ReadFile(mine)
	require.NoError(t, err)
	require.Equal(t, "mine", string(text))
	o.Overwrite = true
	_, err = Import(t.Context(), there, target, o, always)
	require.NoError(t, err)
	text, err = os.ReadFile(mine)
	require.NoError(t, err)
	require.Equal(t, files["BEANS.md"], string(text))

	// An edit while the person is asked stays.
	require.NoError(t, os.WriteFile(mine, []byte("mine"), 0o600))
	_, err = Import(t.Context(), there, target, o, func(Plan) bool { return os.WriteFile(mine, []byte("edited"), 0o600) == nil })
	require.ErrorIs(t, err, safefile.ErrChanged)
	text, err = os.ReadFile(mine)
	require.NoError(t, err)
	require.Equal(t, "edited", string(text))
	require.NoError(t, os.WriteFile(mine, []byte(files["BEANS.md"]), 0o600))

	// A log that has grown is extended, and one that is behind is kept.
	log, err := filepath.Glob(filepath.Join(home, ".ai", "sessions", "*", "codex-1", "messages.jsonl"))
	require.NoError(t, err)
	require.Len(t, log, 1)
	data, err := os.ReadFile(log[0])
	require.NoError(t, err)
	for text, action := range map[string]string{"": Extend, string(data) + `{"role":"user"}` + "\n": Keep, `{"role":"other"}` + "\n": Conflict} {
		require.NoError(t, os.WriteFile(log[0], []byte(text), 0o600))
		p, err := Import(t.Context(), there, target, Options{Moves: o.Moves}, func(Plan) bool { return false })
		require.NoError(t, err)
		require.Equal(t, 1, p.Counts[action], "%q: %v", text, p.Counts)
	}
}

func TestExportIsNotOverwritten(t *testing.T) {
	w, target, _ := exporting(t, "x.tar.gz")
	_, err := Export(t.Context(), w, target)
	require.ErrorContains(t, err, "exists already")
	_, err = Export(t.Context(), w, filepath.Dir(target))
	require.ErrorContains(t, err, "exists already")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, name := range []string{"y", "y.tar.gz"} {
		_, err = Export(ctx, w, filepath.Join(filepath.Dir(target), name))
		require.ErrorIs(t, err, context.Canceled)
	}
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
		"a path upwards":   {Typeflag: tar.TypeReg, Name: "../evil.md"},
		"an absolute path": {Typeflag: tar.TypeReg, Name: "/tmp/evil.md"},
		"a backslash":      {Typeflag: tar.TypeReg, Name: `a\..\..\evil.md`},
		"a link":           {Typeflag: tar.TypeSymlink, Name: "a", Linkname: "/etc"},
		"a hard link":      {Typeflag: tar.TypeLink, Name: "a", Linkname: "/etc/passwd"},
		"a device":         {Typeflag: tar.TypeChar, Name: "a"},
		"a huge file":      {Typeflag: tar.TypeReg, Name: "a", Size: 1 << 40},
		"a long name":      {Typeflag: tar.TypeReg, Name: strings.Repeat("a/", 600) + "b"},
		"the same twice":   {Typeflag: tar.TypeReg, Name: ManifestName},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Import(t.Context(), w, pack(t, Manifest{Format: format}, entry), Options{}, always)
			require.ErrorIs(t, err, ErrRefused)
		})
	}
	at, err := w.Folders()
	require.NoError(t, err)
	left, err := filepath.Glob(filepath.Join(at.State, "import-*"))
	require.NoError(t, err)
	require.Empty(t, left)

	evil := tar.Header{Typeflag: tar.TypeReg, Name: "evil"}
	sum := sha256.Sum256([]byte("evil"))
	for _, f := range []File{
		{Place: Project, Project: home, Path: "../evil.md"},
		{Place: Project, Project: home, Path: ".bashrc"},
		{Place: Project, Project: home, Path: ".ssh/config.md"},
		{Place: Project, Project: home, Path: ".git/hooks/pre-commit"},
		{Place: Project, Project: home, Path: "run.sh"},
		{Place: Project, Project: home, Path: "a/.env"},
		{Place: Project, Project: "relative", Path: "a.md"},
		{Place: Project, Project: "/etc", Path: "evil.md"},
		{Place: Project, Project: filepath.Dir(home), Path: "evil.md"},
		{Place: Project, Project: "/", Path: "evil.md"},
		{Place: Document, Path: "/etc/evil.md"},
		{Place: Document, Path: home + "/../evil.md"},
		{Place: Document, Path: home + "/.config/evil.md"},
		{Place: Sessions, Folder: "..", Path: "a.md"},
		{Place: Sessions, Folder: "--a--", Path: "../../a.md"},
		{Place: State, Folder: "a/b", Path: "use.jsonl"},
		{Place: State, Folder: "a", Path: "evil.json"},
		{Place: Settings, Path: "other.yaml"},
		{Place: Global, Path: "/etc/passwd"},
		{Place: Global, Path: ".git/config"},
		{Place: "elsewhere", Path: "a.md"},
		{Place: Global, Path: "a\x00b.md"},
		{Place: Global, Path: "wrong-sum.md", SHA256: strings.Repeat("0", 64)},
		{Place: Global, Path: "cut.md", Added: 10},
		{Place: Global, Path: "negative.md", AddedAt: -1},
		{Place: Global, Path: "missing.md", Name: "missing"},
		{Place: Global, Path: "up.md", Name: "../evil"},
	} {
		if f.SHA256 == "" {
			f.SHA256 = hex.EncodeToString(sum[:])
		}
		if f.Name == "" {
			f.Name = "evil"
		}
		p, err := Import(t.Context(), w, pack(t, Manifest{Format: format, Files: []File{f}}, evil), Options{}, always)
		require.NoError(t, err)
		require.Equal(t, 1, p.Counts[Refuse], "%+v: %v", f, p.Steps)
		require.NotEmpty(t, p.Steps[0].Why)
	}
	p, err := Import(t.Context(), w, pack(t, Manifest{Format: format, Files: []File{{Name: "evil", Place: Global, Path: "good.md", SHA256: hex.EncodeToString(sum[:])}}}, evil), Options{}, always)
	require.NoError(t, err)
	require.Equal(t, map[string]int{Add: 1}, p.Counts, "without harm, it would be taken in")
	for _, m := range []Manifest{{Format: 2}, {}} {
		_, err := Import(t.Context(), w, pack(t, m), Options{}, always)
		require.ErrorContains(t, err, "has format")
	}
}

// An export makes no folder instruct that it may bring nothing to.
func TestImportedTrust(t *testing.T) {
	w, home := elsewhere(t)
	folder := filepath.Join(home, "work")
	require.NoError(t, os.MkdirAll(folder, 0o700))
	text := fmt.Sprintf(`{"folders": {"/": {"trusted": true}, %q: {"trusted": true}, %q: {"trusted": true}, "/etc": {"trusted": true}, "/usr": {"trusted": false}}}`, home, folder)
	sum := sha256.Sum256([]byte(text))
	file := filepath.Join(t.TempDir(), "export")
	require.NoError(t, os.MkdirAll(file, 0o700))
	manifest, err := json.Marshal(Manifest{Format: format, Files: []File{{Name: "trust", Place: Settings, Path: "trust.json", SHA256: hex.EncodeToString(sum[:])}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(file, ManifestName), manifest, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(file, "trust"), []byte(text), 0o600))
	p, err := Import(t.Context(), w, file, Options{}, always)
	require.NoError(t, err)
	require.Equal(t, []string{folder}, p.Trusted)
	decided, err := w.Trust().All()
	require.NoError(t, err)
	for _, d := range decided {
		require.Equal(t, d.Folder == folder, d.Trusted, d.Folder)
	}
	require.Len(t, decided, 2)
}

// A link in a folder is not followed, neither in the export nor where it goes.
func TestLinks(t *testing.T) {
	from, target, _ := exporting(t, "folder")
	there, home := elsewhere(t)
	outside := t.TempDir()
	project := filepath.Join(home, "moved")
	require.NoError(t, os.MkdirAll(project, 0o700))
	require.NoError(t, os.Symlink(outside, filepath.Join(project, "notes")))
	note := filepath.Join(target, "global", "BEANS.md")
	require.NoError(t, os.Remove(note))
	require.NoError(t, os.Symlink("/etc/passwd", note))
	p, err := Import(t.Context(), there, target, Options{Moves: []Move{{from.Project, project}}}, always)
	require.NoError(t, err)
	require.NoFileExists(t, filepath.Join(home, ".beans", "BEANS.md"))
	require.Equal(t, 10, p.Counts[Refuse], p.Steps)
	left, err := os.ReadDir(outside)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestStateWithoutSecretsKeepsHashes(t *testing.T) {
	for text, want := range map[string]string{
		`{"key":"db689a5733e364f2","score":0.25}`:                                                    `{"key":"db689a5733e364f2","score":0.25}`,
		`{"key":"db689a5733e364f2","prompt":"use \"ghp_16C7e42F292c6912E7710c838347Ae178B4a\" <b>"}`: `{"key":"db689a5733e364f2","prompt":"use \"[redacted: github-pat]\" \u003cb\u003e"}`,
	} {
		got, n := stateWithoutSecrets(text)
		require.Equal(t, want, got)
		require.Equal(t, strings.Count(want, "redacted"), n)
	}
}

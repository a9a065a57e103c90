package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/store"
)

// made returns a temporary folder with the given permissions.
func made(t *testing.T, mode os.FileMode, elements ...string) string {
	t.Helper()
	dir := filepath.Join(append([]string{t.TempDir()}, elements...)...)
	require.NoError(t, os.MkdirAll(dir, 0o700))
	require.NoError(t, os.Chmod(dir, mode))
	return dir
}

func TestDoctorFolder(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links and permissions are not those of Unix")
	}
	private := made(t, 0o700, "index")
	file := filepath.Join(private, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	dangling := filepath.Join(private, "dangling")
	require.NoError(t, os.Symlink(filepath.Join(private, "absent"), dangling))
	for _, tt := range []struct {
		name, index string
		want        []string
	}{
		{"there", private, []string{"ok: " + private + " can be written"}},
		{"to be made", filepath.Join(private, "a", "b"), []string{"ok: " + private + " can be written"}},
		{"open to others", made(t, 0o755, "index"), []string{"warning: ", "ok: "}},
		{"a file", file, []string{"problem: " + file + " is a file"}},
		{"below a file", filepath.Join(file, "a"), []string{"problem: " + file + " is a file"}},
		{"a link to nothing", filepath.Join(dangling, "a"), []string{"problem: stat " + dangling}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &doctor{}
			d.folder(config.Folders{Index: tt.index})
			require.Len(t, d.checks, len(tt.want), "%+v", d.checks)
			for i, want := range tt.want {
				if got := d.checks[i].State + ": " + d.checks[i].Text; !strings.HasPrefix(got, want) {
					t.Errorf("check %d of folder %s = %q, want %q", i, tt.index, got, want)
				}
			}
		})
	}
	entries, err := os.ReadDir(private)
	require.NoError(t, err)
	require.Len(t, entries, 2, "the check left something behind")
}

func TestDoctorSpace(t *testing.T) {
	at := config.Folders{Index: t.TempDir()}
	free, err := freeSpace(at.Index)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("free space is not known on this system")
	}
	require.NoError(t, err)
	d := &doctor{}
	indexChecks{doctor: d, at: at, known: core.Status{Vectors: store.Stats{Bytes: int64(free)}}}.space()
	require.Len(t, d.checks, 1)
	if got := d.checks[0]; got.State != StateWarning || !strings.Contains(got.Text, "a rebuild may need") {
		t.Errorf("an index as large as what is free: %+v, want a warning about a rebuild", got)
	}
}

// wrongIndex gives a wrong answer.
type wrongIndex struct {
	store.VectorIndex
	err error
}

func (w wrongIndex) Nearest(context.Context, []float32, int, store.Filter) ([]store.Hit, error) {
	return []store.Hit{{Record: store.Record{ID: "a"}}}, w.err
}

func TestDoctorTriesEngines(t *testing.T) {
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	t.Setenv("TMP", temporary)
	for _, engine := range app.BuiltEngines {
		if err := tryEngine(t.Context(), engine); err != nil {
			t.Errorf("tryEngine(%s) = %v", engine.Name, err)
		}
	}
	broken := func(err error) app.VectorEngine {
		return app.VectorEngine{Name: "broken", Open: func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
			index, opening := app.FlatEngine.Open(ctx, dir, dimension)
			return wrongIndex{index, err}, opening
		}}
	}
	if err := tryEngine(t.Context(), broken(nil)); err == nil || !strings.Contains(err.Error(), "wrong one") {
		t.Errorf("tryEngine of one that finds the wrong vector = %v", err)
	}
	if err := tryEngine(t.Context(), broken(store.ErrCorrupt)); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("tryEngine of one that fails = %v, want its error", err)
	}
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left, "a check left something behind")
}

func TestDoctorNamesStrangersMarkers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only the system's owner can give files away")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	work, marker := filepath.Join(dir, "work"), filepath.Join(dir, ".git")
	require.NoError(t, os.Mkdir(work, 0o755))
	require.NoError(t, os.Mkdir(marker, 0o755))
	require.NoError(t, os.Chown(marker, 12345, 12345))
	t.Setenv("HOME", dir)
	d := &doctor{w: &app.Workspace{Config: &config.Config{Cwd: work}}}
	d.configuration()
	require.Equal(t, []Check{
		{Name: "workspace", State: StateOK, Text: work},
		{Name: "workspace", State: StateWarning, Text: "skipped " + marker + ", which belongs to user 12345", Do: "if its folder is where you work, name it with --workspace"},
	}, d.checks[:2])
}

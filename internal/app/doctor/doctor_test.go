package doctor

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
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

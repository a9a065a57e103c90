//go:build unix

package supply

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// .ci/reproducible detects builds that depend on place, time or user, made by a faulty .ci/release.
func TestIrreproducible(t *testing.T) {
	for _, tool := range []string{"bash", "git", "realpath", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s", tool)
		}
	}
	platform := runtime.GOOS + "/" + runtime.GOARCH
	for _, tt := range []struct{ name, contains, says, want string }{
		{"nothing of it", "", "$(git rev-parse --short=12 HEAD)", ""},
		{"the folder", "$PWD", "$(git rev-parse --short=12 HEAD)", "two builds of"},
		{"the date of a file", "$(date -r go.mod +%s)", "$(git rev-parse --short=12 HEAD)", "two builds of"},
		{"the user", "$USER", "$(git rev-parse --short=12 HEAD)", "two builds of"},
		{"the time zone", "$TZ", "$(git rev-parse --short=12 HEAD)", "two builds of"},
		{"settings of Go", "${GOFLAGS:-}", "$(git rev-parse --short=12 HEAD)", "two builds of"},
		{"the cache", "$GOCACHE", "$(git rev-parse --short=12 HEAD)", "two builds of"},
		{"a version of its own", "", "1.0", "the version is"},
		{"a changed checkout", "", "$(git rev-parse --short=12 HEAD)+dirty", "says"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			script, err := os.ReadFile(filepath.Join(root, ".ci", "reproducible"))
			require.NoError(t, err)
			require.NoError(t, os.Mkdir(filepath.Join(dir, ".ci"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, ".ci", "reproducible"), script, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.org/x\n"), 0o644))
			name := "memcore-" + strings.ReplaceAll(platform, "/", "-")
			release := fmt.Sprintf("#!/usr/bin/env bash\nset -eu\nout=$1\ncd \"$(dirname \"$0\")/..\"\n"+
				"printf '#!/bin/sh\\necho memcore %%s\\n# %%s\\n' \"%s\" \"%s\" >\"$out/%s\"\nchmod +x \"$out/%s\"\ncd \"$out\"\nsha256sum %s >SHA256SUMS\n", tt.says, tt.contains, name, name, name)
			require.NoError(t, os.WriteFile(filepath.Join(dir, ".ci", "release"), []byte(release), 0o755))
			for _, args := range [][]string{{"init", "-q"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "x"}} {
				out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
				require.NoError(t, err, string(out))
			}
			command := exec.Command("bash", filepath.Join(dir, ".ci", "reproducible"), platform)
			command.Env = append(os.Environ(), "USER=me", "TZ=UTC")
			out, err := command.CombinedOutput()
			if tt.want == "" {
				require.NoError(t, err, string(out))
				require.Contains(t, string(out), "the same bytes")
			} else {
				require.Error(t, err, string(out))
				require.Contains(t, string(out), tt.want)
			}
		})
	}
}

package main

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// npm installs memcore from a registry, takes the package of this platform only, and runs it.
func TestNPM(t *testing.T) {
	need(t, "npm")
	memcore, out := ofProgram(t)
	m := newMachine(t)
	m.environment = []string{"npm_config_registry=" + registry(t, m, filepath.Join(out, "npm")), "npm_config_update_notifier=false"}
	m.run("npm", "install", "--no-audit", "--no-fund", "memcore")

	installed, err := filepath.Glob(filepath.Join(m.work, "node_modules", "@memcore", "*"))
	require.NoError(t, err)
	require.Len(t, installed, 1, "packages of platforms")
	m.run("npx", "--no-install", "memcore", "index")
	require.Contains(t, m.run("npx", "--no-install", "memcore", "search", "port of the staging database"), "5433")
	require.Equal(t, newMachine(t).run(memcore, "version"), m.run("npx", "--no-install", "memcore", "version"))

	bin := filepath.Join(m.work, "node_modules", ".bin", "memcore")
	t.Run("the exit code is memcore's", func(t *testing.T) {
		err := m.command(t.Context(), bin, "no-such-command").Run()
		var exit *exec.ExitError
		require.ErrorAs(t, err, &exit)
		require.Equal(t, 2, exit.ExitCode())
	})
	t.Run("a signal reaches memcore", func(t *testing.T) {
		cmd := m.command(t.Context(), bin, "mcp")
		cmd.Stdin = nil
		open, err := cmd.StdinPipe() // memcore mcp ends with its input
		require.NoError(t, err)
		defer open.Close()
		answer, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = open.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"))
		require.NoError(t, err)
		_, err = answer.Read(make([]byte, 1)) // it runs
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case <-done:
		case <-time.After(20 * time.Second):
			_ = cmd.Process.Kill()
			require.Fail(t, "memcore goes on after SIGTERM")
		}
	})
	t.Run("a missing package of the platform is named", func(t *testing.T) {
		m.run("npm", "install", "--no-audit", "--no-fund", "--omit=optional", "memcore")
		output, err := m.command(t.Context(), bin, "version").CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(output), "memcore: the package @memcore/"+path.Base(installed[0]))
	})
}

// registry serves packed packages as a registry of npm does.
func registry(t *testing.T, m *machine, folder string) string {
	t.Helper()
	packages, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.Len(t, packages, len(platforms)+1)
	packed := t.TempDir()
	answers := map[string]object{}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	for _, one := range packages {
		name := strings.TrimSpace(m.run("npm", "pack", "--silent", "--pack-destination", packed, one))
		data, err := os.ReadFile(filepath.Join(packed, name))
		require.NoError(t, err)
		text, err := os.ReadFile(filepath.Join(one, "package.json"))
		require.NoError(t, err)
		var manifest object
		require.NoError(t, json.Unmarshal(text, &manifest))
		sum := sha512.Sum512(data)
		manifest["dist"] = object{"tarball": server.URL + "/-/" + name, "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:])}
		answers[manifest["name"].(string)] = object{"name": manifest["name"],
			"dist-tags": object{"latest": manifest["version"]}, "versions": object{manifest["version"].(string): manifest}}
	}
	mux.Handle("/-/", http.StripPrefix("/-/", http.FileServer(http.Dir(packed))))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		answer, ok := answers[strings.TrimPrefix(r.URL.Path, "/")]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	return server.URL
}

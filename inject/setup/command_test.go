package setup

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/inject/agents"
)

func TestOwnCommand(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths are quoted for another shell there")
	}
	for _, tt := range []struct{ line, want string }{ // want is "" for what is not ours
		{"memcore hook claude", "/b/memcore hook claude-code"},
		{"/usr/bin/memcore hook claude-code", "/b/memcore hook claude-code"},
		{"/usr/bin/memcore hook", "/b/memcore hook claude-code"},
		{"'/my tools/memcore' hook claude-code --quiet", "/b/memcore hook claude-code --quiet"},
		{`/my\ tools/memcore hook -v`, "/b/memcore hook claude-code -v"},
		{`"C:/Program Files/memcore.exe" hook claude`, "/b/memcore hook claude-code"},
		{`C:\bin\MEMCORE.EXE hook claude`, "/b/memcore hook claude-code"},
		{"A=1 B_2='x y' memcore hook claude || true", "A=1 B_2='x y' /b/memcore hook claude-code || true"},
		{"memcore hook claude; date", "/b/memcore hook claude-code; date"},
		{"", ""},
		{"memcore", ""},
		{"memcore index", ""},
		{"memcore hooks claude", ""},
		{"memcore-extra hook claude", ""},
		{"/usr/bin/notmemcore hook claude", ""},
		{"memcore/run hook claude", ""},
		{"npx memcore hook claude", ""},
		{"echo 'memcore hook claude'", ""},
		{"sh -c 'memcore hook claude'", ""},
	} {
		got := ""
		if _, _, ours := ownCommand(tt.line, "/b/memcore"); ours {
			got = updated(tt.line, "/b/memcore", agents.ClaudeCode)
		}
		if got != tt.want {
			t.Errorf("command %q becomes %q, want %q", tt.line, got, tt.want)
		}
	}
}

// A renamed executable recognises its own entries.
func TestOwnCommandOfAnotherName(t *testing.T) {
	_, _, ours := ownCommand("/b/remember hook codex", "/b/remember")
	require.True(t, ours)
	_, _, ours = ownCommand("/b/remember hook codex", "/b/memcore")
	require.False(t, ours)
}

func TestQuoted(t *testing.T) {
	if runtime.GOOS == "windows" {
		require.Equal(t, `"C:/Program Files/memcore.exe"`, Quoted(`C:\Program Files\memcore.exe`))
		return
	}
	for in, want := range map[string]string{
		"/usr/bin/memcore":     "/usr/bin/memcore",
		"/my tools/memcore":    "'/my tools/memcore'",
		"/it's/$HOME/memcore":  `'/it'\''s/$HOME/memcore'`,
		"/a;b/memcore":         "'/a;b/memcore'",
		"/home/über/memcore":   "'/home/über/memcore'",
		"~/bin/memcore":        "'~/bin/memcore'",
		"/opt/1.2-3_4/memcore": "/opt/1.2-3_4/memcore",
	} {
		if got := Quoted(in); got != want {
			t.Errorf("Quoted(%q) = %s, want %s", in, got, want)
		}
		if all := words(Quoted(in) + " hook x"); len(all) != 3 || all[0].text != in {
			t.Errorf("words of %s are %v, want the first to be %q", Quoted(in), all, in)
		}
	}
}

func TestBinary(t *testing.T) {
	running, err := os.Executable()
	require.NoError(t, err)
	got, err := Binary("no-such-program")
	require.NoError(t, err)
	require.Equal(t, running, got)
	if runtime.GOOS == "windows" {
		return // links need rights there
	}
	bin := t.TempDir()
	link := filepath.Join(bin, "memcore-of-this-test")
	require.NoError(t, os.Symlink(running, link))
	t.Setenv("PATH", bin)
	got, err = Binary(filepath.Base(link))
	require.NoError(t, err)
	require.Equal(t, link, got, "the name in PATH stays when a new version takes its place")
	require.NoError(t, os.WriteFile(filepath.Join(bin, "other"), nil, 0o755))
	got, err = Binary("other")
	require.NoError(t, err)
	require.Equal(t, running, got, "another program of that name is not run")
}

// The parser survives the deepest document.
func TestDeepDocument(t *testing.T) {
	_, err := parseDocument(strings.Repeat("[", maxBrackets))
	require.ErrorContains(t, err, "it is not valid JSON")
	_, err = parseDocument(strings.Repeat("[", maxBrackets+1))
	require.ErrorContains(t, err, "it has more than 100000 objects and lists")
}

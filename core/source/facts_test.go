package source

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// logsWithFacts returns a source of n logs of a project, in a new object each time, and where its
// facts are.
func logsWithFacts(t *testing.T, n int, facts string) (folder func() *Folder, file string) {
	t.Helper()
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf(".codex/sessions/rollout-%d.jsonl", i)] = `{"type":"session_meta","payload":{"id":"s","cwd":"/work"}}` + "\n"
	}
	home := tree(t, files)
	options := knownIn(home)
	options.Facts = facts
	folder = func() *Folder {
		for _, s := range Known(testProject{folders: []string{"/work"}}, options) {
			if f, ok := s.(*Folder); ok && f.options.Path == filepath.Join(home, ".codex", "sessions") {
				return f
			}
		}
		t.Fatal("no source of Codex")
		return nil
	}
	return folder, string(folder().options.facts)
}

// The next process examines none of the logs that this one did, while they are unchanged.
func TestFacts(t *testing.T) {
	folder, file := logsWithFacts(t, enoughExamined, t.TempDir())
	first := folder()
	found := list(t, first)
	require.Len(t, found.Documents, enoughExamined)
	require.FileExists(t, file)
	require.Empty(t, factsFile(file).load(), "logs that have just been written may still change within the step of their time")

	for path, facts := range first.known {
		facts.branch = "remembered"
		first.known[path] = facts
	}
	first.options.facts.save(first.known, time.Now().Add(time.Minute))
	write(t, found.Documents[0].File, `{"type":"session_meta","payload":{"id":"s","cwd":"/work","git":{"branch":"read"}}}`+"\n")
	next := list(t, folder())
	require.Len(t, next.Documents, enoughExamined)
	for i, d := range next.Documents {
		want := "remembered"
		if i == 0 {
			want = "read"
		}
		if d.Branch != want || d.Format != "codex" {
			t.Errorf("log %s has branch %q and format %q, want %q and codex", d.Path, d.Branch, d.Format, want)
		}
	}

	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for i := range text {
		damaged := append([]byte(nil), text...)
		damaged[i] ^= 1
		require.NoError(t, os.WriteFile(file, damaged, 0o600))
		require.Empty(t, factsFile(file).load(), "byte %d is damaged", i)
		require.NoError(t, os.WriteFile(file, text[:i], 0o600))
		require.Empty(t, factsFile(file).load(), "byte %d and all after it are missing", i)
	}
}

func TestFactsAreNotKept(t *testing.T) {
	for name, tt := range map[string]struct {
		logs  int
		facts string
	}{
		"of few logs":              {enoughExamined - 1, t.TempDir()},
		"in a folder that is gone": {enoughExamined, filepath.Join(t.TempDir(), "gone")},
	} {
		t.Run(name, func(t *testing.T) {
			folder, file := logsWithFacts(t, tt.logs, tt.facts)
			require.Len(t, list(t, folder()).Documents, tt.logs)
			require.NoFileExists(t, file)
		})
	}
}

// Facts are not kept for the next process if that may find others for the same unchanged log.
func TestFactsOfOneProcess(t *testing.T) {
	file := factsFile(filepath.Join(t.TempDir(), "facts"))
	long := time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC)
	kept := fileFacts{fileState: fileState{size: 7, modified: long, changed: long.Add(1)},
		sniffed: sniffed{format: "codex", cwd: "/work\nplace", branch: "main", copyOf: "other"}, reason: "too large", tooLarge: true}
	untimed := fileFacts{fileState: fileState{size: 8, modified: long}} // where systems have no time of change
	file.save(map[string]fileFacts{"/a": kept, "/b": untimed, "/c": {fileState: kept.fileState, passing: true},
		"/d": {fileState: fileState{modified: long.Add(time.Hour)}}}, long.Add(time.Hour))
	known := file.load()
	require.Len(t, known, 2)
	for path, want := range map[string]fileFacts{"/a": kept, "/b": untimed} {
		got := known[path]
		require.True(t, got.modified.Equal(want.modified) && got.changed.Equal(want.changed) && got.changed.IsZero() == want.changed.IsZero(), path)
		got.modified, got.changed = want.modified, want.changed
		require.Equal(t, want, got)
	}
}

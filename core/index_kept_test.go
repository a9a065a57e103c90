package core_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/source/keptlog"
	"github.com/memcore/memcore/internal/safefile/secretfile"
)

const chatLog = "notes/chat.jsonl"

// keeping makes a memory of an agent's folder, whose logs the agent deletes some day.
func keeping(t *testing.T) *memory {
	m := newMemory(t)
	m.remembering()
	dir := filepath.Dir(m.notes)
	m.options.Sources = []source.Source{source.NewFolder(source.FolderOptions{Path: m.notes, Workspace: dir, Rotated: true})}
	m.options.Kept = filepath.Join(dir, "kept")
	m.write("chat.jsonl", agentLog(millLog...))
	return m
}

func (m *memory) remove(name string) { require.NoError(m.t, os.Remove(filepath.Join(m.notes, name))) }

// archived returns all text that is kept of a log.
func (m *memory) archived(path string) string {
	_, turns, err := keptlog.In(m.options.Kept).Read(path)
	if errors.Is(err, os.ErrNotExist) {
		return ""
	}
	require.NoError(m.t, err)
	var b strings.Builder
	for _, t := range turns {
		b.WriteString(t.Text + "\n")
		for _, use := range t.Tools {
			b.WriteString(use.Name + " " + use.Input + " " + use.Output + "\n")
		}
	}
	return b.String()
}

// knows checks that a log is known in full, from its file or from what was kept.
func (m *memory) knows(opened *core.Manager, want digestOfLog, gone bool) {
	m.t.Helper()
	result := search(m.t, opened, "why does the door stick, frame warped")
	require.NotEmpty(m.t, result.Hits)
	hit := result.Hits[0]
	require.Equal(m.t, chatLog, hit.Path)
	require.Equal(m.t, gone, hit.Gone)
	passage, err := opened.Read(m.t.Context(), hit.Source)
	require.NoError(m.t, err)
	require.Contains(m.t, passage.Text, "warped since the roof")
	require.Equal(m.t, gone, passage.Gone)
	standing, err := opened.Standing(m.t.Context(), 10, 500)
	require.NoError(m.t, err)
	answer, err := opened.RetrieveRelevant(m.t.Context(), "how do I oil the hinges, with graphite?", core.RetrieveOptions{})
	require.NoError(m.t, err)
	require.NotEmpty(m.t, standing)
	require.NotEmpty(m.t, answer.Said)
	for _, s := range append(standing, answer.Said...) {
		require.Equal(m.t, gone, s.Gone, s.Text)
	}
	require.Equal(m.t, want, digestIn(m.t, opened, chatLog))
}

// What was read of a log stays when its agent deletes it, also in an index that is made again.
func TestDeletedLogStays(t *testing.T) {
	mem := keeping(t)
	m := mem.open()
	index(t, m)
	want := digestIn(t, m, chatLog)
	mem.knows(m, want, false)

	mem.remove("chat.jsonl")
	report := index(t, m)
	require.Equal(t, [4]int{1, 0, 0, 0}, [4]int{report.LogsGone, report.Removed, report.Written, report.Deleted})
	mem.knows(m, want, true)
	require.Zero(t, index(t, m).LogsGone, "said once")
	status, err := m.Status(t.Context())
	require.NoError(t, err)
	require.Nil(t, status.Stale)
	require.Equal(t, 1, status.Logs.Gone)
	require.Positive(t, status.Logs.GoneBytes)
	require.WithinDuration(t, time.Now().Add(-time.Hour), status.Logs.GoneSince, time.Hour, "the log's own time")

	_, err = m.Index(t.Context(), core.IndexOptions{Rebuild: true})
	require.NoError(t, err)
	mem.knows(m, want, true)
	require.NoError(t, m.Close())
	require.NoError(t, os.RemoveAll(mem.options.Folder))
	mem.options.Embedder = &hashEmbedder{name: "b"}
	m = mem.open()
	index(t, m)
	mem.knows(m, want, true)

	// The log is back, and has grown.
	mem.write("chat.jsonl", agentLog(append(millLog[:len(millLog):len(millLog)], "assistant: The mill wheel turns again because the miller greased its axle with tallow last night.")...))
	require.Zero(t, index(t, m).Removed)
	require.False(t, search(t, m, "frame warped").Hits[0].Gone)
	require.Contains(t, mem.archived(chatLog), "tallow")
}

// A log whose owner deletes it is forgotten, and so is one without a folder for what is kept.
func TestDeletedLogGoes(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(m *memory)
	}{
		{"of a person", func(m *memory) {
			m.options.Sources = []source.Source{source.NewFolder(source.FolderOptions{Path: m.notes, Workspace: filepath.Dir(m.notes)})}
		}},
		{"with nothing kept", func(m *memory) { m.options.Kept = "" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mem := keeping(t)
			tt.change(mem)
			m := mem.open()
			index(t, m)
			require.NoDirExists(t, filepath.Join(filepath.Dir(mem.notes), "kept"))
			mem.remove("chat.jsonl")
			require.Equal(t, 1, index(t, m).Removed)
			_, err := m.Chunks(t.Context(), chatLog)
			require.ErrorIs(t, err, core.ErrNotIndexed)
		})
	}
}

// What is kept of a log that was read in many pieces is what is kept of it when read at once.
func TestGrowingLogIsKept(t *testing.T) {
	text := agentLog(append(millLog, strings.Split(strings.Repeat("user: always dry the flour before you grind it in the mill|run: mill grind → ground|assistant: It is ground now, because the flour was dry and the stones were sharp enough for a whole day.|", 60), "|")...)...)
	lines := strings.SplitAfter(strings.TrimSpace(text), "\n")
	pieces, once := keeping(t), keeping(t)
	m := pieces.open()
	for n := 1; n <= len(lines); n += 3 {
		pieces.write("chat.jsonl", strings.Join(lines[:n], ""))
		index(t, m)
	}
	pieces.write("chat.jsonl", text)
	index(t, m)
	once.write("chat.jsonl", text)
	index(t, once.open())
	require.Equal(t, once.archived(chatLog), pieces.archived(chatLog))
	size := func(mem *memory) int64 { return keptlog.In(mem.options.Kept).Size(chatLog) }
	require.Less(t, size(pieces), 3*size(once)+64<<10, "pieces are joined")

	want := digestIn(t, m, chatLog)
	pieces.remove("chat.jsonl")
	_, err := m.Index(t.Context(), core.IndexOptions{Rebuild: true})
	require.NoError(t, err)
	require.Equal(t, want, digestIn(t, m, chatLog))
}

// A log whose turns do not fit into memory is read in pieces.
func TestLongLog(t *testing.T) {
	mem := keeping(t)
	work := make([]string, 2200)
	for i := range work {
		work[i] = "run: cat flour.txt → " + strings.Repeat("white flour of the northern mill ", 500)
		if i%100 == 0 {
			work[i] = "user: Always weigh sack " + strconv.Itoa(i) + " twice, since the scales of the mill are wrong."
		}
	}
	text := agentLog(append(work, millLog...)...)
	mem.write("chat.jsonl", text)
	m := mem.open()
	report := index(t, m)
	require.Equal(t, [2]int{1, 0}, [2]int{report.Added - 3, report.Changed})
	check := func() {
		t.Helper()
		for _, i := range []string{"0", "1000", "2100"} {
			require.Contains(t, search(t, m, "sack "+i+" twice").Hits[0].Text, "sack "+i+" twice")
			require.Contains(t, mem.archived(chatLog), "sack "+i+" twice")
		}
		require.Contains(t, search(t, m, "frame warped roof").Hits[0].Text, "warped since")
		require.Len(t, digestIn(t, m, chatLog).Exchanges, 24)
		status, err := m.Status(t.Context())
		require.NoError(t, err)
		require.Equal(t, 2200+len(millLog), status.Logs.Turns)
	}
	check()
	hit := search(t, m, "sack 1000 twice").Hits[0]
	mem.write("chat.jsonl", text+agentLog("user: thanks"))
	index(t, m)
	require.Contains(t, mem.archived(chatLog), "thanks")
	mem.remove("chat.jsonl")
	_, err := m.Index(t.Context(), core.IndexOptions{Rebuild: true})
	require.NoError(t, err)
	require.Equal(t, hit.Source, search(t, m, "sack 1000 twice").Hits[0].Source)
}

// What is kept has no secrets, and nothing that is forgotten.
func TestKeptLogIsForgotten(t *testing.T) {
	key := "AKIA" + "QWERTYUIOPASDFGH"
	mem := keeping(t)
	mem.write("chat.jsonl", agentLog(append(millLog[:len(millLog):len(millLog)], "user: the key is "+key,
		"run: mill login "+key+" → Exit code 1\nerror: permission denied for "+key, "assistant: "+strings.Repeat("The miller must not use the key "+key+" since it is old. ", 4))...))
	m := mem.open()
	index(t, m)
	require.Contains(t, mem.archived(chatLog), "mill login")
	require.NotContains(t, mem.archived(chatLog), key)

	forgetLine := func(line int) {
		_, err := m.ForgetLines(t.Context(), chatLog, line, line)
		require.NoError(t, err)
	}
	forgetLine(1)
	require.NotContains(t, mem.archived(chatLog), "graphite", "while the log is there")
	mem.remove("chat.jsonl")
	index(t, m)
	require.Contains(t, mem.archived(chatLog), "repaired in spring")
	hit := search(t, m, "frame warped roof rain").Hits[0]
	_, err := m.Forget(t.Context(), chatLog, hit.ID)
	require.NoError(t, err)
	require.NotContains(t, mem.archived(chatLog), "warped since", "when the log is gone")
	require.Contains(t, mem.archived(chatLog), "repaired in spring")

	_, err = m.Forget(t.Context(), chatLog)
	require.NoError(t, err)
	files, err := os.ReadDir(mem.options.Kept)
	require.NoError(t, err)
	require.Empty(t, files)
	index(t, m)
	_, err = m.Chunks(t.Context(), chatLog)
	require.ErrorIs(t, err, core.ErrNotIndexed)
}

// A log that its agent moves or compresses is known once; one that is emptied or cannot be reached
// stays; one that still is where it was, but is no longer listed, goes.
func TestLogThatMoves(t *testing.T) {
	text := strings.ReplaceAll(agentLog(millLog...), `"sessionId":"s"`, `"sessionId":"019f1b2c-7a"`)
	for _, tt := range []struct {
		name   string
		change func(m *memory)
		want   []string
	}{
		{"moved", func(m *memory) {
			m.remove("app/chat-19.jsonl")
			m.write("archived/chat-19.jsonl", text)
		}, []string{"notes/archived/chat-19.jsonl"}},
		{"another of this name", func(m *memory) {
			m.remove("app/chat-19.jsonl")
			m.write("archived/chat-19.jsonl", strings.ReplaceAll(text, "019f1b2c-7a", "11111111-0a"))
		}, []string{"notes/archived/chat-19.jsonl", "notes/app/chat-19.jsonl"}},
		{"emptied", func(m *memory) { m.write("app/chat-19.jsonl", "") }, []string{"notes/app/chat-19.jsonl"}},
		{"overwritten", func(m *memory) { m.write("app/chat-19.jsonl", "<html>404</html>\n") }, []string{"notes/app/chat-19.jsonl"}},
		{"in a folder that is a link", func(m *memory) {
			elsewhere := filepath.Join(filepath.Dir(m.notes), "elsewhere")
			require.NoError(m.t, os.Rename(filepath.Join(m.notes, "app"), elsewhere))
			require.NoError(m.t, os.Symlink(elsewhere, filepath.Join(m.notes, "app")))
		}, []string{"notes/app/chat-19.jsonl"}},
		{"below a file", func(m *memory) {
			require.NoError(m.t, os.RemoveAll(filepath.Join(m.notes, "app")))
			m.write("app", "")
		}, []string{"notes/app/chat-19.jsonl"}},
		{"not listed", func(m *memory) { m.write(".gitignore", "chat-19.jsonl\n") }, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			mem := keeping(t)
			mem.remove("chat.jsonl")
			mem.write("app/chat-19.jsonl", text)
			m := mem.open()
			index(t, m)
			tt.change(mem)
			for range 2 {
				index(t, m)
				var logs []string
				documents, _, err := m.Documents(t.Context(), core.DocumentsOptions{Kind: source.KindConversation, Limit: 9})
				require.NoError(t, err)
				for _, d := range documents {
					logs = append(logs, d.Path)
				}
				require.ElementsMatch(t, tt.want, logs)
			}
			files, err := os.ReadDir(mem.options.Kept)
			require.NoError(t, err)
			require.Len(t, files, len(tt.want))
		})
	}
}

// A log in the project's folder may be a stranger's, who knows the name and session of the agent's:
// it takes the place of none.
func TestLogOfAStrangerIsNoMovedLog(t *testing.T) {
	text := strings.ReplaceAll(agentLog(millLog...), `"sessionId":"s"`, `"sessionId":"019f1b2c-7a"`)
	mem := keeping(t)
	mem.remove("chat.jsonl")
	mem.write("chat-19.jsonl", text)
	clone := filepath.Join(filepath.Dir(mem.notes), "clone")
	mem.options.Sources = append(mem.options.Sources, source.NewFolder(source.FolderOptions{Path: clone, Workspace: filepath.Dir(mem.notes), Optional: true}))
	m := mem.open()
	index(t, m)
	mem.remove("chat-19.jsonl")
	require.NoError(t, os.Mkdir(clone, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(clone, "chat-19.jsonl"), []byte(strings.ReplaceAll(text, "warped", "fine")), 0o600))
	for range 2 {
		index(t, m)
		documents, _, err := m.Documents(t.Context(), core.DocumentsOptions{Kind: source.KindConversation, Limit: 9})
		require.NoError(t, err)
		require.Len(t, documents, 2)
	}
	require.Contains(t, mem.archived("notes/chat-19.jsonl"), "warped since")
}

// What a crash or another process left of the file of a log is made whole again, and a damaged end
// costs no more than itself.
func TestDamagedKeptLog(t *testing.T) {
	mem := keeping(t)
	m := mem.open()
	index(t, m)
	file := filepath.Join(mem.options.Kept, keptlog.Name(chatLog))
	good, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(good, good[:len(good)/2]...), 0o600))
	grown := agentLog(append(millLog[:len(millLog):len(millLog)], "user: thanks, oil it")...)
	mem.write("chat.jsonl", grown)
	index(t, m)
	require.Contains(t, mem.archived(chatLog), "thanks, oil it")
	good, err = os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(good, good[:len(good)/2]...), 0o600))
	mem.remove("chat.jsonl")
	report, err := m.Index(t.Context(), core.IndexOptions{Rebuild: true})
	require.NoError(t, err)
	require.Len(t, report.SkippedLines, 1)
	require.Contains(t, mem.archived(chatLog), "thanks, oil it")
	require.Contains(t, search(t, m, "frame warped").Hits[0].Text, "warped since")
}

// A file that was damaged where it stands, as by a bad disk, is written again from the log.
func TestDamagedKeptLogOfAGrowingLog(t *testing.T) {
	mem := keeping(t)
	m := mem.open()
	index(t, m)
	file := filepath.Join(mem.options.Kept, keptlog.Name(chatLog))
	good, err := os.ReadFile(file)
	require.NoError(t, err)
	copy(good[len(good)/2:], make([]byte, 20))
	require.NoError(t, os.WriteFile(file, good, 0o600))
	grown := millLog[:len(millLog):len(millLog)]
	random := rand.New(rand.NewPCG(1, 2))
	for range 2 { // so that the file is written in one piece
		words := make([]string, 20_000)
		for i := range words {
			words[i] = strconv.FormatUint(random.Uint64(), 36)
		}
		grown = append(grown, "user: "+strings.Join(words, " "))
		mem.write("chat.jsonl", agentLog(grown...))
		_, err := m.Index(t.Context(), core.IndexOptions{})
		require.NoError(t, err)
	}
	index(t, m)
	require.Contains(t, mem.archived(chatLog), "warped since")
}

// A folder of kept logs that cannot be listed costs nothing that is known, and nothing else.
func TestUnreadableKeptLogs(t *testing.T) {
	mem := keeping(t)
	m := mem.open()
	index(t, m)
	mem.remove("chat.jsonl")
	moved := mem.options.Kept + "-moved"
	require.NoError(t, os.Rename(mem.options.Kept, moved))
	require.NoError(t, os.WriteFile(mem.options.Kept, nil, 0o600))
	mem.write("note.md", "The mill is blue.")
	for range 2 {
		report := index(t, m)
		require.Zero(t, report.Removed)
		require.Len(t, report.Skipped, 1)
	}
	require.NotEmpty(t, search(t, m, "mill blue").Hits)
	require.Contains(t, search(t, m, "frame warped").Hits[0].Text, "warped since")
	require.NoError(t, os.Remove(mem.options.Kept))
	require.NoError(t, os.Rename(moved, mem.options.Kept))
	require.Empty(t, index(t, m).Skipped)
	require.Contains(t, search(t, m, "frame warped").Hits[0].Text, "warped since")
}

// What is kept can be removed from outside, as when it is too old.
func TestRemovedKeptLog(t *testing.T) {
	mem := keeping(t)
	m := mem.open()
	index(t, m)
	mem.remove("chat.jsonl")
	index(t, m)
	require.NoError(t, keptlog.In(mem.options.Kept).Remove(chatLog))
	require.Equal(t, 1, index(t, m).Removed)
	_, err := m.Chunks(t.Context(), chatLog)
	require.ErrorIs(t, err, core.ErrNotIndexed)
}

// No folder of ours looks like a secret, or nothing could be read from it.
func TestKeptNamesAreNoSecrets(t *testing.T) {
	require.Empty(t, secretfile.Reason("/x/kept/"+keptlog.Name(chatLog)))
}

package source

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/paths"
)

// A testProject has some folders, and all in them but for other projects', since a time.
type testProject struct {
	folders, others []string
	since           time.Time
}

func (p testProject) Folders() []string { return p.folders }

func (p testProject) Holder() func(string, time.Time) bool {
	in := func(all []string, folder string) bool {
		return slices.ContainsFunc(all, func(root string) bool { _, ok := paths.Within(root, folder); return ok })
	}
	return func(folder string, last time.Time) bool {
		return in(p.folders, folder) && !in(p.others, folder) && (last.IsZero() || !last.Before(p.since))
	}
}

// knownIn returns the options of an ordinary home.
func knownIn(home string) KnownOptions {
	return KnownOptions{Home: home, Homes: func(format string) []string {
		return map[string][]string{
			"claude-code": {filepath.Join(home, ".claude"), filepath.Join(home, ".claude-work")}, "codex": {filepath.Join(home, ".codex")},
			"gemini-cli": {filepath.Join(home, ".gemini")}, "pi": {filepath.Join(home, ".pi", "agent")},
		}[format]
	}}
}

// listKnown returns what the known sources of a project list.
func listKnown(t *testing.T, project Project, home string) (documents []string, skipped []Skip) {
	t.Helper()
	for _, source := range Known(project, knownIn(home)) {
		found, err := source.List(t.Context())
		require.NoError(t, err, source.Name())
		documents = append(documents, pathsOf(found)...)
		skipped = append(skipped, found.Skipped...)
	}
	slices.Sort(documents)
	return documents, skipped
}

// claudeFolder is named as Claude Code names a working directory.
func claudeFolder(cwd string) string {
	var name strings.Builder
	for _, unit := range utf16.Encode([]rune(cwd)) {
		if unit < 128 && (unicode.IsLetter(rune(unit)) || unicode.IsDigit(rune(unit))) {
			name.WriteByte(byte(unit))
		} else {
			name.WriteByte('-')
		}
	}
	return name.String()
}

func claudeLog(cwd string) string {
	return fmt.Sprintf(`{"type":"user","cwd":%q,"sessionId":"s","uuid":"u","message":{"role":"user","content":"hi"}}`+"\n", cwd)
}

func TestKnown(t *testing.T) {
	home := tree(t, nil)
	workspace, linked := filepath.Join(home, "code", "My.shop_2"), filepath.Join(home, "worktrees", "a1")
	below := func(folder string) string { return filepath.Join(workspace, folder) }
	project := testProject{folders: []string{workspace, linked}, others: []string{below("vendored")}}
	sum := sha256.Sum256([]byte(workspace))
	in := func(path, text string) { write(t, filepath.Join(home, filepath.FromSlash(path)), text) }

	claude := claudeFolder(workspace)
	in(".claude/projects/"+claude+"/a.jsonl", claudeLog(workspace))
	in(".claude/projects/"+claude+"/nameless.jsonl", `{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","content":"hi"}}`+"\n")
	in(".claude/projects/"+claude+"/a/subagents/agent-1.jsonl", claudeLog(workspace))
	in(".claude/projects/"+claude+"/memory/MEMORY.md", "# Notes of the agent")
	in(".claude/projects/"+claude+"-other/memory/MEMORY.md", "# Notes on another project")
	in(".claude/projects/"+claude+"-other/b.jsonl", claudeLog(workspace+"-other"))
	in(".claude/projects/"+claude+"-web/c.jsonl", claudeLog(below("web")))
	in(".claude/projects/"+claude+"-web/d.jsonl", claudeLog(workspace+"-web"))
	in(".claude/projects/"+claude+"-vendored-lib/e.jsonl", claudeLog(below("vendored/lib")))
	in(".claude/projects/"+claudeFolder(linked)+"/f.jsonl", claudeLog(linked))
	in(".claude-work/projects/"+claude+"/g.jsonl", claudeLog(workspace))
	in(".claude/projects/"+claudeFolder(home)+"/h.jsonl", claudeLog(home))

	geminiLine := `{"sessionId":"s","projectHash":"h"}` + "\n"
	in(".gemini/tmp/"+hex.EncodeToString(sum[:])+"/chats/session-1.json", `{"sessionId":"s","projectHash":"h","messages":[{"type":"user","content":"hi"}]}`)
	in(".gemini/tmp/my-shop-2/.project_root", workspace+"\n")
	in(".gemini/tmp/my-shop-2/chats/session-2.jsonl", geminiLine)
	in(".gemini/tmp/my-shop-2/checkpoints/x.jsonl", geminiLine)
	in(".gemini/tmp/vendor/chats/session-3.jsonl", geminiLine)
	in(".gemini/tmp/foreign/.project_root", filepath.Join(home, "code"))
	in(".gemini/tmp/foreign/chats/session-4.jsonl", geminiLine)
	in(".gemini/tmp/web/chats/session-5.jsonl", geminiLine)
	in(".gemini/tmp/vendored/chats/session-6.jsonl", geminiLine)
	in(".gemini/tmp/taken/.project_root", filepath.Join(home, "code"))
	in(".gemini/tmp/taken/chats/session-7.jsonl", geminiLine)
	in(".gemini/projects.json", fmt.Sprintf(`{"projects":{%q:"vendor",%q:"web",%q:"vendored",%q:"taken"}}`, workspace, below("web"), below("vendored"), linked))

	metaLine := func(cwd string) string {
		return fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x","cwd":%q}}`+"\n", cwd)
	}
	in(".codex/sessions/2026/01/01/rollout-1.jsonl", metaLine(workspace))
	in(".codex/sessions/2026/01/01/rollout-2.jsonl", metaLine(below("sub")))
	in(".codex/sessions/2026/01/02/rollout-3.jsonl", metaLine(workspace+"-other"))
	in(".codex/sessions/2026/01/02/rollout-6.jsonl", metaLine(below("vendored")))
	in(".codex/archived_sessions/rollout-7.jsonl", metaLine(linked))
	early := `{"id":"x","timestamp":"2025-01-01T00:00:00Z","instructions":null}` + "\n"
	in(".codex/sessions/2025/01/02/rollout-4.jsonl", early+
		fmt.Sprintf(`{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n<cwd>%s</cwd>\n"}]}`+"\n", workspace))
	in(".codex/sessions/2025/01/02/rollout-5.jsonl", early+
		fmt.Sprintf(`{"type":"message","role":"user","content":[{"type":"input_text","text":"what does <cwd>%s</cwd> mean?"}]}`+"\n", workspace))
	in(".codex/sessions/2026/01/02/relative.jsonl", metaLine("sub"))
	in(".codex/history.jsonl", `{"session_id":"x","ts":1,"text":"hi"}`+"\n")

	dashed := "--" + strings.ReplaceAll(filepath.ToSlash(workspace)[1:], "/", "-") + "--"
	piLine := func(cwd string) string {
		return fmt.Sprintf(`{"type":"session","id":"s","version":3,"cwd":%q}`+"\n", cwd)
	}
	in(".pi/agent/sessions/"+dashed+"/y.jsonl", piLine(workspace))
	in(".pi/agent/sessions/"+dashed+"/x.jsonl", piLine(workspace+"-other"))
	in(".pi/agent/sessions/"+strings.TrimSuffix(dashed, "--")+"-web--/z.jsonl", piLine(below("web")))

	got, skipped := listKnown(t, project, home)
	want := []string{
		"~/.claude-work/projects/" + claude + "/g.jsonl",
		"~/.claude/projects/" + claude + "/a.jsonl",
		"~/.claude/projects/" + claude + "/a/subagents/agent-1.jsonl",
		"~/.claude/projects/" + claude + "/memory/MEMORY.md",
		"~/.claude/projects/" + claude + "-web/c.jsonl",
		"~/.claude/projects/" + claudeFolder(linked) + "/f.jsonl",
		"~/.codex/archived_sessions/rollout-7.jsonl",
		"~/.codex/sessions/2025/01/02/rollout-4.jsonl",
		"~/.codex/sessions/2026/01/01/rollout-1.jsonl",
		"~/.codex/sessions/2026/01/01/rollout-2.jsonl",
		"~/.gemini/tmp/" + hex.EncodeToString(sum[:]) + "/chats/session-1.json",
		"~/.gemini/tmp/my-shop-2/chats/session-2.jsonl",
		"~/.gemini/tmp/vendor/chats/session-3.jsonl",
		"~/.gemini/tmp/web/chats/session-5.jsonl",
		"~/.pi/agent/sessions/" + dashed + "/y.jsonl",
		"~/.pi/agent/sessions/" + strings.TrimSuffix(dashed, "--") + "-web--/z.jsonl",
	}
	slices.Sort(want)
	sameStrings(t, "documents", got, want)
	require.ElementsMatch(t, []Skip{
		{Path: "~/.claude/projects/" + claude + "/nameless.jsonl", Reason: noFolder},
		{Path: "~/.codex/sessions/2025/01/02/rollout-5.jsonl", Reason: noFolder},
	}, skipped)
}

// Two homes of an agent that are one folder have one source.
func TestKnownOfOneFolderTwice(t *testing.T) {
	home := tree(t, nil)
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".claude"), 0o755))
	require.NoError(t, os.Symlink(".claude", filepath.Join(home, ".claude-work")))
	names := map[string]bool{}
	for _, source := range Known(testProject{}, knownIn(home)) {
		require.False(t, names[source.Name()], source.Name())
		names[source.Name()] = true
	}
	require.True(t, names["~/.claude/projects"])
	require.False(t, names["~/.claude-work/projects"])
}

// What an agent notes in a folder that two projects share may be on either.
func TestNotesOfTwoProjectsInOneFolder(t *testing.T) {
	home := tree(t, nil)
	mine, other := filepath.Join(home, "my-app"), filepath.Join(home, "my_app")
	folder := filepath.Join(home, ".claude", "projects", claudeFolder(mine))
	write(t, filepath.Join(folder, "memory", "MEMORY.md"), "# x")
	write(t, filepath.Join(folder, "a.jsonl"), claudeLog(mine))
	documents, _ := listKnown(t, testProject{folders: []string{mine}}, home)
	require.Len(t, documents, 2)
	write(t, filepath.Join(folder, "b.jsonl"), claudeLog(other))
	documents, skipped := listKnown(t, testProject{folders: []string{mine}}, home)
	require.Len(t, documents, 1)
	require.Len(t, skipped, 1)
	require.Contains(t, skipped[0].Reason, "~/my_app")
}

// Whatever the names of two projects, each gets its own sessions and no others.
func TestSessionsOfProjectsWithLikeNames(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	alphabet := []string{"a", "A", "b", "-", "_", ".", " ", "ä", "ß", "é", "e\u0301", "日", "本", "я", "😀", "0"}
	name := func() string {
		var b strings.Builder
		b.WriteString("x")
		for range 1 + random.IntN(4) {
			b.WriteString(alphabet[random.IntN(len(alphabet))])
		}
		return b.String() + "x"
	}
	home, collisions := tree(t, nil), 0
	deep := filepath.Join(home, strings.Repeat("long/", 45)) // longer than Claude Code's names
	for n := range 100 {
		at := filepath.Join(home, fmt.Sprint(n))
		base := []string{at, deep}[n%2]
		mine := filepath.Join(base, name())
		others := []string{filepath.Join(base, name()), mine + name(), mine + "-", filepath.Join(base, strings.ReplaceAll(filepath.Base(mine), "-", "_"))}
		others = slices.DeleteFunc(others, func(other string) bool { return other == mine })
		put := func(file, cwd string) {
			folder := claudeFolder(cwd)
			if len(folder) > 200 {
				folder = folder[:200] + "-1a2b3c"
			}
			write(t, filepath.Join(at, ".claude", "projects", folder, file), claudeLog(cwd))
		}
		put("mine.jsonl", mine)
		put("sub.jsonl", filepath.Join(mine, name()))
		for i, other := range others {
			put(fmt.Sprintf("other%d.jsonl", i), other)
			if claudeFolder(other) == claudeFolder(mine) {
				collisions++
			}
		}
		documents, skipped := listKnown(t, testProject{folders: []string{mine}}, at)
		require.Empty(t, skipped)
		files := []string{}
		for _, d := range documents {
			files = append(files, path.Base(d))
		}
		require.ElementsMatch(t, []string{"mine.jsonl", "sub.jsonl"}, files, "%q beside %q", mine, others)
	}
	require.Greater(t, collisions, 20)
}

// ~/.ai/sessions is shared: memcore's folder of shop/old is named like another agent's of shop-old.
func TestKnownOfFoldersThatAreNamedAlike(t *testing.T) {
	home := tree(t, nil)
	old, dashed := filepath.Join(home, "shop", "old"), filepath.Join(home, "shop-old")
	agents := "--" + strings.ReplaceAll(filepath.ToSlash(dashed)[1:], "/", "-") + "--"
	log := func(folder, name, text string) {
		write(t, filepath.Join(home, ".ai", "sessions", folder, name, "messages.jsonl"), text+`{"role":"user","content":"hi","timestamp":"2026-01-01T00:00:00Z"}`+"\n")
	}
	for _, workspace := range []string{old, dashed} {
		log(paths.FolderName(workspace), "own", "")
		log(agents, "pi-"+filepath.Base(workspace), fmt.Sprintf(`{"type":"session","id":"messages","version":1,"cwd":%q}`+"\n", workspace))
	}
	write(t, filepath.Join(home, ".ai", "sessions", agents, "own", "working-memory", "detail", "of-old.md"), "# Old\n")
	documents, skipped := listKnown(t, testProject{folders: []string{dashed}}, home)
	sameStrings(t, "documents", documents, []string{"~/.ai/sessions/" + agents + "/pi-shop-old/messages.jsonl"})
	require.Empty(t, skipped, "memcore's own sessions")
}

// The session of a messages.jsonl is named after its folder.
func TestSessionOfMessages(t *testing.T) {
	dir := tree(t, map[string]string{"s1/messages.jsonl": `{"type":"session","id":"messages","version":1,"cwd":"x"}` + "\n" +
		`{"type":"message","id":"1","message":{"role":"user","content":"hi"}}` + "\n"})
	f := NewFolder(FolderOptions{Path: dir})
	content, err := f.Read(t.Context(), list(t, f).Documents[0], Position{})
	if err != nil || len(content.Turns) != 1 || content.Turns[0].Session != "s1" {
		t.Errorf("Read = %+v, %v, want one turn of session s1", content.Turns, err)
	}
}

// A log says on which branch its session began.
func TestBranchOfALog(t *testing.T) {
	home := tree(t, nil)
	folder := filepath.Join(home, ".claude", "projects", claudeFolder(home))
	write(t, filepath.Join(folder, "a.jsonl"), strings.Replace(claudeLog(home), `"uuid"`, `"gitBranch":"fix/tax","uuid"`, 1))
	write(t, filepath.Join(home, ".codex", "sessions", "b.jsonl"), fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x","cwd":%q,"git":{"branch":"main"}}}`+"\n", home))
	branches := map[string]string{}
	for _, source := range Known(testProject{folders: []string{home}}, knownIn(home)) {
		found, err := source.List(t.Context())
		require.NoError(t, err)
		for _, d := range found.Documents {
			branches[path.Base(d.Path)] = d.Branch
		}
	}
	require.Equal(t, map[string]string{"a.jsonl": "fix/tax", "b.jsonl": "main"}, branches)
}

func TestKnownOfNothing(t *testing.T) {
	documents, skipped := listKnown(t, testProject{folders: []string{filepath.Join(t.TempDir(), "ws")}}, t.TempDir())
	require.Empty(t, documents)
	require.Empty(t, skipped)
}

// A log that names no folder, and is older than the project in the folder that its own is named
// after, is another's.
func TestKnownWhereAnotherWas(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "")
	shop, home := tree(t, nil), tree(t, nil)
	began := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	o := knownIn(home)
	at := func(elements ...string) string { return filepath.Join(append([]string{home}, elements...)...) }
	gemini := sha256.Sum256([]byte(shop))
	storage := filepath.Join(settingsFolder(home), "Code", "User", "workspaceStorage", "w")
	write(t, filepath.Join(storage, "workspace.json"), fmt.Sprintf(`{"folder":%q}`, "file://"+filepath.ToSlash(shop)))
	write(t, at(".gemini", "projects.json"), fmt.Sprintf(`{"projects":{%q:"shop"}}`, shop))
	write(t, at(".gemini", "tmp", "rooted", ".project_root"), shop)
	const chat = `{"sessionId":"s","projectHash":"h","messages":[{"type":"user","content":"hi"}]}`
	var want []string
	for _, log := range []struct{ file, text string }{
		{at(".gemini", "tmp", hex.EncodeToString(gemini[:]), "chats", "%s.json"), chat},
		{at(".gemini", "tmp", "shop", "chats", "%s.json"), chat},
		{at(".gemini", "tmp", "rooted", "chats", "%s.json"), chat},
		{filepath.Join(storage, "chatSessions", "%s.json"), `{"version":3,"sessionId":"s","requests":[{"message":{"text":"hi"}}]}`},
	} {
		for age, last := range map[string]time.Time{"before": began.Add(-time.Hour), "after": began.Add(time.Hour)} {
			file := fmt.Sprintf(log.file, age)
			write(t, file, log.text)
			require.NoError(t, os.Chtimes(file, last, last))
			if age == "after" {
				want = append(want, file)
			}
		}
	}
	list := func(project Project) (files []string) {
		for _, source := range Known(project, o) {
			found, err := source.List(t.Context())
			require.NoError(t, err)
			require.Empty(t, found.Skipped)
			for _, doc := range found.Documents {
				files = append(files, doc.File)
			}
		}
		return files
	}
	require.Len(t, list(testProject{folders: []string{shop}}), 2*len(want))
	require.ElementsMatch(t, want, list(testProject{folders: []string{shop}, since: began}))
}

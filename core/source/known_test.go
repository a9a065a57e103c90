package source

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memcore/memcore/internal/paths"
)

func TestKnown(t *testing.T) {
	home := tree(t, nil)
	workspace := filepath.Join(home, "code", "My.shop_2")
	write(t, filepath.Join(workspace, "README.md"), "")
	sum := sha256.Sum256([]byte(workspace))
	in := func(path, text string) { write(t, filepath.Join(home, filepath.FromSlash(path)), text) }

	claude := notAlphanumeric().ReplaceAllString(workspace, "-")
	claudeLine := `{"type":"user","sessionId":"s","uuid":"u","message":{"role":"user","content":"hi"}}` + "\n"
	in(".claude/projects/"+claude+"/a.jsonl", claudeLine)
	in(".claude/projects/"+claude+"-other/b.jsonl", claudeLine)

	below := func(folder string) string { return filepath.Join(workspace, folder) }
	claudeIn := func(cwd string) string {
		return fmt.Sprintf(`{"type":"user","cwd":%q,"sessionId":"s","uuid":"u","message":{"role":"user","content":"hi"}}`+"\n", cwd)
	}
	write(t, filepath.Join(below("vendored"), ".git", "HEAD"), "")
	in(".claude/projects/"+claude+"-web/c.jsonl", claudeIn(below("web")))
	in(".claude/projects/"+claude+"-web/d.jsonl", claudeIn(workspace+"-web"))
	in(".claude/projects/"+claude+"-vendored-lib/e.jsonl", claudeIn(below("vendored/lib")))

	geminiLine := `{"sessionId":"s","projectHash":"h"}` + "\n"
	in(".gemini/tmp/"+hex.EncodeToString(sum[:])+"/chats/session-1.json", `{"sessionId":"s","projectHash":"h","messages":[{"type":"user","content":"hi"}]}`)
	in(".gemini/tmp/my-shop-2/.project_root", workspace+"\n")
	in(".gemini/tmp/my-shop-2/chats/session-2.jsonl", geminiLine)
	in(".gemini/tmp/shop-registered/chats/session-3.jsonl", geminiLine)
	in(".gemini/tmp/foreign/.project_root", filepath.Join(home, "code"))
	in(".gemini/tmp/foreign/chats/session-4.jsonl", geminiLine)
	in(".gemini/tmp/web/chats/session-5.jsonl", geminiLine)
	in(".gemini/tmp/vendored/chats/session-6.jsonl", geminiLine)
	in(".gemini/projects.json", fmt.Sprintf(`{"projects":{%q:"shop-registered",%q:"web",%q:"vendored"}}`, workspace, below("web"), below("vendored")))

	metaLine := func(cwd string) string {
		return fmt.Sprintf(`{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x","cwd":%q}}`+"\n", cwd)
	}
	in(".codex/sessions/2026/01/01/rollout-1.jsonl", metaLine(workspace))
	in(".codex/sessions/2026/01/01/rollout-2.jsonl", metaLine(filepath.Join(workspace, "sub")))
	in(".codex/sessions/2026/01/02/rollout-3.jsonl", metaLine(workspace+"-other"))
	in(".codex/sessions/2026/01/02/rollout-6.jsonl", metaLine(below("vendored")))
	in(".codex/sessions/2025/01/02/rollout-4.jsonl", `{"id":"x","timestamp":"2025-01-01T00:00:00Z","instructions":null}`+"\n"+
		fmt.Sprintf(`{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n<cwd>%s</cwd>\n"}]}`+"\n", workspace))
	in(".codex/sessions/2025/01/02/rollout-5.jsonl", `{"id":"x","timestamp":"2025-01-01T00:00:00Z","instructions":null}`+"\n")
	in(".codex/history.jsonl", `{"session_id":"x","ts":1,"text":"hi"}`+"\n")

	dashed := "--" + strings.ReplaceAll(filepath.ToSlash(workspace)[1:], "/", "-") + "--"
	in(".pi/agent/sessions/"+dashed+"/x.jsonl", `{"type":"session","id":"s","version":3,"cwd":"x"}`+"\n")
	in(".pi/agent/sessions/"+dashed+"/y.jsonl", fmt.Sprintf(`{"type":"session","id":"s","version":3,"cwd":%q}`+"\n", workspace))
	in(".pi/agent/sessions/"+strings.TrimSuffix(dashed, "--")+"-web--/z.jsonl", fmt.Sprintf(`{"type":"session","id":"s","version":3,"cwd":%q}`+"\n", below("web")))

	var got, names []string
	for _, source := range Known(workspace, home) {
		names = append(names, source.Name())
		found, err := source.List(t.Context())
		if err != nil {
			t.Errorf("List of %s: %v", source.Name(), err)
		}
		got = append(got, pathsOf(found)...)
	}
	slices.Sort(got)
	want := []string{
		"~/.claude/projects/" + claude + "/a.jsonl",
		"~/.claude/projects/" + claude + "-web/c.jsonl",
		"~/.codex/sessions/2025/01/02/rollout-4.jsonl",
		"~/.codex/sessions/2026/01/01/rollout-1.jsonl",
		"~/.codex/sessions/2026/01/01/rollout-2.jsonl",
		"~/.gemini/tmp/" + hex.EncodeToString(sum[:]) + "/chats/session-1.json",
		"~/.gemini/tmp/my-shop-2/chats/session-2.jsonl",
		"~/.gemini/tmp/shop-registered/chats/session-3.jsonl",
		"~/.gemini/tmp/web/chats/session-5.jsonl",
		"~/.pi/agent/sessions/" + dashed + "/x.jsonl",
		"~/.pi/agent/sessions/" + dashed + "/y.jsonl",
		"~/.pi/agent/sessions/" + strings.TrimSuffix(dashed, "--") + "-web--/z.jsonl",
	}
	slices.Sort(want)
	sameStrings(t, "documents", got, want)
	slices.Sort(names)
	if unique := slices.Compact(slices.Clone(names)); len(unique) != len(names) {
		t.Errorf("names of the sources = %q, want each once", names)
	}
}

// pi's folder for shop-old is named like memcore's for shop/old, so logs must name their working
// directory.
func TestKnownOfFoldersThatAreNamedAlike(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	home, old, dashed := filepath.Join(base, "home"), filepath.Join(base, "shop", "old"), filepath.Join(base, "shop-old")
	for _, workspace := range []string{old, dashed} {
		write(t, filepath.Join(workspace, "README.md"), "")
	}
	agents := "--" + strings.ReplaceAll(filepath.ToSlash(dashed)[1:], "/", "-") + "--"
	log := func(folder, name, text string) {
		write(t, filepath.Join(home, ".ai", "sessions", folder, name, "messages.jsonl"), text+`{"role":"user","content":"hi","timestamp":"2026-01-01T00:00:00Z"}`+"\n")
	}
	for _, workspace := range []string{old, dashed} {
		log(paths.FolderName(workspace), "own", "")
		log(agents, "pi-"+filepath.Base(workspace), fmt.Sprintf(`{"type":"session","id":"messages","version":1,"cwd":%q}`+"\n", workspace))
	}
	write(t, filepath.Join(home, ".ai", "sessions", agents, "own", "working-memory", "detail", "of-old.md"), "# Old\n")
	var got []string
	for _, source := range Known(dashed, home) {
		found, err := source.List(t.Context())
		if err != nil {
			t.Errorf("List of %s: %v", source.Name(), err)
		}
		got = append(got, pathsOf(found)...)
	}
	slices.Sort(got)
	want := []string{"~/.ai/sessions/" + agents + "/pi-shop-old/messages.jsonl"}
	slices.Sort(want)
	sameStrings(t, "documents", got, want)
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

func TestKnownOfNothing(t *testing.T) {
	if got := Known("", "/home/a"); got != nil {
		t.Errorf("Known without a workspace = %v, want none", got)
	}
	for _, source := range Known(filepath.Join(t.TempDir(), "ws"), t.TempDir()) {
		if found, err := source.List(t.Context()); err != nil || len(found.Documents)+len(found.Skipped) > 0 {
			t.Errorf("List of %s = %+v, %v, want nothing", source.Name(), found, err)
		}
	}
}

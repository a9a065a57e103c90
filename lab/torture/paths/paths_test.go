// Package paths_test attacks the program with names, texts and filters that lead elsewhere.
package paths_test

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/torture/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// names returns hostile file names.
func names(w *harness.Home) []string {
	secret := filepath.ToSlash(filepath.Join(w.Outside, "plans.md"))
	return []string{
		"../../../outside/plans.md", "../../../outside/../outside/plans.md", "facts/../../../../outside/plans.md", "..\\..\\..\\outside\\plans.md", `facts\..\..\..\outside\plans.md`,
		secret, "//" + secret, "file://" + secret, "~/plans.md", "$HOME/plans.md", "link/plans.md", "facts/link.md", "./facts/../link/plans.md",
		"facts/./user.md/../../../../../outside/plans.md", "..%2f..%2f..%2foutside%2fplans.md", "..%252f..%252foutside%252fplans.md", "．．/．．/outside/plans.md", "..／..／outside/plans.md", "‥/plans.md",
		"plans.md\x00.md", "../../../outside/plans.md\x00", "\x00", "", ".", "..", "/", "...", ".../...//plans.md", "facts", "facts/", "facts//user.md", "facts/user", "facts/user.txt", "facts/user.md/", "facts/user.md.", "facts/user.md ", "facts/user.md::$DATA",
		"CON", "con.md", "facts/NUL.md", "aux.md", "COM1.md", "C:/plans.md", `C:\plans.md`, "C:plans.md", `\\server\share\plans.md`, "//server/share/plans.md", `\\?\C:\plans.md`,
		strings.Repeat("a", 300) + ".md", strings.Repeat("a/", 3000) + "b.md", strings.Repeat("../", 3000) + "outside/plans.md",
		".git/config", ".git/hooks/post-commit.md", "facts/.hidden.md", ".env", "facts/.env.md", "e\u0301.md", "\u202eDm.md", "a\nb.md", "a\r\nX: y.md", "a\x1b[2J.md", "-rf.md", "--help.md", "*.md", "[a-z].md", "a?b.md", "\xff\xfe.md", "\xed\xa0\x80.md",
		"../BEANS.md", "../../BEANS.md", "../../notes/deploy.md", "notes/deploy.md", "../../../home/.ssh/authorized_keys.md",
	}
}

// census returns all files of a home that memcore must not change.
func census(t *testing.T, w *harness.Home) map[string]string {
	all := map[string]string{}
	memory := filepath.Join(w.Workspace, "data", "memory")
	err := filepath.WalkDir(filepath.Dir(w.Workspace), func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		within := func(folder string) bool {
			return path == folder || strings.HasPrefix(path, folder+string(filepath.Separator))
		}
		switch {
		case within(memory), within(filepath.Join(w.Workspace, "BEANS.md")), within(filepath.Join(w.Home, ".beans")), within(filepath.Join(w.Home, ".ai")), within(filepath.Join(w.Home, ".cache")), within(filepath.Join(w.Home, ".local")), within(filepath.Join(w.Home, "Library")), within(filepath.Join(w.Home, "local")), within(filepath.Join(filepath.Dir(w.Workspace), "run")):
			return nil
		case entry.Type().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			all[path] = fmt.Sprintf("%x", sha256.Sum256(data))
		default:
			all[path] = entry.Type().String()
		}
		return nil
	})
	require.NoError(t, err)
	return all
}

// links makes symbolic links out of the workspace.
func links(t *testing.T, w *harness.Home) {
	require.NoError(t, os.MkdirAll(filepath.Join(w.Workspace, "data", "memory", "facts"), 0o755))
	for _, name := range []string{"data/memory/link", "notes/link"} {
		if err := os.Symlink(w.Outside, filepath.Join(w.Workspace, name)); err != nil && runtime.GOOS == "windows" {
			t.Skip("this system makes no symbolic links:", err)
		}
	}
	for _, name := range []string{"data/memory/facts/link.md", "notes/link.md", "AGENTS.md"} {
		require.NoError(t, os.Symlink(filepath.Join(w.Outside, "plans.md"), filepath.Join(w.Workspace, name)))
	}
}

// A client speaks MCP over standard streams.
type client struct {
	t    *testing.T
	in   io.Writer
	out  *bufio.Reader
	next int
}

func connect(t *testing.T, w *harness.Home) *client {
	command := w.Command(context.Background(), "mcp") // it ends with its input
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	var log strings.Builder
	command.Stderr = &log
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		in.Close()
		_, _ = io.Copy(io.Discard, out)
		require.NoError(t, command.Wait(), log.String())
		require.NotContains(t, log.String(), "panic")
	})
	c := &client{t: t, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	c.ask("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]string{"name": "x", "version": "1"}})
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	require.NoError(t, err)
	return c
}

// ask returns the raw answer and whether it is a success.
func (c *client) ask(method string, params any) (answer string, ok bool) {
	c.t.Helper()
	c.next++
	data, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.next, "method": method, "params": params})
	require.NoError(c.t, err)
	_, err = c.in.Write(append(data, '\n'))
	require.NoError(c.t, err)
	for {
		line, err := c.out.ReadString('\n')
		require.NoError(c.t, err, "the server has ended")
		var reply struct {
			ID     int
			Method string
			Error  any
			Result struct{ IsError bool }
		}
		require.NoError(c.t, json.Unmarshal([]byte(line), &reply), line)
		if reply.ID == c.next && reply.Method == "" {
			return line, reply.Error == nil && !reply.Result.IsError
		}
	}
}

func (c *client) call(tool string, arguments map[string]any) (answer string, ok bool) {
	c.t.Helper()
	return c.ask("tools/call", map[string]any{"name": tool, "arguments": arguments})
}

// Tools stay in the folder of memory files: they show, make and change nothing outside, with or
// without symbolic links.
func TestToolsStayInside(t *testing.T) {
	w := harness.NewHome(t)
	links(t, w)
	before := census(t, w)
	c := connect(t, w)
	count := 0
	for i, name := range names(w) {
		turn := -1 // the short form gives each name to the tools that take paths, and to one of the others
		for tool, arguments := range map[string]map[string]any{
			"memory_read":   {"path": name},
			"memory_write":  {"path": name, "content": "# Evil\n\n- written by the attack\n"},
			"memory_append": {"path": name, "entry": "## Evil\n\nwritten by the attack"},
			"memory_patch":  {"path": name, "patches": []map[string]string{{"oldText": "Secret", "newText": "Evil"}}},
			"forget":        {"text": name + "#L3"},
			"save_memory":   {"content": "harmless " + fmt.Sprint(count), "section": name, "target": name},
			"search_memory": {"query": "secret", "path": name},
		} {
			if tool == "forget" && name == "notes/deploy.md" {
				continue // that is what forget is for
			}
			if !strings.HasPrefix(tool, "memory_") && !harness.Full() {
				if turn++; turn != i%3 {
					continue
				}
			}
			count++
			answer, _ := c.call(tool, arguments)
			require.NotContains(t, answer, harness.Canary, "%s %q", tool, name)
		}
		count += 2
		for _, uri := range []string{"memcore:///" + name, "file://" + name} {
			answer, _ := c.ask("resources/read", map[string]any{"uri": uri})
			require.NotContains(t, answer, harness.Canary, "%q", uri)
		}
	}
	require.Equal(t, before, census(t, w))
	// Tools make files with names for every system.
	made := 0
	root := filepath.Join(w.Workspace, "data", "memory")
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			name, _ := filepath.Rel(root, path)
			made++
			if !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || strings.ContainsRune(`\:*?"<>|`, r) }) || strings.HasSuffix(name, " ") || strings.HasSuffix(name, ".") || !strings.HasSuffix(name, ".md") {
				t.Errorf("a tool made %q", name)
			}
		}
		return err
	}))
	answer, ok := c.call("memory_write", map[string]any{"path": "facts/user.md", "content": "# User\n\n- likes tea\n"})
	require.True(t, ok, answer)
	answer, ok = c.call("search_memory", map[string]any{"query": "which port does the staging database listen on"})
	require.True(t, ok && strings.Contains(answer, "5433"), answer)
	t.Logf("tools of MCP: %d calls: nothing read or written outside; %d files made inside", count, made)
}

// IDs and folders from agents and people do not become paths elsewhere.
func TestSessionsStayInside(t *testing.T) {
	w := harness.NewHome(t)
	before := census(t, w)
	count := 0
	for i, id := range names(w) {
		if i%harness.Times(4, 1) != 0 {
			continue
		}
		event := func(fields map[string]any) string {
			data, err := json.Marshal(fields)
			require.NoError(t, err)
			return string(data)
		}
		agents := []string{"claude-code", "codex", "gemini-cli", "cursor"}
		if !harness.Full() {
			agents = agents[i/4%4:][:1]
		}
		for _, agent := range agents {
			stdout, stderr, code := w.Run(t, event(map[string]any{"session_id": id, "conversation_id": id, "hook_event_name": "UserPromptSubmit", "cwd": w.Workspace, "prompt": "which port does the staging database listen on?", "transcript_path": id}), "hook", agent)
			require.Zero(t, code, "%q: %s", id, stderr)
			require.NotContains(t, stdout+stderr, harness.Canary)
			count++
		}
		if strings.ContainsRune(id, 0) { // no system passes that on
			continue
		}
		for _, args := range [][]string{{"session", "new", "--", id}, {"search", "--session", id, "secret"}, {"session", "append", "--session", id, "--role", "user", "hello"}, {"memory", "show", "--path", id}, {"forget", "--yes", "--source", id}, {"forget", "--yes", "--", id + "#L3"}} {
			if i%harness.Times(16, 1) != 0 || args[0] == "forget" && id == "notes/deploy.md" { // that is the user's own to forget
				continue
			}
			stdout, stderr, code := w.Run(t, "", args...)
			require.Contains(t, []int{0, 1, 2}, code, "%q: %s", args, stderr)
			require.NotContains(t, stdout+stderr, harness.Canary, "%q", args)
			require.NotContains(t, stderr, "panic")
			count++
		}
	}
	require.Equal(t, before, census(t, w))
	// Each session is a folder in the workspace's folder.
	root := filepath.Join(w.Home, ".ai", "sessions")
	workspaces, err := os.ReadDir(root)
	require.NoError(t, err)
	require.Len(t, workspaces, 1)
	sessions, err := os.ReadDir(filepath.Join(root, workspaces[0].Name()))
	require.NoError(t, err)
	require.NotEmpty(t, sessions)
	for _, s := range sessions {
		require.True(t, s.IsDir(), s.Name())
		require.NotContains(t, s.Name(), "\x00")
		require.LessOrEqual(t, len(s.Name()), 255)
	}
	t.Logf("IDs of hooks and commands: %d processes: %d sessions, each a folder of its own; nothing elsewhere", count, len(sessions))
}

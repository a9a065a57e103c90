// Package scene is a person's machine in small: a home folder with the settings of agents, a project with notes and a
// conversation, an index, a session. Tests that let memcore's commands die or fail in the middle of it compare
// what is left with what was there before and what the undisturbed command makes.
package scene

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A Scene is below one folder, whose path is part of what an index and a journal say: so it is put back in place, not copied.
type Scene struct {
	Root, Home, Project, Index string
	// Adjust changes each command before it is started; nil is not to.
	Adjust  func(*exec.Cmd)
	program string
	env     []string
}

// A File is what a snapshot keeps of one.
type File struct {
	Mode fs.FileMode
	Time time.Time
	Data string // of a link, where it leads
}

// A Tree is all that is below a folder, by slash-separated path; folders, too.
type Tree map[string]File

// New makes a scene in a folder that is empty.
func New(t testing.TB, program, root string) *Scene {
	t.Helper()
	s := &Scene{Root: root, Home: filepath.Join(root, "home"), Project: filepath.Join(root, "project"), Index: filepath.Join(root, "index", "memcore"), program: program}
	s.env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + s.Home, "TMPDIR=" + filepath.Join(root, "tmp"), "XDG_RUNTIME_DIR=" + filepath.Join(root, "run"),
		"XDG_CACHE_HOME=" + filepath.Join(root, "index"), "MEMCORE_DAEMON_START=false", "MEMCORE_HOOK_BUDGET=60s", "MEMCORE_FRESHNESS=60s", "MEMCORE_REFLECT_AUTO=true",
		"VISUAL=" + `f() { cp "$1" "$1.edited" 2>/dev/null; echo '- Edited by hand.' >>"$1.edited" && mv "$1.edited" "$1"; }; f`,
	}
	for _, dir := range []string{"tmp", "run", "index"} {
		require.NoError(t, os.MkdirAll(filepath.Join(root, dir), 0o700))
	}
	for name, text := range files {
		s.Write(t, name, text)
	}
	return s
}

// Write writes a file of the scene, as of an hour ago.
func (s *Scene) Write(t testing.TB, name, text string) {
	t.Helper()
	path := filepath.Join(s.Root, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(path, old, old))
}

// Course is what a command does when nothing disturbs it.
type Course struct {
	Before, Once, Twice Tree   // before it, after it, and after it was run again
	First, Second       Result // what came of it, and of it again
}

// Try prepares the scene for w, runs it twice, and leaves the scene as it was before.
func (s *Scene) Try(t testing.TB, base Tree, w Writer) Course {
	t.Helper()
	s.Restore(t, base)
	if w.Prepare != nil {
		w.Prepare(t, s)
	}
	var c Course
	c.Before = s.Look(t)
	c.First = s.Run(t, w)
	require.Zero(t, c.First.Code, "%s: %s%s", w.Name, c.First.Out, c.First.Errors)
	c.Once = s.Look(t)
	c.Second = s.Run(t, w)
	c.Twice = s.Look(t)
	s.Restore(t, c.Before)
	return c
}

// Age makes files look as if they had been written long ago.
func (s *Scene) Age(t testing.TB, names []string) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	for _, name := range names {
		require.NoError(t, os.Chtimes(filepath.Join(s.Root, filepath.FromSlash(name)), old, old))
	}
}

// Sound looks at what a fault has left behind, and then lets it heal: files of the person are as before or as after, the same command works
// and makes of all of them what it should, the index answers and is right, and no file stays that was on its way to another name. It
// returns what is wrong; remains is how many such files the fault had left.
func (s *Scene) Sound(t testing.TB, w Writer, c Course, thorough bool) (wrong []string, remains int) {
	t.Helper()
	now := s.Look(t)
	own, before, once, twice := now.Person(), c.Before.Person(), c.Once.Person(), c.Twice.Person()
	for _, m := range Mixed(own, before, once) {
		wrong = append(wrong, "left behind: "+m)
	}
	left := now.Temporary()
	s.Age(t, left)

	r := s.Run(t, w)
	again := s.Look(t).Person()
	toOnce, toTwice := Differences(again, once), Differences(again, twice)
	if len(toOnce) > 0 && len(toTwice) > 0 {
		wrong = append(wrong, "the same command again leaves neither what it makes nor what it makes when it is run twice: "+strings.Join(toOnce, "; "))
	}
	if r.Code != 0 && r.Code != c.Second.Code {
		wrong = append(wrong, fmt.Sprintf("the same command again has exit code %d: %s", r.Code, r.Errors))
	}
	if r := s.Run(t, Writer{Args: []string{"index"}}); r.Code != 0 {
		wrong = append(wrong, fmt.Sprintf("index has exit code %d: %s", r.Code, r.Errors))
	}
	wrong = append(wrong, s.Wrong(t)...)
	if thorough {
		wrong = append(wrong, s.Examine(t)...)
	}
	if stay := s.Look(t).Temporary(); len(stay) > 0 {
		wrong = append(wrong, fmt.Sprintf("files stay that are on their way to another name: %q", stay))
	}
	return wrong, len(left)
}

// Judge says what is wrong with how a command has ended that met a fault of the disk: it has to say what failed and why, unless it has done all there
// was to do. Nothing of it has healed yet. spare means that the fault was in a file that is not needed.
func (s *Scene) Judge(t testing.TB, w Writer, c Course, r Result, fault error, spare bool) (wrong []string) {
	t.Helper()
	switch {
	case strings.Contains(r.Errors, "panic") || strings.Contains(r.Errors, "goroutine "):
		wrong = append(wrong, "it panicked: "+r.Errors)
	case w.Hook && r.Code != 0:
		wrong = append(wrong, fmt.Sprintf("a hook has exit code %d", r.Code))
	case w.Hook && strings.TrimSpace(r.Errors) != "":
		wrong = append(wrong, "a hook is not silent: "+r.Errors)
	case w.Hook || r.Code == 0 && w.Reader:
	case r.Code == 0:
		if missing := Differences(s.Look(t).Person(), c.Once.Person()); len(missing) > 0 {
			wrong = append(wrong, "it says that it succeeded, but: "+strings.Join(missing, "; "))
		}
	case spare:
		wrong = append(wrong, fmt.Sprintf("it failed for a file that is not needed: %s", r.Errors))
	case !strings.Contains(r.Errors, fault.Error()) && !strings.Contains(r.Errors, "is read-only (mode "):
		wrong = append(wrong, fmt.Sprintf("the error does not say why (%v): %s", fault, r.Errors))
	case !strings.Contains(r.Errors, s.Root) && !strings.Contains(r.Errors, ".md") && !strings.Contains(r.Errors, "~/"):
		wrong = append(wrong, "the error names no file: "+r.Errors)
	}
	return wrong
}

// asked is what Wrong asks: a question that the notes answer, with words of all of them.
const asked = "where do tokens live, which port does the staging database use, when are invoices sent, which queue"

// Wrong asks the index, which has to be ready, for what is in the files, and returns what is wrong with the answer.
func (s *Scene) Wrong(t testing.TB) (wrong []string) {
	t.Helper()
	r := s.Run(t, Writer{Args: []string{"search", "--json", "--min-similarity", "0.000001", "--limit", "50", asked}})
	var answer struct {
		State    string
		Degraded []string
		Hits     []struct {
			Path, Text         string
			Scope              string
			StartLine, EndLine int
		}
	}
	if err := json.Unmarshal([]byte(r.Out), &answer); err != nil || r.Code != 0 {
		return []string{fmt.Sprintf("search: exit code %d, %v: %s%s", r.Code, err, r.Out, r.Errors)}
	}
	answer.Degraded = slices.DeleteFunc(answer.Degraded, func(why string) bool { return strings.Contains(why, "took longer than") }) // a machine that does much else
	if answer.State != "ready" || len(answer.Degraded) > 0 {
		wrong = append(wrong, fmt.Sprintf("search: state %s, degraded %q: %s", answer.State, answer.Degraded, r.Errors))
	}
	found := map[string]bool{}
	for _, hit := range answer.Hits {
		found[hit.Path] = true
		if !strings.HasSuffix(hit.Path, ".md") || hit.Scope != "project" {
			continue // the chunks of conversations are no lines of their file
		}
		data, err := os.ReadFile(filepath.Join(s.Project, filepath.FromSlash(hit.Path)))
		lines := strings.Split(string(data), "\n")
		if err != nil || hit.StartLine < 1 || hit.EndLine > len(lines) {
			wrong = append(wrong, fmt.Sprintf("search: %s#L%d-L%d is not there: %v", hit.Path, hit.StartLine, hit.EndLine, err))
			continue
		}
		cited := strings.Join(lines[hit.StartLine-1:hit.EndLine], "\n")
		if !strings.Contains(cited, strings.TrimSpace(lastLine(hit.Text))) {
			wrong = append(wrong, fmt.Sprintf("search: %s#L%d-L%d says %q, the hit %q", hit.Path, hit.StartLine, hit.EndLine, cited, hit.Text))
		}
	}
	for _, must := range []string{"notes/auth.md", "notes/staging.md"} {
		if !found[must] {
			wrong = append(wrong, fmt.Sprintf("search: no hit in %s: %s%s", must, r.Out, r.Errors))
		}
	}
	return wrong
}

func lastLine(text string) string {
	text = strings.TrimRight(text, "\n ")
	return text[strings.LastIndex(text, "\n")+1:]
}

// Examine has every byte of the index looked at, and returns the problems.
func (s *Scene) Examine(t testing.TB) (wrong []string) {
	t.Helper()
	r := s.Run(t, Writer{Args: []string{"doctor", "--json"}})
	var report struct {
		Checks []struct{ Name, State, Text string }
	}
	if err := json.Unmarshal([]byte(r.Out), &report); err != nil {
		return []string{fmt.Sprintf("doctor: %v: %s%s", err, r.Out, r.Errors)}
	}
	for _, c := range report.Checks {
		if c.State == "problem" || c.State == "warning" && slices.Contains([]string{"index", "agreement", "lock", "cache"}, c.Name) {
			wrong = append(wrong, fmt.Sprintf("doctor: %s: %s", c.Name, c.Text))
		}
	}
	return wrong
}

// Remove removes a file or a folder of the scene.
func (s *Scene) Remove(t testing.TB, name string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(filepath.Join(s.Root, filepath.FromSlash(name))))
}

// files are those that the person has.
var files = map[string]string{
	"home/.beans/BEANS.md":                   "# Me\n\n- Answers in English.\n",
	"home/.beans/memories/tools.md":          "# Tools\n\nThe editor is helix; the shell is fish.\n",
	"home/.claude/settings.json":             "{\n  // mine\n  \"model\": \"opus\",\n  \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"say done\"}]}]}\n}\n",
	"home/.claude.json":                      "{\"numStartups\": 12, \"mcpServers\": {\"own\": {\"command\": \"own-server\"}}}\n",
	"home/.gemini/settings.json":             "{\n\t\"theme\": \"dark\"\n}\n",
	"home/.codex/config.toml":                "# mine\nmodel = \"o9\"\n\n[mcp_servers.own]\ncommand = \"own-server\"\n",
	"project/.git/HEAD":                      "ref: refs/heads/main\n",
	"project/.gitignore":                     "build/\n*.tmp\n",
	"project/BEANS.md":                       "# Conventions\n\n- Indent with tabs.\n- Deploys happen on Fridays.\n\n## Auto-saved Memories\n\n- The linter is strict.\n",
	"project/notes/auth.md":                  "# Auth\n\nTokens live in the system keychain.\n\n## Sessions\n\nSessions end after an hour.\n",
	"project/notes/staging.md":               "# Staging\n\nThe staging database listens on port 5433.\n\nIts password is rotated monthly by the platform team.\n",
	"project/notes/billing.md":               "# Billing\n\nInvoices are sent on the first of the month.\n",
	"project/data/memory/facts/user.md":      "# User\n\n- Name: Kim\n- Likes short answers.\n",
	"project/chat.jsonl":                     `{"role":"user","content":"Which queue do we use?","timestamp":"2026-01-02T10:00:00Z"}` + "\n" + `{"role":"assistant","content":"The queue is RabbitMQ, on host mq1.","timestamp":"2026-01-02T10:00:05Z"}` + "\n",
	"project/.beans/config.yaml":             "memory:\n  exclude: [drafts/]\n",
	"project/eval/cases.yaml":                "cases:\n- query: where do tokens live\n  expect: notes/auth.md\n- query: which port does the staging database use\n  expect: notes/staging.md\n- query: how are you today\n  expect_nothing: true\n",
	"project/eval/out.html":                  "<html>the report of last week</html>\n",
	"project/eval/memcore-eval.yaml":         "- query: mine, by hand\n  expect: notes/auth.md\n",
	"project/eval/baseline.json":             "{}\n",
	"project/drafts/long-unfinished-idea.md": "# Idea\n\nNot to be indexed.\n",
}

// Command is a command line of memcore, in the project.
func (s *Scene) Command(ctx context.Context, w Writer) *exec.Cmd {
	cmd := exec.CommandContext(ctx, s.program, w.Args...)
	cmd.Dir, cmd.Env = s.Project, append(slices.Clone(s.env), w.Env...)
	cmd.Stdin = strings.NewReader(w.Stdin)
	if s.Adjust != nil {
		s.Adjust(cmd)
	}
	return cmd
}

// A Result is what came of a command.
type Result struct {
	Code        int
	Out, Errors string
}

// prepare makes ready to run a command, for a minute at most. result says what came of it, when it has ended.
func (s *Scene) prepare(t testing.TB, w Writer) (cmd *exec.Cmd, result func() Result) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	cmd = s.Command(ctx, w)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	return cmd, func() Result {
		t.Helper()
		if ctx.Err() != nil {
			t.Errorf("memcore %s hung for a minute\n%s", strings.Join(w.Args, " "), errs.String())
		}
		stop()
		return Result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	}
}

// Run runs a command to its end.
func (s *Scene) Run(t testing.TB, w Writer) Result {
	t.Helper()
	cmd, result := s.prepare(t, w)
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatalf("%s: %v", w.Name, err)
	}
	return result()
}

// Must runs memcore with arguments, which has to exit with 0, and returns its standard output.
func (s *Scene) Must(t testing.TB, args ...string) string {
	t.Helper()
	r := s.Run(t, Writer{Name: args[0], Args: args})
	if r.Code != 0 {
		t.Fatalf("memcore %s: exit code %d\n%s%s", strings.Join(args, " "), r.Code, r.Out, r.Errors)
	}
	return r.Out
}

// Look takes a snapshot of all there is.
func (s *Scene) Look(t testing.TB) Tree {
	t.Helper()
	tree := Tree{}
	err := filepath.WalkDir(s.Root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || path == s.Root {
			return nil // a process that was killed still ends
		}
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(s.Root, path)
		f := File{Mode: info.Mode(), Time: info.ModTime()}
		switch {
		case f.Mode.IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			f.Data = string(data)
		case f.Mode&fs.ModeSymlink != 0:
			f.Data, _ = os.Readlink(path)
		}
		tree[filepath.ToSlash(rel)] = f
		return nil
	})
	require.NoError(t, err)
	return tree
}

// Restore makes the scene what it was when the snapshot was taken, times included.
func (s *Scene) Restore(t testing.TB, tree Tree) {
	t.Helper()
	entries, err := os.ReadDir(s.Root)
	require.NoError(t, err)
	for _, entry := range entries {
		require.NoError(t, os.RemoveAll(filepath.Join(s.Root, entry.Name())))
	}
	names := make([]string, 0, len(tree))
	for name := range tree {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		f, path := tree[name], filepath.Join(s.Root, filepath.FromSlash(name))
		switch {
		case f.Mode.IsDir():
			require.NoError(t, os.MkdirAll(path, f.Mode.Perm()))
		case f.Mode.IsRegular():
			require.NoError(t, os.WriteFile(path, []byte(f.Data), f.Mode.Perm()))
			require.NoError(t, os.Chtimes(path, f.Time, f.Time))
		case f.Mode&fs.ModeSymlink != 0:
			require.NoError(t, os.Symlink(f.Data, path))
		}
	}
}

// temporary are the names of files that are on their way to another name.
var temporary = regexp.MustCompile(`(^|/)\.memcore-new-[^/]*$|\.new$|\.json\d+$`)

// Temporary are the files of a tree that are on their way to another name: remains, if nothing runs.
func (tree Tree) Temporary() (names []string) {
	for name, f := range tree {
		if temporary.MatchString(name) && !f.Mode.IsDir() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// clock is a moment as memcore's files tell it.
var clock = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?|"(took|ms)":\s*\d+|\d+(\.\d+)? ?(µs|ms)`)

// Person is what the person has: all files of the home folder and the project, by path, without locks and files on their way to another
// name, times in them left out.
func (tree Tree) Person() map[string]string {
	own := map[string]string{}
	for name, f := range tree {
		if (strings.HasPrefix(name, "home/") || strings.HasPrefix(name, "project/")) && f.Mode.IsRegular() && !strings.HasSuffix(name, ".lock") && !temporary.MatchString(name) {
			switch {
			case f.Data == "" && strings.HasSuffix(name, ".jsonl"): // a log of no lines is none
			case strings.HasPrefix(f.Data, "<!DOCTYPE html>") && strings.HasSuffix(f.Data, "</html>\n"):
				own[name] = "a whole page" // with times in it, also as lengths of lines
			default:
				own[name] = clock.ReplaceAllString(f.Data, "TIME")
			}
		}
	}
	return own
}

// Differences are the files in which two states differ; each is described.
func Differences(got, want map[string]string) (all []string) {
	for name, text := range got {
		wanted, ok := want[name]
		switch {
		case !ok:
			all = append(all, fmt.Sprintf("%s is new: %.300q", name, text))
		case text != wanted:
			all = append(all, fmt.Sprintf("%s is %.600q, want %.600q", name, text, wanted))
		}
	}
	for name := range want {
		if _, ok := got[name]; !ok {
			all = append(all, name+" is gone")
		}
	}
	slices.Sort(all)
	return all
}

// Mixed are the files that are neither as before nor as after.
func Mixed(now, before, after map[string]string) (all []string) {
	names := map[string]bool{}
	for _, state := range []map[string]string{now, before, after} {
		for name := range state {
			names[name] = true
		}
	}
	for name := range names {
		text, there := now[name]
		old, was := before[name]
		fresh, will := after[name]
		if (there != was || text != old) && (there != will || text != fresh) {
			all = append(all, fmt.Sprintf("%s is neither as before nor as after: there %v, %.600q", name, there, text))
		}
	}
	slices.Sort(all)
	return all
}

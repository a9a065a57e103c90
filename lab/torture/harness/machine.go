package harness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
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

// A Machine is a home with agents' settings, and an indexed project with notes and a conversation.
// It is restored in place, since indexes and journals contain its path.
type Machine struct {
	*Home
	Index string // cache and state
}

// A File is a file in a snapshot.
type File struct {
	Mode fs.FileMode
	Time time.Time
	Data string // of a link, its target
}

// A Tree is a snapshot, by slash-separated path.
type Tree map[string]File

// NewMachine makes a machine in an empty folder.
func NewMachine(t testing.TB, root string) *Machine {
	t.Helper()
	m := &Machine{Index: filepath.Join(root, "index", "memcore"), Home: newHome(t, root, "project",
		"XDG_CACHE_HOME="+filepath.Join(root, "index"), "XDG_STATE_HOME="+filepath.Join(root, "index", "memcore", "state"), "MEMCORE_DAEMON_START=false", "MEMCORE_HOOK_BUDGET=60s",
		"MEMCORE_FRESHNESS=60s", "MEMCORE_REFLECT_AUTO=true",
		"VISUAL="+`f() { cp "$1" "$1.edited" 2>/dev/null; echo '- Edited by hand.' >>"$1.edited" && mv "$1.edited" "$1"; }; f`)}
	require.NoError(t, os.MkdirAll(filepath.Join(root, "index"), 0o700))
	for name, text := range files {
		m.Write(t, name, text)
	}
	return m
}

// Write writes a file an hour old.
func (m *Machine) Write(t testing.TB, name, text string) {
	t.Helper()
	Write(t, filepath.Join(m.Root, filepath.FromSlash(name)), text)
	m.Age(t, []string{name})
}

// Course is an undisturbed run.
type Course struct {
	Before, Once, Twice Tree   // before it, after it, and after a second run
	First, Second       Result // of the first and second run
}

// Try runs w twice on the prepared machine and restores it.
func (m *Machine) Try(t testing.TB, base Tree, w Writer) Course {
	t.Helper()
	m.Restore(t, base)
	if w.Prepare != nil {
		w.Prepare(t, m)
	}
	var c Course
	c.Before = m.Look(t)
	c.First = m.Run(t, w)
	require.Zero(t, c.First.Code, "%s: %s%s", w.Name, c.First.Out, c.First.Errors)
	c.Once = m.Look(t)
	c.Second = m.Run(t, w)
	c.Twice = m.Look(t)
	m.Restore(t, c.Before)
	return c
}

// Age makes files an hour old.
func (m *Machine) Age(t testing.TB, names []string) {
	t.Helper()
	old := time.Now().Add(-time.Hour)
	for _, name := range names {
		require.NoError(t, os.Chtimes(filepath.Join(m.Root, filepath.FromSlash(name)), old, old))
	}
}

// Sound checks the machine after a fault: user files are as before or as after, the command
// succeeds now, the index answers, no temporary file stays. It returns the problems, and the number
// of temporary files from the fault.
func (m *Machine) Sound(t testing.TB, w Writer, c Course, thorough bool) (wrong []string, remains int) {
	t.Helper()
	now := m.Look(t)
	own, before, once, twice := now.Person(), c.Before.Person(), c.Once.Person(), c.Twice.Person()
	for _, mixed := range Mixed(own, before, once) {
		wrong = append(wrong, "left behind: "+mixed)
	}
	left := now.Temporary()
	m.Age(t, left)

	r := m.Run(t, w)
	again := m.Look(t).Person()
	toOnce, toTwice := Differences(again, once), Differences(again, twice)
	if len(toOnce) > 0 && len(toTwice) > 0 {
		wrong = append(wrong, "the same command again leaves neither what it makes nor what it makes when it is run twice: "+strings.Join(toOnce, "; "))
	}
	if r.Code != 0 && r.Code != c.Second.Code {
		wrong = append(wrong, fmt.Sprintf("the same command again has exit code %d: %s", r.Code, r.Errors))
	}
	if r := m.Run(t, Writer{Args: []string{"index"}}); r.Code != 0 {
		wrong = append(wrong, fmt.Sprintf("index has exit code %d: %s", r.Code, r.Errors))
	}
	wrong = append(wrong, m.Wrong(t)...)
	if thorough {
		wrong = append(wrong, m.Examine(t)...)
	}
	if stay := m.Look(t).Temporary(); len(stay) > 0 {
		wrong = append(wrong, fmt.Sprintf("files stay that are on their way to another name: %q", stay))
	}
	return wrong, len(left)
}

// Judge checks the end of a command after a disk fault: it must name file and reason, unless it did
// all its work or spared the file.
func (m *Machine) Judge(t testing.TB, w Writer, c Course, r Result, fault error, spare bool) (wrong []string) {
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
		if missing := Differences(m.Look(t).Person(), c.Once.Person()); len(missing) > 0 {
			wrong = append(wrong, "it says that it succeeded, but: "+strings.Join(missing, "; "))
		}
	case spare:
		wrong = append(wrong, fmt.Sprintf("it failed for a file that is not needed: %s", r.Errors))
	case !strings.Contains(r.Errors, fault.Error()) && !strings.Contains(r.Errors, "is read-only (mode "):
		wrong = append(wrong, fmt.Sprintf("the error does not say why (%v): %s", fault, r.Errors))
	case !strings.Contains(r.Errors, m.Root) && !strings.Contains(r.Errors, ".md") && !strings.Contains(r.Errors, "~/"):
		wrong = append(wrong, "the error names no file: "+r.Errors)
	}
	return wrong
}

// asked has words of all notes.
const asked = "where do tokens live, which port does the staging database use, when are invoices sent, which queue"

// Wrong searches the index, which must be ready, and returns problems of the answer.
func (m *Machine) Wrong(t testing.TB) []string {
	t.Helper()
	admitted, wrong := m.answer(t)
	return append(admitted, wrong...)
}

// Lies searches the index and returns problems of the answer, unless it admits one.
func (m *Machine) Lies(t testing.TB) []string {
	t.Helper()
	admitted, wrong := m.answer(t)
	if len(admitted) > 0 {
		return nil
	}
	return wrong
}

// answer searches the index and returns the problems that the answer admits, and others.
func (m *Machine) answer(t testing.TB) (admitted, wrong []string) {
	t.Helper()
	r := m.Run(t, Writer{Args: []string{"search", "--json", "--limit", "50", asked}, Env: []string{"MEMCORE_MINSIMILARITY=0.000001"}})
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
		return []string{fmt.Sprintf("search: exit code %d, %v: %s%s", r.Code, err, r.Out, r.Errors)}, nil
	}
	answer.Degraded = slices.DeleteFunc(answer.Degraded, func(why string) bool { return strings.Contains(why, "took longer than") }) // the machine is busy
	if answer.State != "ready" || len(answer.Degraded) > 0 {
		admitted = append(admitted, fmt.Sprintf("search: state %s, degraded %q: %s", answer.State, answer.Degraded, r.Errors))
	}
	found := map[string]bool{}
	for _, hit := range answer.Hits {
		found[hit.Path] = true
		if !strings.HasSuffix(hit.Path, ".md") || hit.Scope != "project" {
			continue // chunks of conversations are no lines of a file
		}
		data, err := os.ReadFile(filepath.Join(m.Workspace, filepath.FromSlash(hit.Path)))
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
	return admitted, wrong
}

func lastLine(text string) string {
	text = strings.TrimRight(text, "\n ")
	return text[strings.LastIndex(text, "\n")+1:]
}

// Examine returns the problems that the doctor finds.
func (m *Machine) Examine(t testing.TB) (wrong []string) {
	t.Helper()
	r := m.Run(t, Writer{Args: []string{"doctor", "--json"}})
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

// Remove removes a file or folder below Root.
func (m *Machine) Remove(t testing.TB, name string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(filepath.Join(m.Root, filepath.FromSlash(name))))
}

// files are those of the user.
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

// Command returns the command of a writer.
func (m *Machine) Command(ctx context.Context, w Writer) *exec.Cmd {
	cmd := m.Home.Command(ctx, w.Args...)
	cmd.Env = append(cmd.Env, w.Env...)
	cmd.Stdin = strings.NewReader(w.Stdin)
	return cmd
}

// prepare returns a command of a minute at most, and a function for its result.
func (m *Machine) prepare(t testing.TB, w Writer) (cmd *exec.Cmd, result func() Result) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	cmd = m.Command(ctx, w)
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

// Run runs a writer.
func (m *Machine) Run(t testing.TB, w Writer) Result {
	t.Helper()
	cmd, result := m.prepare(t, w)
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		t.Fatalf("%s: %v", w.Name, err)
	}
	return result()
}

// Must runs memcore, which must exit with 0, and returns its output.
func (m *Machine) Must(t testing.TB, args ...string) string {
	t.Helper()
	r := m.Run(t, Writer{Name: args[0], Args: args})
	if r.Code != 0 {
		t.Fatalf("memcore %s: exit code %d\n%s%s", strings.Join(args, " "), r.Code, r.Out, r.Errors)
	}
	return r.Out
}

// Look takes a snapshot of Root.
func (m *Machine) Look(t testing.TB) Tree {
	t.Helper()
	tree := Tree{}
	err := filepath.WalkDir(m.Root, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || path == m.Root {
			return nil // removed by a process that was killed
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
		rel, _ := filepath.Rel(m.Root, path)
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

// Restore restores a snapshot, times of modification included. It leaves files that are right.
func (m *Machine) Restore(t testing.TB, tree Tree) {
	t.Helper()
	now := m.Look(t)
	for name, f := range now {
		if g, ok := tree[name]; !ok || f.Mode != g.Mode {
			m.Remove(t, name)
		}
	}
	now = m.Look(t)
	for _, name := range slices.Sorted(maps.Keys(tree)) {
		f, path := tree[name], filepath.Join(m.Root, filepath.FromSlash(name))
		if was, ok := now[name]; ok && was.Mode == f.Mode && was.Data == f.Data && was.Time.Equal(f.Time) {
			continue
		}
		switch {
		case f.Mode.IsDir():
			require.NoError(t, os.MkdirAll(path, f.Mode.Perm()))
		case f.Mode.IsRegular():
			m.Remove(t, name) // it may have other names
			require.NoError(t, os.WriteFile(path, []byte(f.Data), f.Mode.Perm()))
			require.NoError(t, os.Chtimes(path, f.Time, f.Time))
		case f.Mode&fs.ModeSymlink != 0:
			m.Remove(t, name)
			require.NoError(t, os.Symlink(f.Data, path))
		}
	}
}

// temporary matches files before their rename.
var temporary = regexp.MustCompile(`(^|/)\.memcore-(?:new|swap)-[^/]*$|\.new$|\.json\d+$`)

// Temporary returns files before their rename.
func (tree Tree) Temporary() (names []string) {
	for name, f := range tree {
		if temporary.MatchString(name) && !f.Mode.IsDir() {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// clock matches times in memcore's files.
var clock = regexp.MustCompile(`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?|"(took|ms)":\s*\d+|\d+(\.\d+)? ?(µs|ms)`)

// Person returns the user's files without locks and temporary files, with times replaced, and
// without torn lines of logs, which readers skip.
func (tree Tree) Person() map[string]string {
	own := map[string]string{}
	for name, f := range tree {
		if (strings.HasPrefix(name, "home/") || strings.HasPrefix(name, "project/")) && f.Mode.IsRegular() && !strings.HasSuffix(name, ".lock") && !temporary.MatchString(name) {
			switch {
			case strings.HasSuffix(name, ".jsonl"):
				if lines := whole(f.Data); lines != "" {
					own[name] = clock.ReplaceAllString(lines, "TIME")
				}
			case strings.HasPrefix(f.Data, "<!DOCTYPE html>") && strings.HasSuffix(f.Data, "</html>\n"):
				own[name] = "a whole page" // with times, also as lengths of lines
			default:
				own[name] = clock.ReplaceAllString(f.Data, "TIME")
			}
		}
	}
	return own
}

// whole returns the lines of a log that are JSON.
func whole(log string) string {
	var kept strings.Builder
	for line := range strings.Lines(log) {
		if json.Valid([]byte(line)) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// Differences describes the files that differ.
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

// Mixed describes files that are neither as before nor as after.
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

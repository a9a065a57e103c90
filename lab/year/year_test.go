//go:build linux

// Package year tries memcore as somebody has it who used it for a year: many projects, sessions of
// four agents, then care, and another machine.
//
//	go -C lab test ./year -v -args -sessions 300 -projects 40
package year

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/torture/harness"
)

var (
	sessions = flag.Int("sessions", 16, "how many")
	projects = flag.Int("projects", 4, "how many")
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// A machine has a home, and projects in it and elsewhere.
type machine struct {
	t         *testing.T
	home, srv string
}

func newMachine(t *testing.T, name string) *machine {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	m := &machine{t, filepath.Join(dir, "home", name), filepath.Join(dir, "srv")}
	require.NoError(t, os.MkdirAll(m.home, 0o700))
	require.NoError(t, os.MkdirAll(m.srv, 0o700))
	return m
}

// project is in the home; each fourth is elsewhere.
func (m *machine) project(i int) string {
	if i%4 == 3 {
		return filepath.Join(m.srv, fmt.Sprintf("team-%02d", i))
	}
	return filepath.Join(m.home, "code", fmt.Sprintf("project-%02d", i))
}

// run runs memcore in a folder, without a daemon.
func (m *machine) run(dir, stdin string, args ...string) string {
	m.t.Helper()
	c := exec.CommandContext(m.t.Context(), harness.Program(m.t), args...)
	c.Dir, c.Stdin = dir, strings.NewReader(stdin)
	c.Env = []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH"), "MEMCORE_DAEMON_START=false", "MEMCORE_HOOK_BUDGET=20s"}
	var problems strings.Builder
	c.Stderr = &problems
	out, err := c.Output()
	require.NoError(m.t, err, "memcore %v: %s%s", args, out, problems.String())
	return string(out)
}

func (m *machine) write(file, text string) {
	require.NoError(m.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(m.t, os.WriteFile(file, []byte(text), 0o644))
}

var (
	things = strings.Fields("boiler kettle ferry anchor ladder violet quartz lantern turbine harvest granite meadow")
	places = strings.Fields("cellar attic harbour orchard workshop stable library garage pantry chapel")
)

// fact is one of a project, and the question that it answers.
func fact(project, n int) (statement, question string) {
	thing, place := things[(project*5+n)%len(things)], places[(project*3+n)%len(places)]
	return fmt.Sprintf("The %s of project %d is kept in the %s, on shelf %d.", thing, project, place, 100+project*10+n),
		fmt.Sprintf("where is the %s of project %d kept?", thing, project)
}

// factsOf is how many notes a project has.
const factsOf = 6

// agents send the prompt and the end of a turn by events of their own.
var agents = []struct{ name, prompt, end string }{
	{"claude-code", `{"session_id":%q,"cwd":%q,"hook_event_name":"UserPromptSubmit","prompt":%q}`, `{"session_id":%q,"cwd":%q,"hook_event_name":"Stop","last_assistant_message":%q}`},
	{"gemini-cli", `{"session_id":%q,"cwd":%q,"hook_event_name":"BeforeAgent","prompt":%q}`, `{"session_id":%q,"cwd":%q,"hook_event_name":"AfterAgent","prompt_response":%q}`},
	{"codex", `{"session_id":%q,"cwd":%q,"hook_event_name":"UserPromptSubmit","prompt":%q}`, `{"session_id":%q,"cwd":%q,"hook_event_name":"Stop","last_assistant_message":%q}`},
	{"cursor", `{"conversation_id":%q,"workspace_roots":[%q],"hook_event_name":"beforeSubmitPrompt","prompt":%q}`, `{"conversation_id":%q,"workspace_roots":[%q],"hook_event_name":"afterAgentResponse","text":%q}`},
}

// hooked is how many sessions there are for one with hooks, which need a process for each event.
const hooked = 5

// work writes the projects and has the sessions.
func (m *machine) work() {
	for i := range *projects {
		dir := m.project(i)
		m.write(filepath.Join(dir, ".git", "HEAD"), "ref: refs/heads/main\n")
		m.write(filepath.Join(dir, "BEANS.md"), fmt.Sprintf("# Project %d\n\n- Tests run with make check-%d.\n", i, i))
		for n := range factsOf {
			statement, _ := fact(i, n)
			m.write(filepath.Join(dir, "data", "memory", "facts", fmt.Sprintf("fact-%d.md", n)), fmt.Sprintf("# Fact %d\n\n> Summary: a place\n\n- %s\n", n, statement))
		}
		m.write(filepath.Join(dir, "memcore-eval.yaml"), "cases: []\n")
		m.run(dir, "", "index")
		m.run(dir, "", "trust", "add")
		if i%5 == 0 {
			m.run(dir, "", "forget", "--source", "data/memory/facts/fact-5.md", "--yes")
		}
	}
	m.write(filepath.Join(m.home, ".beans", "BEANS.md"), "- I like short answers.\n")
	m.write(filepath.Join(m.home, ".beans", "config.yaml"), "memory:\n  tokenBudget: 700\n")
	for k := range *sessions {
		agent, i := agents[k%len(agents)], k%*projects
		id := fmt.Sprintf("session-%06d", k)
		statement, question := fact(i, k%factsOf)
		prompts, answer := []string{question, fmt.Sprintf("I prefer tabs of width %d in project %d", 2+k%7, i)}, strings.Repeat(statement+" ", 10)
		if k%hooked == 0 {
			for _, prompt := range prompts {
				m.run(m.project(i), fmt.Sprintf(agent.prompt, id, m.project(i), prompt), "hook", agent.name)
				m.run(m.project(i), fmt.Sprintf(agent.end, id, m.project(i), answer), "hook", agent.name)
			}
		} else {
			var said strings.Builder
			for _, prompt := range prompts {
				fmt.Fprintf(&said, "{\"role\":\"user\",\"content\":%q}\n{\"role\":\"assistant\",\"content\":%q}\n", prompt, answer)
			}
			m.run(m.project(i), "", "session", "new", agent.name+"-"+id)
			m.run(m.project(i), said.String(), "session", "append", "--jsonl", "--session", agent.name+"-"+id)
		}
		m.age(agent.name+"-"+id, time.Duration(k)*365*24*time.Hour/time.Duration(*sessions))
	}
}

// age makes a session look as if it was used that long ago.
func (m *machine) age(id string, ago time.Duration) {
	found, err := filepath.Glob(filepath.Join(m.home, ".ai", "sessions", "*", id))
	require.NoError(m.t, err)
	require.Len(m.t, found, 1)
	then := time.Now().Add(-ago)
	require.NoError(m.t, filepath.WalkDir(found[0], func(path string, _ fs.DirEntry, err error) error {
		require.NoError(m.t, err)
		return os.Chtimes(path, then, then)
	}))
}

// answers returns what each question gets, with citations.
func (m *machine) answers() map[string][]string {
	got := map[string][]string{}
	for i := range *projects {
		for n := range factsOf {
			_, question := fact(i, n)
			var result struct {
				State string
				Hits  []struct{ Text, Source string }
			}
			require.NoError(m.t, json.Unmarshal([]byte(m.run(m.project(i), "", "retrieve", "--json", question)), &result))
			require.Equal(m.t, "ready", result.State)
			for _, h := range result.Hits {
				got[question] = append(got[question], h.Source+": "+h.Text)
			}
		}
	}
	return got
}

// A keptSession is a session without what depends on its place.
type keptSession struct {
	ID       string
	Agent    string
	Messages int
	Bytes    int64
	Used     time.Time
}

func (m *machine) sessions() []keptSession {
	var list struct{ Sessions []keptSession }
	require.NoError(m.t, json.Unmarshal([]byte(m.run(m.home, "", "session", "list", "--all", "--json")), &list))
	for i := range list.Sessions {
		list.Sessions[i].Used = list.Sessions[i].Used.UTC()
	}
	slices.SortFunc(list.Sessions, func(a, b keptSession) int { return strings.Compare(a.ID, b.ID) })
	return list.Sessions
}

// status logs the sizes of everything.
func (m *machine) status() {
	for line := range strings.Lines(m.run(m.project(0), "", "status")) {
		if strings.HasPrefix(line, "kept ") || strings.HasPrefix(line, "retention ") {
			m.t.Log(strings.TrimSpace(line))
		}
	}
}

// A year of work can be cared for, and moves to another machine without loss.
func TestYear(t *testing.T) {
	began := time.Now()
	timed := func(what string) {
		t.Logf("%-40s %6.1f s", what, time.Since(began).Seconds())
		began = time.Now()
	}
	harness.Program(t)
	timed("build")
	m := newMachine(t, "ada")
	m.work()
	timed(fmt.Sprintf("%d sessions in %d projects", *sessions, *projects))
	all := m.sessions()
	require.Len(t, all, *sessions)
	for _, s := range all {
		require.Equal(t, 4, s.Messages, s.ID)
		require.NotEmpty(t, s.Agent)
	}
	m.status()

	var pruned struct {
		Sessions []keptSession
		Bytes    int64
		Deleted  bool
	}
	prune := func(more ...string) {
		out := m.run(m.home, "", append([]string{"session", "delete", "--older", "90d", "--all", "--json"}, more...)...)
		require.NoError(t, json.Unmarshal([]byte(out), &pruned))
	}
	require.Greater(t, len(m.answers()), *projects*factsOf*3/4, "most questions get an answer")
	began = time.Now()
	prune()
	require.False(t, pruned.Deleted)
	require.Len(t, m.sessions(), *sessions, "nothing is deleted unasked")
	would := len(pruned.Sessions)
	prune("--yes")
	timed("prune")
	require.True(t, pruned.Deleted)
	require.Len(t, pruned.Sessions, would)
	left := m.sessions()
	require.Len(t, left, *sessions-would)
	old := 0
	for _, s := range all {
		if time.Since(s.Used) > 90*24*time.Hour {
			old++
		}
	}
	require.Equal(t, old, would)
	// How frequent a word is counts what is left: near ones may come in another order than before.
	answers := m.answers()
	require.Greater(t, len(answers), *projects*factsOf*3/4, "most questions still get one")
	t.Logf("session delete --older 90d: %d sessions deleted, %d bytes", would, pruned.Bytes)
	m.status()

	file := filepath.Join(t.TempDir(), "memory.tar.gz")
	began = time.Now()
	t.Log(strings.TrimSpace(m.run(m.home, "", "export", file)))
	timed("export")
	info, err := os.Stat(file)
	require.NoError(t, err)
	t.Logf("the file has %d bytes", info.Size())

	there := newMachine(t, "bob")
	began = time.Now()
	t.Log(strings.TrimSpace(there.run(there.home, "", "import", file, "--yes", "--map", m.srv+"="+there.srv)))
	timed("import")
	settings, err := os.ReadFile(filepath.Join(there.home, ".beans", "config.imported.yaml"))
	require.NoError(t, err)
	there.write(filepath.Join(there.home, ".beans", "config.yaml"), string(settings)) // by the person
	require.Equal(t, left, there.sessions(), "sessions")
	for i := range *projects {
		there.write(filepath.Join(there.project(i), ".git", "HEAD"), "ref: refs/heads/main\n")
		there.run(there.project(i), "", "index")
		there.run(there.project(i), "", "trust", "add")
	}
	timed("index")
	require.Equal(t, answers, there.answers(), "answers")
	again := there.run(there.home, "", "import", file, "--yes", "--map", m.srv+"="+there.srv)
	require.NotContains(t, again, " new")
	require.NotContains(t, again, "conflict")
	there.status()
}

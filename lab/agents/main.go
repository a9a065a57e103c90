// Command agents runs real coding agents against a fake model, in a workspace with every kind of
// memory, and prints when each kind reached the model:
//
//	npm install --prefix DIR @anthropic-ai/claude-code @google/gemini-cli @openai/codex
//	go -C lab run ./agents -memcore ../bin/memcore -path DIR/node_modules/.bin
//
// The agents have an empty home folder set up by "memcore init", or by the plugins below the folder
// that -plugins names, such as this repository; MEMCORE is then named memcore. Nothing leaves the
// machine: the model is a server on the loopback interface.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	memcore := flag.String("memcore", "bin/memcore", "the program to try")
	path := flag.String("path", "", "folder that has the agents' programs; none is $PATH")
	only := flag.String("agent", "", "one agent only")
	plugins := flag.String("plugins", "", "folder of the plugins to install instead of running memcore init")
	keep := flag.Bool("keep", false, "keep the folders, with every request as JSON")
	flag.Parse()
	if err := run(context.Background(), trial{memcore: *memcore, path: *path, plugins: *plugins}, *only, *keep); err != nil {
		fmt.Fprintln(os.Stderr, "agents:", err)
		os.Exit(1)
	}
}

// An agent is a coding agent and its command lines.
type agent struct {
	name    string // as memcore calls it
	program string
	env     []string
	files   map[string]string // in the home folder, before "memcore init"
	ask     []string          // its arguments but for the prompt
	goOn    []string          // the same for later prompts of the session
	compact []string          // the same for a prompt after which the history was compacted
}

const claudeTools = "Read,mcp__memcore__save_memory"

// agents returns the known agents, for a model at an address.
func agents(address string) []agent {
	provider := []string{"-c", "model_provider=fake", "-c", "model_providers.fake.name=fake", "-c", "model_providers.fake.base_url=" + address + "/v1",
		"-c", "model_providers.fake.wire_api=responses", "-c", "model_auto_compact_token_limit=100000", "-m", "fake", "--skip-git-repo-check",
		"--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"}
	return []agent{
		{
			name: "claude-code", program: "claude",
			env: []string{"ANTHROPIC_BASE_URL=" + address, "ANTHROPIC_API_KEY=sk-none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"},
			ask: []string{"--allowedTools", claudeTools, "-p"}, goOn: []string{"--allowedTools", claudeTools, "-c", "-p"},
			compact: []string{"-c", "-p"},
		},
		{
			name: "gemini-cli", program: "gemini",
			env:   []string{"GOOGLE_GEMINI_BASE_URL=" + address, "GEMINI_API_KEY=none", "GEMINI_CLI_TRUST_WORKSPACE=true"},
			files: map[string]string{".gemini/settings.json": `{"security": {"auth": {"selectedType": "gemini-api-key"}}}`},
			ask:   []string{"-y", "-m", "gemini-2.5-flash", "-p"}, goOn: []string{"-y", "-m", "gemini-2.5-flash", "-r", "latest", "-p"},
			compact: []string{"-y", "-m", "gemini-2.5-flash", "-r", "latest", "-p"},
		},
		{
			name: "codex", program: "codex", env: []string{"OPENAI_API_KEY=none"},
			ask: append([]string{"exec"}, provider...), goOn: append([]string{"exec", "resume", "--last"}, provider...),
			compact: append([]string{"exec", "resume", "--last"}, provider...),
		},
	}
}

// kinds of memory. mark is unique to each.
var kinds = []struct{ name, mark, file, text string }{
	{"global memory", "GLOBALMARK", "~/.beans/BEANS.md", "GLOBALMARK: answers are short.\n"},
	{"project memory", "PROJECTMARK", "BEANS.md", "# Harbour\n\nPROJECTMARK: everything is in metric units.\n"},
	{"memory index", "INDEXMARK", "data/memory/facts/user.md", "# User Facts\n\n> Summary: INDEXMARK name, role\n\n- Name: Zhang San\n"},
	{"overview", "OVERVIEWMARK", "", "# Working Memory\n\n## Current Task\n\nOVERVIEWMARK: the crane is repaired.\n"},
	{"hit", "HITMARK", "notes/staging.md", "# Staging\n\nHITMARK: The staging database listens on port 5433.\n"},
	{"memory of a folder", "FOLDERMARK", "web/BEANS.md", "# Web\n\nFOLDERMARK: components are written with signals.\n"},
	{"rule by glob", "GLOBMARK", ".beans/rules/ts.md", "---\nglobs: [\"*.ts\"]\n---\nGLOBMARK: no default exports.\n"},
	{"rule by trigger", "TRIGGERMARK", ".beans/rules/testing.md", "---\ntriggers: [write tests]\n---\nTRIGGERMARK: tests are table tests.\n"},
	{"tool save_memory", "save_memory", "", ""},
	{"tool search_memory", "search_memory", "", ""},
	{"own overview", overviewText, "", ""},
	{"skill recall", "Answers a question from memory of earlier sessions", "", ""},
}

func run(ctx context.Context, t trial, only string, keep bool) error {
	for _, name := range []*string{&t.memcore, &t.path, &t.plugins} {
		absolute, err := filepath.Abs(*name)
		if err != nil {
			return err
		}
		if *name != "" {
			*name = absolute
		}
	}
	fmt.Print("| agent |")
	for _, kind := range kinds {
		fmt.Printf(" %s |", kind.name)
	}
	fmt.Print(" after a compaction | its summary |")
	for _, a := range acceptance {
		fmt.Printf(" %s |", a.question)
	}
	fmt.Print("\n|---|", strings.Repeat("---|", len(kinds)+2+len(acceptance)), "\n")
	for _, name := range []string{"claude-code", "gemini-cli", "codex"} {
		if only != "" && name != only {
			continue
		}
		if err := try(ctx, name, t, keep); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// try gives an agent prompts, each in a process of its own, and prints its row.
func try(ctx context.Context, name string, t trial, keep bool) error {
	folder, err := os.MkdirTemp("", "agents-"+name+"-")
	if err != nil {
		return err
	}
	if keep {
		fmt.Fprintln(os.Stderr, "agents:", folder)
	} else {
		defer os.RemoveAll(folder)
	}
	model, err := serve(filepath.Join(folder, "requests"))
	if err != nil {
		return err
	}
	defer model.stop()
	all := agents(model.address)
	a := all[slices.IndexFunc(all, func(a agent) bool { return a.name == name })]
	t.agent, t.folder = a, folder
	if err := t.prepare(ctx); err != nil {
		return err
	}
	source := filepath.Join(t.workspace(), "web", "app.ts")
	if err := t.ask(ctx, a.ask, "on which port does the staging database listen? "+readWord+" "+source+" then"); err != nil {
		return err
	}
	first := model.count()
	if err := t.ask(ctx, a.goOn, "please write tests for the parser"); err != nil {
		return err
	}
	if model.count() == first || first == 0 {
		return errors.New("it asked the model nothing; -keep keeps what it printed")
	}
	if err := t.ask(ctx, a.goOn, "long work begins: "+keepWord); err != nil {
		return err
	}
	for range shortest { // Claude Code compacts no shorter history
		if err := t.ask(ctx, a.goOn, "go on"); err != nil {
			return err
		}
	}
	compact := compactWord
	if name == "gemini-cli" { // which has a command of that name
		compact = "now " + compactWord + " and " + readWord + " " + source + " again"
	}
	if err := t.ask(ctx, a.compact, compact); err != nil {
		return err
	}
	if err := t.ask(ctx, a.goOn, "go on"); err != nil { // Codex compacts now
		return err
	}
	compacted := model.count()
	if err := t.ask(ctx, a.goOn, "and now?"); err != nil {
		return err
	}
	kept, summaries := yes(model.has(overviewText, compacted)), yes(t.hasSummary())
	fmt.Printf("| %s |", name)
	for _, kind := range kinds {
		fmt.Printf(" %s |", when(model.firstWith(kind.mark), model.firstWith(readResult), first))
	}
	fmt.Printf(" %s | %s |", kept, summaries)
	for _, q := range acceptance {
		before := model.count()
		if err := t.ask(ctx, a.ask, q.question); err != nil {
			return err
		}
		fmt.Printf(" %s |", yes(model.has(q.answer, before)))
	}
	fmt.Println()
	return nil
}

// acceptance are questions that begin a session, and what the model must get with them: the
// acceptance criteria of facts and episodes (docs/dev/seeds.md, 003).
var acceptance = []struct{ question, answer string }{
	{"what's my name?", "Zhang San"},
	{"what bug did we fix last time?", "SOLVEDMARK"},
}

// episode is what the second question asks for; the first asks for a fact of kinds.
const episode = "# 2026-11 Episodes\n\n> Summary: logger fix\n\n## Logger stdout leak fix\n- Summary: pino pipeline stdout leak fixed\n" +
	"- Date: 2026-11-24\n- Problem: pino-pretty leaks to stdout\n- Solution: SOLVEDMARK, a line transport\n"

// shortest is how many more prompts make a history long enough to be compacted.
const shortest = 1

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "–"
}

// hasSummary reports whether a session has a note of the model's summary.
func (t trial) hasSummary() bool {
	notes, _ := filepath.Glob(filepath.Join(t.home(), ".ai/sessions/*/*/working-memory/detail/*-compaction.md"))
	return slices.ContainsFunc(notes, func(note string) bool {
		data, err := os.ReadFile(note)
		return err == nil && strings.Contains(string(data), done)
	})
}

// when describes the request in which the model first got something. read is the first with the
// file's text, first the last one before the second prompt.
func when(request, read, first int) string {
	switch {
	case request < 0:
		return "–"
	case request >= first:
		return "later prompt"
	case read >= 0 && request >= read:
		return "after the file was read"
	}
	return "first prompt"
}

// A trial is an agent with its own workspace and home.
type trial struct {
	agent
	folder, memcore, path, plugins string
}

func (t trial) workspace() string { return filepath.Join(t.folder, "workspace") }
func (t trial) home() string      { return filepath.Join(t.folder, "home") }

func (t trial) environment() []string {
	env := []string{"HOME=" + t.home(), "XDG_CACHE_HOME=" + filepath.Join(t.folder, "cache"), "TMPDIR=" + t.folder,
		"MEMCORE_HOOK_BUDGET=30s", // this machine may be busy
		"PATH=" + strings.Join([]string{t.path, filepath.Dir(t.memcore), os.Getenv("PATH")}, string(os.PathListSeparator))}
	return append(env, t.env...)
}

// prepare makes the workspace and sets up the agent as a user would.
func (t trial) prepare(ctx context.Context) error {
	files := map[string]string{
		filepath.Join(t.workspace(), "web", "app.ts"):                            readResult,
		filepath.Join(t.workspace(), "data", "memory", "episodes", "2026-11.md"): episode,
	}
	for _, kind := range kinds {
		if rest, ok := strings.CutPrefix(kind.file, "~/"); ok {
			files[filepath.Join(t.home(), rest)] = kind.text
		} else if kind.file != "" {
			files[filepath.Join(t.workspace(), kind.file)] = kind.text
		}
	}
	for name, text := range t.files {
		files[filepath.Join(t.home(), name)] = text
	}
	files[filepath.Join(t.home(), "."+t.program, "keep")] = "" // that the agent is on the machine
	for file, text := range files {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return err
		}
	}
	commands := [][]string{
		{"git", "init", "-q", "."},
		{t.memcore, "trust", "add", "."},
	}
	if t.plugins == "" {
		commands = append(commands, []string{t.memcore, "init", "--agent", t.name, "--yes", "--trust-mcp"})
	} else {
		commands = append(commands, t.installPlugin()...)
	}
	for _, command := range append(commands, []string{t.memcore, "index"}) {
		if _, err := t.do(ctx, command); err != nil {
			return err
		}
	}
	session, err := t.do(ctx, []string{t.memcore, "session", "new"})
	if err != nil {
		return err
	}
	for _, kind := range kinds {
		if kind.name == "overview" {
			return os.WriteFile(filepath.Join(strings.TrimSpace(session), "working-memory", "overview.md"), []byte(kind.text), 0o600)
		}
	}
	return nil
}

// installPlugin returns the commands that install the agent's plugin.
func (t trial) installPlugin() [][]string {
	add := map[string]string{"claude-code": "install", "codex": "add"}[t.name]
	if add == "" {
		return [][]string{{t.program, "extensions", "install", "--consent", filepath.Join(t.plugins, "plugins", t.name)}}
	}
	return [][]string{
		{t.program, "plugin", "marketplace", "add", t.plugins},
		{t.program, "plugin", add, "memcore@memcore"},
	}
}

// promptTime limits the answer to a prompt, also on a busy machine.
const promptTime = 10 * time.Minute

func (t trial) ask(ctx context.Context, arguments []string, prompt string) error {
	_, err := t.do(ctx, slices.Concat([]string{t.program}, arguments, []string{prompt}))
	return err
}

// do runs a command in the workspace and returns its output.
func (t trial) do(ctx context.Context, command []string) (string, error) {
	ctx, stop := context.WithTimeout(ctx, promptTime)
	defer stop()
	program := command[0]
	if found := filepath.Join(t.path, program); !filepath.IsAbs(program) && exists(found) {
		program = found
	}
	c := exec.CommandContext(ctx, program, command[1:]...)
	c.Dir, c.Env = t.workspace(), t.environment()
	var problems strings.Builder
	c.Stderr = &problems
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s%s", strings.Join(command, " "), err, out, problems.String())
	}
	return string(out), nil
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

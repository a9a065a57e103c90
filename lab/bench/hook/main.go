// Command hookbench measures what a person feels of hooks: builds of memcore side by side, in turns,
// in a project with a year of generated logs.
//
// It prints wall and processor time of a hook's process with the daemon and without, of a process
// that only starts, and what the first session after a start of the daemon gets. Run it with
// make -C lab bench-hook.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/memcore/memcore/lab/internal/figures"
)

var (
	builds = flag.String("memcore", "", "the programs, separated by commas; the first one indexes")
	logs   = flag.Int("logs", 512, "logs of about 100 KB")
	keep   = flag.String("in", "", "folder for the logs and their index, kept for the next run (default: a temporary one)")
	rounds = flag.Int("rounds", 40, "hooks of each kind and program")
	starts = flag.Int("starts", 4, "starts of the daemon, of each program")
	load   = flag.Int("load", 0, "processes that keep the machine busy meanwhile")
)

// budget is what a hook has by default.
const budget = 300 * time.Millisecond

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "hookbench:", err)
		os.Exit(1)
	}
}

// A bench is a home and a project.
type bench struct{ home, project string }

func run() (err error) {
	base := *keep
	if base == "" {
		if base, err = os.MkdirTemp("", "memcore"); err != nil {
			return err
		}
		defer os.RemoveAll(base)
	}
	b := bench{home: filepath.Join(base, "home"), project: filepath.Join(base, "project")}
	all := strings.Split(*builds, ",")
	if err := b.prepare(all[0]); err != nil {
		return err
	}
	defer occupy(*load)()
	for _, step := range []func([]string) error{b.atStart, b.withDaemon, b.alone} {
		if err := step(all); err != nil {
			return err
		}
	}
	return nil
}

// occupy starts processes that compute, until stop is called.
func occupy(n int) (stop func()) {
	var busy []*exec.Cmd
	for range n {
		one := exec.Command("sh", "-c", "while :; do :; done")
		if one.Start() == nil {
			busy = append(busy, one)
		}
	}
	return func() {
		for _, one := range busy {
			_ = one.Process.Kill()
			_ = one.Wait()
		}
	}
}

// prepare makes and indexes the logs, and records prompts of earlier sessions, unless an earlier run
// did.
func (b bench) prepare(memcore string) error {
	if _, err := os.Stat(filepath.Join(b.home, ".claude")); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Join(b.project, ".git"), 0o755); err != nil {
		return err
	}
	if err := b.writeLogs(*logs); err != nil {
		return err
	}
	if _, err := b.process(memcore, "", false, "index", "--conversations", "--quiet"); err != nil {
		return err
	}
	for n := range 60 {
		if _, err := b.prompt(memcore, fmt.Sprintf("earlier%d", n/5), n, false); err != nil {
			return err
		}
	}
	return nil
}

// A took is what a process took, and whether it had an answer.
type took struct {
	wall, processor time.Duration
	memory          int64 // KB at most
	answered        bool
}

// process runs memcore, without a daemon unless one may be asked and started.
func (b bench) process(memcore, stdin string, daemon bool, args ...string) (took, error) {
	command := exec.Command(memcore, args...)
	command.Dir, command.Stdin = b.project, strings.NewReader(stdin)
	command.Env = []string{"HOME=" + b.home, "PATH=" + os.Getenv("PATH")}
	if !daemon {
		command.Env = append(command.Env, "MEMCORE_DAEMON_START=false")
	}
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	begun := time.Now()
	err := command.Run()
	t := took{wall: time.Since(begun), answered: out.Len() > 0}
	if err != nil {
		return t, fmt.Errorf("%s %v: %w: %s", memcore, args, err, problems.String())
	}
	t.processor, t.memory = command.ProcessState.UserTime()+command.ProcessState.SystemTime(), mostMemory(command.ProcessState)
	return t, nil
}

func (b bench) prompt(memcore, session string, n int, daemon bool) (took, error) {
	return b.process(memcore, fmt.Sprintf(`{"session_id":%q,"cwd":%q,"hook_event_name":"UserPromptSubmit","prompt":%q}`, session, b.project, question(n)), daemon, "hook", "claude-code")
}

func (b bench) sessionStart(memcore, session string) (took, error) {
	return b.process(memcore, fmt.Sprintf(`{"session_id":%q,"cwd":%q,"hook_event_name":"SessionStart","source":"startup"}`, session, b.project), true, "hook", "claude-code")
}

// atStart ends the daemon, begins a session and sends its prompts one after another.
func (b bench) atStart(all []string) error {
	const prompts = 30
	for round := range *starts {
		for _, memcore := range all {
			if err := b.stop(memcore); err != nil {
				return err
			}
			session := fmt.Sprintf("start%d-%d", time.Now().UnixNano(), round)
			began, err := b.sessionStart(memcore, session)
			if err != nil {
				return err
			}
			var times []time.Duration
			answered, late := 0, 0
			for n := range prompts {
				t, err := b.prompt(memcore, session, 1000*round+n, true)
				if err != nil {
					return err
				}
				times = append(times, t.wall)
				if t.answered {
					answered++
				}
				if t.wall > budget {
					late++
				}
			}
			fmt.Printf("start of the daemon: session begins after %v, answered %v; %d prompts: %d answered, %d late, first %v, p50 %v, longest %v  %s\n",
				milliseconds(began.wall), began.answered, prompts, answered, late, milliseconds(times[0]), milliseconds(figures.Quantile(times, .5)), milliseconds(figures.Quantile(times, 1)), memcore)
		}
	}
	return nil
}

// stop ends the daemon, and forgets that it was late.
func (b bench) stop(memcore string) error {
	_, err := b.process(memcore, "", true, "serve", "--stop")
	late := os.Remove(filepath.Join(b.home, ".cache", "memcore", "run", "silent"))
	if errors.Is(late, os.ErrNotExist) {
		late = nil
	}
	return errors.Join(err, late)
}

// withDaemon measures prompts of one session, by turns of ten with each program and its daemon.
func (b bench) withDaemon(all []string) error {
	const turn = 10
	of := map[string][]took{}
	for round := range (*rounds + turn - 1) / turn {
		for _, memcore := range all {
			if err := b.stop(memcore); err != nil {
				return err
			}
			session := fmt.Sprintf("with%d", time.Now().UnixNano())
			if _, err := b.sessionStart(memcore, session); err != nil {
				return err
			}
			time.Sleep(5 * time.Second) // until it has caught up
			for n := range turn {
				t, err := b.prompt(memcore, session, turn*round+n, true)
				if err != nil {
					return err
				}
				of[memcore] = append(of[memcore], t)
			}
		}
	}
	for _, memcore := range all {
		report("prompt, daemon up", of[memcore], memcore)
	}
	return b.stop(all[0])
}

// alone measures processes without a daemon.
func (b bench) alone(all []string) error {
	steps := []struct {
		what string
		run  func(memcore string, n int) (took, error)
	}{
		{"prompt, no daemon", func(memcore string, n int) (took, error) { return b.prompt(memcore, "alone", n, false) }},
		{"search", func(memcore string, n int) (took, error) { return b.process(memcore, "", false, "search", question(n)) }},
		{"version", func(memcore string, n int) (took, error) { return b.process(memcore, "", false, "version") }},
	}
	for _, step := range steps {
		of := map[string][]took{}
		for n := range *rounds {
			for _, memcore := range all {
				t, err := step.run(memcore, n)
				if err != nil {
					return err
				}
				of[memcore] = append(of[memcore], t)
			}
		}
		for _, memcore := range all {
			report(step.what, of[memcore], memcore)
		}
	}
	return nil
}

func report(what string, all []took, memcore string) {
	if len(all) == 0 {
		return
	}
	var wall, processor []time.Duration
	answered, memory := 0, int64(0)
	for _, t := range all {
		wall, processor, memory = append(wall, t.wall), append(processor, t.processor), max(memory, t.memory)
		if t.answered {
			answered++
		}
	}
	fmt.Printf("%s: processor p50 %v, wall p50 %v, p95 %v, at most %d MB, %d of %d answered  %s\n", what,
		milliseconds(figures.Quantile(processor, .5)), milliseconds(figures.Quantile(wall, .5)), milliseconds(figures.Quantile(wall, .95)), memory>>10, answered, len(all), memcore)
}

func milliseconds(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

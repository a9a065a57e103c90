// Command hookbench measures what a person feels of hooks: builds of memcore side by side, in turns,
// in a project with a year of generated logs.
//
// It prints wall and processor time of a hook's process with the daemon and without, of a process
// that only starts, and what the first session after a start of the daemon gets. Run it with
// make -C lab bench-hook.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/memcore/memcore/lab/internal/figures"
	"github.com/memcore/memcore/lab/internal/laptop"
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
type bench struct{ laptop.Laptop }

func run() (err error) {
	base := *keep
	if base == "" {
		if base, err = os.MkdirTemp("", "memcore"); err != nil {
			return err
		}
		defer os.RemoveAll(base)
	}
	b := bench{laptop.In(base)}
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
	if _, err := os.Stat(filepath.Join(b.Home, ".claude")); err == nil {
		return nil
	}
	if err := b.WriteLogs(*logs); err != nil {
		return err
	}
	if _, err := b.Run(memcore, "", false, nil, "index", "--conversations", "--quiet"); err != nil {
		return err
	}
	for n := range 60 {
		if _, err := b.prompt(memcore, fmt.Sprintf("earlier%d", n/5), n, false); err != nil {
			return err
		}
	}
	return nil
}

func (b bench) prompt(memcore, session string, n int, daemon bool) (laptop.Took, error) {
	return b.Run(memcore, fmt.Sprintf(`{"session_id":%q,"cwd":%q,"hook_event_name":"UserPromptSubmit","prompt":%q}`, session, b.Project, laptop.Question(n, *logs)), daemon, nil, "hook", "claude-code")
}

func (b bench) sessionStart(memcore, session string) (laptop.Took, error) {
	return b.Run(memcore, fmt.Sprintf(`{"session_id":%q,"cwd":%q,"hook_event_name":"SessionStart","source":"startup"}`, session, b.Project), true, nil, "hook", "claude-code")
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
				times = append(times, t.Wall)
				if t.Answered {
					answered++
				}
				if t.Wall > budget {
					late++
				}
			}
			fmt.Printf("start of the daemon: session begins after %v, answered %v; %d prompts: %d answered, %d late, first %v, p50 %v, longest %v  %s\n",
				laptop.Rounded(began.Wall), began.Answered, prompts, answered, late, laptop.Rounded(times[0]), laptop.Rounded(figures.Quantile(times, .5)), laptop.Rounded(figures.Quantile(times, 1)), memcore)
		}
	}
	return nil
}

// stop ends the daemon, and forgets that it was late.
func (b bench) stop(memcore string) error {
	_, err := b.Run(memcore, "", true, nil, "serve", "--stop")
	late := os.Remove(filepath.Join(b.Home, ".cache", "memcore", "run", "silent"))
	if errors.Is(late, os.ErrNotExist) {
		late = nil
	}
	return errors.Join(err, late)
}

// withDaemon measures prompts of one session, by turns of ten with each program and its daemon.
func (b bench) withDaemon(all []string) error {
	const turn = 10
	of := map[string][]laptop.Took{}
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
		laptop.Report("prompt, daemon up", of[memcore], memcore)
	}
	return b.stop(all[0])
}

// alone measures processes without a daemon.
func (b bench) alone(all []string) error {
	steps := []struct {
		what string
		run  func(memcore string, n int) (laptop.Took, error)
	}{
		{"prompt, no daemon", func(memcore string, n int) (laptop.Took, error) { return b.prompt(memcore, "alone", n, false) }},
		{"search", func(memcore string, n int) (laptop.Took, error) {
			return b.Run(memcore, "", false, nil, "search", laptop.Question(n, *logs))
		}},
		{"version", func(memcore string, n int) (laptop.Took, error) { return b.Run(memcore, "", false, nil, "version") }},
	}
	for _, step := range steps {
		of := map[string][]laptop.Took{}
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
			laptop.Report(step.what, of[memcore], memcore)
		}
	}
	return nil
}

// Package laptop is what benches run builds of memcore on: a home and a project of its own, with
// generated logs of Claude Code.
package laptop

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/memcore/memcore/lab/internal/figures"
)

// A Laptop is a home and a project.
type Laptop struct{ Home, Project string }

// In returns the laptop in a folder.
func In(folder string) Laptop {
	return Laptop{Home: filepath.Join(folder, "home"), Project: filepath.Join(folder, "project")}
}

// Took is what a process took, and whether it had an answer.
type Took struct {
	Wall, Processor time.Duration
	Memory          int64 // KB at most
	Answered        bool
}

// Run runs memcore in the project, without a daemon unless one may be asked and started. settings
// are variables of the environment.
func (l Laptop) Run(memcore, stdin string, daemon bool, settings []string, args ...string) (Took, error) {
	command := exec.Command(memcore, args...)
	command.Dir, command.Stdin = l.Project, strings.NewReader(stdin)
	command.Env = append([]string{"HOME=" + l.Home, "PATH=" + os.Getenv("PATH")}, settings...)
	if !daemon {
		command.Env = append(command.Env, "MEMCORE_DAEMON_START=false")
	}
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	begun := time.Now()
	err := command.Run()
	t := Took{Wall: time.Since(begun), Answered: out.Len() > 0}
	if err != nil {
		return t, fmt.Errorf("%s %v: %w: %s", memcore, args, err, problems.String())
	}
	t.Processor, t.Memory = command.ProcessState.UserTime()+command.ProcessState.SystemTime(), mostMemory(command.ProcessState)
	return t, nil
}

// Report prints what runs of one kind took.
func Report(what string, all []Took, memcore string) {
	if len(all) == 0 {
		return
	}
	var wall, processor []time.Duration
	answered, memory := 0, int64(0)
	for _, t := range all {
		wall, processor, memory = append(wall, t.Wall), append(processor, t.Processor), max(memory, t.Memory)
		if t.Answered {
			answered++
		}
	}
	fmt.Printf("%s: processor p50 %v, wall p50 %v, p95 %v, at most %d MB, %d of %d answered  %s\n", what,
		Rounded(figures.Quantile(processor, .5)), Rounded(figures.Quantile(wall, .5)), Rounded(figures.Quantile(wall, .95)), memory>>10, answered, len(all), memcore)
}

// Rounded is a time as it is printed.
func Rounded(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }

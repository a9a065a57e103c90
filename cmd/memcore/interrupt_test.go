//go:build unix

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A process runs the command in a home of its own.
type process struct {
	program, home, folder string
}

func newProcess(t *testing.T) process {
	dir := t.TempDir()
	p := process{programAt(t, "memcore"), filepath.Join(dir, "home"), filepath.Join(dir, "notes")}
	require.NoError(t, os.MkdirAll(p.home, 0o755))
	require.NoError(t, os.MkdirAll(p.folder, 0o755))
	return p
}

func (p process) command(args ...string) *exec.Cmd {
	cmd := exec.Command(p.program, args...)
	cmd.Dir = p.folder
	cmd.Env = append(os.Environ(), "HOME="+p.home, "XDG_CACHE_HOME="+p.home+"/.cache", "MEMCORE_EMBEDDER=minilm", "MEMCORE_ENGINE=flat")
	return cmd
}

// Ctrl-C ends indexing at once. Embedded chunks stay, searches say how many, and the same command
// embeds only the rest.
func TestInterrupt(t *testing.T) {
	p := newProcess(t)
	const files = 400
	for i := range files {
		text := fmt.Sprintf("# Note %d\n\n%s\n", i, strings.Repeat(fmt.Sprintf("About topic%d and the weather on that day. ", i), 15))
		require.NoError(t, os.WriteFile(filepath.Join(p.folder, fmt.Sprintf("%03d.md", i)), []byte(text), 0o644))
	}
	cmd := p.command("index", ".")
	progress, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var said bytes.Buffer
	lines := bufio.NewScanner(progress)
	for lines.Scan() {
		fmt.Fprintln(&said, lines.Text())
		if strings.Contains(lines.Text(), "embedding") {
			break
		}
	}
	require.Eventually(t, func() bool {
		out, err := p.command("status", "--json").Output()
		var status struct{ Embedded int }
		return err == nil && json.Unmarshal(out, &status) == nil && status.Embedded > 0
	}, time.Minute, 10*time.Millisecond, "a first batch is committed")
	interrupted := time.Now()
	require.NoError(t, cmd.Process.Signal(syscall.SIGINT))
	for lines.Scan() {
		fmt.Fprintln(&said, lines.Text())
	}
	_ = cmd.Wait()
	if took := time.Since(interrupted); took > 20*time.Second {
		t.Errorf("index returned %v after the interrupt, want it at once", took)
	}
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Fatalf("exit code after an interrupt = %d, want %d; it said:\n%s", code, exitInterrupted, &said)
	}
	for _, want := range []string{"embedded in this run", "goes on from there"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("after an interrupt index said %q, want %q in it", &said, want)
		}
	}
	search := p.command("search", "topic7")
	var notes bytes.Buffer
	search.Stderr = &notes
	found, err := search.Output()
	require.NoError(t, err)
	if !strings.Contains(string(found), "007.md") || !strings.Contains(notes.String(), "have no vector yet") {
		t.Errorf("search in between printed %.100q and said %q, want 007.md, and how much has no vector", found, &notes)
	}
	rest, err := p.command("index", ".", "--json").Output()
	require.NoError(t, err)
	var report struct{ Chunks, Embedded, Pending int }
	require.NoError(t, json.Unmarshal(rest, &report))
	if report.Embedded == 0 || report.Embedded >= report.Chunks || report.Pending != 0 {
		t.Errorf("the next run embedded %d of %d chunks, %d pending; want some but not all, and none pending", report.Embedded, report.Chunks, report.Pending)
	}
}

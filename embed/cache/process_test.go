package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
)

// Set for a child process: the folder it works in, and that it waits for no other.
const (
	childDir  = "MEMCORE_CACHE_TEST_CHILD"
	childRuns = "MEMCORE_CACHE_TEST_RUNS"
)

func TestMain(m *testing.M) {
	dir := os.Getenv(childDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	work := child
	if os.Getenv(childRuns) != "" {
		work = wildChild
	}
	if err := work(dir); err != nil {
		fmt.Print(err)
		os.Exit(1)
	}
}

// child embeds the same texts in the same order as its siblings, at the same pace, and prints how
// many its embedder was asked for.
func child(dir string) error {
	inner := newFake()
	inner.hook = func([]string) error { time.Sleep(2 * time.Millisecond); return nil }
	return embedAll(inner, dir, 5, numbered(300))
}

// wildChild waits for no sibling, and writes single texts in an order of its own as fast as it can.
func wildChild(dir string) error {
	patience = 0
	texts := numbered(300)
	rand.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	return embedAll(newFake(), dir, 1, texts)
}

func embedAll(inner *fake, dir string, batch int, all []string) error {
	c, err := Open(inner, dir, Options{BatchSize: batch})
	if err != nil {
		return err
	}
	for texts := range slices.Chunk(all, 10) {
		vecs, err := c.Embed(context.Background(), embed.Document, texts)
		if err != nil {
			return err
		}
		for i, v := range vecs {
			if !equal(v, vector(embed.Document, texts[i], 8)) {
				return fmt.Errorf("wrong vector of %q", texts[i])
			}
		}
	}
	fmt.Print(inner.total())
	return nil
}

func start(t *testing.T, dir string, env ...string) (*exec.Cmd, *output) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	cmd.Env = append(cmd.Env, env...)
	out := new(output)
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	return cmd, out
}

type output struct{ text string }

func (o *output) Write(p []byte) (int, error) { o.text += string(p); return len(p), nil }

func TestProcessesAtOnce(t *testing.T) {
	const n = 300
	asked := together(t)
	// Waiting for each other is a courtesy with a time limit, which a busy machine may reach.
	if asked > n+n/4 {
		t.Errorf("4 processes embedded %d texts for %d records, want hardly any text twice", asked, n)
	}
}

// Processes that write all the time, beside each other, spoil nothing.
func TestProcessesWithoutPatience(t *testing.T) {
	for range 5 {
		together(t, childRuns+"=1")
	}
}

// together runs four children in one folder, checks what they stored, and returns how many texts
// they embedded.
func together(t *testing.T, env ...string) (asked int) {
	t.Helper()
	dir := t.TempDir()
	var cmds []*exec.Cmd
	var outs []*output
	for range 4 {
		cmd, out := start(t, dir, env...)
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	for i, cmd := range cmds {
		require.NoError(t, cmd.Wait(), outs[i].text)
		n, err := strconv.Atoi(outs[i].text)
		require.NoError(t, err)
		asked += n
	}
	s := open(t, newFake(), dir, Options{}).Stats()
	if s.Records != 300 || s.Corrupt != 0 || s.Bytes != int64(headerSize)+68*s.Records {
		t.Errorf("Stats() after 4 processes = %+v, want 300 whole records, each once", s)
	}
	return asked
}

// Processes killed at any moment leave what they stored, and nothing wrong.
func TestProcessKilled(t *testing.T) {
	dir := t.TempDir()
	for i := range 6 {
		cmd, _ := start(t, dir)
		other, _ := start(t, dir)
		time.Sleep(time.Duration(20+15*i) * time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		require.NoError(t, other.Process.Kill())
		cmd.Wait()
		other.Wait()
	}
	inner := newFake()
	c := open(t, inner, dir, Options{})
	had := c.Stats().Records
	mustEmbed(t, c, numbered(300)...)
	if had == 0 || int64(inner.total()) != 300-had {
		t.Errorf("%d records after kills, %d texts embedded again, want 300 together and some kept", had, inner.total())
	}
	healed(t, "after kills", dir, 300, 0)
}

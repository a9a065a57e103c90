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

// Variables of a child process: its folder, and whether it ignores its siblings.
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

// child embeds the same texts in the same order and at the same pace as its siblings, and prints
// how many its embedder got.
func child(dir string) error {
	turnTimeout = time.Minute // machines may be busy
	inner := newFake()
	inner.hook = func([]string) error { time.Sleep(2 * time.Millisecond); return nil }
	return embedAll(inner, dir, 5, numbered(300))
}

// wildChild ignores its siblings, and writes single texts in its own order as fast as it can.
func wildChild(dir string) error {
	turnTimeout = 0
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
	if asked := together(t); asked > n+n/4 {
		t.Errorf("4 processes embedded %d texts for %d records, want hardly any text twice", asked, n)
	}
}

// Concurrent writers damage nothing.
func TestProcessesWithoutPatience(t *testing.T) {
	for range 5 {
		together(t, childRuns+"=1")
	}
}

// together runs four children in one folder, checks their vectors, and returns how many texts they
// embedded.
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

func bytesIn(t *testing.T, dir string) (sum int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// Processes killed at any moment leave stored vectors, and no wrong ones.
func TestProcessKilled(t *testing.T) {
	dir := t.TempDir()
	for i := range 6 {
		before := bytesIn(t, dir)
		cmd, _ := start(t, dir)
		other, _ := start(t, dir)
		require.Eventually(t, func() bool {
			stored := bytesIn(t, dir)
			return stored > before || stored >= int64(headerSize)+68*300
		}, time.Minute, time.Millisecond)
		time.Sleep(time.Duration(5*i) * time.Millisecond)
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

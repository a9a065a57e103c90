package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
)

// Variables of a child process: its folder, and whether it embeds in batches.
const (
	childDir     = "MEMCORE_CACHE_TEST_CHILD"
	childBatches = "MEMCORE_CACHE_TEST_BATCHES"
)

func TestMain(m *testing.M) {
	dir := os.Getenv(childDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := child(dir); err != nil {
		fmt.Print(err)
		os.Exit(1)
	}
}

// child embeds batches of texts slowly, or single texts in an order of its own as fast as it can.
func child(dir string) error {
	inner, texts := newFake(), numbered(300)
	if os.Getenv(childBatches) != "" {
		inner.hook = func([]string) error { time.Sleep(2 * time.Millisecond); return nil }
		return embedAll(inner, dir, 5, texts)
	}
	rand.Shuffle(len(texts), func(i, j int) { texts[i], texts[j] = texts[j], texts[i] })
	return embedAll(inner, dir, 1, texts)
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

// Concurrent writers damage nothing.
func TestProcessesAtOnce(t *testing.T) {
	for range 5 {
		dir := t.TempDir()
		var cmds []*exec.Cmd
		var outs []*output
		for range 4 {
			cmd, out := start(t, dir)
			cmds, outs = append(cmds, cmd), append(outs, out)
		}
		for i, cmd := range cmds {
			require.NoError(t, cmd.Wait(), outs[i].text)
		}
		s := open(t, newFake(), dir, Options{}).Stats()
		if s.Records != 300 || s.Corrupt != 0 || s.Bytes != int64(headerSize)+68*s.Records {
			t.Errorf("Stats() after 4 processes = %+v, want 300 whole records, each once", s)
		}
	}
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
		cmd, _ := start(t, dir, childBatches+"=1")
		other, _ := start(t, dir, childBatches+"=1")
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

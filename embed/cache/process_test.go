package cache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
)

const childDir = "MEMCORE_CACHE_TEST_CHILD" // the folder a child process works in

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(child(dir))
	}
	os.Exit(m.Run())
}

// child embeds numbered texts in random batches, prints how many its embedder was asked for, and
// fails if a vector is wrong.
func child(dir string) int {
	inner := newFake()
	inner.hook = func([]string) error { time.Sleep(time.Millisecond); return nil }
	c, err := Open(inner, dir, Options{BatchSize: 5})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	texts := numbered(300)
	for range 100 {
		from := rand.IntN(len(texts) - 10)
		vecs, err := c.Embed(context.Background(), embed.Document, texts[from:from+10])
		if err != nil {
			fmt.Println(err)
			return 1
		}
		for i, v := range vecs {
			if !equal(v, vector(embed.Document, texts[from+i], 8)) {
				fmt.Println("wrong vector")
				return 1
			}
		}
	}
	fmt.Print(inner.total())
	return 0
}

func start(t *testing.T, dir string) (*exec.Cmd, *output) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	out := new(output)
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(t, cmd.Start())
	return cmd, out
}

type output struct{ text string }

func (o *output) Write(p []byte) (int, error) { o.text += string(p); return len(p), nil }

func TestProcessesAtOnce(t *testing.T) {
	dir := t.TempDir()
	var cmds []*exec.Cmd
	var outs []*output
	for range 4 {
		cmd, out := start(t, dir)
		cmds, outs = append(cmds, cmd), append(outs, out)
	}
	asked := 0
	for i, cmd := range cmds {
		require.NoError(t, cmd.Wait(), outs[i].text)
		n, err := strconv.Atoi(outs[i].text)
		require.NoError(t, err)
		asked += n
	}
	c := open(t, newFake(), dir, Options{})
	s := c.Stats()
	if s.Corrupt != 0 || s.Bytes != int64(headerSize)+68*s.Records {
		t.Errorf("Stats() after 4 processes wrote = %+v, want whole records, each once", s)
	}
	// Waiting for each other is a courtesy with a time limit, which a busy machine may reach.
	if int64(asked) > s.Records+s.Records/10 {
		t.Errorf("4 processes embedded %d texts for %d records, want hardly any text twice", asked, s.Records)
	}
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

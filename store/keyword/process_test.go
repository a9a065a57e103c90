package keyword

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

// batchSize is how many records the writing process commits at a time.
const batchSize = 5

// TestProcess is not a test: the tests below run it in other processes.
func TestProcess(t *testing.T) {
	dir := os.Getenv("KEYWORD_TEST_DIR")
	switch os.Getenv("KEYWORD_TEST_ROLE") {
	case "writer":
		writeForEver(t, dir)
	case "reader":
		readUntilFull(t, dir)
	default:
		t.Skip("started by other tests")
	}
}

func writeForEver(t *testing.T, dir string) {
	ix, err := Open(t.Context(), dir)
	require.NoError(t, err)
	n, err := ix.Count(t.Context())
	require.NoError(t, err)
	last, err := strconv.Atoi(os.Getenv("KEYWORD_TEST_RECORDS"))
	require.NoError(t, err)
	for ; n < last; n += batchSize {
		for i := range batchSize {
			require.NoError(t, ix.Put(t.Context(), []store.Record{{ID: fmt.Sprintf("%08x", n+i), Text: fmt.Sprintf("common word%d", n+i)}}))
		}
		require.NoError(t, ix.Commit(t.Context()))
	}
	require.NoError(t, ix.Close())
}

// readUntilFull fails if records vanish, a batch is incomplete, or a record is not found.
func readUntilFull(t *testing.T, dir string) {
	ix, err := Open(t.Context(), dir)
	require.NoError(t, err)
	last, err := strconv.Atoi(os.Getenv("KEYWORD_TEST_RECORDS"))
	require.NoError(t, err)
	for seen := 0; seen < last; {
		matches, err := ix.Match(t.Context(), "common", 1<<20, store.Filter{})
		require.NoError(t, err)
		if n := len(matches.Hits); n < seen || n%batchSize != 0 {
			t.Fatalf("%d records after %d, want whole batches of %d", n, seen, batchSize)
		}
		seen = len(matches.Hits)
		if seen > 0 {
			require.Equal(t, []string{fmt.Sprintf("%08x", seen-1)}, matchedIDs(t, ix, fmt.Sprintf("word%d", seen-1)))
		}
	}
	require.NoError(t, ix.Check(t.Context()))
	require.NoError(t, ix.Close())
}

func process(ctx context.Context, role, dir string, records int) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestProcess$", "-test.v")
	cmd.Env = append(os.Environ(), "KEYWORD_TEST_ROLE="+role, "KEYWORD_TEST_DIR="+dir,
		"KEYWORD_TEST_RECORDS="+strconv.Itoa(records))
	return cmd
}

func TestProcessesReadWhileOneWrites(t *testing.T) {
	dir, records := t.TempDir(), 100*batchSize
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	type result struct {
		out []byte
		err error
	}
	results := make(chan result)
	for _, role := range []string{"writer", "reader", "reader", "reader"} {
		go func() {
			out, err := process(ctx, role, dir, records).CombinedOutput()
			results <- result{out, err}
		}()
	}
	for range 4 {
		if r := <-results; r.err != nil {
			t.Errorf("a process ended with %v:\n%s", r.err, r.out)
		}
	}
}

// A writer killed at any moment leaves whole batches, and the next one continues.
func TestAKilledWriterLeavesWholeBatches(t *testing.T) {
	dir, before := t.TempDir(), 0
	reader, err := Open(t.Context(), dir)
	require.NoError(t, err)
	defer reader.Close()
	for i := range 8 {
		writer := process(t.Context(), "writer", dir, 1<<20)
		require.NoError(t, writer.Start())
		require.Eventually(t, func() bool { return count(t, reader) > before }, time.Minute, time.Millisecond)
		time.Sleep(time.Duration(i*1300) * time.Microsecond)
		require.NoError(t, writer.Process.Kill())
		writer.Wait()
		require.NoError(t, reader.Check(t.Context()))
		if n := count(t, reader); n < before || n%batchSize != 0 {
			t.Errorf("a killed writer leaves %d records after %d, want whole batches of %d", n, before, batchSize)
		}
		before = count(t, reader)
	}
}

func count(t *testing.T, ix *Index) int {
	n, err := ix.Count(t.Context())
	require.NoError(t, err)
	return n
}

package flat

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

// batchSize is how many records the writing process commits at a time.
const batchSize = 5

// TestProcess is not a test: the tests below run it in other processes.
func TestProcess(t *testing.T) {
	dir := os.Getenv("FLAT_TEST_DIR")
	switch os.Getenv("FLAT_TEST_ROLE") {
	case "writer":
		writeForEver(t, dir)
	case "reader":
		readUntilFull(t, dir)
	case "full":
		writeUntilFull(t, dir)
	default:
		t.Skip("started by other tests")
	}
}

// generation returns version n of the records: the same IDs each time, so that rows die and some
// commits write new files.
func version(n int) []store.Record {
	recs := newGenerated(uint64(n)).records(batchSize, small)
	for i := range recs {
		recs[i].ID, recs[i].Session = fmt.Sprintf("%04x", (n*batchSize+i)%200), fmt.Sprint(n)
	}
	return recs
}

const versions = 150

func writeForEver(t *testing.T, dir string) {
	ix := open(t, dir, small)
	for n := range 1 << 30 {
		add(t, ix, version(n)...)
		if n >= versions && os.Getenv("FLAT_TEST_KILL") == "" {
			return
		}
	}
}

// readUntilFull fails if it sees half a batch.
func readUntilFull(t *testing.T, dir string) {
	ix := open(t, dir, small)
	for seen := ""; seen != fmt.Sprint(versions); {
		hits, err := ix.Nearest(t.Context(), newGenerated(1).vector(small), 1000, store.Filter{})
		require.NoError(t, err)
		seen = wholeBatches(t, hits)
	}
	require.NoError(t, ix.Check(t.Context()))
}

// wholeBatches returns the latest version among hits.
func wholeBatches(t *testing.T, hits []store.Hit) string {
	t.Helper()
	records, latest := map[string]int{}, ""
	for _, hit := range hits {
		session := hit.Record.Session
		records[session]++
		if len(session) > len(latest) || len(session) == len(latest) && session > latest {
			latest = session
		}
	}
	for session, n := range records {
		if n != batchSize {
			t.Fatalf("%d records of version %s, want %d", n, session, batchSize)
		}
	}
	return latest
}

func process(t *testing.T, role, dir string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestProcess$", "-test.v")
	cmd.Env = append(append(os.Environ(), "FLAT_TEST_ROLE="+role, "FLAT_TEST_DIR="+dir), env...)
	return cmd
}

func TestProcessesReadWhileOneWrites(t *testing.T) {
	dir := t.TempDir()
	type result struct {
		out []byte
		err error
	}
	results := make(chan result)
	roles := []string{"writer", "reader", "reader"}
	for _, role := range roles {
		go func() {
			out, err := process(t, role, dir).CombinedOutput()
			results <- result{out, err}
		}()
	}
	for range roles {
		if r := <-results; r.err != nil {
			t.Errorf("a process ended with %v:\n%s", r.err, r.out)
		}
	}
}

// A writer killed at any moment leaves whole batches, and the next one continues.
func TestAKilledWriterLeavesWholeBatches(t *testing.T) {
	dir := t.TempDir()
	reader := open(t, dir, small)
	for i := range 8 {
		before := snap(t, reader).number
		writer := process(t, "writer", dir, "FLAT_TEST_KILL=1")
		require.NoError(t, writer.Start())
		require.Eventually(t, func() bool { return snap(t, reader).number > before+2 }, time.Minute, time.Millisecond)
		time.Sleep(time.Duration(i*1700) * time.Microsecond)
		require.NoError(t, writer.Process.Kill())
		writer.Wait()
		for _, ix := range []*Index{reader, open(t, dir, small)} {
			require.NoError(t, ix.Check(t.Context()))
			require.Zero(t, count(t, ix)%batchSize)
		}
	}
}

// On a full disk, commits fail, files keep their size, and records are still found.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	out, err := process(t, "full", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("the process ended with %v:\n%s", err, out)
	}
	if strings.Contains(string(out), "--- SKIP") {
		t.Skip("this system cannot limit the size of files")
	}
	ix := open(t, dir, small)
	require.NoError(t, ix.Check(t.Context()))
	require.Equal(t, 100, count(t, ix))
	add(t, ix, newGenerated(3).records(500, small)...)
	require.Equal(t, 600, count(t, ix))
}

func writeUntilFull(t *testing.T, dir string) {
	ix := open(t, dir, small)
	recs := newGenerated(1).records(100, small)
	add(t, ix, recs...)
	sizes := fileSizes(t, ix)
	limitFileSize(t, 100_000)
	for _, again := range [][]store.Record{newGenerated(2).records(500, small), recs} { // the latter compacts
		require.NoError(t, ix.Put(t.Context(), again))
		if err := ix.Commit(t.Context()); !errors.Is(err, errFileTooLarge) {
			t.Fatalf("Commit beyond the limit: error %v, want %v", err, errFileTooLarge)
		}
		require.Equal(t, sizes, fileSizes(t, ix))
		require.Equal(t, 100, count(t, ix))
		limitFileSize(t, 1000)
	}
}

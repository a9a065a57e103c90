//go:build lancedb

package lancedb

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

const (
	batchSize = 5
	versions  = 120
)

// TestProcess is not a test: the test below runs it in other processes.
func TestProcess(t *testing.T) {
	dir := os.Getenv("LANCEDB_TEST_DIR")
	switch os.Getenv("LANCEDB_TEST_ROLE") {
	case "writer":
		ix := openIndex(t, dir, small, Options{ApproximateFrom: 300})
		for n := range versions {
			add(t, ix, version(n)...)
			if n%20 == 19 {
				require.NoError(t, ix.Compact(t.Context()))
			}
		}
	case "reader":
		readUntilLast(t, dir)
	default:
		t.Skip("started by other tests")
	}
}

// version n of the records: the same IDs each time, with others beside them, so that rows die,
// fragments are merged, and the approximate index is rebuilt.
func version(n int) []store.Record {
	recs := records(uint64(n+1), n*batchSize, batchSize, small)
	for i := range recs {
		recs[i].ID = fmt.Sprintf("%06x", (n*batchSize+i)%400)
		recs[i].Session = fmt.Sprint(n)
	}
	return recs
}

// readUntilLast fails if it sees half a batch, or cannot search.
func readUntilLast(t *testing.T, dir string) {
	ix := openIndex(t, dir, small, Options{})
	query := vectors(9, 1, small)[0]
	reads := 0
	for {
		hits, err := ix.Nearest(t.Context(), query, 1000, store.Filter{})
		require.NoError(t, err)
		reads++
		of := map[string]int{}
		for _, hit := range hits {
			of[hit.Record.Session]++
		}
		for session, n := range of {
			require.Equal(t, batchSize, n, "records of version %s", session)
		}
		if of[fmt.Sprint(versions-1)] > 0 {
			break
		}
	}
	require.NoError(t, ix.Check(t.Context()))
	fmt.Println("reads:", reads)
}

// Readers in other processes see whole commits and never fail while one process writes and
// compacts.
func TestReadersBesideAWriter(t *testing.T) {
	dir := t.TempDir()
	start := func(role string) *exec.Cmd {
		process := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestProcess$", "-test.v")
		process.Env = append(os.Environ(), "LANCEDB_TEST_ROLE="+role, "LANCEDB_TEST_DIR="+dir)
		return process
	}
	outputs := make(chan string, 3)
	for _, role := range []string{"reader", "reader", "writer"} {
		go func() {
			out, err := start(role).CombinedOutput()
			if err != nil {
				outputs <- fmt.Sprintf("%s: %v: %s", role, err, out)
				return
			}
			outputs <- ""
		}()
	}
	for range 3 {
		if failure := <-outputs; failure != "" {
			t.Error(failure)
		}
	}
}

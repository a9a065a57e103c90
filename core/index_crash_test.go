package core_test

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/internal/safefile"
)

// TestKilled kills a process that indexes, compacts and rebuilds, at random moments. The index must
// be whole and continue.
func TestKilled(t *testing.T) {
	if engine := os.Getenv("CORE_TEST_ENGINE"); engine != "" {
		changeForEver(t, engine, os.Getenv("CORE_TEST_DIR"))
	}
	if testing.Short() {
		t.Skip("takes a minute")
	}
	for name, engine := range testEngines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killOften(t, name, engine.kills)
		})
	}
}

func killOften(t *testing.T, engine string, kills int) {
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, uint64(kills)))
	states := map[core.State]int{}
	rounds, round := 0, time.Second
	for i := range kills {
		came, took := runAndKill(t, engine, dir, random.IntN(roundsToKill), time.Duration(random.Float64()*float64(round)))
		rounds += came
		if took > 0 {
			round = min(took, time.Second) // as busy as the machine is now
		}
		m, err := core.Open(t.Context(), crashOptions(engine, dir))
		require.NoError(t, err)
		status, err := m.Status(t.Context())
		require.NoError(t, err)
		states[status.State]++
		if err := m.Check(t.Context()); err != nil && status.State != core.StateMissing || len(status.Problems) > 0 {
			t.Fatalf("after kill %d, state %s: Check: %v, problems %q", i+1, status.State, err, status.Problems)
		}
		result, err := m.Search(t.Context(), "which port does service 3 use", core.SearchOptions{})
		if err != nil || status.State == core.StateReady && len(result.Hits) == 0 {
			t.Fatalf("after kill %d: Search = %d hits, %v", i+1, len(result.Hits), err)
		}
		require.NoError(t, m.Close())
	}
	if rounds < kills/4 {
		t.Errorf("the processes came through %d rounds before %d kills: they were killed before they had begun", rounds, kills)
	}
	afterAll(t, engine, dir)
	t.Logf("%s: %d kills, %d complete rounds, states found %v, 0 damaged", engine, kills, rounds, states)
}

// roundsToKill is more than the rounds of a process that is killed.
const roundsToKill = 3

// runAndKill kills a process some time after a few rounds. It returns the completed rounds and the
// last one's time.
func runAndKill(t *testing.T, engine, dir string, rounds int, after time.Duration) (completed int, took time.Duration) {
	child, lines := start(t, engine, dir)
	for range rounds {
		started := time.Now()
		line, err := lines.ReadString('\n')
		require.NoError(t, err, line)
		require.NotContains(t, line, "error", "a process failed before it was killed")
		completed, took = completed+1, time.Since(started)
	}
	time.Sleep(after)
	require.NoError(t, child.Process.Kill())
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	_ = child.Wait() // it was killed
	text := string(rest)
	if i := strings.Index(text, "error"); i >= 0 {
		t.Fatalf("a process failed before it was killed: %s", text[i:])
	}
	return completed + strings.Count(text, "round"), took
}

// start starts a process and waits for its first line.
func start(t *testing.T, engine, dir string) (*exec.Cmd, *bufio.Reader) {
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestKilled$")
	child.Env = append(os.Environ(), "CORE_TEST_ENGINE="+engine, "CORE_TEST_DIR="+dir)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewReader(out)
	first, err := lines.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "begun\n", first)
	return child, lines
}

// afterAll runs once without a kill, and finds everything.
func afterAll(t *testing.T, engine, dir string) {
	m, err := core.Open(t.Context(), crashOptions(engine, dir))
	require.NoError(t, err)
	defer m.Close()
	report, err := m.Index(t.Context(), core.IndexOptions{})
	require.NoError(t, err)
	require.NoError(t, m.Check(t.Context()))
	files, err := filepath.Glob(filepath.Join(dir, "notes", "*.md"))
	require.NoError(t, err)
	require.Equal(t, len(files), report.Documents)
	require.Zero(t, report.Pending)
	for _, file := range files {
		name := filepath.Base(file)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		unique := strings.Fields(string(text))[1] // of the title
		result, err := m.Search(t.Context(), unique, core.SearchOptions{Explain: true})
		require.NoError(t, err)
		at := slices.IndexFunc(result.Hits, func(h core.MemoryHit) bool { return filepath.Base(h.Path) == name })
		if at < 0 || result.Hits[at].Explain.Cosine == nil {
			t.Fatalf("Search(%q) does not find %s by both indexes", unique, name)
		}
	}
}

func crashOptions(engine, dir string) core.Options {
	return core.Options{
		Folder:    filepath.Join(dir, "index"),
		Sources:   []source.Source{source.NewFolder(source.FolderOptions{Path: filepath.Join(dir, "notes"), Workspace: dir})},
		Engine:    engineNamed(engine),
		Embedder:  &hashEmbedder{name: "a"},
		Freshness: -1,
	}
}

// changeForEver changes notes and indexes them until it is killed.
func changeForEver(t *testing.T, engine, dir string) {
	notes := filepath.Join(dir, "notes")
	require.NoError(t, os.MkdirAll(notes, 0o755))
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	fmt.Println("begun")
	m, err := core.Open(t.Context(), crashOptions(engine, dir))
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	for round := 0; ; round++ {
		for range 3 {
			changeNote(filepath.Join(notes, fmt.Sprintf("service-%d.md", random.IntN(40))), random)
		}
		report, err := m.Index(t.Context(), core.IndexOptions{Rebuild: random.IntN(8) == 0})
		if err != nil || report.Rebuilt != "" && report.Rebuilt != "asked for" {
			fmt.Println("error:", err, report.Rebuilt)
			os.Exit(1)
		}
		fmt.Println("round", round)
	}
}

// changeNote rewrites a note or, sometimes, deletes it.
func changeNote(file string, random *rand.Rand) {
	if random.IntN(5) == 0 {
		_ = os.Remove(file)
		return
	}
	var text strings.Builder
	fmt.Fprintf(&text, "# unique%x\n", random.Uint64())
	for section := range 10 {
		fmt.Fprintf(&text, "\n## Service %d\n\nService %d uses port %d in the cluster of region %d.\n", section, section, random.IntN(65536), random.IntN(50))
	}
	// A rename, so that a kill leaves the whole file or none.
	_ = safefile.Replace(filepath.Dir(file), filepath.Base(file), []byte(text.String()), 0o644)
}

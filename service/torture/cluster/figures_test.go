//go:build unix

package cluster

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// TestFigures measures what service/running.md says. It is no test of speed: it fails only if
// something does not work.
func TestFigures(t *testing.T) {
	if os.Getenv("MEMCORE_CLUSTER_FIGURES") == "" {
		t.Skip("MEMCORE_CLUSTER_FIGURES is not set: nothing is measured")
	}
	client.Timeout = 5 * time.Minute
	m := newMachine(t, 3)
	here, there := m.nodes[0], m.nodes[1]
	for _, nodes := range [][]*node{{here}, m.nodes} {
		for _, writers := range []int{1, 16, 100} {
			m.writesASecond(t, nodes, writers)
		}
	}
	words := m.newTenant("words") // nothing makes vectors meanwhile
	m.run("tenant", "set", words.name, "--embedder", "none")
	m.importSites(t, here, words, 2_000)
	m.furtherUser(t, here, words)
	large := m.newTenant("large")
	begun := time.Now()
	m.importSites(t, here, large, 2_000)
	t.Logf("import: 2,000 documents of 10,000 chunks are found by words after %v", time.Since(begun).Round(time.Millisecond))
	m.oneWrite(t, here, there, large)
	m.indexed(t, here, large)
	t.Logf("import: all vectors after %v, by three nodes", time.Since(begun).Round(time.Second))

	begun = time.Now()
	m.retrieve(t, m.nodes[2], large, 4711)
	t.Logf("a node that has not been asked: first answer after %v", time.Since(begun).Round(time.Millisecond))
	m.besideTheDaemon(t, here, large, 10_000)
	m.noise(t, large)
}

// TestFiguresBesideTheDaemon is a part of TestFigures with fewer documents, which takes minutes.
func TestFiguresBesideTheDaemon(t *testing.T) {
	if os.Getenv("MEMCORE_CLUSTER_FIGURES") == "" {
		t.Skip("MEMCORE_CLUSTER_FIGURES is not set: nothing is measured")
	}
	client.Timeout = 5 * time.Minute
	m := newMachine(t, 1)
	small := m.newTenant("small")
	m.importSites(t, m.nodes[0], small, 100)
	m.indexed(t, m.nodes[0], small)
	m.besideTheDaemon(t, m.nodes[0], small, 500)
}

// importSites imports so many documents of five chunks.
func (m *machine) importSites(t *testing.T, n *node, tn *tenant, documents int) {
	t.Helper()
	for from := 0; from < documents; from += 100 {
		r, err := n.ask(t.Context(), tn.key, "POST", tn.name+"/import", archive(t, from, 100))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, r.status, "%s", r.body)
	}
}

// besideTheDaemon asks a node and the daemon of a laptop in turn, about the same documents.
func (m *machine) besideTheDaemon(t *testing.T, n *node, tn *tenant, cases int) {
	askDaemon := m.daemon(t, n, tn)
	var service, daemon times
	for i := range 400 {
		begun := time.Now()
		m.retrieve(t, n, tn, i*37%cases)
		between := time.Now()
		require.True(t, askDaemon(i*37%cases))
		service, daemon = append(service, between.Sub(begun)), append(daemon, time.Since(between))
	}
	t.Logf("warm retrieve, one at a time: p50 %v, p99 %v; the laptop's daemon with the same documents: p50 %v, p99 %v; the service takes %.2f times as long",
		service.p(50), service.p(99), daemon.p(50), daemon.p(99), float64(service.p(50))/float64(daemon.p(50)))
}

// furtherUser measures what one more user of a tenant costs.
func (m *machine) furtherUser(t *testing.T, n *node, large *tenant) {
	disk := func() (bytes int64) {
		c, err := pgx.Connect(t.Context(), m.owner)
		require.NoError(t, err)
		defer c.Close(t.Context())
		require.NoError(t, c.QueryRow(t.Context(), `select pg_database_size(current_database())`).Scan(&bytes))
		return bytes
	}
	const users = 20
	keys := make([]string, users)
	for i := range keys {
		keys[i] = m.newKey(large.name, fmt.Sprint("further", i))
	}
	// Each round has the same questions: the first is also the first of each user.
	round := func() (took times, used time.Duration) {
		before := n.processor(t)
		for i, key := range keys {
			begun := time.Now()
			m.retrieve(t, n, &tenant{name: large.name, key: key}, i*37)
			took = append(took, time.Since(begun))
		}
		return took, (n.processor(t) - before) / users
	}
	m.retrieve(t, n, large, 1)
	beforeDisk, beforeMemory := disk(), n.memory(t)
	first, used := round()
	moreDisk, moreMemory := disk()-beforeDisk, n.memory(t)-beforeMemory
	again, usedAgain := round()
	t.Logf("%d further users of 10,000 shared chunks, for each: %d bytes on disk, %d KB of memory; first question p50 %v, %v of processor, second p50 %v, %v",
		users, moreDisk/users, moreMemory/users/1024, first.p(50), used, again.p(50), usedAgain)
}

// memory is what the process of a node holds, in bytes.
func (n *node) memory(t *testing.T) (bytes int64) {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.process.Process.Pid))
	require.NoError(t, err)
	_, after, found := strings.Cut(string(data), "VmRSS:")
	require.True(t, found)
	_, err = fmt.Sscan(after, &bytes)
	require.NoError(t, err)
	return bytes * 1024
}

// processor is the time that the process of a node has used, in steps of 10 ms.
func (n *node) processor(t *testing.T) time.Duration {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.process.Process.Pid))
	require.NoError(t, err)
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	var user, system int64
	_, err = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	require.NoError(t, err)
	return time.Duration(user+system) * 10 * time.Millisecond
}

// oneWrite measures when a write is acknowledged, and when it is found.
func (m *machine) oneWrite(t *testing.T, here, there *node, large *tenant) {
	var same, other, acks times
	for i := range 20 {
		text := fmt.Sprintf("# Parcel %d\n\nThe parcel number of customer Q%d is P%d.\n", i, 7000+i, 9000+i)
		begun := time.Now()
		r, err := here.ask(t.Context(), large.key, "PUT", fmt.Sprintf("large/documents/parcels/%d.md", i), text)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, r.status, "%s", r.body)
		acks = append(acks, time.Since(begun))
		body := fmt.Sprintf(`{"query": "What is the parcel number of customer Q%d?"}`, 7000+i)
		for _, at := range []struct {
			n    *node
			into *times
		}{{here, &same}, {there, &other}} {
			r, err := at.n.ask(t.Context(), large.key, "POST", "large/retrieve", body)
			require.NoError(t, err)
			require.Contains(t, string(r.body), fmt.Sprintf("P%d", 9000+i), "an acknowledged write is found at once")
			*at.into = append(*at.into, time.Since(begun))
		}
	}
	t.Logf("write: acknowledged p50 %v, p99 %v; found on the same node p50 %v, p99 %v, on another p50 %v, p99 %v",
		acks.p(50), acks.p(99), same.p(50), same.p(99), other.p(50), other.p(99))
}

// writesASecond measures writers of one tenant, each of whom writes documents of their own.
func (m *machine) writesASecond(t *testing.T, nodes []*node, writers int) {
	tn := m.newTenant(fmt.Sprintf("writers-%d-%d", len(nodes), writers))
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	var mu sync.Mutex
	var took times
	statuses := map[int]int{}
	var work sync.WaitGroup
	for w := range writers {
		work.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				begun := time.Now()
				r, err := nodes[w%len(nodes)].ask(ctx, tn.key, "PUT", fmt.Sprintf("%s/documents/w%d/%d.md", tn.name, w, i%50), text(fmt.Sprint("w", w), i))
				if err != nil {
					continue
				}
				mu.Lock()
				if r.status == http.StatusOK {
					took = append(took, time.Since(begun))
				} else {
					statuses[r.status]++
				}
				mu.Unlock()
			}
		})
	}
	work.Wait()
	require.NotEmpty(t, took)
	t.Logf("writes: %d writers at %d nodes: %.0f a second, p50 %v, p99 %v; refused by status: %v", writers, len(nodes), float64(len(took))/10, took.p(50), took.p(99), statuses)
}

// noise measures a tenant beside another that is at its limit, at a node of its own.
func (m *machine) noise(t *testing.T, large *tenant) {
	noisy := m.newTenant("noisy")
	limited := m.newNode()
	limited.rate = "100"
	limited.start()
	waitFor(t, "http://"+limited.address+"/ready")
	r, err := limited.ask(t.Context(), noisy.key, "PUT", "noisy/documents/a.md", "# A\n\nThe noise is loud.\n")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, r.status)
	m.indexed(t, limited, large)
	quiet := m.latencies(t, limited, large, 400)
	var refused, done atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var noise sync.WaitGroup
	for range 8 {
		noise.Go(func() {
			for ctx.Err() == nil {
				r, err := limited.ask(ctx, noisy.key, "POST", "noisy/retrieve", `{"query": "How loud is the noise?"}`)
				if err == nil && r.status == http.StatusTooManyRequests {
					refused.Add(1)
					time.Sleep(20 * time.Millisecond)
				} else {
					done.Add(1)
				}
			}
		})
	}
	time.Sleep(2 * time.Second)
	beside := m.latencies(t, limited, large, 400)
	stop()
	noise.Wait()
	t.Logf("beside a tenant at its limit (%d answered, %d refused): p50 %v, p99 %v instead of %v, %v", done.Load(), refused.Load(), beside.p(50), beside.p(99), quiet.p(50), quiet.p(99))
}

type times []time.Duration

// p returns a percentile.
func (t times) p(percent int) time.Duration {
	sorted := slices.Sorted(slices.Values(t))
	return sorted[min(len(sorted)*percent/100, len(sorted)-1)].Round(10 * time.Microsecond)
}

// Words of section.
var (
	places = []string{"Lisbon", "Porto", "Graz", "Turin", "Ghent", "Malmö", "Brno", "Split", "Vigo", "Bergen", "Tartu"}
	things = []string{"turbine", "ledger", "harbour crane", "weather station", "print queue", "cooling pump", "badge reader", "tape archive", "greenhouse", "ticket gate"}
	acts   = []string{"is inspected", "was replaced", "needs a new seal", "is leased", "reports to the control room", "is closed in winter", "was moved", "has a spare part in stock"}
)

// section is one chunk about a case of a site.
func section(n, site int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n## Case %d: the %s\n\n", n, things[n%len(things)])
	for s := range 6 {
		fmt.Fprintf(&b, "The %s of site %d in %s %s every %d days, by order %d of the crew from %s. ",
			things[(n+s)%len(things)], site, places[(n*7+s)%len(places)], acts[(n*3+s)%len(acts)], 2+(n*13+s*5)%90, (n*31+s*17)%9973, places[(n+s*3)%len(places)])
	}
	fmt.Fprintf(&b, "The code of case %d is Z%d.\n", n, (n*7919)%999983)
	return b.String()
}

// archive makes documents of five chunks.
func archive(t *testing.T, from, count int) string {
	t.Helper()
	var all bytes.Buffer
	out := tar.NewWriter(&all)
	for i := from; i < from+count; i++ {
		text := fmt.Sprintf("# Site %d in %s\n", i, places[i%len(places)])
		for k := range 5 {
			text += section(i*5+k, i)
		}
		require.NoError(t, out.WriteHeader(&tar.Header{Name: fmt.Sprintf("sites/%d/%d.md", i/100, i), Mode: 0o600, Size: int64(len(text))}))
		_, err := io.WriteString(out, text)
		require.NoError(t, err)
	}
	require.NoError(t, out.Close())
	return all.String()
}

func question(n int) string {
	return fmt.Sprintf(`{"query": "What is the code of case %d?"}`, n)
}

func (m *machine) retrieve(t *testing.T, n *node, tn *tenant, about int) (got result) {
	t.Helper()
	r, err := n.ask(t.Context(), tn.key, "POST", tn.name+"/retrieve", question(about))
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, r.status, "%s", r.body)
	r.decode(t, &got)
	return got
}

// indexed waits until a node has indexed and embedded everything.
func (m *machine) indexed(t *testing.T, n *node, tn *tenant) {
	t.Helper()
	require.Eventually(t, func() bool {
		got := m.retrieve(t, n, tn, 1)
		return got.State == "ready" && got.Stale == nil && len(got.Degraded) == 0
	}, 20*time.Minute, 100*time.Millisecond)
}

// latencies are those of questions to a tenant with 10,000 chunks.
func (m *machine) latencies(t *testing.T, n *node, tn *tenant, count int) (all times) {
	t.Helper()
	for i := range count {
		begun := time.Now()
		m.retrieve(t, n, tn, i*37%10_000)
		all = append(all, time.Since(begun))
	}
	return all
}

// daemon starts that of a laptop with the documents that a node exports, and returns what asks it
// and reports whether it has answered.
func (m *machine) daemon(t *testing.T, n *node, tn *tenant) func(about int) bool {
	t.Helper()
	home := t.TempDir()
	workspace := filepath.Join(home, "workspace")
	m.unpack(t, n, tn, workspace)
	env := append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+filepath.Join(home, ".cache"), "XDG_STATE_HOME="+filepath.Join(home, ".state"), "MEMCORE_TOKEN=figures")
	index := exec.Command(m.memcore, "--workspace", workspace, "-q", "index")
	index.Env = append(env, "MEMCORE_ENGINE=flat")
	out, err := index.CombinedOutput()
	require.NoError(t, err, "%s", out)
	address := freeAddress(t)
	serve := exec.Command(m.memcore, "serve", "--http", address, "--token-env", "MEMCORE_TOKEN")
	serve.Env, serve.Dir = env, workspace
	require.NoError(t, serve.Start())
	t.Cleanup(func() { _ = serve.Process.Kill(); _ = serve.Wait() })
	ask := func(about int) bool {
		body, err := json.Marshal(map[string]string{"workspace": workspace, "query": fmt.Sprintf("What is the code of case %d?", about)})
		require.NoError(t, err)
		request, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+address+"/v1/retrieve", bytes.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer figures")
		answer, err := client.Do(request)
		if err != nil {
			return false
		}
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		return err == nil && answer.StatusCode == http.StatusOK && bytes.Contains(text, []byte(`"state":"ready"`))
	}
	require.Eventually(t, func() bool { return ask(1) }, time.Minute, 100*time.Millisecond)
	return ask
}

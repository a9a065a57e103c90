//go:build unix

package cluster

import (
	"archive/tar"
	"bytes"
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

	"github.com/stretchr/testify/require"
)

// TestFigures measures what docs/dev/service.md says. It is no test of speed: it fails only if
// something does not work.
func TestFigures(t *testing.T) {
	if os.Getenv("MEMCORE_CLUSTER_FIGURES") == "" {
		t.Skip("MEMCORE_CLUSTER_FIGURES is not set: nothing is measured")
	}
	m := newMachine(t, 2)
	for _, n := range m.nodes {
		waitFor(t, "http://"+n.address+"/ready")
	}
	here, there := m.nodes[0], m.nodes[1]
	large, noisy := m.newTenant("large"), m.newTenant("noisy")
	for part := range 2 {
		r, err := here.ask(t.Context(), large.key, "POST", "large/import", archive(t, part*1000, 1000))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, r.status, "%s", r.body)
	}
	m.indexed(t, here, large)
	time.Sleep(3 * shelfPause)

	begun := time.Now()
	first := m.retrieve(t, there, large, 4711)
	t.Logf("cold: first answer after %v, state %s, %d hits", time.Since(begun).Round(time.Millisecond), first.State, len(first.Hits))
	m.indexed(t, there, large)
	t.Logf("cold: all 10,000 chunks with vectors after %v", time.Since(begun).Round(10*time.Millisecond))
	for range 4 {
		next := &node{m: m, address: freeAddress(t), dir: filepath.Join(m.dir, "cold-"+freeAddress(t)), rate: "1000"}
		next.start()
		waitFor(t, "http://"+next.address+"/ready")
		begun := time.Now()
		got := m.retrieve(t, next, large, 4711)
		t.Logf("cold, another node: first answer after %v, state %s", time.Since(begun).Round(time.Millisecond), got.State)
		next.kill()
	}

	warm := m.latencies(t, here, large, 400, 10_000)
	t.Logf("warm retrieve, one at a time: p50 %v, p99 %v", warm.p(50), warm.p(99))
	daemon := m.daemon(t, here, large, 400)
	t.Logf("the laptop's daemon, same documents: p50 %v, p99 %v; the service takes %.2f times as long", daemon.p(50), daemon.p(99), float64(warm.p(50))/float64(daemon.p(50)))

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
			require.Eventually(t, func() bool {
				r, err := at.n.ask(t.Context(), large.key, "POST", "large/retrieve", body)
				return err == nil && bytes.Contains(r.body, fmt.Appendf(nil, "P%d", 9000+i))
			}, 20*time.Second, 10*time.Millisecond)
			*at.into = append(*at.into, time.Since(begun))
		}
	}
	t.Logf("write: acknowledged p50 %v, p99 %v; searchable on the same node p50 %v, p99 %v, on another p50 %v, p99 %v",
		acks.p(50), acks.p(99), same.p(50), same.p(99), other.p(50), other.p(99))

	// A node of its own, with the default rate: the noisy tenant is at its limit.
	limited := &node{m: m, address: freeAddress(t), dir: filepath.Join(m.dir, "limited"), rate: "100"}
	limited.start()
	t.Cleanup(limited.kill)
	waitFor(t, "http://"+limited.address+"/ready")
	r, err := limited.ask(t.Context(), noisy.key, "PUT", "noisy/documents/a.md", "# A\n\nThe noise is loud.\n")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, r.status)
	m.indexed(t, limited, large)
	quiet := m.latencies(t, limited, large, 400, 10_000)
	var refused, done atomic.Int64
	stop := make(chan bool)
	var noise sync.WaitGroup
	for range 8 {
		noise.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r, err := limited.ask(t.Context(), noisy.key, "POST", "noisy/retrieve", `{"query": "How loud is the noise?"}`)
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
	beside := m.latencies(t, limited, large, 400, 10_000)
	close(stop)
	noise.Wait()
	t.Logf("beside a tenant at its limit (%d answered, %d refused): p50 %v, p99 %v instead of %v, %v", done.Load(), refused.Load(), beside.p(50), beside.p(99), quiet.p(50), quiet.p(99))
}

// shelfPause is how often nodes look for vectors to exchange.
const shelfPause = 2 * time.Second

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

// latencies are those of questions to a tenant with so many chunks.
func (m *machine) latencies(t *testing.T, n *node, tn *tenant, count, chunks int) (all times) {
	t.Helper()
	for i := range count {
		begun := time.Now()
		m.retrieve(t, n, tn, i*37%chunks)
		all = append(all, time.Since(begun))
	}
	return all
}

// daemon measures the daemon of a laptop on the documents that a node has.
func (m *machine) daemon(t *testing.T, n *node, tn *tenant, count int) (all times) {
	t.Helper()
	folders, err := filepath.Glob(filepath.Join(n.dir, "tenants", tn.name+"-*"))
	require.NoError(t, err)
	require.Len(t, folders, 1)
	home := t.TempDir()
	workspace := filepath.Join(home, "workspace")
	require.NoError(t, os.CopyFS(workspace, os.DirFS(filepath.Join(folders[0], "documents", "shared"))))
	cache := filepath.Join(home, ".cache")
	require.NoError(t, os.CopyFS(filepath.Join(cache, "memcore", "embeddings"), os.DirFS(filepath.Join(folders[0], "cache", "embeddings"))))
	env := append(os.Environ(), "HOME="+home, "XDG_CACHE_HOME="+cache, "XDG_STATE_HOME="+filepath.Join(home, ".state"), "MEMCORE_TOKEN=figures")
	index := exec.Command(m.program, "--workspace", workspace, "-q", "index")
	index.Env = append(env, "MEMCORE_ENGINE=flat")
	out, err := index.CombinedOutput()
	require.NoError(t, err, "%s", out)
	address := freeAddress(t)
	serve := exec.Command(m.program, "serve", "--http", address, "--token-env", "MEMCORE_TOKEN")
	serve.Env, serve.Dir = env, workspace
	require.NoError(t, serve.Start())
	defer func() { _ = serve.Process.Kill(); _ = serve.Wait() }()
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
	for i := range count {
		begun := time.Now()
		require.True(t, ask((i*37)%10_000))
		all = append(all, time.Since(begun))
	}
	return all
}

func (m *machine) newTenant(name string) *tenant {
	m.run("service", "tenant", "create", name)
	return &tenant{name: name, key: m.run("-q", "service", "key", "create", "--tenant", name, "--user", "ann", "--right", "admin")}
}

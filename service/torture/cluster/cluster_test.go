//go:build unix

package cluster

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func setting(name string, otherwise int) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		return otherwise
	}
	return n
}

// A tenant and what is known of its documents.
type tenant struct {
	name, key string
	documents []*counted
	shared    counted // changed by all writers of the tenant, with If-Match
}

// A counted document says how often it was written.
type counted struct {
	path string

	mu        sync.Mutex
	acked     int   // count of the last acknowledged write
	version   int64 // that has it
	attempted int
	unknown   int // writes without an answer
}

const documentsPerTenant = 3

// counts are what came of an attack.
type counts struct {
	writes, unknown, reads, retrievals, refused, kills, stops, cuts atomic.Int64
}

func TestCluster(t *testing.T) {
	minutes, most := setting("MEMCORE_CLUSTER_MINUTES", 1), setting("MEMCORE_CLUSTER_TENANTS", 12)
	m := newMachine(t, 3)
	for _, n := range m.nodes {
		waitFor(t, "http://"+n.address+"/ready")
	}
	tenants := make([]*tenant, most)
	var making sync.WaitGroup
	limit := make(chan bool, 4)
	for i := range tenants {
		making.Go(func() {
			limit <- true
			defer func() { <-limit }()
			name := fmt.Sprintf("tenant-%d", i)
			m.run("tenant", "create", name)
			tn := &tenant{name: name, key: m.run("key", "create", "--tenant", name, "--user", "writer", "--right", "admin"), shared: counted{path: "shared.md"}}
			for d := range documentsPerTenant {
				tn.documents = append(tn.documents, &counted{path: fmt.Sprintf("notes/%d.md", d)})
			}
			tenants[i] = tn
		})
	}
	making.Wait()
	require.False(t, t.Failed())

	var c counts
	ctx, stop := context.WithTimeout(t.Context(), time.Duration(minutes)*time.Minute)
	defer stop()
	var work sync.WaitGroup
	for w := range 8 {
		work.Go(func() { m.write(ctx, t, &c, tenants, w) })
		work.Go(func() { m.read(ctx, t, &c, tenants) })
	}
	for range 2 {
		work.Go(func() { m.changeShared(ctx, t, &c, tenants) })
	}
	work.Go(func() { m.disturb(ctx, &c) })
	work.Wait()

	// All is well again.
	m.link.cut.Store(false)
	m.link.delay.Store(0)
	for _, n := range m.nodes {
		n.signal(syscall.SIGCONT)
		waitFor(t, "http://"+n.address+"/ready")
	}
	for i, tn := range tenants {
		m.check(t, tn, i < setting("MEMCORE_CLUSTER_COMPARED", 5))
	}
	t.Logf("cluster: %d tenants, %d minutes: %d writes acknowledged, %d without an answer, %d reads, %d retrievals, %d refused; %d kills, %d stops, %d cuts of the link",
		most, minutes, c.writes.Load(), c.unknown.Load(), c.reads.Load(), c.retrievals.Load(), c.refused.Load(), c.kills.Load(), c.stops.Load(), c.cuts.Load())
	require.NotZero(t, c.writes.Load())
	require.NotZero(t, c.kills.Load())
}

func (m *machine) anyNode() *node { return m.nodes[rand.IntN(len(m.nodes))] }

func text(d *counted, count int) string {
	return fmt.Sprintf("# %s\n\nThe count of %s is %d.\n", d.path, d.path, count)
}

func countOf(body []byte) int {
	_, after, _ := strings.Cut(string(body), " is ")
	n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(after), "."))
	if err != nil {
		return -1
	}
	return n
}

// write counts documents up. One writer has a document at a time, as one session of an agent has.
func (m *machine) write(ctx context.Context, t *testing.T, c *counts, tenants []*tenant, w int) {
	for ctx.Err() == nil {
		tn := tenants[rand.IntN(len(tenants))]
		d := tn.documents[rand.IntN(len(tn.documents))]
		if !d.mu.TryLock() {
			continue
		}
		d.attempted++
		r, err := m.anyNode().ask(ctx, tn.key, "PUT", tn.name+"/documents/"+d.path, text(d, d.attempted))
		switch {
		case err == nil && r.status == 200:
			d.acked, d.version = d.attempted, r.version
			c.writes.Add(1)
		case err != nil || r.status >= 500:
			d.unknown++
			c.unknown.Add(1)
			time.Sleep(50 * time.Millisecond)
		default:
			if r.status != 429 && r.status != 409 {
				t.Errorf("PUT %s of %s: %d %s", d.path, tn.name, r.status, r.body)
			}
			c.refused.Add(1)
		}
		d.mu.Unlock()
	}
}

// read looks for documents that are older than what was acknowledged before.
func (m *machine) read(ctx context.Context, t *testing.T, c *counts, tenants []*tenant) {
	for ctx.Err() == nil {
		tn := tenants[rand.IntN(len(tenants))]
		d := tn.documents[rand.IntN(len(tn.documents))]
		if !d.mu.TryLock() {
			continue
		}
		acked, version := d.acked, d.version
		d.mu.Unlock()
		n := m.anyNode()
		if rand.IntN(4) == 0 {
			r, err := n.ask(ctx, tn.key, "POST", tn.name+"/retrieve", `{"query": "What is the count of `+d.path+`?"}`)
			if err == nil && r.status == 200 {
				c.retrievals.Add(1)
			}
			continue
		}
		if acked == 0 {
			continue
		}
		r, err := n.ask(ctx, tn.key, "GET", tn.name+"/documents/"+d.path, "", "Memcore-At-Least", fmt.Sprint(version))
		switch {
		case err != nil || r.status >= 500 || r.status == 429:
			c.refused.Add(1)
			time.Sleep(20 * time.Millisecond)
		case r.status != 200:
			t.Errorf("GET %s of %s at least %d: %d %s", d.path, tn.name, version, r.status, r.body)
		case countOf(r.body) < acked || r.version < version:
			t.Errorf("GET %s of %s: count %d in version %d, want at least %d and %d", d.path, tn.name, countOf(r.body), r.version, acked, version)
		default:
			c.reads.Add(1)
		}
	}
}

// changeShared counts a document up that others change too: each success adds exactly one.
func (m *machine) changeShared(ctx context.Context, t *testing.T, c *counts, tenants []*tenant) {
	for ctx.Err() == nil {
		tn := tenants[rand.IntN(min(3, len(tenants)))]
		d, n := &tn.shared, m.anyNode()
		before, err := n.ask(ctx, tn.key, "GET", tn.name+"/documents/"+d.path, "")
		count, condition := 0, []string{"If-None-Match", "*"}
		switch {
		case err != nil || before.status >= 500 || before.status == 429:
			time.Sleep(50 * time.Millisecond)
			continue
		case before.status == 200:
			count, condition = countOf(before.body), []string{"If-Match", before.header.Get("ETag")}
		}
		r, err := n.ask(ctx, tn.key, "PUT", tn.name+"/documents/"+d.path, text(d, count+1), condition...)
		d.mu.Lock()
		switch {
		case err == nil && r.status == 200:
			d.acked++
			c.writes.Add(1)
		case err == nil && r.status == 409:
			c.refused.Add(1)
		default:
			d.unknown++
			c.unknown.Add(1)
		}
		d.mu.Unlock()
	}
}

// disturb kills and stops nodes and cuts the link until ctx ends.
func (m *machine) disturb(ctx context.Context, c *counts) {
	for ctx.Err() == nil {
		n := m.anyNode()
		switch rand.IntN(5) {
		case 0, 1:
			n.kill()
			c.kills.Add(1)
			time.Sleep(time.Duration(rand.IntN(300)) * time.Millisecond)
			n.start()
		case 2:
			n.signal(syscall.SIGSTOP)
			c.stops.Add(1)
			time.Sleep(time.Duration(rand.IntN(3000)) * time.Millisecond)
			n.signal(syscall.SIGCONT)
		case 3:
			m.link.cut.Store(rand.IntN(2) == 0)
			m.link.drop()
			c.cuts.Add(1)
			time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
			m.link.cut.Store(false)
		case 4:
			m.link.delay.Store(int64(rand.IntN(100)) * int64(time.Millisecond))
			time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond)
			m.link.delay.Store(0)
		}
		time.Sleep(time.Duration(500+rand.IntN(1500)) * time.Millisecond)
	}
}

// check compares a tenant on every node with what its writers know, with its history, and, if asked
// to, with a fresh index of its documents.
func (m *machine) check(t *testing.T, tn *tenant, compared bool) {
	last := int64(0)
	for _, d := range tn.documents {
		last = max(last, d.version)
	}
	for _, n := range m.nodes {
		for _, d := range tn.documents {
			r, err := n.ask(t.Context(), tn.key, "GET", tn.name+"/documents/"+d.path, "", "Memcore-At-Least", fmt.Sprint(last))
			require.NoError(t, err)
			switch count := countOf(r.body); {
			case d.acked == 0 && r.status == 404:
			case r.status != 200 || count < d.acked || count > d.attempted:
				t.Errorf("%s of %s at the end: %d, count %d, want %d to %d", d.path, tn.name, r.status, count, d.acked, d.attempted)
			}
		}
	}
	r, err := m.nodes[0].ask(t.Context(), tn.key, "GET", tn.name+"/history", "")
	require.NoError(t, err)
	var history struct {
		Documents []struct {
			Path    string
			Version int64
			Bytes   int
		}
	}
	r.decode(t, &history)
	written := map[string]int{}
	for i, h := range history.Documents {
		if written[h.Path]++; i > 0 && h.Version <= history.Documents[i-1].Version {
			t.Errorf("history of %s: version %d after %d", tn.name, h.Version, history.Documents[i-1].Version)
		}
	}
	for _, d := range tn.documents {
		if n := written[d.path]; n < d.attempted-d.unknown-countRefused || n > d.attempted {
			t.Errorf("%s of %s was written %d times, %d attempts, %d of them without an answer", d.path, tn.name, n, d.attempted, d.unknown)
		}
	}
	if r, err = m.nodes[1].ask(t.Context(), tn.key, "GET", tn.name+"/documents/"+tn.shared.path, ""); err == nil && r.status == 200 {
		if count, s := countOf(r.body), &tn.shared; count < s.acked || count > s.acked+s.unknown || count != written[s.path] {
			t.Errorf("%s of %s counts %d after %d acknowledged changes and %d without an answer; its history has %d", s.path, tn.name, count, s.acked, s.unknown, written[s.path])
		}
	}
	if compared {
		m.compare(t, tn)
	}
}

// countRefused is how many attempts may have been refused without a change.
const countRefused = 1 << 20

type result struct {
	State string `json:"state"`
	Stale any    `json:"stale"`
	Hits  []struct {
		Text   string  `json:"text"`
		Source string  `json:"source"`
		Score  float64 `json:"score"`
	} `json:"hits"`
	Degraded []string `json:"degraded"`
}

func (r result) String() string {
	var all []string
	for _, h := range r.Hits {
		all = append(all, fmt.Sprintf("%s %.3f %q", h.Source, h.Score, h.Text))
	}
	return strings.Join(all, "\n")
}

// compare asks each node what a fresh index of the documents on a laptop answers.
func (m *machine) compare(t *testing.T, tn *tenant) {
	exported, err := m.nodes[2].ask(t.Context(), tn.key, "GET", tn.name+"/export", "")
	require.NoError(t, err)
	folder := t.TempDir()
	for archive := tar.NewReader(bytes.NewReader(exported.body)); ; {
		header, err := archive.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		file := filepath.Join(folder, filepath.FromSlash(header.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		data, err := io.ReadAll(archive)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, data, 0o600))
		require.NoError(t, os.Chtimes(file, header.ModTime, header.ModTime))
	}
	laptop := func(args ...string) []byte {
		command := exec.Command(m.program, append([]string{"--workspace", folder, "-q", "--json"}, args...)...)
		command.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CACHE_HOME="+filepath.Join(folder, ".cache"), "XDG_STATE_HOME="+filepath.Join(folder, ".state"), "MEMCORE_ENGINE=flat")
		var stderr bytes.Buffer
		command.Stderr = &stderr
		out, err := command.Output()
		require.NoError(t, err, "memcore %s: %s", strings.Join(args, " "), stderr.String())
		return out
	}
	laptop("index")
	for _, d := range append(tn.documents, &tn.shared) {
		query := "What is the count of " + d.path + "?"
		var want result
		require.NoError(t, json.Unmarshal(laptop("retrieve", query), &want))
		for i, n := range m.nodes {
			var got result
			require.Eventually(t, func() bool {
				r, err := n.ask(t.Context(), tn.key, "POST", tn.name+"/retrieve", `{"query": "`+query+`"}`)
				return err == nil && json.Unmarshal(r.body, &got) == nil && got.State == "ready" && got.Stale == nil && len(got.Degraded) == 0
			}, time.Minute, 100*time.Millisecond)
			if got.String() != want.String() {
				t.Errorf("node %d, %s of %s:\n%s\nwant as on a laptop:\n%s", i, d.path, tn.name, got, cmp.Or(want.String(), "nothing"))
			}
		}
	}
}

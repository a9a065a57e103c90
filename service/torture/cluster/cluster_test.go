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
	"maps"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
	pair      counted // two documents that are written in one step
}

// A counted document says how often it was written.
type counted struct {
	path string

	mu        sync.Mutex
	acked     int   // count of the last acknowledged write
	version   int64 // that has it
	attempted int
	done      int // writes that were acknowledged
	unknown   int // writes without an answer
}

const documentsPerTenant = 3

// counts are what came of an attack.
type counts struct {
	writes, unknown, reads, searches, refused, kills, crashes, failovers, replicas, stops, cuts atomic.Int64

	mu   sync.Mutex
	said map[string]int // by what a service that does not answer says
}

// unanswered notes what an answer or error says, without the addresses in it. It has to say what
// went wrong.
func (c *counts) unanswered(t *testing.T, r reply, err error) {
	if strings.Contains(string(r.body), "not answer as it should") {
		t.Errorf("an answer hides what it is: %d %s", r.status, r.body)
	}
	why := fmt.Sprintf("%d %.120s", r.status, r.body)
	if err != nil {
		_, why, _ = strings.Cut(err.Error(), "\": ")
		why = addresses.ReplaceAllString(why, "…")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said[why]++
}

var addresses = regexp.MustCompile(`127\.0\.0\.1:\d+`)

func TestCluster(t *testing.T) {
	minutes, most := setting("MEMCORE_CLUSTER_MINUTES", 1), setting("MEMCORE_CLUSTER_TENANTS", 12)
	m := newMachine(t, 3)
	tenants := make([]*tenant, most)
	var making sync.WaitGroup
	limit := make(chan bool, 4)
	for i := range tenants {
		making.Go(func() {
			limit <- true
			defer func() { <-limit }()
			tn := m.newTenant(fmt.Sprintf("tenant-%d", i))
			for d := range documentsPerTenant {
				tn.documents = append(tn.documents, &counted{path: fmt.Sprintf("notes/%d.md", d)})
			}
			tenants[i] = tn
		})
	}
	making.Wait()
	require.False(t, t.Failed())

	m.follow()
	c := counts{said: map[string]int{}}
	ctx, stop := context.WithTimeout(t.Context(), time.Duration(minutes)*time.Minute)
	defer stop()
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() { m.write(ctx, t, &c, tenants) })
		work.Go(func() { m.read(ctx, t, &c, tenants) })
	}
	for range 2 {
		work.Go(func() { m.changeShared(ctx, t, &c, tenants) })
		work.Go(func() { m.changePair(ctx, t, &c, tenants) })
	}
	work.Go(func() { m.disturb(ctx, t, &c) })
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
	t.Logf("cluster: %d tenants, %d minutes: %d writes acknowledged, %d without an answer, %d reads, %d searches, %d refused; %d kills of nodes, %d crashes and restarts of the server, %d failovers, %d crashes of the replica, %d stops, %d cuts of the link",
		most, minutes, c.writes.Load(), c.unknown.Load(), c.reads.Load(), c.searches.Load(), c.refused.Load(), c.kills.Load(), c.crashes.Load(), c.failovers.Load(), c.replicas.Load(), c.stops.Load(), c.cuts.Load())
	for _, why := range slices.Sorted(maps.Keys(c.said)) {
		t.Logf("not answered: %d × %s", c.said[why], why)
	}
	for what, n := range map[string]int64{"writes": c.writes.Load(), "reads": c.reads.Load(), "searches": c.searches.Load(), "kills": c.kills.Load()} {
		require.NotZero(t, n, what)
	}
}

// busy tenants have half the load.
const busy = 3

func anyTenant(tenants []*tenant) *tenant {
	if rand.IntN(2) == 0 {
		return tenants[rand.IntN(min(busy, len(tenants)))]
	}
	return tenants[rand.IntN(len(tenants))]
}

func (m *machine) anyNode() *node { return m.nodes[rand.IntN(len(m.nodes))] }

func text(path string, count int) string {
	return fmt.Sprintf("# %s\n\nThe count of %s is %d.\n", path, path, count)
}

// countOf returns -1 for what is no whole text.
func countOf(body string) int {
	_, after, _ := strings.Cut(body, " is ")
	number, rest, whole := strings.Cut(after, ".")
	n, err := strconv.Atoi(number)
	if !whole || strings.TrimSpace(rest) != "" {
		return -1
	}
	if err != nil {
		return -1
	}
	return n
}

// note takes the answer to a write of a document, which its caller has locked.
func (d *counted) note(t *testing.T, c *counts, count int, r reply, err error) {
	switch {
	case err == nil && r.status == 200:
		d.acked, d.version = count, r.version
		d.done++
		c.writes.Add(1)
	case err == nil && (r.status == 429 || r.status == 409):
		c.refused.Add(1)
	case err == nil && r.status != 503: // 500 says nothing of what went wrong
		t.Errorf("write of %s: %d %s", d.path, r.status, r.body)
	default:
		d.unknown++
		c.unknown.Add(1)
		c.unanswered(t, r, err)
		time.Sleep(50 * time.Millisecond)
	}
}

// write counts documents up. One writer has a document at a time, as one session of an agent has.
func (m *machine) write(ctx context.Context, t *testing.T, c *counts, tenants []*tenant) {
	for ctx.Err() == nil {
		tn := anyTenant(tenants)
		d := tn.documents[rand.IntN(len(tn.documents))]
		if !d.mu.TryLock() {
			continue
		}
		d.attempted++
		r, err := m.anyNode().ask(ctx, tn.key, "PUT", tn.name+"/documents/"+d.path, text(d.path, d.attempted))
		d.note(t, c, d.attempted, r, err)
		d.mu.Unlock()
	}
}

// pairs are the documents of a tenant that are written together.
var pairs = []string{"pair/left.md", "pair/right.md"}

// changePair counts two documents up in one step.
func (m *machine) changePair(ctx context.Context, t *testing.T, c *counts, tenants []*tenant) {
	for ctx.Err() == nil {
		tn := anyTenant(tenants)
		d := &tn.pair
		if !d.mu.TryLock() {
			continue
		}
		d.attempted++
		var archive bytes.Buffer
		out := tar.NewWriter(&archive)
		for _, path := range pairs {
			body := text(path, d.attempted)
			require.NoError(t, out.WriteHeader(&tar.Header{Name: path, Mode: 0o600, Size: int64(len(body))}))
			_, err := io.WriteString(out, body)
			require.NoError(t, err)
		}
		require.NoError(t, out.Close())
		r, err := m.anyNode().ask(ctx, tn.key, "POST", tn.name+"/import", archive.String())
		d.note(t, c, d.attempted, r, err)
		d.mu.Unlock()
		time.Sleep(50 * time.Millisecond)
	}
}

// read looks for documents and hits that are older than what was acknowledged before.
func (m *machine) read(ctx context.Context, t *testing.T, c *counts, tenants []*tenant) {
	for ctx.Err() == nil {
		tn := anyTenant(tenants)
		d := tn.documents[rand.IntN(len(tn.documents))]
		if !d.mu.TryLock() {
			continue
		}
		acked, version := d.acked, d.version
		d.mu.Unlock()
		if acked == 0 {
			continue
		}
		n, atLeast := m.anyNode(), []string{"Memcore-At-Least", fmt.Sprint(version)}
		var r reply
		var err error
		searched := rand.IntN(4) == 0
		if searched {
			r, err = n.ask(ctx, tn.key, "POST", tn.name+"/search", `{"query": "What is the count of `+d.path+`?"}`, atLeast...)
		} else {
			r, err = n.ask(ctx, tn.key, "GET", tn.name+"/documents/"+d.path, "", atLeast...)
		}
		switch {
		case err != nil || r.status == 503 || r.status == 429:
			c.refused.Add(1)
			c.unanswered(t, r, err)
			time.Sleep(20 * time.Millisecond)
		case r.status != 200:
			t.Errorf("read of %s of %s at least %d: %d %s", d.path, tn.name, version, r.status, r.body)
		case searched:
			var got result
			r.decode(t, &got)
			if strings.Contains(strings.Join(got.Degraded, " "), "did not answer") { // an index was cut off, which the answer says
				c.refused.Add(1)
				continue
			}
			if count := got.countOf(d.path); count < acked {
				t.Errorf("search for %s of %s at least %d: count %d, want at least %d: %s", d.path, tn.name, version, count, acked, r.body)
			}
			c.searches.Add(1)
		case countOf(string(r.body)) < acked || r.version < version:
			t.Errorf("GET %s of %s: count %d in version %d, want at least %d and %d", d.path, tn.name, countOf(string(r.body)), r.version, acked, version)
		default:
			c.reads.Add(1)
		}
	}
}

// changeShared counts a document up that others change too: each success adds exactly one.
func (m *machine) changeShared(ctx context.Context, t *testing.T, c *counts, tenants []*tenant) {
	for ctx.Err() == nil {
		tn := tenants[rand.IntN(min(busy, len(tenants)))]
		d, n := &tn.shared, m.anyNode()
		before, err := n.ask(ctx, tn.key, "GET", tn.name+"/documents/"+d.path, "")
		count, condition := 0, []string{"If-None-Match", "*"}
		switch {
		case err != nil || before.status == 503 || before.status == 429:
			time.Sleep(50 * time.Millisecond)
			continue
		case before.status == 200:
			count, condition = countOf(string(before.body)), []string{"If-Match", before.header.Get("ETag")}
		}
		r, err := n.ask(ctx, tn.key, "PUT", tn.name+"/documents/"+d.path, text(d.path, count+1), condition...)
		d.mu.Lock()
		d.note(t, c, count+1, r, err)
		d.mu.Unlock()
	}
}

// disturb kills and stops nodes, crashes, restarts and loses the server, crashes its replica, and
// cuts the link until ctx ends.
func (m *machine) disturb(ctx context.Context, t *testing.T, c *counts) {
	for ctx.Err() == nil {
		n := m.anyNode()
		switch rand.IntN(9) {
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
		case 5, 6:
			c.crashes.Add(1)
			end := m.database.Kill
			switch rand.IntN(3) {
			case 0:
				end = m.database.Stop
			case 1:
				m.crashConnection(ctx)
				continue
			}
			assert.NoError(t, end())
			time.Sleep(time.Duration(rand.IntN(1000)) * time.Millisecond)
			assert.NoError(t, m.database.Start())
		case 7:
			m.failOver()
			c.failovers.Add(1)
		case 8: // commits wait meanwhile
			assert.NoError(t, m.standby.Kill())
			c.replicas.Add(1)
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Millisecond)
			assert.NoError(t, m.standby.Start())
		}
		time.Sleep(time.Duration(500+rand.IntN(1500)) * time.Millisecond)
	}
}

// check compares a tenant on every node with what its writers know, with its history, and, if asked
// to, with a fresh index of its documents.
func (m *machine) check(t *testing.T, tn *tenant, compared bool) {
	get := func(n *node, path string) (count int) {
		r, err := n.ask(t.Context(), tn.key, "GET", tn.name+"/documents/"+path, "")
		require.NoError(t, err)
		if r.status == 404 {
			return 0
		}
		require.Equal(t, 200, r.status, "%s", r.body)
		return countOf(string(r.body))
	}
	written := func(path string) int { return len(m.history(t, tn, path)) }
	for _, n := range m.nodes {
		for _, d := range tn.documents {
			if count := get(n, d.path); count < d.acked || count > d.attempted {
				t.Errorf("%s of %s at the end: count %d, want %d to %d", d.path, tn.name, count, d.acked, d.attempted)
			}
		}
	}
	for _, d := range tn.documents {
		d.countsOf(t, tn, written(d.path))
	}
	shared := get(m.nodes[1], tn.shared.path)
	tn.shared.countsOf(t, tn, shared)
	if n := written(tn.shared.path); n != shared {
		t.Errorf("%s of %s counts %d; its history has %d", tn.shared.path, tn.name, shared, n)
	}
	left, right := m.history(t, tn, pairs[0]), m.history(t, tn, pairs[1])
	if len(left) != len(right) || get(m.nodes[0], pairs[0]) != get(m.nodes[2], pairs[1]) {
		t.Errorf("a pair of %s that is written in one step has %d and %d revisions, and counts %d and %d", tn.name, len(left), len(right), get(m.nodes[0], pairs[0]), get(m.nodes[2], pairs[1]))
	}
	tn.pair.countsOf(t, tn, len(left))
	if compared {
		m.compare(t, tn)
	}
}

// fits reports whether a document may have been written so often: each acknowledged write counts
// once, one without an answer at most once.
func (d *counted) fits(written int) bool { return written >= d.done && written <= d.done+d.unknown }

func (d *counted) countsOf(t *testing.T, tn *tenant, written int) {
	if !d.fits(written) {
		t.Errorf("%s of %s was written %d times, %d writes were acknowledged and %d had no answer", d.path, tn.name, written, d.done, d.unknown)
	}
}

// A missing and a doubled revision have to be found.
func TestCountsFit(t *testing.T) {
	d := counted{done: 5, unknown: 2}
	for written, want := range map[int]bool{4: false, 5: true, 7: true, 8: false} {
		assert.Equal(t, want, d.fits(written), written)
	}
	assert.Equal(t, 12, countOf(text("a.md", 12)))
	assert.Equal(t, -1, countOf(text("a.md", 12)[:30]), "half a text")
	assert.Equal(t, -1, countOf(text("a.md", 12)+text("a.md", 13)), "two texts")
}

// history returns the versions of a document, which have to ascend.
func (m *machine) history(t *testing.T, tn *tenant, path string) (versions []int64) {
	for before := ""; ; {
		r, err := m.nodes[0].ask(t.Context(), tn.key, "GET", tn.name+"/history?limit=1000&path="+url.QueryEscape(path)+before, "")
		require.NoError(t, err)
		var page struct {
			Documents []struct{ Version int64 }
			More      bool
		}
		r.decode(t, &page)
		var these []int64
		for _, d := range page.Documents {
			these = append(these, d.Version)
		}
		versions = append(these, versions...)
		if !page.More {
			break
		}
		before = fmt.Sprintf("&before=%d", these[0])
	}
	for i := 1; i < len(versions); i++ {
		if versions[i] <= versions[i-1] {
			t.Errorf("history of %s of %s: version %d after %d", path, tn.name, versions[i], versions[i-1])
		}
	}
	return versions
}

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

// countOf returns the count that the hits say of a document, -1 if none does.
func (r result) countOf(path string) int {
	for _, h := range r.Hits {
		if at := strings.Index(h.Text, "The count of "+path+" is "); at >= 0 {
			return countOf(h.Text[at:])
		}
	}
	return -1
}

func (r result) String() string {
	var all []string
	for _, h := range r.Hits {
		all = append(all, fmt.Sprintf("%s %.3f %q", h.Source, h.Score, h.Text))
	}
	return strings.Join(all, "\n")
}

// unpack writes what a tenant exports into a folder.
func (m *machine) unpack(t *testing.T, n *node, tn *tenant, folder string) {
	t.Helper()
	exported, err := n.ask(t.Context(), tn.key, "GET", tn.name+"/export", "")
	require.NoError(t, err)
	require.Equal(t, 200, exported.status, "%s", exported.body)
	for archive := tar.NewReader(bytes.NewReader(exported.body)); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
		file := filepath.Join(folder, filepath.FromSlash(header.Name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		data, err := io.ReadAll(archive)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, data, 0o600))
		require.NoError(t, os.Chtimes(file, header.ModTime, header.ModTime))
	}
}

// compare asks each node what a fresh index of the documents on a laptop answers.
func (m *machine) compare(t *testing.T, tn *tenant) {
	folder := t.TempDir()
	m.unpack(t, m.nodes[2], tn, folder)
	laptop := func(args ...string) []byte {
		command := exec.Command(m.memcore, append([]string{"--workspace", folder, "-q", "--json"}, args...)...)
		command.Env = append(os.Environ(), "HOME="+t.TempDir(), "XDG_CACHE_HOME="+filepath.Join(folder, ".cache"), "XDG_STATE_HOME="+filepath.Join(folder, ".state"), "MEMCORE_ENGINE=flat")
		var stderr bytes.Buffer
		command.Stderr = &stderr
		out, err := command.Output()
		require.NoError(t, err, "memcore %s: %s", strings.Join(args, " "), stderr.String())
		return out
	}
	laptop("index")
	for _, d := range append(tn.documents[:documentsPerTenant:documentsPerTenant], &tn.shared) {
		query := "What is the count of " + d.path + "?"
		var want result
		require.NoError(t, json.Unmarshal(laptop("search", query), &want)) // a turn would not wait for a busy machine's vectors
		require.Empty(t, want.Degraded)
		for i, n := range m.nodes {
			var got result
			require.Eventually(t, func() bool {
				r, err := n.ask(t.Context(), tn.key, "POST", tn.name+"/search", `{"query": "`+query+`"}`)
				return err == nil && json.Unmarshal(r.body, &got) == nil && got.State == "ready" && got.Stale == nil && len(got.Degraded) == 0
			}, time.Minute, 100*time.Millisecond)
			if got.String() != want.String() {
				t.Errorf("node %d, %s of %s:\n%s\nwant as on a laptop:\n%s", i, d.path, tn.name, got, cmp.Or(want.String(), "nothing"))
			}
		}
	}
}

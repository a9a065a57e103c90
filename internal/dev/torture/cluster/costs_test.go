//go:build unix

package cluster

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/stretchr/testify/require"
)

// chunksOfDocument are what archive makes of a document.
const chunksOfDocument = 5

// TestCosts measures the costs of steps for internal/dev/simulate, into the file that
// MEMCORE_CLUSTER_COSTS names. Then it compares a simulation with a run of three nodes. It is no
// test of speed.
func TestCosts(t *testing.T) {
	file := os.Getenv("MEMCORE_CLUSTER_COSTS")
	if file == "" {
		t.Skip("MEMCORE_CLUSTER_COSTS is not set: nothing is measured")
	}
	m := newMachine(t, 1)
	costs := m.costs(t)
	written, err := json.MarshalIndent(costs, "", "  ")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, append(written, '\n'), 0o600))
	t.Logf("%s: %s", file, written)

	load := load{tenants: setting("MEMCORE_CLUSTER_TENANTS", 60), documents: 20, retrievals: 20, writes: 2, seconds: 60 * setting("MEMCORE_CLUSTER_MINUTES", 2)}
	got := newMachine(t, 3).run3(t, load)
	want := simulated(t, file, load)
	for _, f := range []struct {
		name      string
		got, want float64
	}{
		{"cores in use", got.Cores, want.Cores}, {"requests to storage a second", got.Requests, want.Requests},
		{"share of cold retrievals", got.Cold, want.Cold}, {"retrieval, open, p50 in ms", 1000 * got.OpenP50, 1000 * want.OpenP50},
		{"first answer, cold, p50 in ms", 1000 * got.ColdP50, 1000 * want.ColdP50}, {"write, p50 in ms", 1000 * got.WriteP50, 1000 * want.WriteP50},
	} {
		t.Logf("%-30s measured %8.3f, simulated %8.3f: %+.0f %%", f.name, f.got, f.want, 100*(f.want/f.got-1))
	}
}

// A usage is what a step used.
type usage struct {
	cpu               float64 // seconds of a core
	wall              float64 // seconds
	gets, lists, puts float64
}

func (u usage) dividedBy(n float64) usage {
	return usage{u.cpu / n, u.wall / n, u.gets / n, u.lists / n, u.puts / n}
}

// during returns what all nodes used in a step.
func (m *machine) during(step func()) usage {
	before, begun := m.used(), time.Now()
	step()
	wall, after := time.Since(begun).Seconds(), m.used()
	return usage{after.cpu - before.cpu, wall, after.gets - before.gets, after.lists - before.lists, after.puts - before.puts}
}

func (m *machine) used() (u usage) {
	for _, n := range m.nodes {
		u.cpu += n.cpu()
	}
	u.gets, u.lists, u.puts = float64(m.link.gets.Load()), float64(m.link.lists.Load()), float64(m.link.puts.Load())
	return u
}

// cpu returns the seconds of a core that the process of a node has used.
func (n *node) cpu() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.process.Process.Pid))
	if err != nil {
		return math.NaN()
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:]))
	var user, system float64
	_, _ = fmt.Sscan(fields[11], &user)
	_, _ = fmt.Sscan(fields[12], &system)
	const ticks = 100 // a second, on all systems that have /proc
	return (user + system) / ticks
}

// resident returns the memory of a node in bytes.
func (n *node) resident() float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/statm", n.process.Process.Pid))
	var all, resident float64
	_, _ = fmt.Sscan(string(text), &all, &resident)
	return resident * float64(os.Getpagesize())
}

func (m *machine) newTenant(name string) *tenant {
	m.run("service", "tenant", "create", name)
	return &tenant{name: name, key: m.run("-q", "service", "key", "create", "--tenant", name, "--user", "ann", "--right", "admin")}
}

// fill writes documents into a tenant and waits until they are indexed and kept in the storage.
func (m *machine) fill(t *testing.T, tn *tenant, documents int) {
	t.Helper()
	r, err := m.nodes[0].ask(t.Context(), tn.key, "POST", tn.name+"/import", archive(t, 0, documents))
	require.NoError(t, err)
	require.Equal(t, 200, r.status, "%s", r.body)
	m.indexed(t, m.nodes[0], tn)
}

// renew replaces the nodes by ones with empty folders.
func (m *machine) renew(t *testing.T) {
	t.Helper()
	for _, n := range m.nodes {
		n.kill()
		require.NoError(t, os.RemoveAll(n.dir))
		n.start()
	}
	for _, n := range m.nodes {
		waitFor(t, "http://"+n.address+"/ready")
	}
}

// The sizes of tenants that costs are measured with, in documents.
const small, large = 20, 400

// tokens of a section, about.
const tokens = 150

// costs measures a node.
func (m *machine) costs(t *testing.T) map[string]any {
	waitFor(t, "http://"+m.nodes[0].address+"/ready")
	n := m.nodes[0]
	var filling usage
	tenants := map[int][]*tenant{}
	for i := range 4 {
		for _, size := range []int{small, large} {
			tn := m.newTenant(fmt.Sprintf("tenant-%d-%d", size, i))
			used := m.during(func() { m.fill(t, tn, size) })
			if tenants[size] = append(tenants[size], tn); size == large {
				filling.cpu += used.cpu / 4
			}
		}
	}
	time.Sleep(5 * shelfPause) // vectors and snapshots reach the storage
	m.renew(t)

	cold, resident := map[int]usage{}, map[int]float64{}
	for _, size := range []int{small, large} {
		used := m.during(func() {
			for i, tn := range tenants[size] {
				m.retrieve(t, n, tn, i)
			}
		})
		// What goes on aside belongs to it.
		used.cpu += m.during(func() { time.Sleep(2 * shelfPause) }).cpu
		cold[size], resident[size] = used.dividedBy(float64(len(tenants[size]))), n.resident()
	}
	onDisk := bytesBelow(t, n.dir)

	warm, lone := map[int]usage{}, map[int]times{}
	for _, size := range []int{small, large} {
		tn := tenants[size][0]
		m.retrieve(t, n, tn, 0)
		const count = 300
		warm[size] = m.during(func() { lone[size] = m.latencies(t, n, tn, count, size*chunksOfDocument) }).dividedBy(count)
	}
	const polls = 16
	var polled times
	poll := m.during(func() {
		for i := range polls {
			time.Sleep(1100 * time.Millisecond) // longer than --freshness
			begun := time.Now()
			m.retrieve(t, n, tenants[small][1], i)
			polled = append(polled, time.Since(begun))
		}
	}).dividedBy(polls)

	const writes = 40
	var acks times
	write := m.during(func() {
		for i := range writes {
			begun := time.Now()
			m.put(t, n, tenants[small][2], i)
			acks = append(acks, time.Since(begun))
		}
		time.Sleep(shelfPause)
	}).dividedBy(writes)
	time.Sleep(3 * shelfPause)
	m.renew(t)
	appended := m.during(func() { m.retrieve(t, n, tenants[small][2], 0) })
	getsPerAppend := max(0, appended.gets+appended.lists-cold[small].gets-cold[small].lists) / writes

	t.Logf("cold %+v, after %d appends %+v, warm %+v, poll %+v, write %+v, acknowledged p50 %v", cold, writes, appended, warm, poll, write, acks.p(50))

	perChunk := func(of map[int]usage) (base, each float64) {
		each = (of[large].cpu - of[small].cpu) / ((large - small) * chunksOfDocument)
		return of[small].cpu - each*small*chunksOfDocument, each
	}
	retrieve, retrieveEach := perChunk(warm)
	build, buildEach := perChunk(cold)
	embedEach := filling.cpu/(large*chunksOfDocument) - buildEach
	get, put := m.storageTimes(t)
	// A client waits for the node's own work and for the storage; the rest is done aside.
	pollMS, pollAsideMS := split(poll.cpu-warm[small].cpu, (polled.p(50)-lone[small].p(50)).Seconds()-(poll.gets+poll.lists)*get.p(50).Seconds())
	commitMS, commitAsideMS := split(write.cpu-embedEach-buildEach, acks.p(50).Seconds()-(write.gets+write.lists)*get.p(50).Seconds()-write.puts*put.p(50).Seconds())
	chunks := 4.0 * (small + large) * chunksOfDocument
	return map[string]any{
		"source":     "measured by TestCosts of internal/dev/torture/cluster",
		"retrieveMS": max(0, 1e3*retrieve), "retrieveUSPerChunk": max(0, 1e6*retrieveEach), "retrieveSpread": math.Log(lone[large].p(95).Seconds()/lone[large].p(50).Seconds()) / 1.645,
		"buildMS": max(0, 1e3*build), "buildUSPerChunk": max(0, 1e6*buildEach), "vectorsCached": 1,
		"embedSecondsPerMTokens": 1e6 * embedEach / tokens, "tokensPerChunk": tokens,
		"diskBytesPerChunk": onDisk / chunks, "memoryBytesPerChunk": max(0, (resident[large]-resident[small])/(4*large*chunksOfDocument)),
		"chunksPerWrite": 1, "commitMS": commitMS, "commitAsideMS": commitAsideMS, "commitGets": write.gets + write.lists, "commitPuts": write.puts,
		"pollMS": pollMS, "pollAsideMS": pollAsideMS, "pollLists": poll.lists, "pollGets": poll.gets,
		"scanGets": cold[small].gets + cold[small].lists - 1 - getsPerAppend, "scanGetsPerFragment": getsPerAppend, "scanMBPerSecond": 1e6,
		"getP50MS": 1e3 * get.p(50).Seconds(), "getP99MS": 1e3 * get.p(99).Seconds(), "putP50MS": 1e3 * put.p(50).Seconds(), "putP99MS": 1e3 * put.p(99).Seconds(),
	}
}

// split returns the milliseconds of a step that delay an answer, and the others.
func split(cpu, delay float64) (waited, aside float64) {
	waited = min(max(0.0001, delay), max(0.0001, cpu))
	return 1e3 * waited, 1e3 * max(0, cpu-waited)
}

// put writes a document of one chunk.
func (m *machine) put(t *testing.T, n *node, tn *tenant, i int) {
	r, err := n.ask(t.Context(), tn.key, "PUT", fmt.Sprintf("%s/documents/cases/%d.md", tn.name, i), section(1_000_000+i, i))
	require.NoError(t, err)
	require.Equal(t, 200, r.status, "%s", r.body)
}

// storageTimes are those of small requests by way of the link.
func (m *machine) storageTimes(t *testing.T) (get, put times) {
	client, err := minio.New(m.link.address, &minio.Options{Creds: credentials.NewStaticV4("tortured", "tortured-secret", "")})
	require.NoError(t, err)
	text := strings.Repeat("x", 4096)
	for range 200 {
		begun := time.Now()
		_, err := client.PutObject(t.Context(), "bucket", "times/x", strings.NewReader(text), int64(len(text)), minio.PutObjectOptions{})
		require.NoError(t, err)
		put = append(put, time.Since(begun))
		begun = time.Now()
		object, err := client.GetObject(t.Context(), "bucket", "times/x", minio.GetObjectOptions{})
		require.NoError(t, err)
		_, err = object.Stat()
		require.NoError(t, err)
		get = append(get, time.Since(begun))
		object.Close()
	}
	return get, put
}

func bytesBelow(t *testing.T, folder string) (bytes float64) {
	require.NoError(t, filepath.WalkDir(folder, func(_ string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			if info, err := entry.Info(); err == nil {
				bytes += float64(info.Size())
			}
		}
		return nil
	}))
	return bytes
}

// A load is what clients of a service do.
type load struct {
	tenants, documents int     // documents of each tenant
	retrievals, writes float64 // a second; each write makes a document of one chunk
	seconds            int
}

// Figures are those that internal/dev/simulate prints with -json.
type figures struct{ Cores, Requests, Cold, OpenP50, ColdP50, WriteP50 float64 }

// run3 puts a load on three nodes that have no tenant yet.
func (m *machine) run3(t *testing.T, l load) (f figures) {
	waitFor(t, "http://"+m.nodes[0].address+"/ready")
	var tenants []*tenant
	for i := range l.tenants {
		tenants = append(tenants, m.newTenant(fmt.Sprintf("tenant-%d", i)))
		m.fill(t, tenants[i], l.documents)
	}
	time.Sleep(5 * shelfPause)
	m.renew(t)

	random := rand.New(rand.NewPCG(1, 1))
	var mu sync.Mutex
	var open, cold, wrote times
	asked, opened := make([]bool, l.tenants), make([]bool, l.tenants)
	waited := 0 // retrievals from a tenant that was not open yet
	var running sync.WaitGroup
	used := m.during(func() {
		end := time.Now().Add(time.Duration(l.seconds) * time.Second)
		for nth, now := 0, time.Now(); now.Before(end); nth++ {
			time.Sleep(time.Until(now))
			i := zipf(random, l.tenants)
			isWrite := random.Float64()*(l.retrievals+l.writes) < l.writes
			about := random.IntN(l.documents * chunksOfDocument)
			first := !asked[i]
			asked[i] = true
			running.Go(func() {
				n := m.nodes[i%len(m.nodes)]
				mu.Lock()
				if !isWrite && !opened[i] {
					waited++
				}
				mu.Unlock()
				begun, into := time.Now(), &open
				switch {
				case isWrite:
					into = &wrote
					m.put(t, n, tenants[i], nth)
				case first:
					into = &cold
					fallthrough
				default:
					m.retrieve(t, n, tenants[i], about)
				}
				mu.Lock()
				defer mu.Unlock()
				opened[i] = true
				*into = append(*into, time.Since(begun))
			})
			now = now.Add(time.Duration(random.ExpFloat64() / (l.retrievals + l.writes) * float64(time.Second)))
		}
		running.Wait()
	})
	return figures{
		Cores: used.cpu / used.wall, Requests: (used.gets + used.lists + used.puts) / used.wall, Cold: float64(waited) / float64(len(cold)+len(open)),
		OpenP50: open.p(50).Seconds(), ColdP50: cold.p(50).Seconds(), WriteP50: wrote.p(50).Seconds(),
	}
}

// zipf returns a number below n, each with a share of 1 by its rank.
func zipf(random *rand.Rand, n int) int {
	all := 0.
	for i := range n {
		all += 1 / float64(i+1)
	}
	left := random.Float64() * all
	for i := range n {
		if left -= 1 / float64(i+1); left < 0 {
			return i
		}
	}
	return n - 1
}

// simulated are the figures of a simulation with measured costs.
func simulated(t *testing.T, costs string, l load) (f figures) {
	costs, err := filepath.Abs(costs)
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), "go", "run", "../../simulate", "-small", "-json", "-costs", costs, "-tenants", fmt.Sprint(l.tenants), "-chunks", fmt.Sprint(l.documents*chunksOfDocument), "-spread", "0",
		"-retrievals", fmt.Sprint(l.retrievals), "-writes", fmt.Sprint(l.writes), "-for", fmt.Sprint(l.seconds), "-in-use", "0", "-freshness", "1", "-builds", "64").Output()
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(out, &f))
	return f
}

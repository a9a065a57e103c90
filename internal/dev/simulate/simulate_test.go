package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuantile(t *testing.T) {
	var h histogram
	if got := h.quantile(0.5); !math.IsNaN(got) {
		t.Errorf("median of nothing is %g", got)
	}
	for i := range 1000 {
		h.add(float64(i+1)/1000, 2)
	}
	for _, q := range []float64{0.1, 0.5, 0.95, 0.99, 1} {
		near(t, "quantile", h.quantile(q), q, 0.02)
	}
}

func TestMonth(t *testing.T) {
	p := Prices{Node: 1, Gets: 0.0004, Puts: 0.005, Storage: 0.02, Egress: 0.1, Reads: 0.01}
	l, s := Load{Tenants: 1000, Chunks: 1000, Retrievals: 10}, Service{Nodes: 3}
	r := &result{requests: [kinds]float64{gets: 1000, lists: 10, puts: 90}, scanned: 1e6}
	got := p.month(l, s, Costs{LogBytesPerChunk: 1000, AnswerBytes: 1e5}, r)
	near(t, "compute", got.compute, 3*730, 1e-9)
	near(t, "requests", got.requests, (0.0004+0.0005)*2_628_000, 1e-9)
	near(t, "storage", got.storage, 0.02, 1e-9)
	near(t, "egress", got.egress, 0.1*2628+0.01*2628, 1e-9)
	near(t, "a half", got.dividedBy(2).total(), got.total()/2, 1e-9)
}

func TestBroken(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    result
		want string // the start of what breaks
	}{
		{"nothing", result{}, ""},
		{"cores", result{cpuMax: 0.99, hotShare: 0.5}, "cores of the busiest node (its most used tenant has 50%"},
		{"building", result{builds: 1}, "places for building"},
		{"disk", result{diskWrites: 2e8}, "writes of a node's disk"},
		{"one tenant", result{hottest: [kinds]float64{puts: 3600}}, "storage's limit for the most used tenant"},
		{"all tenants", result{requests: [kinds]float64{gets: 6000, lists: 6000}}, "storage's limit for 2 partitions"},
		{"the worst first", result{builds: 1, diskWrites: 1e9}, "writes of a node's disk; places"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := broken(Service{DiskMB: 100, Partitions: 2}, &tt.r)
			if !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("broken = %q, want %q", got, tt.want)
			}
		})
	}
	slow := result{}
	slow.retrieval[cold].add(2, 1)
	require.Contains(t, broken(Service{DiskMB: 1, Partitions: 1}, &slow), "p99")
}

// One tenant that is always in use.
func TestRequestsOfOneTenant(t *testing.T) {
	c := assumedCosts()
	c.PollGets, c.PollLists, c.CompactAfter = 0, 1, 1e9
	l := Load{Tenants: 1, Chunks: 100, Retrievals: 50}
	s := Service{Nodes: 1, Cores: 4, MemoryGB: 1, DiskGB: 1, Freshness: 2, InUse: 10, Warmup: 5, For: 200, Seed: 1, Partitions: 1}
	for _, tt := range []struct {
		name   string
		writes float64
		inUse  float64
		lists  float64
	}{
		{"polls do not depend on requests", 0, 10, 0.5},
		{"a request polls if the last poll is old", 0, 0, 1 / (2 + 0.02)},
		{"writes come alone", 0.2, 10, 0.5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l.Writes, s.InUse = tt.writes, tt.inUse
			r := simulate(l, s, c)
			near(t, "lists", r.requests[lists], tt.lists, 0.03)
			near(t, "retrievals", r.retrievals().total/s.For, 50, 0.03)
			// The number of writes is random: three puts each, and some share a commit.
			near(t, "puts", r.requests[puts], 3*r.write.total/s.For, 0.15)
		})
	}
	l.Writes = 100
	r := simulate(l, s, c)
	commits := r.requests[puts] / 3
	mean := 1 / (0.015*math.Exp(sigma2(c.GetP50MS, c.GetP99MS)/2) + 3*0.030*math.Exp(sigma2(c.PutP50MS, c.PutP99MS)/2) + 0.003)
	near(t, "commits that many writes share", commits, mean, 0.05)
	near(t, "writes", r.write.total/s.For, 100, 0.03)
}

func sigma2(p50, p99 float64) float64 { return math.Pow(math.Log(p99/p50)/2.326, 2) }

func TestColdTenant(t *testing.T) {
	c := assumedCosts()
	c.RetrieveSpread, c.GetP99MS, c.PutP99MS = 0, c.GetP50MS, c.PutP50MS
	l := Load{Tenants: 1000, Chunks: 10_000, Retrievals: 0.05}
	s := Service{Nodes: 1, Cores: 4, MemoryGB: 100, DiskGB: 100, Freshness: 2, For: 600, Seed: 1, Partitions: 1, Empty: true}
	r := simulate(l, s, c)
	scan := 3*0.015 + 6./60 // version, manifest and a fragment; then 6 MB
	answer := scan + 0.05 + 3 + 0.0015 + 0.002
	near(t, "first answer", r.firstAnswer.quantile(0.5), answer, 0.03)
	near(t, "all vectors", r.complete.quantile(0.5), scan+0.05+3+0.1*0.8*60, 0.03)
}

func TestRun(t *testing.T) {
	print := func(args ...string) string {
		var out bytes.Buffer
		require.NoError(t, run(args, &out))
		return out.String()
	}
	first := print("-small")
	if second := print("-small"); second != first {
		t.Errorf("the same flags printed\n%s\nand\n%s", first, second)
	}
	if print("-small", "-seed", "2") == first {
		t.Error("another seed printed the same")
	}
	require.Contains(t, first, "200 tenants, mean 200 chunks")
	require.Contains(t, print("-small", "-tenants", "9"), "9 tenants, mean 200 chunks")
	require.Contains(t, print("-small", "-scan", "-for", "1"), "What breaks first\ntenants")

	file := filepath.Join(t.TempDir(), "costs.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"source": "a real run", "embedSecondsPerMTokens": 7}`), 0o600))
	var c Costs
	require.NoError(t, json.Unmarshal([]byte(print("-costs", file, "-print-costs")), &c))
	want := assumedCosts()
	want.Source, want.EmbedSecondsPerMTokens = "a real run", 7
	require.Equal(t, want, c)
	for _, bad := range []string{`{"embedSeconds": 7}`, `{"scanParallel": 0}`, `{"getP50MS": 100}`} {
		require.NoError(t, os.WriteFile(file, []byte(bad), 0o600))
		require.Error(t, run([]string{"-costs", file, "-print-costs"}, &bytes.Buffer{}), bad)
	}
	require.Error(t, run([]string{"-nodes", "0"}, &bytes.Buffer{}))
}

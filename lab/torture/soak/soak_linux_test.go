package soak_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/internal/figures"
	"github.com/memcore/memcore/lab/torture/harness"
	"github.com/memcore/memcore/lab/torture/soak"
)

// notes is the number of unchanged notes.
const notes = 60

// Tolerances for resources after the soak, and for the slope of its second half. Go frees threads
// and memory late; a leak in each of thousands of requests exceeds them by far.
const (
	moreGoroutines  = 10
	moreDescriptors = 10
	moreThreads     = 12
	moreFiles       = 40
	moreMB          = 48.
	riseOfMB        = 0.15 // of the mean, or moreMB/4
)

// A soak runs everything at once. Afterwards no resources leak, acknowledged changes exist,
// forgotten text is gone, and the index equals a new one.
func TestSoak(t *testing.T) {
	s := open(t)
	// Each role runs once, so that before includes what loads on first use.
	require.NoError(t, s.hook(t.Context(), 0)) // there is a session, then
	short, stop := context.WithTimeout(t.Context(), time.Minute)
	require.NoError(t, s.play(short, nil, func(n int) bool { return n >= 6 }))
	stop()
	before := s.settled(t, soak.Sample{})
	t.Logf("before: %s", describe(before))

	length := harness.For(15*time.Second, 30*time.Minute)
	samples := s.soak(t, length)
	after := s.settled(t, before)
	t.Logf("after: %s", describe(after))
	s.compare(t, before, after)
	trends(t, samples)

	for _, name := range slices.Sorted(maps.Keys(s.done)) {
		t.Logf("%s: %d times in %v, all answered", name, s.done[name].Load(), length)
		if name != cutOff && name != unremembered { // which need not happen
			assert.Positive(t, s.done[name].Load(), "%s: nothing of the kind was done", name)
		}
	}
	s.books(t)
	s.fresh(t)
	s.stacks(t)
	slices.Sort(s.ledger.lags)
	t.Logf("a save is found: %d saves: p50 %v, p99 %v after it was acknowledged", len(s.ledger.lags), figures.Quantile(s.ledger.lags, .5), figures.Quantile(s.ledger.lags, .99))
	t.Logf("held before and after: %d looks: %s → %s", len(samples), describe(before), describe(after))
}

// open starts the daemon, the proxy and the MCP server of an indexed workspace.
func open(t *testing.T) *run {
	s := &run{Load: harness.NewLoad(t), t: t, token: word(), done: map[string]*atomic.Int64{}}
	s.Configure("memory:\n  save:\n    requireConfirmation: false\n") // no user can answer
	s.ledger.live = map[string]string{}
	for _, name := range []string{"saves", "forgets", "retrievals", "other requests", "streams of events", "MCP sessions", "chats", "hook processes", "other commands", "lines of logs",
		"changes of files", "openings of workspaces", cutOff, unremembered} {
		s.done[name] = new(atomic.Int64)
	}
	s.project = s.NewWorkspace("project", notes)
	other := s.NewWorkspace("other", 5)
	s.Must(s.project, "index", "--quiet")
	s.Must(other, "index", "--quiet")
	upstream := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(upstream.Close)
	s.daemon = s.Serve()
	command := s.Command(context.Background(), s.project, "mcp", "--http", "127.0.0.1:0", "--token-env", "SOAK_TOKEN")
	command.Env = s.Environment("SOAK_TOKEN=" + s.token)
	s.mcp = s.Start("mcp", command)
	s.mcpURL = s.Said(s.mcp, "serving MCP at ")
	s.proxy = s.Start("proxy", s.Command(context.Background(), s.project, "proxy", "--quiet", "--upstream", upstream.URL+"/v1", "--listen", "127.0.0.1:0"))
	s.chatURL = s.Said(s.proxy, "set your client's base URL to ")
	s.chats = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	return s
}

// echo is a model's server that repeats its request, at once or word by word.
func echo(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Stream   bool
		Messages []struct{ Content string }
	}
	data, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(data, &asked) != nil {
		http.Error(w, "what?", http.StatusBadRequest)
		return
	}
	var said []string
	for _, m := range asked.Messages {
		said = append(said, strings.Fields(m.Content)...)
	}
	out := http.NewResponseController(w)
	for _, word := range said {
		if asked.Stream {
			fmt.Fprintf(w, "data: %s\n\n", word)
			_ = out.Flush()
		} else {
			fmt.Fprintln(w, word)
		}
	}
}

// play runs all roles until ctx ends, or each until enough reports that it ran often enough.
// problem receives errors; if it is nil, the first error is returned.
func (s *run) play(ctx context.Context, problem func(error), enough func(n int) bool) error {
	transport := &http.Transport{MaxIdleConnsPerHost: 16}
	defer transport.CloseIdleConnections()
	defer s.Client.CloseIdleConnections()
	defer s.chats.CloseIdleConnections()
	session, err := s.connect(context.WithoutCancel(ctx), &http.Client{Transport: bearer{s.token, transport}})
	if err != nil {
		return err
	}
	defer session.Close()
	var playing sync.WaitGroup
	failed := make(chan error, 100)
	role := func(every time.Duration, do func(ctx context.Context, n int) error) {
		playing.Go(func() {
			for n := 0; ctx.Err() == nil && !enough(n); n++ {
				begun := time.Now()
				if err := do(ctx, n); err != nil && ctx.Err() == nil {
					if problem != nil {
						problem(err)
					} else {
						select {
						case failed <- err:
						default:
						}
					}
				}
				if problem != nil { // else it is only to have been done
					_ = sleep(ctx, every-time.Since(begun))
				}
			}
		})
	}
	role(700*time.Millisecond, func(ctx context.Context, n int) error { return s.save(ctx, session, n) })
	role(700*time.Millisecond, func(ctx context.Context, n int) error { return s.forget(ctx, session, n) })
	for range 3 {
		role(50*time.Millisecond, s.retrieve)
	}
	role(100*time.Millisecond, s.look)
	for range 2 {
		role(200*time.Millisecond, s.listen)
	}
	role(400*time.Millisecond, s.visit)
	for range 2 {
		role(150*time.Millisecond, s.chat)
	}
	role(time.Second, s.hook)
	role(3*time.Second, s.index)
	role(250*time.Millisecond, s.converse)
	role(200*time.Millisecond, s.edit)
	role(5*time.Second, s.turn)
	playing.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// soak runs all roles for a time and takes samples.
func (s *run) soak(t *testing.T, length time.Duration) []soak.Sample {
	ctx, stop := context.WithTimeout(t.Context(), length)
	defer stop()
	var samples []soak.Sample
	var looking sync.WaitGroup
	begun := time.Now()
	looking.Go(func() {
		for sleep(ctx, max(length/360, 500*time.Millisecond)) == nil {
			sample := s.sample(t, ctx)
			if ctx.Err() == nil {
				sample.Seconds = time.Since(begun).Seconds()
				samples = append(samples, sample)
				keep(t, sample)
			}
		}
	})
	problems := 0
	var mu sync.Mutex
	require.NoError(t, s.play(ctx, func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if problems++; problems <= 20 {
			t.Errorf("after %v: %v", time.Since(begun).Round(time.Second), err)
		}
	}, func(int) bool { return false }))
	stop()
	looking.Wait()
	for _, p := range []*harness.Process{s.daemon, s.mcp, s.proxy} {
		require.True(t, p.Alive(), "%s has ended: %s", p.Name, p.Said())
		assert.NotContains(t, p.Said(), "panic", p.Name)
	}
	return samples
}

// keep appends a sample to the file of SamplesVariable.
func keep(t *testing.T, sample soak.Sample) {
	name := os.Getenv(soak.SamplesVariable)
	if name == "" {
		return
	}
	line, err := json.Marshal(sample)
	if err == nil {
		var file *os.File
		if file, err = os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
			_, err = file.Write(append(line, '\n'))
			err = cmp.Or(err, file.Close())
		}
	}
	if err != nil {
		t.Errorf("the figures cannot be kept: %v", err)
	}
}

func (s *run) sample(t *testing.T, ctx context.Context) soak.Sample {
	sample := soak.Sample{Processes: map[string]soak.Use{}}
	for _, p := range []*harness.Process{s.daemon, s.mcp, s.proxy} {
		u, err := p.Usage()
		if err != nil {
			if ctx.Err() == nil {
				t.Error(err)
			}
			return sample
		}
		use := soak.Use{Resident: u.Resident, Descriptors: u.Descriptors, Threads: u.Threads, Children: u.Children}
		if p == s.daemon {
			answer, err := s.Get(ctx, "/v1/health")
			if err != nil {
				if ctx.Err() == nil {
					t.Error(err)
				}
				return sample
			}
			var health struct{ Heap, Goroutines float64 }
			_ = json.Unmarshal(answer.Body, &health) // else both are 0
			use.Heap, use.Goroutines = health.Heap/(1<<20), int(health.Goroutines)
			if use.Heap == 0 || use.Goroutines == 0 {
				t.Errorf("the daemon's health is without memory or goroutines: %s", answer.Body)
			}
		}
		sample.Processes[p.Name] = use
	}
	for _, folder := range []string{s.Cache(), s.State(), s.Temp(), s.Runtime()} {
		files, _ := harness.Size(folder)
		sample.Files += files
	}
	s.mu.Lock()
	times := s.times
	s.times = nil
	s.mu.Unlock()
	slices.Sort(times)
	if sample.Requests = len(times); len(times) > 0 {
		sample.P50, sample.P99 = figures.Quantile(times, .5).Seconds()*1000, figures.Quantile(times, .99).Seconds()*1000
	}
	return sample
}

// settled waits until the resources are stable or as before, and returns them.
func (s *run) settled(t *testing.T, before soak.Sample) (sample soak.Sample) {
	for end := time.Now().Add(harness.For(10*time.Second, 3*time.Minute)); ; {
		sample = s.sample(t, t.Context())
		quiet := len(before.Processes) > 0 || time.Until(end) < harness.For(8*time.Second, 150*time.Second)
		for name, was := range before.Processes {
			is := sample.Processes[name]
			quiet = quiet && is.Goroutines <= was.Goroutines+moreGoroutines/2 && is.Descriptors <= was.Descriptors+moreDescriptors/2 && is.Heap <= was.Heap+moreMB/2
		}
		if quiet || time.Now().After(end) {
			return sample
		}
		require.NoError(t, sleep(t.Context(), 500*time.Millisecond))
		s.Client.CloseIdleConnections()
	}
}

func describe(sample soak.Sample) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(sample.Processes)) {
		u := sample.Processes[name]
		part := fmt.Sprintf("%s %.0f MB, %d descriptors, %d threads", name, u.Resident, u.Descriptors, u.Threads)
		if u.Goroutines > 0 {
			part += fmt.Sprintf(", %d goroutines, heap %.0f MB", u.Goroutines, u.Heap)
		}
		parts = append(parts, part)
	}
	return strings.Join(append(parts, fmt.Sprintf("%d files", sample.Files)), "; ")
}

func (s *run) compare(t *testing.T, before, after soak.Sample) {
	for name, was := range before.Processes {
		is := after.Processes[name]
		assert.LessOrEqual(t, is.Goroutines, was.Goroutines+moreGoroutines, "goroutines of %s", name)
		assert.LessOrEqual(t, is.Descriptors, was.Descriptors+moreDescriptors, "descriptors of %s", name)
		assert.LessOrEqual(t, is.Threads, was.Threads+moreThreads, "threads of %s", name)
		assert.LessOrEqual(t, is.Resident, was.Resident*1.5+moreMB, "resident memory of %s", name)
		assert.LessOrEqual(t, is.Heap, was.Heap+moreMB/2, "heap of %s", name)
		assert.Zero(t, is.Children, "children of %s", name)
	}
	if !assert.LessOrEqual(t, after.Files, before.Files+moreFiles) {
		_ = filepath.WalkDir(s.Cache(), func(path string, _ os.DirEntry, _ error) error { t.Log(path); return nil })
	}
	left, _ := harness.Size(s.Temp())
	assert.Zero(t, left, "temporary files")
}

// trends checks that nothing grows in the second half.
func trends(t *testing.T, samples []soak.Sample) {
	require.Greater(t, len(samples), 10, "looks at the processes")
	half := samples[len(samples)/2:]
	look := func(what string, most func(mean float64) float64, value func(soak.Sample) float64) {
		var xs, ys []float64
		var mean float64
		for _, sample := range half {
			xs, ys = append(xs, sample.Seconds), append(ys, value(sample))
			mean += value(sample) / float64(len(half))
		}
		begin, end, err := soak.Trend(xs, ys)
		require.NoError(t, err)
		t.Logf("%s: %.1f → %.1f over the second half", what, begin, end)
		assert.LessOrEqual(t, end-begin, most(mean), "%s rises", what)
	}
	number := func(n float64) func(float64) float64 { return func(float64) float64 { return n } }
	memory := func(mean float64) float64 { return max(mean*riseOfMB, moreMB/4) }
	if !harness.Full() { // garbage collections are few in so short a time
		memory = func(mean float64) float64 { return max(mean, 2*moreMB) }
	}
	for name := range half[0].Processes {
		look("resident memory of "+name, memory, func(s soak.Sample) float64 { return s.Processes[name].Resident })
		look("heap of "+name, memory, func(s soak.Sample) float64 { return s.Processes[name].Heap })
		look("descriptors of "+name, number(2*moreDescriptors), func(s soak.Sample) float64 { return float64(s.Processes[name].Descriptors) })
		look("threads of "+name, number(moreThreads), func(s soak.Sample) float64 { return float64(s.Processes[name].Threads) })
		look("goroutines of "+name, number(2*moreGoroutines), func(s soak.Sample) float64 { return float64(s.Processes[name].Goroutines) })
	}
	look("files", number(2*moreFiles), func(s soak.Sample) float64 { return float64(s.Files) })
}

// books compares acknowledged changes with the file and the answers.
func (s *run) books(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(s.project, "BEANS.md"))
	require.NoError(t, err)
	for word, statement := range s.ledger.live {
		assert.Equal(t, 1, strings.Count(string(text), statement), "%q was saved", statement)
		found, err := s.search(t.Context(), word)
		require.NoError(t, err)
		assert.True(t, found.has(statement), "%q was saved, and is not found", statement)
	}
	for _, word := range s.ledger.forgotten {
		assert.NotContains(t, string(text), word, "it was forgotten")
	}
	for _, word := range s.ledger.forgotten[max(0, len(s.ledger.forgotten)-100):] {
		found, err := s.search(t.Context(), word)
		require.NoError(t, err)
		assert.False(t, found.has(word), "%s was forgotten, and is found", word)
	}
	t.Logf("what was acknowledged: %d statements: %d saved ones found, %d forgotten ones gone", len(s.ledger.live)+len(s.ledger.forgotten), len(s.ledger.live), len(s.ledger.forgotten))
}

// A document of an index.
type document struct {
	Kind, Scope, Hash string
	Chunks            int
}

// fresh compares the index with a new one.
func (s *run) fresh(t *testing.T) {
	s.Must(s.project, "index", "--quiet")
	fresh := filepath.Join(s.Temp(), "fresh")
	s.Must(s.project, "index", "--quiet", "--index-dir", fresh)
	documents := func(args ...string) map[string]document {
		var status struct{ Folder string }
		require.NoError(t, json.Unmarshal([]byte(s.Must(s.project, append(args, "status", "--json")...)), &status))
		current, err := os.ReadFile(filepath.Join(status.Folder, "CURRENT"))
		require.NoError(t, err)
		data, err := os.ReadFile(filepath.Join(status.Folder, strings.Fields(string(current))[0], "manifest.json"))
		require.NoError(t, err)
		var manifest struct {
			Content struct{ Documents map[string]document }
		}
		require.NoError(t, json.Unmarshal(data, &manifest))
		return manifest.Content.Documents
	}
	kept, made := documents(), documents("--index-dir", fresh)
	require.NotEmpty(t, made)
	assert.Equal(t, made, kept, "the index and a new one")
	var hits [2]answered
	for _, query := range []string{"port", "draft", "speaks of"} {
		require.NoError(t, json.Unmarshal([]byte(s.Must(s.project, "search", "--json", query)), &hits[0]))
		require.NoError(t, json.Unmarshal([]byte(s.Must(s.project, "search", "--json", "--index-dir", fresh, query)), &hits[1]))
		assert.ElementsMatch(t, hits[1].Hits, hits[0].Hits, query)
	}
	t.Logf("the index and a new one: %d documents: the same", len(made))
}

var goroutine = regexp.MustCompile(`(?m)^goroutine \d+ .*\[`)

// stacks makes processes that do not tell their health print their goroutines, which ends them.
func (s *run) stacks(t *testing.T) {
	for _, p := range []*harness.Process{s.mcp, s.proxy} {
		require.NoError(t, syscall.Kill(p.PID, syscall.SIGQUIT))
		_ = p.Wait()
		all := goroutine.FindAllString(p.Said(), -1)
		assert.NotEmpty(t, all, p.Said())
		assert.LessOrEqual(t, len(all), 40, "goroutines of %s with nothing to do: %s", p.Name, p.Said())
		t.Logf("goroutines of %s afterwards: %d, of a process with nothing to do", p.Name, len(all))
	}
}

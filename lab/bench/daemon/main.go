// Command daemonbench measures the daemon as a process, on generated notes; hookbench measures
// hooks.
//
// It prints the daemon's latency and memory under a steady load, its throughput for many clients,
// and the time to index many new files under queries. Run it with make -C lab bench-daemon.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/memcore/memcore/lab/internal/figures"
)

var (
	binary   = flag.String("memcore", "", "the program")
	chunks   = flag.Int("chunks", 10_000, "chunks of memory")
	rate     = flag.Int("rate", 200, "requests a second")
	duration = flag.Duration("for", 5*time.Minute, "how long the load lasts")
	files    = flag.Int("files", 10_000, "files to make at once")
)

func main() {
	flag.Parse()
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "daemonbench:", err)
		os.Exit(1)
	}
}

// A bench is a home and a project.
type bench struct {
	home, project string
	client        *http.Client
}

func run(ctx context.Context) error {
	base, err := os.MkdirTemp("", "memcore")
	if err != nil {
		return err
	}
	defer os.RemoveAll(base)
	b := bench{home: filepath.Join(base, "home"), project: filepath.Join(base, "project")}
	for _, dir := range []string{b.home, filepath.Join(b.project, ".git")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	b.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", filepath.Join(b.home, ".cache", "memcore", "run", "memcore.sock"))
	}}}
	for i := range (*chunks + 9) / 10 {
		if err := b.note(fmt.Sprintf("notes/%d/%d.md", i%50, i), i); err != nil {
			return err
		}
	}
	if err := b.memcore("", "index", "--quiet"); err != nil {
		return err
	}
	event := fmt.Sprintf(`{"session_id":"s","cwd":%q,"hook_event_name":"UserPromptSubmit","prompt":"which port does service1-1 listen on?"}`, b.project)
	if err := b.memcore(event, "hook", "claude-code"); err != nil { // starts the daemon
		return err
	}
	defer b.memcore("", "serve", "--stop")
	if err := b.ready(); err != nil {
		return err
	}
	for _, step := range []func(context.Context) error{b.load, b.clients, b.mass} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

// words of notes; each note has some of its own.
var words = strings.Fields(`harbour ferry staging database port deploy release branch cache index token session gateway timeout retry worker queue
	metric alert backup restore schema migration customer invoice parser lexer window lantern island bridge river mountain engine compiler editor`)

func (b bench) note(name string, n int) error {
	random := rand.New(rand.NewPCG(uint64(n), 1))
	var text strings.Builder
	fmt.Fprintf(&text, "# Note %d\n", n)
	for section := range 10 {
		fmt.Fprintf(&text, "\n## %s of service%d-%d\n\nThe", words[random.IntN(len(words))], n, section)
		for range 30 {
			text.WriteString(" " + words[random.IntN(len(words))])
		}
		fmt.Fprintf(&text, " of service%d-%d listens on port %d.\n", n, section, 10_000+10*n+section)
	}
	path := filepath.Join(b.project, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text.String()), 0o644)
}

func (b bench) memcore(stdin string, args ...string) error {
	command := exec.Command(*binary, args...)
	command.Dir, command.Stdin = b.project, strings.NewReader(stdin)
	command.Env = []string{"HOME=" + b.home, "PATH=" + os.Getenv("PATH")}
	var stderr bytes.Buffer
	command.Stderr = &stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("memcore %v: %w: %s", args, err, stderr.String())
	}
	return nil
}

func quantile(times []time.Duration, q float64) time.Duration {
	return figures.Quantile(times, q).Round(100 * time.Microsecond)
}

func (b bench) post(path string, body any) (status int, answer []byte, err error) {
	data, err := json.Marshal(body)
	if err != nil {
		return 0, nil, err
	}
	response, err := b.client.Post("http://memcore"+path, "application/json", bytes.NewReader(data))
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// ready waits until the daemon watches the project.
func (b bench) ready() error {
	for range 600 {
		if status, answer, err := b.post("/v1/status", map[string]string{"workspace": b.project}); err == nil && status == 200 && !bytes.Contains(answer, []byte(`"stale"`)) {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("the daemon does not get ready")
}

func (b bench) retrieve(n int) (time.Duration, error) {
	begun := time.Now()
	status, answer, err := b.post("/v1/retrieve", map[string]string{"workspace": b.project, "query": fmt.Sprintf("which port does service%d-%d listen on?", n%900, n%10)})
	if err == nil && status != 200 {
		err = fmt.Errorf("status %d: %s", status, answer)
	}
	return time.Since(begun), err
}

// memory returns how many MB the daemon holds.
func (b bench) memory() (float64, error) {
	response, err := b.client.Get("http://memcore/v1/health")
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var health struct{ Memory float64 }
	err = json.NewDecoder(response.Body).Decode(&health)
	return health.Memory / (1 << 20), err
}

// load asks at a steady rate. A delayed request counts from its due time.
func (b bench) load(context.Context) error {
	var mu sync.Mutex
	var all []time.Duration
	failed := 0
	var memory []float64
	var asking sync.WaitGroup
	begun := time.Now()
	total := int(duration.Seconds() * float64(*rate))
	for n := range total {
		due := begun.Add(time.Duration(n) * time.Second / time.Duration(*rate))
		time.Sleep(time.Until(due))
		if n%(*rate*2) == 0 {
			mb, err := b.memory()
			if err != nil {
				return err
			}
			memory = append(memory, mb)
		}
		asking.Go(func() {
			_, err := b.retrieve(n)
			took := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed++
			}
			all = append(all, took)
		})
	}
	asking.Wait()
	if len(all) == 0 {
		return nil
	}
	third := len(memory) / 3
	fmt.Printf("%d requests a second for %v: p50 %v, p95 %v, p99 %v, %d of %d failed; memory %.0f MB after a third, %.0f MB at the end, %.0f MB at most\n",
		*rate, *duration, quantile(all, .5), quantile(all, .95), quantile(all, .99), failed, len(all), memory[third], memory[len(memory)-1], slices.Max(memory))
	return nil
}

// clients asks from 50 clients at once, each without a pause.
func (b bench) clients(context.Context) error {
	const clients, each = 50, 40
	var mu sync.Mutex
	var all []time.Duration
	failed := 0
	var asking sync.WaitGroup
	begun := time.Now()
	for c := range clients {
		asking.Go(func() {
			for n := range each {
				took, err := b.retrieve(c*each + n)
				mu.Lock()
				all = append(all, took)
				if err != nil {
					failed++
				}
				mu.Unlock()
			}
		})
	}
	asking.Wait()
	fmt.Printf("%d clients at once: %.0f requests a second, p50 %v, p99 %v, %d failed\n", clients, float64(len(all))/time.Since(begun).Seconds(), quantile(all, .5), quantile(all, .99), failed)
	return nil
}

// mass makes many files at once and asks the daemon until the last is found.
func (b bench) mass(context.Context) error {
	for i := range *files {
		path := filepath.Join(b.project, "mass", strconv.Itoa(i%100), fmt.Sprintf("%d.md", i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, fmt.Appendf(nil, "# M\n\nThe massword%d stands in this file.\n", i), 0o644); err != nil {
			return err
		}
	}
	begun := time.Now()
	var all []time.Duration
	last := fmt.Sprintf("massword%d", *files-1)
	for n := 0; time.Since(begun) < 5*time.Minute; n++ {
		took, err := b.retrieve(n)
		if err != nil {
			return err
		}
		all = append(all, took)
		_, answer, err := b.post("/v1/status", map[string]string{"workspace": b.project})
		if err != nil {
			return err
		}
		var status struct {
			Documents map[string]int
			Stale     any
		}
		if err := json.Unmarshal(answer, &status); err != nil {
			return err
		}
		if status.Documents["markdown"] >= *files && status.Stale == nil {
			_, answer, err := b.post("/v1/search", map[string]string{"workspace": b.project, "query": last})
			if err != nil {
				return err
			}
			if bytes.Contains(answer, []byte(last)) {
				fmt.Printf("%d new files can be found after %v; %d queries meanwhile, p50 %v, p95 %v\n", *files, time.Since(begun).Round(100*time.Millisecond), len(all), quantile(all, .5), quantile(all, .95))
				return nil
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return fmt.Errorf("%d new files are not found after 5 minutes", *files)
}

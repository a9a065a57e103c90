package saturation_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/web/overload"
	"github.com/memcore/memcore/lab/internal/figures"
	"github.com/memcore/memcore/lab/torture/harness"
)

const (
	notes = 30
	token = "saturation"
	// moreMB is how much more a server may hold under load: connections, and decoded bodies up to
	// its limits.
	moreMB = 400.
	// leftMB is how much more it may hold afterwards. Go frees memory slowly.
	leftMB          = 160.
	leftDescriptors = 12
)

// A server is a program that listens, with requests to it.
type server struct {
	name    string
	process *harness.Process
	network string
	address string
	// request takes work; its answer has the text known.
	request, known string
	// begun is a request with a long body still to come.
	begun string
	// stream is a request with a streamed answer, if not "".
	stream string
	// wait bounds a client's patience; 0 is two minutes.
	wait time.Duration
}

// text returns a raw request.
func text(method, target, host, headers, body string) string {
	return fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\n%sContent-Length: %d\r\n\r\n%s", method, target, host, headers, len(body), body)
}

// servers starts all servers.
func servers(t *testing.T, s *harness.Load) []server {
	project := s.NewWorkspace("project", notes)
	s.Must(project, "index", "--quiet")
	question, port := harness.Fact(7)
	quoted, err := json.Marshal(project)
	require.NoError(t, err)
	retrieve := fmt.Sprintf(`{"workspace":%s,"query":%q}`, quoted, question)
	daemonCommand := s.Command(context.Background(), project, "serve", "--http", "127.0.0.1:0", "--token-env", "TOKEN")
	daemonCommand.Env = s.Environment("TOKEN=" + token)
	daemon := s.Start("daemon", daemonCommand)
	tcp := strings.TrimPrefix(s.Said(daemon, "listening at http://"), "http://")
	s.Ready(daemon)
	bearer := "Authorization: Bearer " + token + "\r\n"
	all := []server{
		{"daemon, socket", daemon, "unix", filepath.Join(s.Cache(), "run", "memcore.sock"), text("POST", "/v1/retrieve", "memcore", "", retrieve), port,
			"POST /v1/retrieve HTTP/1.1\r\nHost: memcore\r\nContent-Length: 15000000\r\n\r\n", "GET /v1/events HTTP/1.1\r\nHost: memcore\r\n\r\n", 0},
		{"daemon, HTTP", daemon, "tcp", tcp, text("POST", "/v1/retrieve", tcp, bearer, retrieve), port,
			"POST /v1/retrieve HTTP/1.1\r\nHost: " + tcp + "\r\n" + bearer + "Content-Length: 15000000\r\n\r\n", "GET /v1/events HTTP/1.1\r\nHost: " + tcp + "\r\n" + bearer + "\r\n", 0},
	}

	mcpCommand := s.Command(context.Background(), project, "mcp", "--http", "127.0.0.1:0", "--token-env", "TOKEN")
	mcpCommand.Env = s.Environment("TOKEN=" + token)
	mcp := s.Start("mcp", mcpCommand)
	at, err := url.Parse(s.Said(mcp, "serving MCP at "))
	require.NoError(t, err)
	headers := bearer + "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: search_memory\r\n"
	call := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_memory","arguments":{"query":%q},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, question)
	all = append(all, server{"MCP", mcp, "tcp", at.Host, text("POST", "/mcp", at.Host, headers, call), port, "POST /mcp HTTP/1.1\r\nHost: " + at.Host + "\r\n" + headers + "Content-Length: 7000000\r\n\r\n", "", 0})

	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		if bytes.Contains(body, []byte(`"stream":true`)) { // more than buffers between take, if unread
			for range 400 {
				if _, err := w.Write(bytes.Repeat([]byte("data: word\n\n"), 1000)); err != nil {
					return
				}
			}
			return
		}
		_, _ = w.Write(body)
	}))
	t.Cleanup(upstream.Close)
	proxy := s.Start("proxy", s.Command(context.Background(), project, "proxy", "--quiet", "--upstream", upstream.URL+"/v1", "--listen", "127.0.0.1:0"))
	base, err := url.Parse(s.Said(proxy, "set your client's base URL to "))
	require.NoError(t, err)
	chat := func(stream bool) string {
		return text("POST", "/v1/chat/completions", base.Host, "", fmt.Sprintf(`{"model":"m","stream":%v,"messages":[{"role":"user","content":%q}]}`, stream, question))
	}
	return append(all, server{"proxy", proxy, "tcp", base.Host, chat(false), question, "POST /v1/chat/completions HTTP/1.1\r\nHost: " + base.Host + "\r\nContent-Length: 60000000\r\n\r\n", chat(true), 0})
}

// dial connects and sends a text. It returns errors of the system, such as a full queue.
func (s server) dial(text string) (net.Conn, error) {
	c, err := net.DialTimeout(s.network, s.address, 10*time.Second)
	if err != nil {
		return nil, err
	}
	_ = c.SetDeadline(time.Now().Add(cmp.Or(s.wait, 2*time.Minute)))
	if _, err = io.WriteString(c, text); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// ask sends a request on its own connection.
func (s server) ask() (status int, header http.Header, took time.Duration, err error) {
	begun := time.Now()
	c, err := s.dial(s.request)
	if err != nil {
		return 0, nil, 0, err
	}
	defer c.Close()
	response, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, nil, 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode == http.StatusOK && !bytes.Contains(body, []byte(s.known)) {
		err = fmt.Errorf("status 200 without %s: %s", s.known, body)
	}
	return response.StatusCode, response.Header, time.Since(begun), err
}

// A tally counts answers.
type tally struct {
	mu              sync.Mutex
	served, refused int
	times           []time.Duration // of those that were served
	wrong           []string
}

func (c *tally) count(status int, header http.Header, took time.Duration, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err != nil:
		c.wrong = append(c.wrong, err.Error())
	case status == http.StatusOK:
		c.served++
		c.times = append(c.times, took)
	case (status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests) && header.Get("Retry-After") != "":
		c.refused++
	default:
		c.wrong = append(c.wrong, fmt.Sprintf("status %d, Retry-After %q", status, header.Get("Retry-After")))
	}
}

// alone measures the server without other clients.
func (s server) alone(t *testing.T) (answers *tally, held harness.Usage) {
	t.Helper()
	answers = &tally{}
	for range 20 {
		answers.count(s.ask())
	}
	require.Equal(t, 20, answers.served, answers.wrong)
	held, err := s.process.Usage()
	require.NoError(t, err)
	return answers, held
}

// Many clients misbehave in every way. Others are meanwhile served or told to retry. The server
// stays within its limits and recovers.
func TestBeset(t *testing.T) {
	s := harness.NewLoad(t)
	for i, server := range servers(t, s) {
		t.Run(server.name, func(t *testing.T) {
			alone, before := server.alone(t)
			for j, way := range []struct {
				name    string
				clients int
				attack  func(c net.Conn)
				first   string
			}{
				{"connections that say nothing", 3000, nil, ""},
				{"headers that do not end", 1500, nil, "POST /v1/retrieve HTTP/1.1\r\nHost: memcore\r\nX-Slow: "},
				{"bodies that do not come", 200, nil, server.begun},
				{"bodies, a byte a second", 200, drip, server.begun},
				{"large bodies that do not end", harness.Times(40, 200), flood, server.begun},
				{"unread streams", 300, nil, server.stream},
				{"unread answers", 200, nil, strings.Repeat(server.request, 50)},
			} {
				if way.name == "unread streams" && server.stream == "" || !harness.Full() && i > 0 && (i+j)%3 != 0 {
					continue // in the short form the others take turns
				}
				t.Run(way.name, func(t *testing.T) {
					server.endure(t, way.first, harness.Times(min(way.clients, 1200), way.clients), way.attack, before, figures.Quantile(alone.times, .5))
				})
			}
			server.recovers(t, before)
		})
	}
}

// drip sends a byte a second until it fails.
func drip(c net.Conn) {
	for {
		if _, err := c.Write([]byte(" ")); err != nil {
			return
		}
		time.Sleep(time.Second)
	}
}

// flood sends much, but not everything.
func flood(c net.Conn) { _, _ = c.Write(bytes.Repeat([]byte(" "), 6_000_000)) }

// endure asks the server while clients misbehave.
func (s server) endure(t *testing.T, first string, clients int, attack func(net.Conn), before harness.Usage, alone time.Duration) {
	var open []net.Conn
	var attacking sync.WaitGroup
	defer func() {
		for _, c := range open {
			c.Close()
		}
		attacking.Wait()
	}()
	var mu sync.Mutex
	var dialling sync.WaitGroup
	at := make(chan struct{}, 100)
	for range clients {
		at <- struct{}{}
		dialling.Go(func() {
			defer func() { <-at }()
			c, err := s.dial(first)
			if err != nil {
				return // its queue is full, or it was closed at once
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			if attack != nil {
				attacking.Go(func() { attack(c) })
			}
		})
	}
	dialling.Wait()
	var meanwhile tally
	most := before
	// Refused clients retry as told; all are served in the end.
	for range harness.Times(4, 100) {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
			was := meanwhile.served
			status, header, took, err := s.ask()
			if !errors.Is(err, errFullQueue) {
				meanwhile.count(status, header, took, err)
			}
			if meanwhile.served > was {
				break
			}
			time.Sleep(250 * time.Millisecond)
		}
		now, err := s.process.Usage()
		require.NoError(t, err, s.process.Said())
		most.Resident, most.Descriptors, most.Threads = max(most.Resident, now.Resident), max(most.Descriptors, now.Descriptors), max(most.Threads, now.Threads)
	}
	assert.Equal(t, harness.Times(4, 100), meanwhile.served, "requests of those who behave: %d refused, %v", meanwhile.refused, meanwhile.wrong)
	assert.Empty(t, meanwhile.wrong, "each is served or refused")
	assert.LessOrEqual(t, most.Resident, before.Resident+moreMB, "resident memory")
	assert.LessOrEqual(t, most.Descriptors, before.Descriptors+2*overload.MaxConnections+100, "descriptors")
	t.Logf("%s: %d clients: others served, %d refusals; p50 %.1f × that without, %+.0f MB, %+d descriptors", s.name+": "+t.Name()[strings.LastIndex(t.Name(), "/")+1:], clients, meanwhile.refused, float64(figures.Quantile(meanwhile.times, .5))/float64(alone), most.Resident-before.Resident, most.Descriptors-before.Descriptors)
}

// recovers waits until the server's resources are as before.
func (s server) recovers(t *testing.T, before harness.Usage) {
	left := leftDescriptors
	if s.name == "proxy" {
		left += 64 // connections to the upstream, which are kept for the next requests
	}
	var now harness.Usage
	assert.Eventually(t, func() bool {
		var err error
		now, err = s.process.Usage()
		return err == nil && now.Descriptors <= before.Descriptors+left && now.Resident <= before.Resident+leftMB
	}, 3*time.Minute, 100*time.Millisecond)
	t.Logf("%s: afterwards: %+.0f MB, %+d descriptors, %+d threads", s.name, now.Resident-before.Resident, now.Descriptors-before.Descriptors, now.Threads-before.Threads)
}

// More clients than places ask without a pause. Every answer is whole or a refusal.
func TestMoreThanItCan(t *testing.T) {
	s := harness.NewLoad(t)
	for i, server := range servers(t, s) {
		if !harness.Full() && i%3 != 0 {
			continue // the short form has the first and the last
		}
		t.Run(server.name, func(t *testing.T) {
			alone, before := server.alone(t)
			var all tally
			var asking sync.WaitGroup
			end := time.Now().Add(harness.For(2*time.Second, 30*time.Second))
			const clients = 600
			for range clients {
				asking.Go(func() {
					for time.Now().Before(end) {
						status, header, took, err := server.ask()
						// If the system's queue of a socket is full, the server never saw the
						// client.
						if errors.Is(err, errFullQueue) {
							time.Sleep(10 * time.Millisecond)
							continue
						}
						all.count(status, header, took, err)
						if status != http.StatusOK {
							time.Sleep(100 * time.Millisecond)
						}
					}
				})
			}
			asking.Wait()
			assert.Empty(t, all.wrong[:min(3, len(all.wrong))], "%d of %d", len(all.wrong), all.served+all.refused+len(all.wrong))
			assert.Positive(t, all.served)
			most, err := server.process.Usage()
			require.NoError(t, err)
			assert.LessOrEqual(t, most.Resident, before.Resident+moreMB)
			t.Logf("%s: more than it can: %d clients: %d served, %d refused; p50 %v, p99 %v, %.0f × and %.0f × that of one alone", server.name, clients, all.served, all.refused, figures.Quantile(all.times, .5).Round(time.Millisecond), figures.Quantile(all.times, .99).Round(time.Millisecond), float64(figures.Quantile(all.times, .5))/float64(figures.Quantile(alone.times, .5)), float64(figures.Quantile(all.times, .99))/float64(figures.Quantile(alone.times, .5)))
			server.recovers(t, before)
		})
	}
}

// 1,100 clients ask for much at the page and read nothing. Who reads is answered there, after
// refusals at most, and hooks never notice.
func TestUnreadPage(t *testing.T) {
	s := harness.NewLoad(t)
	project := s.NewWorkspace("project", notes)
	s.Must(project, "index", "--quiet")
	daemon := s.Serve()
	answer, err := s.Post(t.Context(), "/v1/view", map[string]string{"workspace": project})
	require.NoError(t, err)
	require.NoError(t, answer.Error())
	var link struct{ URL string }
	require.NoError(t, json.Unmarshal(answer.Body, &link))
	at, err := url.Parse(link.URL)
	require.NoError(t, err)
	question, port := harness.Fact(3)
	socket := server{"daemon", daemon, "unix", filepath.Join(s.Cache(), "run", "memcore.sock"), text("POST", "/v1/retrieve", "memcore", "", fmt.Sprintf(`{"workspace":%q,"query":%q}`, project, question)), port, "", "", 5 * time.Second}
	asset := text("GET", "/assets/view.css", at.Host, "", "")
	page := server{"page", daemon, "tcp", at.Host, asset, "", "", "", 5 * time.Second}
	_, before := socket.alone(t)
	small := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { _ = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096) })
	}}
	var asking sync.WaitGroup
	defer asking.Wait()
	for range 1100 {
		c, err := small.DialContext(t.Context(), "tcp", at.Host)
		require.NoError(t, err)
		defer c.Close()
		asking.Go(func() { _, _ = io.WriteString(c, strings.Repeat(asset, 500)) })
	}
	var pages, hooks tally
	for range 8 {
		hooks.count(socket.ask())
		for served := pages.served; pages.served == served && len(pages.wrong) == 0; time.Sleep(250 * time.Millisecond) {
			pages.count(page.ask())
		}
	}
	held, err := daemon.Usage()
	require.NoError(t, err)
	assert.Equal(t, 8, hooks.served, "%d refused, %v", hooks.refused, hooks.wrong)
	assert.Equal(t, 8, pages.served, "%d refused, %v", pages.refused, pages.wrong)
	assert.Empty(t, pages.wrong)
	assert.Less(t, held.Resident, before.Resident+150, "resident memory")
	t.Logf("1,100 clients who do not read: %d of 8 at the page after %d refusals, %d of 8 at the socket; %+.0f MB", pages.served, pages.refused, hooks.served, held.Resident-before.Resident)
}

// cpu returns the CPU time of a process in seconds.
func cpu(t *testing.T, p *harness.Process) float64 {
	t.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID))
	require.NoError(t, err)
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	var user, system float64
	_, err = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	require.NoError(t, err)
	return (user + system) / 100
}

// With few descriptors connections leave enough for the memory, and a listener without one waits
// without spinning.
func TestFewFiles(t *testing.T) {
	s := harness.NewLoad(t)
	project := s.NewWorkspace("project", notes)
	s.Must(project, "index", "--quiet")
	command := s.Command(context.Background(), project, "serve")
	command.Args = append([]string{"sh", "-c", `ulimit -n 80; exec "$0" "$@"`}, command.Args...)
	command.Path = "/bin/sh"
	daemon := s.Start("daemon", command)
	s.Ready(daemon)
	question, port := harness.Fact(3)
	body := fmt.Sprintf(`{"workspace":%q,"query":%q}`, project, question)
	server := server{"daemon with 80 files", daemon, "unix", filepath.Join(s.Cache(), "run", "memcore.sock"), text("POST", "/v1/retrieve", "memcore", "", body), port, "", "", 0}
	status, _, _, err := server.ask()
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
	before, err := daemon.Usage()
	require.NoError(t, err)
	server.endure(t, "", harness.Times(200, 1000), nil, before, time.Second)
	server.endure(t, "POST /v1/retrieve HTTP/1.1\r\nX-Slow: ", harness.Times(200, 1000), nil, before, time.Second)
	var open []net.Conn
	for range harness.Times(60, 300) {
		if c, err := server.dial(""); err == nil {
			open = append(open, c)
		}
	}
	worked := cpu(t, daemon)
	time.Sleep(3 * time.Second)
	worked = cpu(t, daemon) - worked
	assert.Less(t, worked, 1.5, "seconds of work in 3 seconds without a request")
	for _, c := range open {
		c.Close()
	}
	server.recovers(t, before)
	assert.NotContains(t, daemon.Said(), "too many open files")
	t.Logf("80 files for the daemon: %d connections: others served; %.2f s of work in 3 s with idle ones", harness.Times(460, 2300), worked)
}

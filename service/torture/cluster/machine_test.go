//go:build unix

package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A machine has a bucket, and nodes that reach it by way of a link.
type machine struct {
	t       *testing.T
	program string // memcore-service with LanceDB
	dir     string
	env     []string
	storage string
	link    *link
	nodes   []*node
}

func newMachine(t *testing.T, nodes int) *machine {
	program, minio := os.Getenv("MEMCORE_CLUSTER_PROGRAM"), os.Getenv("MEMCORE_TEST_MINIO")
	if program == "" || minio == "" {
		t.Skip("MEMCORE_CLUSTER_PROGRAM and MEMCORE_TEST_MINIO are not set: the service is NOT attacked (make torture sets them)")
	}
	m := &machine{t: t, program: program, dir: t.TempDir(), storage: "s3://bucket/service"}
	bucket := filepath.Join(m.dir, "minio")
	require.NoError(t, os.MkdirAll(filepath.Join(bucket, "bucket"), 0o755))
	address := freeAddress(t)
	server := exec.Command(minio, "server", "--quiet", "--address", address, bucket)
	server.Env = append(os.Environ(), "MINIO_ROOT_USER=tortured", "MINIO_ROOT_PASSWORD=tortured-secret", "MINIO_BROWSER=off", "MINIO_UPDATE=off", "HOME="+m.dir)
	require.NoError(t, server.Start())
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	waitFor(t, "http://"+address+"/minio/health/ready")
	m.link = newLink(t, address)
	m.env = append(os.Environ(), "HOME="+m.dir, "XDG_CACHE_HOME=", "AWS_ACCESS_KEY_ID=tortured", "AWS_SECRET_ACCESS_KEY=tortured-secret",
		"MEMCORE_SERVICE_STORAGE="+m.storage, "AWS_ENDPOINT=http://"+m.link.address)
	for i := range nodes {
		n := &node{m: m, address: freeAddress(t), dir: filepath.Join(m.dir, fmt.Sprint("node", i))}
		m.nodes = append(m.nodes, n)
		n.start()
		t.Cleanup(n.kill)
	}
	return m
}

// run runs a command of memcore.
func (m *machine) run(args ...string) string {
	command := exec.Command(m.program, args...)
	command.Env = m.env
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	require.NoError(m.t, err, "memcore %s: %s", strings.Join(args, " "), stderr.String())
	return strings.TrimSpace(string(out))
}

// A node is a process that serves.
type node struct {
	m       *machine
	address string
	dir     string
	rate    string // requests a second of a tenant; "" is more than the test sends

	mu      sync.Mutex
	process *exec.Cmd
}

func (n *node) start() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.process = exec.Command(n.m.program, "--listen", n.address, "--dir", n.dir, "--drain", "100ms", "--freshness", "1s", "--rate", cmp.Or(n.rate, "10000"))
	n.process.Env = n.m.env
	log, err := os.OpenFile(n.dir+".log", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		n.process.Stderr = log
		err = n.process.Start()
		log.Close()
	}
	if err != nil {
		n.m.t.Errorf("start a node: %v", err)
	}
}

func (n *node) signal(s syscall.Signal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil && n.process.Process != nil {
		_ = n.process.Process.Signal(s)
	}
}

func (n *node) kill() {
	n.signal(syscall.SIGKILL)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil {
		_ = n.process.Wait()
		n.process = nil
	}
}

// A link passes connections on to the bucket, or cuts them, or delays what they carry.
type link struct {
	address string
	to      string
	cut     atomic.Bool
	delay   atomic.Int64 // nanoseconds

	gets, lists, puts atomic.Int64 // requests; those that delete are free

	mu    sync.Mutex
	conns map[net.Conn]bool
}

func newLink(t *testing.T, to string) *link {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	l := &link{address: listener.Addr().String(), to: to, conns: map[net.Conn]bool{}}
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go l.pass(c)
		}
	}()
	return l
}

func (l *link) pass(from net.Conn) {
	defer from.Close()
	if l.cut.Load() {
		return
	}
	to, err := net.Dial("tcp", l.to)
	if err != nil {
		return
	}
	defer to.Close()
	l.keep(from, true)
	defer l.keep(from, false)
	go l.copy(to, from, l.count)
	l.copy(from, to, func([]byte) {})
}

// count takes what a client sent in one piece for a request if it begins like one.
func (l *link) count(sent []byte) {
	line, _, _ := bytes.Cut(sent[:min(len(sent), 4096)], []byte("\r\n"))
	if !bytes.HasSuffix(line, []byte(" HTTP/1.1")) {
		return
	}
	switch method, _, _ := bytes.Cut(line, []byte(" ")); string(method) {
	case "GET", "HEAD":
		if bytes.Contains(line, []byte("list-type=")) {
			l.lists.Add(1)
		} else {
			l.gets.Add(1)
		}
	case "PUT", "POST":
		l.puts.Add(1)
	}
}

func (l *link) keep(c net.Conn, open bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if open {
		l.conns[c] = true
	} else {
		delete(l.conns, c)
	}
}

func (l *link) copy(to, from net.Conn, see func([]byte)) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		time.Sleep(time.Duration(l.delay.Load()))
		if n > 0 {
			see(buf[:n])
			if _, err := to.Write(buf[:n]); err != nil {
				break
			}
		}
		if err != nil {
			break
		}
	}
	to.Close()
}

// drop breaks all connections in the middle of what they carry.
func (l *link) drop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for c := range l.conns {
		c.Close()
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

func waitFor(t *testing.T, url string) {
	t.Helper()
	require.Eventually(t, func() bool {
		answer, err := http.Get(url)
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	}, time.Minute, 50*time.Millisecond, url)
}

// A reply is an answer of a node.
type reply struct {
	status  int
	header  http.Header
	body    []byte
	version int64
}

var client = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// ask sends a request of a tenant's user to a node.
func (n *node) ask(ctx context.Context, key, method, path, body string, headers ...string) (r reply, err error) {
	request, err := http.NewRequestWithContext(ctx, method, "http://"+n.address+"/v1/tenants/"+path, strings.NewReader(body))
	if err != nil {
		return r, err
	}
	request.Header.Set("Authorization", "Bearer "+key)
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := client.Do(request)
	if err != nil {
		return r, err
	}
	defer answer.Body.Close()
	r.status, r.header = answer.StatusCode, answer.Header
	if r.body, err = io.ReadAll(answer.Body); err != nil {
		return r, err
	}
	_, _ = fmt.Sscan(answer.Header.Get("Memcore-Version"), &r.version)
	return r, nil
}

func (r reply) decode(t *testing.T, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(r.body, into), "%s", r.body)
}

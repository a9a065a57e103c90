//go:build unix

package cluster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
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

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/service/postgres/postgrestest"
)

// A machine has a database, of which another server may have all, and nodes that reach it by way of
// a link.
type machine struct {
	t                *testing.T
	program, memcore string // memcore-service, and the memcore of a laptop
	dir              string
	env              []string
	database         *postgrestest.Server
	standby          *postgrestest.Server // nil for none
	owner            string               // address of the database for who owns the tables
	link             *link
	nodes            []*node
}

const operatorKey = "tortured-operator-key-0123456789abcdef"

func newMachine(t *testing.T, nodes int) *machine {
	program, memcore := os.Getenv("MEMCORE_CLUSTER_PROGRAM"), os.Getenv("MEMCORE_CLUSTER_MEMCORE")
	if program == "" || memcore == "" {
		t.Skip("MEMCORE_CLUSTER_PROGRAM and MEMCORE_CLUSTER_MEMCORE are not set: the service is NOT attacked (make torture sets them)")
	}
	m := &machine{t: t, program: program, memcore: memcore, dir: t.TempDir()}
	m.database = postgrestest.New(t, "fsync=on", "autovacuum=on", "max_wal_size=128MB", "wal_retrieve_retry_interval=100ms")
	var nodeAddress string
	m.owner, nodeAddress = m.database.Database(t)
	c, err := pgx.ParseConfig(nodeAddress)
	require.NoError(t, err)
	m.link = newLink(t, m.database.Socket())
	host, port, err := net.SplitHostPort(m.link.address)
	require.NoError(t, err)
	m.env = append(os.Environ(), "HOME="+m.dir, "XDG_CACHE_HOME=", "MEMCORE_SERVICE_OPERATOR_KEY="+operatorKey,
		fmt.Sprintf("MEMCORE_SERVICE_DATABASE=host=%s port=%s user=%s dbname=%s sslmode=disable", host, port, c.User, c.Database))
	for range nodes {
		n := m.newNode()
		m.nodes = append(m.nodes, n)
		n.start()
		waitFor(t, "http://"+n.address+"/ready")
	}
	m.env = append(m.env, "MEMCORE_SERVICE_URL=http://"+m.nodes[0].address)
	return m
}

// follow adds a synchronous replica.
func (m *machine) follow() {
	m.standby = m.database.Replica(m.t)
	require.NoError(m.t, m.database.Synchronous())
}

// failOver loses the server with its disk. The replica takes its place, and gets another.
func (m *machine) failOver() {
	lost := m.database
	require.NoError(m.t, lost.Kill())
	require.NoError(m.t, m.standby.Promote())
	m.database = m.standby
	m.link.to.Store(m.database.Socket())
	m.link.drop()
	_ = lost.Remove() // it does not run
	m.follow()
}

// crashConnection kills the server's process of a node's connection: the server goes on after a
// recovery.
func (m *machine) crashConnection(ctx context.Context) {
	c, err := pgx.Connect(ctx, m.database.DSN("owner", "postgres"))
	if err != nil { // the test ends
		return
	}
	defer c.Close(ctx)
	var process int
	if c.QueryRow(ctx, `select pid from pg_stat_activity where application_name = 'memcore-service' limit 1`).Scan(&process) == nil {
		_ = syscall.Kill(process, syscall.SIGKILL)
	}
}

// newNode returns a node that has not started. It ends with the test.
func (m *machine) newNode() *node {
	n := &node{m: m, address: freeAddress(m.t), log: filepath.Join(m.dir, fmt.Sprintf("node%d.log", rand.Int()))}
	m.t.Cleanup(n.kill)
	return n
}

// newTenant makes a tenant with a key of an admin.
func (m *machine) newTenant(name string) *tenant {
	m.run("tenant", "create", name)
	return &tenant{name: name, key: m.newKey(name, "writer"), shared: counted{path: "shared.md"}}
}

func (m *machine) newKey(tenant, user string) string {
	return m.run("key", "create", "--tenant", tenant, "--user", user, "--right", "admin")
}

// run runs a command of memcore-service.
func (m *machine) run(args ...string) string {
	command := exec.Command(m.program, args...)
	command.Env = m.env
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	require.NoError(m.t, err, "memcore-service %s: %s", strings.Join(args, " "), stderr.String())
	return strings.TrimSpace(string(out))
}

// A node is a process that serves.
type node struct {
	m       *machine
	address string
	log     string // file
	rate    string // requests a second of a tenant; "" is more than the test sends

	mu      sync.Mutex
	wanted  bool
	process *exec.Cmd     // nil if it does not run
	ended   chan struct{} // closed when it has ended
}

func (n *node) start() {
	n.mu.Lock()
	n.wanted = true
	n.mu.Unlock()
	n.run()
}

// run starts the process, and again when it ends by itself, as a supervisor does: a node does not
// start without its database.
func (n *node) run() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.wanted || n.process != nil {
		return
	}
	process := exec.Command(n.m.program, "--listen", n.address, "--drain", "100ms", "--rate", cmp.Or(n.rate, "10000"))
	process.Env = n.m.env
	log, err := os.OpenFile(n.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		process.Stderr = log
		err = process.Start()
		log.Close()
	}
	if err != nil {
		n.m.t.Errorf("start a node: %v", err)
		return
	}
	ended := make(chan struct{})
	n.process, n.ended = process, ended
	go func() {
		_ = process.Wait() // the log says why
		n.mu.Lock()
		n.process = nil
		n.mu.Unlock()
		close(ended)
		time.Sleep(500 * time.Millisecond)
		n.run()
	}()
}

func (n *node) signal(s syscall.Signal) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.process != nil {
		_ = n.process.Process.Signal(s)
	}
}

func (n *node) kill() {
	n.mu.Lock()
	n.wanted = false
	running, ended := n.process != nil, n.ended
	n.mu.Unlock()
	n.signal(syscall.SIGKILL)
	if running {
		<-ended
	}
}

// A link passes connections on to the database, or cuts them, or delays what they carry.
type link struct {
	address string
	to      atomic.Value // socket, a string
	cut     atomic.Bool
	delay   atomic.Int64 // nanoseconds

	mu    sync.Mutex
	conns map[net.Conn]bool
}

func newLink(t *testing.T, to string) *link {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	l := &link{address: listener.Addr().String(), conns: map[net.Conn]bool{}}
	l.to.Store(to)
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
	to, err := net.Dial("unix", l.to.Load().(string))
	if err != nil {
		return
	}
	defer to.Close()
	l.keep(from, true)
	defer l.keep(from, false)
	go l.copy(to, from)
	l.copy(from, to)
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

func (l *link) copy(to, from net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		time.Sleep(time.Duration(l.delay.Load()))
		if n > 0 {
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
	version int64 // of the document
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
	_, _ = fmt.Sscan(cmp.Or(answer.Header.Get("Memcore-Version"), strings.Trim(answer.Header.Get("ETag"), `"`)), &r.version)
	return r, nil
}

func (r reply) decode(t *testing.T, into any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(r.body, into), "%s", r.body)
}

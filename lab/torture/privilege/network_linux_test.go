package privilege

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/memcore/memcore/lab/torture/harness"
)

// insideVariable marks the process with its own network.
const insideVariable = "MEMCORE_TORTURE_NETWORK"

// inNetwork runs the test again in a network namespace and reports whether this is that process.
// The only interface has all addresses, so that the test sees and answers each connection.
func inNetwork(t *testing.T) bool {
	t.Helper()
	if os.Getenv(insideVariable) != "" {
		return true
	}
	c := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), insideVariable+"=1", programVariable+"="+harness.Program(t))
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		c.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	out, err := c.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !isExit(err, &exit) {
		t.Skipf("no network of its own can be had here: %v", err)
	}
	t.Logf("%s", out)
	require.NoError(t, err)
	require.NotContains(t, string(out), "--- SKIP")
	return false
}

func isExit(err error, to **exec.ExitError) bool {
	e, ok := err.(*exec.ExitError)
	*to = e
	return ok
}

// allIsHere routes every address to the loopback interface.
func allIsHere(t *testing.T) {
	t.Helper()
	lo, err := net.InterfaceByName("lo")
	require.NoError(t, err)
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	require.NoError(t, err)
	defer unix.Close(fd)
	order := binary.NativeEndian
	tell := func(kind, flags uint16, body []byte) {
		message := make([]byte, unix.SizeofNlMsghdr, unix.SizeofNlMsghdr+len(body))
		order.PutUint32(message[0:], uint32(unix.SizeofNlMsghdr+len(body)))
		order.PutUint16(message[4:], kind)
		order.PutUint16(message[6:], unix.NLM_F_REQUEST|unix.NLM_F_ACK|flags)
		require.NoError(t, unix.Sendto(fd, append(message, body...), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}))
		answer := make([]byte, 4096)
		n, _, err := unix.Recvfrom(fd, answer, 0)
		require.NoError(t, err)
		require.GreaterOrEqual(t, n, unix.SizeofNlMsghdr+4)
		if code := int32(order.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
			t.Fatalf("netlink message %d: %v", kind, syscall.Errno(-code))
		}
	}
	up := make([]byte, unix.SizeofIfInfomsg)
	order.PutUint32(up[4:], uint32(lo.Index))
	order.PutUint32(up[8:], unix.IFF_UP)
	order.PutUint32(up[12:], unix.IFF_UP)
	tell(unix.RTM_NEWLINK, 0, up)
	families := []byte{unix.AF_INET}
	if _, err := os.Stat("/proc/net/if_inet6"); err == nil {
		families = append(families, unix.AF_INET6)
	}
	for _, family := range families {
		route := []byte{family, 0, 0, 0, unix.RT_TABLE_LOCAL, unix.RTPROT_STATIC, unix.RT_SCOPE_HOST, unix.RTN_LOCAL, 0, 0, 0, 0}
		attribute := make([]byte, 8)
		order.PutUint16(attribute[0:], 8)
		order.PutUint16(attribute[2:], unix.RTA_OIF)
		order.PutUint32(attribute[4:], uint32(lo.Index))
		tell(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_REPLACE, append(route, attribute...))
	}
}

// A watcher records the destination of every packet.
type watcher struct {
	t    *testing.T
	fd   int
	idle atomic.Int64 // how often there was nothing to read for 20 ms

	mu   sync.Mutex
	seen map[netip.AddrPort]int
}

func watchNetwork(t *testing.T) *watcher {
	t.Helper()
	protocol := uint16(unix.ETH_P_ALL<<8 | unix.ETH_P_ALL>>8)
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		protocol = unix.ETH_P_ALL
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM, int(protocol))
	require.NoError(t, err)
	w := &watcher{t: t, fd: fd, seen: map[netip.AddrPort]int{}}
	timeout := unix.NsecToTimeval(int64(20 * time.Millisecond))
	require.NoError(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout))
	require.NoError(t, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 64<<20))
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		packet := make([]byte, 1<<16)
		for {
			n, _, err := unix.Recvfrom(fd, packet, 0)
			if err == nil {
				w.note(packet[:n])
				continue
			}
			w.idle.Add(1)
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-done; unix.Close(fd) })
	return w
}

// note records an IP packet, except for ICMP "unreachable" of this system.
func (w *watcher) note(packet []byte) {
	if len(packet) < 20 {
		return
	}
	var to netip.Addr
	var protocol byte
	rest := packet
	switch packet[0] >> 4 {
	case 4:
		to, protocol, rest = netip.AddrFrom4([4]byte(packet[16:20])), packet[9], packet[int(packet[0]&15)*4:]
	case 6:
		if len(packet) < 40 {
			return
		}
		to, protocol, rest = netip.AddrFrom16([16]byte(packet[24:40])), packet[6], packet[40:]
	default:
		return
	}
	if protocol == unix.IPPROTO_ICMP || protocol == unix.IPPROTO_ICMPV6 || len(rest) < 4 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[netip.AddrPortFrom(to, binary.BigEndian.Uint16(rest[2:]))]++
}

// left returns destinations since the last call, without local name lookups.
func (w *watcher) left() map[string]int {
	before := w.idle.Load()
	require.Eventually(w.t, func() bool { return w.idle.Load() >= before+2 }, time.Minute, time.Millisecond, "all that was sent is read")
	statistics, err := unix.GetsockoptTpacketStats(w.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	require.NoError(w.t, err)
	require.Zero(w.t, statistics.Drops, "packets were not looked at")
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string]int{}
	for to, n := range w.seen {
		if !to.Addr().IsLoopback() || to.Port() == 53 {
			all[to.String()] += n
		}
	}
	w.seen = map[netip.AddrPort]int{}
	return all
}

// serveAt serves at any address.
func serveAt(t *testing.T, address string, handler http.HandlerFunc) {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	s := &httptest.Server{Listener: listener, Config: &http.Server{Handler: handler}}
	s.Start()
	t.Cleanup(s.Close)
}

// By default nothing leaves the machine. Only configured servers are reached.
func TestNothingLeavesTheMachine(t *testing.T) {
	if !inNetwork(t) {
		return
	}
	allIsHere(t)
	watch := watchNetwork(t)

	// The watcher works.
	for _, to := range []string{"203.0.113.9:443", "[2001:db8::9]:443"} {
		if _, err := net.DialTimeout("tcp", to, time.Second); err != nil && strings.Contains(err.Error(), "unreachable") {
			continue // without IPv6
		}
		require.NotEmpty(t, watch.left()[to], "an attempt to connect to %s was not seen", to)
	}
	udp, err := net.Dial("udp", "203.0.113.9:4000")
	require.NoError(t, err)
	_, err = udp.Write([]byte("x"))
	require.NoError(t, err)
	require.NotEmpty(t, watch.left()["203.0.113.9:4000"])
	_, err = net.DefaultResolver.LookupHost(t.Context(), "memory.example")
	require.Error(t, err)
	require.NotEmpty(t, watch.left(), "a question for a name was not seen")

	// All commands with defaults, also with a proxy in the environment.
	w := newWorld(t)
	w.session(newUpstream(t).URL, nil)
	require.Empty(t, watch.left(), "commands in their default configuration reach out")
	commands := len(w.ran)
	proxied := newWorld(t)
	proxied.env = []string{"HTTP_PROXY=http://192.0.2.55:3128", "HTTPS_PROXY=http://192.0.2.55:3128", "ALL_PROXY=socks5://192.0.2.55:1080"}
	proxied.do("", "index")
	proxied.do("which port does the staging database use?", "hook", "text")
	proxied.do("", "doctor")
	proxied.do("", "serve", "--stop")
	require.Empty(t, watch.left(), "the variables of a proxy make commands reach out")

	embed := func(rw http.ResponseWriter, r *http.Request) {
		var asked struct{ Input []string }
		_ = json.NewDecoder(r.Body).Decode(&asked)
		vectors := make([][]float32, max(1, len(asked.Input)))
		for i := range vectors {
			vectors[i] = []float32{1, float32(i), 2}
		}
		_ = json.NewEncoder(rw).Encode(map[string]any{"embeddings": vectors, "models": []any{}, "model_info": map[string]any{}})
	}
	serveAt(t, "198.51.100.7:11434", embed)
	configured := newWorld(t)
	// A daemon that a hook starts may begin to ask the server after it should have stopped.
	configured.write("home/.beans/config.yaml", "memory:\n  embedder: ollama\n  daemon:\n    start: false\n  ollama:\n    host: http://198.51.100.7:11434\n")
	configured.loosely(func() {
		for _, args := range [][]string{{"index"}, {"search", "staging database"}, {"retrieve", "staging database"}, {"doctor"}, {"save", "--yes", "--shared", "The canary runs on port 7777."}, {"hook", "text"}, {"serve", "--stop"}} {
			configured.do("which port does the staging database use?", args...)
		}
	})
	only(t, watch.left(), "198.51.100.7:11434")

	// Redirects are not followed, with or without a key.
	for i, of := range []struct{ name, config string }{
		{"ollama", "embedder: ollama\n  ollama:\n    host: http://198.51.100.8:%d\n"},
		{"openai", "embedder: openai\n  openai:\n    baseURL: http://198.51.100.8:%d/v1\n    model: m\n"},
		{"reflect", "reflect:\n    baseURL: http://198.51.100.8:%d/v1\n    model: m\n    apiKeyEnv: OPENAI_API_KEY\n"},
	} {
		port := 9000 + i
		for _, status := range []int{307, 301, 302, 303, 308}[:harness.Times(1, 5)] {
			serveAt(t, fmt.Sprintf("198.51.100.8:%d", port), func(rw http.ResponseWriter, r *http.Request) {
				http.Redirect(rw, r, "http://203.0.113.80:8080"+r.URL.Path, status)
			})
			c := newWorld(t)
			c.env = []string{"OPENAI_API_KEY=" + clientKey}
			c.write("home/.beans/config.yaml", "memory:\n  "+fmt.Sprintf(of.config, port))
			c.loosely(func() {
				for _, args := range [][]string{{"index"}, {"search", "staging database"}, {"session", "new", "s"}, {"session", "append", "I prefer tabs."}, {"session", "reflect", "--yes"}, {"doctor"}} {
					c.do("", args...)
				}
			})
			only(t, watch.left(), fmt.Sprintf("198.51.100.8:%d", port))
			port += 100
		}
	}

	// Configured servers are reached through the environment's proxy, and only there.
	asked := make(chan string, 100)
	serveAt(t, "192.0.2.55:3128", func(rw http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Host
		embed(rw, r)
	})
	configured.env = proxied.env[:1]
	configured.loosely(func() { configured.do("", "index", "--rebuild"); configured.do("", "search", "something else") })
	only(t, watch.left(), "192.0.2.55:3128")
	require.Equal(t, "198.51.100.7:11434", <-asked)
	t.Logf("network, default configuration: %d commands: no packet leaves; with a server configured, only to it; redirects not followed", commands)
}

// only checks that packets went to one place. Its answers go to an address of their own.
func only(t *testing.T, seen map[string]int, to string) {
	t.Helper()
	require.NotEmpty(t, seen[to], "nothing went to %s, but %v", to, seen)
	host := netip.MustParseAddrPort(to).Addr()
	for other := range seen {
		at := netip.MustParseAddrPort(other)
		require.True(t, other == to || at.Addr() == host && at.Port() > 30000, "packets went to %s, not only to %s", other, to)
	}
}

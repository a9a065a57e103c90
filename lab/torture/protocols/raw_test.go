// Package protocols_test attacks HTTP in the proxy and the daemon, and MCP, byte by byte.
package protocols_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/lab/torture/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// A message is a request in the strictest form of RFC 9112.
type message struct {
	method, target string
	header         map[string][]string // by names in lower case
	body           string
	size           int64
}

// A recorder is a server with a strict parser that keeps errors.
type recorder struct {
	listener net.Listener
	answer   string // what it answers

	mu      sync.Mutex
	got     []message
	wrong   []error
	running sync.WaitGroup
	open    map[net.Conn]bool
}

func newRecorder(t testing.TB) *recorder {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	r := &recorder{listener: listener, answer: "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}", open: map[net.Conn]bool{}}
	r.running.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			r.mu.Lock()
			r.open[c] = true
			r.mu.Unlock()
			r.running.Go(func() { r.serve(c) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		r.mu.Lock()
		for c := range r.open {
			c.Close()
		}
		r.mu.Unlock()
		r.running.Wait()
	})
	return r
}

func (r *recorder) url() string { return "http://" + r.listener.Addr().String() }

func (r *recorder) serve(c net.Conn) {
	defer c.Close()
	in := bufio.NewReader(c)
	for {
		if _, err := in.Peek(1); err != nil {
			return
		}
		got, err := readMessage(in)
		r.mu.Lock()
		if err != nil {
			r.wrong = append(r.wrong, err)
		} else {
			r.got = append(r.got, got)
		}
		r.mu.Unlock()
		if err != nil {
			return
		}
		if _, err := io.WriteString(c, r.answer); err != nil {
			return
		}
	}
}

// take returns messages and errors since the last call.
func (r *recorder) take() ([]message, []error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	got, wrong := r.got, r.wrong
	r.got, r.wrong = nil, nil
	return got, wrong
}

var (
	requestLine = regexp.MustCompile(`^([A-Z!#$%&'*+.^_|~0-9a-z-]+) (/[^\x00-\x20\x7f-\xff]*) HTTP/1\.1\r\n$`)
	headerLine  = regexp.MustCompile("^([!#$%&'*+.^_`|~0-9A-Za-z-]+): ?([^\\x00-\\x08\\x0a-\\x1f\\x7f]*)\r\n$")
	chunkLine   = regexp.MustCompile(`^([0-9a-f]{1,8})\r\n$`)
)

// errIncomplete means that the sender broke off a request.
var errIncomplete = errors.New("the request breaks off")

func readMessage(in *bufio.Reader) (m message, err error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return m, fmt.Errorf("%w in its first line %q", errIncomplete, line)
	}
	parts := requestLine.FindStringSubmatch(line)
	if parts == nil {
		return m, fmt.Errorf("request line %q", line)
	}
	m.method, m.target = parts[1], parts[2]
	if m.header, err = readHeader(in); err != nil {
		return m, err
	}
	if n := len(m.header["host"]); n != 1 {
		return m, fmt.Errorf("%d Host headers", n)
	}
	length, coding := m.header["content-length"], m.header["transfer-encoding"]
	switch {
	case len(length) > 0 && len(coding) > 0, len(length) > 1, len(coding) > 1:
		return m, fmt.Errorf("Content-Length %q and Transfer-Encoding %q", length, coding)
	case len(length) == 1:
		n, err := strconv.ParseUint(length[0], 10, 40)
		if err != nil || strconv.FormatUint(n, 10) != length[0] {
			return m, fmt.Errorf("Content-Length %q", length)
		}
		return m, m.read(in, int64(n))
	case len(coding) == 1:
		if coding[0] != "chunked" {
			return m, fmt.Errorf("Transfer-Encoding %q", coding)
		}
		return m, m.readChunks(in)
	}
	return m, nil
}

func (m *message) readChunks(in *bufio.Reader) error {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return fmt.Errorf("%w in a chunk", errIncomplete)
		}
		size := chunkLine.FindStringSubmatch(line)
		if size == nil {
			return fmt.Errorf("chunk line %q", line)
		}
		n, _ := strconv.ParseInt(size[1], 16, 64)
		if n == 0 {
			_, err := readHeader(in)
			return err
		}
		if err := m.read(in, n); err != nil {
			return err
		}
		if end, err := in.ReadString('\n'); err != nil || end != "\r\n" {
			return fmt.Errorf("%w behind a chunk: %q", errIncomplete, end)
		}
	}
}

// read reads n bytes of the body and keeps the first.
func (m *message) read(in *bufio.Reader, n int64) error {
	const most = 1 << 20
	var kept strings.Builder
	first, err := io.CopyN(&kept, in, min(n, most-int64(len(m.body))))
	rest := int64(0)
	if err == nil {
		rest, err = io.CopyN(io.Discard, in, n-first)
	}
	m.body += kept.String()
	m.size += first + rest
	if err != nil {
		return fmt.Errorf("%w in its body, after %d of %d bytes", errIncomplete, first+rest, n)
	}
	return nil
}

func readHeader(in *bufio.Reader) (map[string][]string, error) {
	header := map[string][]string{}
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return nil, fmt.Errorf("%w in its header", errIncomplete)
		}
		if line == "\r\n" {
			return header, nil
		}
		parts := headerLine.FindStringSubmatch(line)
		if parts == nil {
			return nil, fmt.Errorf("header line %q", line)
		}
		name := strings.ToLower(parts[1])
		header[name] = append(header[name], strings.TrimSpace(parts[2]))
	}
}

var statusLine = regexp.MustCompile(`(?m)^HTTP/1\.[01] (\d{3}) `)

// exchange sends bytes and returns everything until the server closes the connection or is silent
// for a while. half closes our side first.
func exchange(t testing.TB, address, raw string, half bool) (answer string, statuses []int) {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, 10*time.Second)
	require.NoError(t, err)
	defer c.Close()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.WriteString(c, raw) // a refusal may come before the end
		if half {
			_ = c.(*net.TCPConn).CloseWrite()
		}
	}()
	_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
	data, err := io.ReadAll(io.LimitReader(c, 8<<20))
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		t.Errorf("the server neither answers to the end nor closes; so far: %.300q", data)
	}
	c.Close()
	<-sent
	for _, m := range statusLine.FindAllStringSubmatch(string(data), -1) {
		n, _ := strconv.Atoi(m[1])
		statuses = append(statuses, n)
	}
	return string(data), statuses
}

package resource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A session is a connection to a server.
type session struct {
	*mcp.ClientSession
	stderr *tail             // of the process; nil for a URL
	http   *boundedTransport // nil for a process
}

// connect begins a session. The caller closes it.
func (s Server) connect(ctx context.Context) (*session, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "memcore", Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	var transport mcp.Transport
	out := &session{}
	if s.Command != "" {
		out.stderr = &tail{}
		transport = s.processTransport(out.stderr)
	} else {
		out.http = &boundedTransport{transport: http.DefaultTransport.(*http.Transport).Clone(), token: s.Token, left: 8*s.MaxBytes + 1<<20} // text may be longer as JSON
		transport = s.httpTransport(out.http)
	}
	var err error
	if out.ClientSession, err = client.Connect(ctx, transport, nil); err != nil {
		out.http.close()
		return nil, out.explain(fmt.Errorf("connect: %w", err))
	}
	return out, nil
}

func (s *session) close() {
	_ = s.Close() // reading has reported what matters
	s.http.close()
}

// explain adds the last output of a process to an error.
func (s *session) explain(err error) error {
	if text := s.stderr.String(); text != "" {
		return fmt.Errorf("%w; it said: %s", err, text)
	}
	return err
}

// grace is for a process to end, and again after a signal.
const grace = time.Second

// processTransport runs the command until the session ends.
func (s Server) processTransport(stderr *tail) mcp.Transport {
	cmd := exec.Command(s.Command, s.Args...)
	cmd.Dir = s.Dir
	cmd.Env = append([]string{}, s.Env...) // not nil, which would mean our own
	cmd.Stderr = stderr
	cmd.WaitDelay = grace // do not wait for children that hold standard error
	return &mcp.CommandTransport{Command: cmd, TerminateDuration: grace}
}

// httpTransport follows no redirects.
func (s Server) httpTransport(by http.RoundTripper) mcp.Transport {
	return &mcp.StreamableClientTransport{Endpoint: s.URL, MaxRetries: -1, DisableStandaloneSSE: true, HTTPClient: &http.Client{
		Transport:     by,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// A boundedTransport adds the token and bounds the answers' total size.
type boundedTransport struct {
	transport *http.Transport
	token     string
	mu        sync.Mutex
	left      int64
}

func (b *boundedTransport) close() {
	if b != nil {
		b.transport.CloseIdleConnections()
	}
}

func (b *boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	answer, err := b.transport.RoundTrip(r)
	if err == nil {
		answer.Body = &boundedBody{answer.Body, b}
	}
	return answer, err
}

type boundedBody struct {
	io.ReadCloser
	of *boundedTransport
}

var errTooMuch = errors.New("the server's answers are too large")

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	if b.of.left -= int64(n); b.of.left < 0 {
		return 0, errTooMuch
	}
	return n, err
}

const maxTail = 400

// A tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-maxTail):]...)
	t.text = t.text[max(0, len(t.text)-maxTail):]
	return len(p), nil
}

// String returns the text on one line.
func (t *tail) String() string {
	if t == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	words := strings.Fields(string(t.text))
	if len(t.text) == maxTail && len(words) > 0 {
		words = words[1:] // it may be half of a key
	}
	return strings.Join(words, " ")
}

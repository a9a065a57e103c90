// Package proxy is an HTTP proxy in front of a model's server, for clients that only let one change
// their base URL. It adds memory to chat requests.
//
// It knows OpenAI's Chat Completions and Responses APIs, Anthropic's Messages API and Ollama's chat
// API. Everything else, and every answer, passes byte for byte. If memory fails, the request passes
// unchanged, and headers of the answer say why.
//
// Clients' keys are never logged or kept.
package proxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/memcore/memcore/inject/turn"
)

// DefaultListen is the default of Options.Listen.
const DefaultListen = "127.0.0.1:7471"

// ErrToken means that other machines can reach a proxy without a token.
var ErrToken = errors.New("other machines could use this proxy, and with it your memory: it needs a token")

const defaultGrace = 5 * time.Second

// Options of the zero value serve this machine.
type Options struct {
	// Listen is "host:port"; "" is DefaultListen. Other than loopback needs a Token.
	Listen string
	// Token is wanted in X-Memcore-Token, if not "", and not passed on.
	Token string
	// Turn is for package turn; Timeout 0 means 300 ms.
	Turn turn.Options
	// Grace is for answers after Serve; 0 is 5 s, negative none.
	Grace time.Duration
	// Logger gets a line a request, without its content; nil is slog.Default().
	Logger *slog.Logger
}

// A Proxy is safe for concurrent use.
type Proxy struct {
	forwarder *Forwarder
	memory    Memory // nil for none
	options   Options
	listen    *net.TCPAddr
	host      string // of Options.Listen, as written
}

// New returns a proxy for upstream, such as "https://api.openai.com/v1". memory is used
// concurrently, and may be nil.
func New(upstream string, memory turn.Retriever, options Options) (*Proxy, error) {
	forwarder, err := NewForwarder(upstream, ForwarderOptions{Turn: options.Turn, Logger: options.Logger})
	if err != nil {
		return nil, err
	}
	if options.Listen == "" {
		options.Listen = DefaultListen
	}
	host, _, err := net.SplitHostPort(options.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen address is %q, want host:port such as %s: %w", options.Listen, DefaultListen, err)
	}
	listen, err := net.ResolveTCPAddr("tcp", options.Listen)
	if err != nil {
		return nil, fmt.Errorf("listen address is %q: %w", options.Listen, err)
	}
	if options.Token == "" && !listen.IP.IsLoopback() {
		return nil, fmt.Errorf("listen address is %q: %w", options.Listen, ErrToken)
	}
	if options.Grace == 0 {
		options.Grace = defaultGrace
	}
	p := &Proxy{forwarder: forwarder, options: options, listen: listen, host: host}
	if memory != nil {
		p.memory = func(_ context.Context, do func(turn.Retriever, SystemText) turn.Report) error {
			do(memory, options.Turn.System)
			return nil
		}
	}
	return p, nil
}

// ServeHTTP adds memory to chat requests.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.forwarder.forward(w, r, Passage{Memory: p.memory}, p.admit)
}

// BaseURL is for OpenAI clients of the proxy at host.
func (p *Proxy) BaseURL(host string) string {
	path := strings.TrimRight(p.forwarder.upstream.EscapedPath(), "/")
	if path == "" {
		path = "/v1"
	}
	return "http://" + host + path
}

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
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/inject/turn"
	"github.com/memcore/memcore/internal/web/overload"
)

// DefaultListen is the default of Options.Listen.
const DefaultListen = "127.0.0.1:7471"

// ErrToken means that other machines can reach a proxy without a token.
var ErrToken = errors.New("other machines could use this proxy, and with it your memory: it needs a token")

const (
	defaultBudget = 300 * time.Millisecond // the first word of an answer takes a second or more
	defaultGrace  = 5 * time.Second
)

// Options of the zero value serve this machine.
type Options struct {
	// Listen is "host:port"; "" is DefaultListen. Other than loopback needs a Token.
	Listen string
	// Token is wanted in X-Memcore-Token, if not "", and not passed on.
	Token string
	// Turn is for package turn; Timeout 0 means 300 ms.
	Turn turn.Options
	// DryRun injects nothing; headers say what would be injected.
	DryRun bool
	// Grace is for answers after Serve; 0 is 5 s, negative none.
	Grace time.Duration
	// Logger gets a line a request, without its content; nil is slog.Default().
	Logger *slog.Logger
}

// A Proxy is safe for concurrent use.
type Proxy struct {
	upstream  *url.URL
	memory    turn.Retriever // nil for none
	options   Options
	listen    *net.TCPAddr
	host      string // of Options.Listen, as written
	reverse   *httputil.ReverseProxy
	transport *http.Transport
	log       *slog.Logger
	bodies    overload.Bodies
}

// mostBodies bounds all bytes of requests with memory.
const mostBodies = 4 * maxBody

// New returns a proxy for upstream, such as "https://api.openai.com/v1". memory is used
// concurrently, and may be nil.
func New(upstream string, memory turn.Retriever, options Options) (*Proxy, error) {
	target, err := parseUpstream(upstream)
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
	if options.Turn.Timeout == 0 {
		options.Turn.Timeout = defaultBudget
	}
	if options.Grace == 0 {
		options.Grace = defaultGrace
	}
	p := &Proxy{upstream: target, memory: memory, options: options, listen: listen, host: host, transport: newTransport(), log: options.Logger}
	p.bodies.Most = mostBodies
	if p.log == nil {
		p.log = slog.Default()
	}
	p.reverse = &httputil.ReverseProxy{
		Rewrite:        p.rewrite,
		Transport:      p.transport,
		FlushInterval:  -1, // each token as it comes
		ModifyResponse: p.answered,
		ErrorHandler:   p.unanswered,
		ErrorLog:       slog.NewLogLogger(p.log.Handler(), slog.LevelWarn),
	}
	return p, nil
}

// parseUpstream refuses what would get lost or logged.
func parseUpstream(text string) (*url.URL, error) {
	const wanted = "want a URL such as https://api.openai.com/v1 or http://127.0.0.1:11434"
	target, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("upstream is no URL, %s", wanted) // err has the text, perhaps with a password
	case target.User != nil || target.Host == "" && strings.Contains(text, "@"):
		return nil, errors.New("upstream has a user or password in it; leave it out and let the client send its key")
	case target.Scheme != "http" && target.Scheme != "https" || target.Host == "" || target.Fragment != "":
		target.RawQuery = "" // it may hold a key
		return nil, fmt.Errorf("upstream is %q, %s", target, wanted)
	case strings.Contains(target.RawQuery, " "): // it would end the address within the line of a request
		return nil, errors.New(`upstream has a space behind its "?"; write it as %20`)
	}
	return target, nil
}

// newTransport is http.DefaultTransport for long, unchanged answers.
func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		ForceAttemptHTTP2:     true,
		DisableCompression:    true, // or it would ask for gzip on its own, and unpack
		MaxIdleConns:          64,
		MaxIdleConnsPerHost:   64,
		IdleConnTimeout:       90 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// ServeHTTP adds memory to chat requests.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{}
	defer func() { p.logExchange(r, x) }() // also if the answer breaks off, which panics
	if refused := p.admit(r); refused != nil {
		x.fail(w, r, refused.status, refused.why)
		return
	}
	out, free, err := p.withMemory(w, r, x)
	defer free()
	if errors.Is(err, overload.ErrSlow) {
		x.fail(w, r, http.StatusRequestTimeout, err.Error())
		return
	}
	if err != nil {
		x.fail(w, r, http.StatusBadRequest, fmt.Sprintf("the request's body broke off: %v", err))
		return
	}
	// Else net/http ends the request's body once the answer begins, which cuts early answers: one
	// in forty of Ollama's to /api/create. HTTP/2 returns an error, and does not need it.
	_ = http.NewResponseController(w).EnableFullDuplex()
	// Else net/http adds a date and guesses a type.
	w.Header()["Date"], w.Header()["Content-Type"] = nil, nil
	p.reverse.ServeHTTP(w, out.WithContext(context.WithValue(out.Context(), exchangeKey{}, x)))
}

// rewrite makes the request for the upstream.
func (p *Proxy) rewrite(pr *httputil.ProxyRequest) {
	out := pr.Out
	out.URL = p.target(pr.In.URL)
	out.Host = "" // that of the URL
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if sent := pr.In.Header[name]; sent != nil {
			out.Header[name] = sent // ReverseProxy drops them; a proxy before this one wants them there
		}
	}
	out.Header.Del(tokenHeader)
	if offersH2C(pr.In) { // an upgraded connection would carry requests past the proxy
		out.Header.Del("Connection")
		out.Header.Del("Upgrade")
		out.Header.Del("Http2-Settings")
	}
}

// target joins the upstream's path and the request's, a common part once: /v1 and /v1/models are
// /v1/models.
func (p *Proxy) target(in *url.URL) *url.URL {
	base := segments(strings.TrimRight(p.upstream.EscapedPath(), "/"))
	rest := segments(in.EscapedPath())
	shared := min(len(base), len(rest))
	for shared > 0 && !slices.Equal(base[len(base)-shared:], rest[:shared]) {
		shared--
	}
	escaped := strings.Join(slices.Concat([]string{""}, base, rest[shared:]), "/")
	if len(rest) == 0 {
		escaped += "/" // the root was asked for
	}
	out := &url.URL{Scheme: p.upstream.Scheme, Host: p.upstream.Host, RawPath: escaped, RawQuery: p.upstream.RawQuery, ForceQuery: in.ForceQuery}
	out.Path, _ = url.PathUnescape(escaped) // both parts were parsed
	if out.RawQuery != "" && in.RawQuery != "" {
		out.RawQuery += "&"
	}
	out.RawQuery += in.RawQuery
	return out
}

// segments splits at slashes; a slash at the end leaves "".
func segments(path string) []string {
	path = strings.TrimPrefix(path, "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// BaseURL is for OpenAI clients of the proxy at host.
func (p *Proxy) BaseURL(host string) string {
	path := strings.TrimRight(p.upstream.EscapedPath(), "/")
	if path == "" {
		path = "/v1"
	}
	return "http://" + host + path
}

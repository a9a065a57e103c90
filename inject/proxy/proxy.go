// Package proxy is an HTTP proxy in front of a model's server, which adds memory to chat requests on their way.
//
// A client that cannot be changed gets memory by another base URL. Requests to OpenAI's Chat Completions and Responses APIs, to
// Anthropic's Messages API and to Ollama's chat API get the block that package turn puts into them; everything else, and every answer,
// passes as it is, byte for byte. Whatever is wrong with memory, or with a request, is no reason to hold the request up: it goes on as
// it came, and headers of the answer say why. Package turn knows what messages look like, this package knows HTTP.
//
// One rule for its users: keys are the client's. They pass through, to the upstream only, and are never logged or kept.
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

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/turn"
	"github.com/memcore/memcore/internal/overload"
)

// DefaultListen is where a proxy listens if Options do not say.
const DefaultListen = "127.0.0.1:7471"

// ErrToken says that a proxy which other machines can reach has to have a token.
var ErrToken = errors.New("other machines could use this proxy, and with it your memory: it needs a token")

const (
	defaultBudget = 300 * time.Millisecond // for memory; a person waits for the first word of an answer a second or more
	defaultGrace  = 5 * time.Second
)

// A retriever finds what is worth knowing; *core.Manager is one. It is asked by several requests at once.
type retriever interface {
	RetrieveRelevant(ctx context.Context, request string, options core.RetrieveOptions) (core.Result, error)
}

// Options say how a proxy works. The zero value listens on this machine only and injects.
type Options struct {
	// Listen is "host:port"; "" is DefaultListen, port 0 any that is free. If host is not of the loopback, Token must be set.
	Listen string
	// Token, if not "", is what clients have to send in the header X-Memcore-Token. It does not go to the upstream.
	Token string
	// Turn is passed to package turn. Its Timeout is how long a request may be held up for memory: 0 means 300 ms.
	Turn turn.Options
	// DryRun retrieves and says in headers what would be injected, but injects nothing.
	DryRun bool
	// Grace is how long Serve lets answers that are under way go on once it is to stop; 0 means 5 s, negative not at all.
	Grace time.Duration
	// Logger gets a line for every request, without query, headers and bodies; nil means slog.Default().
	Logger *slog.Logger
}

// A Proxy is a handler in front of one upstream. It is safe for concurrent use.
type Proxy struct {
	upstream  *url.URL
	memory    retriever // nil for none
	options   Options
	listen    *net.TCPAddr
	host      string // of Options.Listen, as it was written
	reverse   *httputil.ReverseProxy
	transport *http.Transport
	log       *slog.Logger
	places    chan struct{} // taken by each request under way
	bodies    overload.Bodies
}

const (
	// mostAtOnce is how many requests are under way at a time; answers of models take minutes.
	mostAtOnce = 512
	// mostBodies is how many bytes the requests have together that are held for memory to be put into them. Beyond, they pass without.
	mostBodies = 4 * maxBody
)

// New returns a proxy in front of upstream, such as "https://api.openai.com/v1" or "http://127.0.0.1:11434". Without memory (nil) it passes everything
// on. Nothing is opened yet; errors are about the arguments: an address that is none, or ErrToken.
func New(upstream string, memory retriever, options Options) (*Proxy, error) {
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
	p := &Proxy{upstream: target, memory: memory, options: options, listen: listen, host: host, transport: newTransport(), log: options.Logger,
		places: make(chan struct{}, mostAtOnce)}
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

// parseUpstream refuses what would get lost or into logs.
func parseUpstream(text string) (*url.URL, error) {
	const wanted = "want a URL such as https://api.openai.com/v1 or http://127.0.0.1:11434"
	target, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("upstream is no URL, %s", wanted) // err has the text, and it a password perhaps
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

// newTransport is http.DefaultTransport without what would change an answer, and with room for several agents at once. There
// is no limit on how long an upstream may think.
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

// ServeHTTP passes a request on, with memory if it is a chat request.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{}
	defer func() { p.logExchange(r, x) }() // also if the answer breaks off, which panics
	if refused := p.admit(r); refused != nil {
		x.fail(w, r, refused.status, refused.why)
		return
	}
	select {
	case p.places <- struct{}{}:
		defer func() { <-p.places }()
	default:
		w.Header().Set("Retry-After", "1")
		x.fail(w, r, http.StatusServiceUnavailable, fmt.Sprintf("%d requests are under way, which is as many as the proxy takes; try again in a second", mostAtOnce))
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
	// Else net/http ends the request's body once the answer begins. An upstream that answers before the last of a body was looked at would
	// have its answer cut: one in forty of Ollama's to /api/create was. An error says that there is nothing to choose, as in HTTP/2.
	_ = http.NewResponseController(w).EnableFullDuplex()
	// Without these, net/http would add a date, and a type that it guesses.
	w.Header()["Date"], w.Header()["Content-Type"] = nil, nil
	p.reverse.ServeHTTP(w, out.WithContext(context.WithValue(out.Context(), exchangeKey{}, x)))
}

// rewrite makes the request for the upstream: the same one to another place.
func (p *Proxy) rewrite(pr *httputil.ProxyRequest) {
	out := pr.Out
	out.URL = p.target(pr.In.URL)
	out.Host = "" // that of the URL
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if sent := pr.In.Header[name]; sent != nil {
			out.Header[name] = sent // ReverseProxy drops them; whoever stands before us wants them there
		}
	}
	out.Header.Del(tokenHeader)
	if offersH2C(pr.In) { // a connection that became another one would carry requests past us
		out.Header.Del("Connection")
		out.Header.Del("Upgrade")
		out.Header.Del("Http2-Settings")
	}
}

// target is where at the upstream a request goes: the base's path and the request's, of which what both have in the middle counts once,
// so that a base with /v1 takes requests to /v1/chat/completions.
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

// segments are the parts of a path between slashes; the last one is empty if the path ends with a slash. The root has none.
func segments(path string) []string {
	path = strings.TrimPrefix(path, "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// BaseURL is what OpenAI clients are told to use for a proxy that they reach at host, "127.0.0.1:7471".
func (p *Proxy) BaseURL(host string) string {
	path := strings.TrimRight(p.upstream.EscapedPath(), "/")
	if path == "" {
		path = "/v1"
	}
	return "http://" + host + path
}

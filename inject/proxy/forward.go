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

// defaultBudget is for memory: an answer's first word takes a second or more.
const defaultBudget = 300 * time.Millisecond

// ForwarderOptions may be empty.
type ForwarderOptions struct {
	// Turn is for package turn; Timeout 0 means 300 ms. Its System is not used.
	Turn turn.Options
	// MaxBody bounds a chat that gets memory, in bytes; 0 is 64 MB. Larger ones pass without.
	MaxBody int64
	// Discreet hides the upstream's address in answers.
	Discreet bool
	// Logger gets a line a request, without its content; nil is slog.Default().
	Logger *slog.Logger
}

// A Forwarder passes requests to one upstream and adds memory to chats. Its caller decides who may
// use it. It is safe for concurrent use.
type Forwarder struct {
	upstream  *url.URL
	options   ForwarderOptions
	reverse   *httputil.ReverseProxy
	transport *http.Transport
	log       *slog.Logger
	bodies    overload.Bodies
}

// SystemText returns text for the end of system messages, as turn.Options.System.
type SystemText = func(context.Context) (turn.System, error)

// A Memory lets do use a memory, and returns soon after ctx ends. The error says why it did not
// call do.
type Memory func(ctx context.Context, do func(turn.Retriever, SystemText) turn.Report) error

// Bodies read requests' bodies within a bound of memory. The caller of Read calls free once, even
// after an error; data is then the beginning.
type Bodies interface {
	Read(w http.ResponseWriter, r *http.Request, most int64, within time.Duration) (data []byte, free func(), err error)
}

// A Passage says how one request passes.
type Passage struct {
	Memory Memory // nil for none
	// Bodies bounds the memory of chats; nil is that of the forwarder.
	Bodies Bodies
	// Lent means that the key for the upstream is not the client's. If the upstream refuses it, the
	// client does not see the answer, which may repeat a part of it.
	Lent bool
	// Done gets the report of a chat; may be nil.
	Done func(turn.Report)
	// Log gets the lines about the request; nil is that of the forwarder.
	Log *slog.Logger
}

// maxBodies bounds all bytes of requests with memory.
const maxBodies = 4 * maxBody

// NewForwarder returns a forwarder to upstream.
func NewForwarder(upstream string, options ForwarderOptions) (*Forwarder, error) {
	target, err := parseUpstream(upstream)
	if err != nil {
		return nil, err
	}
	if options.Turn.Timeout == 0 {
		options.Turn.Timeout = defaultBudget
	}
	if options.MaxBody == 0 {
		options.MaxBody = maxBody
	}
	f := &Forwarder{upstream: target, options: options, transport: newTransport(), log: options.Logger}
	f.bodies.Most = maxBodies
	if f.log == nil {
		f.log = slog.Default()
	}
	f.reverse = &httputil.ReverseProxy{
		Rewrite:        f.rewrite,
		Transport:      f.transport,
		FlushInterval:  -1, // each token as it comes
		ModifyResponse: f.answered,
		ErrorHandler:   f.unanswered,
		ErrorLog:       slog.NewLogLogger(f.log.Handler(), slog.LevelWarn),
	}
	return f, nil
}

// Close closes connections that no request uses.
func (f *Forwarder) Close() { f.transport.CloseIdleConnections() }

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

// Forward passes a request on, with memory if it is a chat.
func (f *Forwarder) Forward(w http.ResponseWriter, r *http.Request, p Passage) {
	f.forward(w, r, p, func(*http.Request) *refusal { return nil })
}

// forward is Forward for what admit returns nil for.
func (f *Forwarder) forward(w http.ResponseWriter, r *http.Request, p Passage, admit func(*http.Request) *refusal) {
	x := &exchange{passage: p}
	defer func() {
		f.logExchange(r, x)
		if p.Done != nil {
			p.Done(x.report)
		}
	}() // also if the answer breaks off, which panics
	refused := check(r)
	if refused == nil {
		refused = admit(r)
	}
	if refused != nil {
		x.fail(w, r, refused.status, refused.why)
		return
	}
	out, free, err := f.withMemory(w, r, x)
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
	f.reverse.ServeHTTP(w, out.WithContext(context.WithValue(out.Context(), exchangeKey{}, x)))
}

// rewrite makes the request for the upstream.
func (f *Forwarder) rewrite(pr *httputil.ProxyRequest) {
	out := pr.Out
	out.URL = f.target(pr.In.URL)
	out.Host = "" // that of the URL
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if sent := pr.In.Header[name]; sent != nil {
			out.Header[name] = sent // ReverseProxy drops them; a proxy before this one wants them there
		}
	}
	out.Header.Del(tokenHeader)
	if OffersH2C(pr.In) { // an upgraded connection would carry requests past the proxy
		out.Header.Del("Connection")
		out.Header.Del("Upgrade")
		out.Header.Del("Http2-Settings")
	}
}

// target joins the upstream's path and the request's, a common part once: /v1 and /v1/models are
// /v1/models.
func (f *Forwarder) target(in *url.URL) *url.URL {
	base := segments(strings.TrimRight(f.upstream.EscapedPath(), "/"))
	rest := segments(in.EscapedPath())
	shared := min(len(base), len(rest))
	for shared > 0 && !slices.Equal(base[len(base)-shared:], rest[:shared]) {
		shared--
	}
	escaped := strings.Join(slices.Concat([]string{""}, base, rest[shared:]), "/")
	if len(rest) == 0 {
		escaped += "/" // the root was asked for
	}
	out := &url.URL{Scheme: f.upstream.Scheme, Host: f.upstream.Host, RawPath: escaped, RawQuery: f.upstream.RawQuery, ForceQuery: in.ForceQuery}
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

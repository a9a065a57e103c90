package service

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"

	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/web/origin"
	"github.com/memcore/memcore/internal/web/overload"
)

// Headers of requests and answers.
const (
	// AtLeast asks for at least this version of the memory.
	AtLeast = "Memcore-At-Least"
	// Version is the version that has a change.
	Version = "Memcore-Version"
)

// Options of a Server. Keys, Tenants and Node are required.
type Options struct {
	Keys    Keys
	Tenants Tenants
	Node    Node
	Version string
	// AtOnce bounds the concurrent requests of a tenant; 0 is 16. Others get status 429.
	AtOnce int
	// OperatorKey is the key of who manages tenants, by the routes below /v1/tenants; "" for
	// nobody.
	OperatorKey string
	// Upstreams are the models' servers for the proxy.
	Upstreams []Upstream
	// Issuer is the URL of the tokens' issuer; "" for none.
	Issuer string
	// Scopes are what clients ask the issuer for.
	Scopes []string
	// PublicURL is the address for clients; "" takes each request's.
	PublicURL string
	// Audit gets a line a request; may be nil.
	Audit *AuditLog
	// Traces gets spans of requests; may be nil.
	Traces trace.TracerProvider
	Logger *slog.Logger
}

// A Server is safe for concurrent use.
type Server struct {
	o        Options
	spans    Spans
	bodies   overload.Bodies
	chats    overload.Bodies // of chats that pass to upstreams
	routes   *http.ServeMux
	guarded  http.Handler // routes
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec

	draining atomic.Bool
	away     atomic.Bool   // the database did not answer the last probe
	ending   chan struct{} // closed when streams end
	endOnce  sync.Once

	mu     sync.Mutex
	limits map[int64]*limit // by ID of the tenant
}

// A limit counts what a tenant uses.
type limit struct {
	rate      *rate.Limiter
	perSecond float64 // of rate
	slots     overload.Slots
	large     overload.Slots  // bodies over largeBody, which could use up Server.bodies
	streams   overload.Slots  // which could use up the connections of the process
	chats     overload.Slots  // which wait for models
	said      overload.Bodies // of chats
	used      time.Time
}

const (
	maxBody    = 8 << 20 // bytes
	largeBody  = 64 << 10
	maxLarge   = 4
	maxStreams = 64
	maxChats   = 64
	maxSaid    = 32 << 20 // bytes
	// slotWait bounds the wait for other requests of the tenant.
	slotWait = time.Second
)

// New returns a server.
func New(o Options) *Server {
	o.AtOnce = cmp.Or(o.AtOnce, 16)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &Server{o: o, spans: NewSpans(o.Traces), routes: http.NewServeMux(), registry: prometheus.NewRegistry(), limits: map[int64]*limit{}, ending: make(chan struct{})}
	s.guarded = httpapi.Guard(http.HandlerFunc(s.admit), o.Version, o.Logger, s.done)
	s.bodies.Most = 64 << 20
	s.chats.Most = 8 * maxSaid
	s.requests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "memcore_service_requests_total", Help: "Requests by operation and status."}, []string{"operation", "status"})
	s.took = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "memcore_service_request_seconds", Help: "Time that requests take.", Buckets: prometheus.ExponentialBuckets(0.001, 2, 14)}, []string{"operation"})
	s.registry.MustRegister(s.requests, s.took)
	for _, op := range s.operations() {
		s.routes.Handle(op.method+" "+tenantPath+op.path, s.authorised(op))
	}
	s.routes.HandleFunc("GET /v1/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		httpapi.Reply(w, http.StatusOK, openAPI(o.Version, s.operations()))
	})
	s.routes.HandleFunc("GET /live", func(w http.ResponseWriter, _ *http.Request) {
		httpapi.Reply(w, http.StatusOK, map[string]bool{"live": true})
	})
	s.routes.HandleFunc("GET /ready", s.ready)
	s.describeAsResource()
	s.operate()
	s.routes.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.fail(w, &httpapi.Error{Status: 404, Message: fmt.Sprintf("there is no %s %.200s; GET /v1/openapi.json lists what there is", r.Method, r.URL.Path)})
	})
	return s
}

// Metrics serves the node's metrics, which name no tenant. Use another address than that for
// clients.
func (s *Server) Metrics() http.Handler {
	return promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{})
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.guarded.ServeHTTP(w, s.audited(s.spans.request(r)))
}

// admit refuses web pages.
func (s *Server) admit(w http.ResponseWriter, r *http.Request) {
	if origin.IsForeign(r) {
		s.fail(w, &httpapi.Error{Status: 403, Message: "web pages may not use this service"})
		return
	}
	s.routes.ServeHTTP(w, r)
}

// tenantPath begins the paths of operations.
const tenantPath = "/v1/tenants/{tenant}"

// done counts a request.
func (s *Server) done(r *http.Request, status int, took time.Duration) {
	s.audit(r, status)
	endRequest(r, status)
	operation := cmp.Or(r.Pattern, "unknown")
	s.requests.WithLabelValues(operation, strconv.Itoa(status)).Inc()
	s.took.WithLabelValues(operation).Observe(took.Seconds())
}

// EndStreams ends open streams. Call Drain first.
func (s *Server) EndStreams() { s.endOnce.Do(func() { close(s.ending) }) }

// Drain reports the service as not ready. It still answers.
func (s *Server) Drain() { s.draining.Store(true) }

// ready reports whether the database answers.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.draining.Load() {
		s.fail(w, &httpapi.Error{Status: 503, Message: "this node is ending"})
		return
	}
	ctx, stop := context.WithTimeout(r.Context(), 3*time.Second)
	defer stop()
	err := s.o.Node.Ready(ctx)
	if away := err != nil; s.away.Swap(away) != away { // probes come each few seconds
		if away {
			s.o.Logger.Warn("not ready", "error", err)
		} else {
			s.o.Logger.Info("ready again")
		}
	}
	if err != nil {
		s.fail(w, &httpapi.Error{Status: 503, Message: "the database does not answer"})
		return
	}
	httpapi.Reply(w, http.StatusOK, map[string]bool{"ready": true})
}

// A request has passed authorised.
type request struct {
	*http.Request
	principal Principal
	body      []byte
	limit     *limit
}

// authorised demands a valid key of the tenant in the path with the right for the operation, and
// keeps to the tenant's limits.
func (s *Server) authorised(op operation) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		secret, fail := op.secretOf(r), s.fail
		if op.proxy {
			fail = func(w http.ResponseWriter, err error) { handlers{s}.failChat(w, r, err) }
		}
		tenant := r.PathValue("tenant")
		p, err := s.authenticate(r.Context(), tenant, secret)
		if a := accessOf(r.Context()); a != nil {
			a.User, a.Key = p.User, p.Key
		}
		switch {
		case errors.Is(err, ErrKey):
			s.challenge(w, r, secret != "")
			fail(w, &httpapi.Error{Status: 401, Message: err.Error()})
			return
		case err != nil:
			fail(w, err)
			return
		case p.Tenant != tenant:
			fail(w, &httpapi.Error{Status: 403, Message: "the key is for another tenant"})
			return
		case !p.Right.Includes(op.right):
			fail(w, &httpapi.Error{Status: 403, Message: fmt.Sprintf("the key has the right %s; this needs %s", p.Right, op.right)})
			return
		}
		most := s.o.Node.Limits(p)
		l := s.limitOf(p.Of.Tenant.ID, most.PerSecond)
		if most.PerSecond > 0 && !l.rate.Allow() {
			fail(w, &httpapi.Error{Status: 429, Message: "more requests a second than a tenant may send"})
			return
		}
		err = s.withBody(w, r, op, l, func(body []byte) error {
			do := func(r *http.Request) error {
				if err := s.await(r, p, op); err != nil {
					return err
				}
				return s.spans.Memory(r.Context(), op.onMemory(r), p.Tenant, func(ctx context.Context) (int, error) {
					err := op.do(w, &request{r.WithContext(ctx), p, body, l})
					return accessOf(ctx).hits(), err
				})
			}
			switch {
			case op.streams:
				return l.streams.Do(r.Context(), slotWait, func() error { return s.whileValid(r, p, secret, s.ending, do) })
			case op.proxy:
				return l.chats.Do(r.Context(), slotWait, func() error { return s.whileValid(r, p, secret, nil, do) })
			}
			return l.slots.Do(r.Context(), slotWait, func() error { return do(r) })
		})
		if err != nil {
			fail(w, err)
		}
	})
}

// authenticate returns whose secret it is. The operator is an admin of all tenants.
func (s *Server) authenticate(ctx context.Context, tenant, secret string) (Principal, error) {
	if s.o.isOperators(secret) {
		return s.o.Keys.AsOperator(ctx, tenant)
	}
	return s.o.Keys.Authenticate(ctx, tenant, secret)
}

// recheck is how often the key of an open stream is checked.
const recheck = 2 * time.Second

// whileValid calls do with a context that ends when the key is no longer valid or ending is closed.
func (s *Server) whileValid(r *http.Request, p Principal, secret string, ending <-chan struct{}, do func(*http.Request) error) error {
	ctx, cancel := context.WithCancel(r.Context())
	var watch sync.WaitGroup
	defer watch.Wait()
	defer cancel()
	watch.Go(func() {
		defer cancel()
		ticker := time.NewTicker(recheck)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ending:
				return
			case <-ticker.C:
			}
			again, err := s.authenticate(ctx, p.Tenant, secret)
			isGone := kind.Of(err) == kind.NotFound // the tenant, of which the operator's key says nothing
			if errors.Is(err, ErrKey) || isGone || err == nil && again.Of.Tenant.ID != p.Of.Tenant.ID {
				return
			}
		}
	})
	return do(r.WithContext(ctx))
}

// withBody reads the body for do, unless the operation reads it itself.
func (s *Server) withBody(w http.ResponseWriter, r *http.Request, op operation, l *limit, do func(body []byte) error) error {
	if op.streams || op.ownBody {
		return do(nil)
	}
	read := func() error {
		body, free, err := s.read(w, r)
		defer free()
		if err != nil {
			return err
		}
		return do(body)
	}
	if r.ContentLength >= 0 && r.ContentLength <= largeBody {
		return read()
	}
	return l.large.Do(r.Context(), slotWait, read)
}

func (s *Server) read(w http.ResponseWriter, r *http.Request) (body []byte, free func(), err error) {
	body, free, err = s.bodies.Read(w, r, maxBody, 10*time.Second)
	if err != nil {
		w.Header().Set("Connection", "close") // the rest is not read
		err = &httpapi.Error{Status: overload.StatusOf(err), Message: "the body cannot be read: " + err.Error()}
	}
	return body, free, err
}

// await waits until the version that the request asks for can be read.
func (s *Server) await(r *http.Request, p Principal, op operation) error {
	text := r.Header.Get(AtLeast)
	if op.unread || text == "" {
		return nil
	}
	atLeast, err := strconv.ParseInt(text, 10, 64)
	if err != nil || atLeast < 0 {
		return &httpapi.Error{Status: 400, Message: fmt.Sprintf("%s is %.40q, want a version that a write returned", AtLeast, text)}
	}
	return s.o.Node.Await(r.Context(), p, atLeast)
}

const (
	maxLimits = 100_000
	limitIdle = time.Minute
)

// limitOf returns the limit of a tenant. It forgets idle ones if there are too many.
func (s *Server) limitOf(tenant int64, perSecond float64) *limit {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.limits[tenant]
	if l == nil {
		if len(s.limits) >= maxLimits {
			for id, old := range s.limits {
				if time.Since(old.used) > limitIdle && len(old.slots)+len(old.large)+len(old.streams)+len(old.chats) == 0 {
					delete(s.limits, id)
				}
			}
		}
		l = &limit{rate: rate.NewLimiter(rate.Limit(perSecond), int(perSecond)+1), perSecond: perSecond, slots: make(overload.Slots, s.o.AtOnce),
			large: make(overload.Slots, maxLarge), streams: make(overload.Slots, maxStreams), chats: make(overload.Slots, maxChats)}
		l.said.Most, l.said.Within = maxSaid, &s.chats
		s.limits[tenant] = l
	}
	l.used = time.Now()
	if l.perSecond != perSecond {
		l.perSecond = perSecond
		l.rate.SetLimit(rate.Limit(perSecond))
		l.rate.SetBurst(int(perSecond) + 1)
	}
	return l
}

// body decodes the body of a request, which must not name a workspace: the key decides which memory
// answers.
func body[In any](r *request) (in In, err error) {
	fields := map[string]json.RawMessage{}
	if len(bytes.TrimSpace(r.body)) > 0 {
		if err := json.Unmarshal(r.body, &fields); err != nil || fields == nil {
			return in, &httpapi.Error{Status: 400, Message: fmt.Sprintf("the body is no JSON object: %v", cmp.Or(err, errors.New("it is null")))}
		}
	}
	for name := range fields {
		if strings.EqualFold(name, "workspace") {
			return in, &httpapi.Error{Status: 400, Message: "the body has a workspace; here the key decides which memory answers"}
		}
	}
	return in, httpapi.DecodeWithin("/", fields, &in)
}

// asked answers an operation with what do says of a memory that is opened for it.
func asked[In, Out any](open func(context.Context, Principal, func(*app.Service) error) error, do func(context.Context, httpapi.Workspace, In) (Out, error)) func(http.ResponseWriter, *request) error {
	return func(w http.ResponseWriter, r *request) error {
		in, err := body[In](r)
		if err != nil {
			return err
		}
		var out Out
		err = open(r.Context(), r.principal, func(s *app.Service) (err error) {
			out, err = do(r.Context(), s, in)
			return err
		})
		if err == nil {
			accessOf(r.Context()).AddAnswer(out)
			httpapi.Reply(w, http.StatusOK, out)
		}
		return err
	}
}

// call calls a tool.
func (s handlers) call(name string) func(http.ResponseWriter, *request) error {
	return func(w http.ResponseWriter, r *request) error {
		in, err := body[httpapi.ToolRequest](r)
		if err != nil {
			return err
		}
		answer, version, err := s.o.Node.Call(r.Context(), r.principal, cmp.Or(name, r.PathValue("name")), in.Arguments)
		if err != nil {
			return err
		}
		if version > 0 {
			w.Header().Set(Version, strconv.FormatInt(version, 10))
		}
		accessOf(r.Context()).AddAnswer(answer)
		httpapi.Reply(w, http.StatusOK, answer)
		return nil
	}
}

// mcp serves MCP clients.
func (s handlers) mcp(w http.ResponseWriter, r *request) error {
	handler, err := s.o.Node.MCP(r.Context(), r.principal)
	if err != nil {
		return err
	}
	inner := r.Clone(r.Context())
	inner.Host = "localhost" // ServeHTTP has checked where the request comes from
	inner.Header.Del("Origin")
	handler.ServeHTTP(w, inner)
	return nil
}

// errFailed is for errors that no client can mend; the log says more.
var errFailed = &httpapi.Error{Status: http.StatusInternalServerError, Message: "the service failed at this request"}

// shown hides unexpected errors from clients: they may name files on this node.
func (s *Server) shown(err error) error {
	if httpapi.StatusOf(err) != http.StatusInternalServerError || errors.Is(err, errFailed) {
		return err
	}
	s.o.Logger.Error("request failed", "error", err)
	return errFailed
}

// fail answers with an error.
func (s *Server) fail(w http.ResponseWriter, err error) { httpapi.Fail(w, s.shown(err)) }

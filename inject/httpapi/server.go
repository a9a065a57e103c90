package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/time/rate"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/inject/hook"
	"github.com/memcore/memcore/internal/overload"
	"github.com/memcore/memcore/internal/webguard"
)

// Options are the settings of a Server.
type Options struct {
	// Open opens the memory of a workspace, by its folder. It is needed.
	Open func(ctx context.Context, folder string) (Workspace, error)
	// Project returns the folder of the workspace that a folder is in. It is needed.
	Project func(folder string) (string, error)
	Version string
	// MaxBody is the largest body in bytes; 0 is 16 MB. MaxAtOnce bounds the requests that are worked on at a time, others wait up to Wait for one of them; 0 is
	// 64 and 1 s. PerSecond bounds how many come in; 0 is 2,000.
	MaxBody   int64
	MaxAtOnce int
	Wait      time.Duration
	PerSecond float64
	// MaxOpen and Idle bound the workspaces that are kept open; 0 is 16 and 15 minutes.
	MaxOpen int
	Idle    time.Duration
	// Logger gets a line a request; nil is slog.Default().
	Logger *slog.Logger
	// Traces gets a span a request; nil is none.
	Traces trace.TracerProvider
}

// A Server answers requests. It is safe for concurrent use.
type Server struct {
	o       Options
	log     *slog.Logger
	pool    *pool
	bodies  overload.Bodies
	slots   chan struct{}
	rate    *rate.Limiter
	started time.Time
	served  atomic.Int64
	used    atomic.Int64 // nanoseconds from started to the last request
	stop    func()       // asks whoever runs the server to end it

	registry *prometheus.Registry
	requests *prometheus.CounterVec
	took     *prometheus.HistogramVec
	hits     prometheus.Counter

	mu        sync.Mutex
	listeners map[chan Event]bool
	ending    chan struct{} // closed when streams have to end
	endOnce   sync.Once
}

// New returns a server. stop is called when a request asks it to end; Close frees what it has opened.
func New(o Options, stop func()) *Server {
	o.MaxBody, o.MaxAtOnce, o.Wait = cmp.Or(o.MaxBody, 16<<20), cmp.Or(o.MaxAtOnce, 64), cmp.Or(o.Wait, time.Second)
	o.PerSecond, o.MaxOpen, o.Idle = cmp.Or(o.PerSecond, 2000), cmp.Or(o.MaxOpen, 16), cmp.Or(o.Idle, 15*time.Minute)
	s := &Server{o: o, log: o.Logger, slots: make(chan struct{}, o.MaxAtOnce), rate: rate.NewLimiter(rate.Limit(o.PerSecond), int(o.PerSecond)+1), started: time.Now(), stop: stop, listeners: map[chan Event]bool{}, ending: make(chan struct{})}
	s.bodies.Most = max(mostBodies, 2*o.MaxBody)
	if s.log == nil {
		s.log = slog.Default()
	}
	s.pool = &pool{open: o.Open, project: o.Project, tell: s.tell, most: o.MaxOpen, idle: o.Idle, known: map[string]*kept{}}
	s.registry = prometheus.NewRegistry()
	s.requests = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "memcore_requests_total", Help: "Requests by route and status."}, []string{"route", "status"})
	s.took = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "memcore_request_seconds", Help: "Time that requests take.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 15)}, []string{"route"})
	s.hits = prometheus.NewCounter(prometheus.CounterOpts{Name: "memcore_hits_total", Help: "Hits that were given for turns."})
	open := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "memcore_open_workspaces", Help: "Workspaces that are open."}, func() float64 { return float64(len(s.pool.opened())) })
	bodies := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "memcore_request_bytes", Help: "Bytes of the bodies of requests that are held."}, func() float64 { return float64(s.bodies.Held()) })
	s.registry.MustRegister(s.requests, s.took, s.hits, open, bodies, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return s
}

// Close waits for requests that are under way and closes all workspaces.
func (s *Server) Close() { s.pool.close() }

// EndStreams ends the streams of events, which have no end of their own.
func (s *Server) EndStreams() { s.endOnce.Do(func() { close(s.ending) }) }

// LastUsed is when the last request came that was not about the daemon itself.
func (s *Server) LastUsed() time.Time { return s.started.Add(time.Duration(s.used.Load())) }

// Busy tells whether a request is being worked on.
func (s *Server) Busy() bool { return len(s.slots) > 0 }

// Shrink closes the workspaces that nobody is using.
func (s *Server) Shrink() { s.pool.shrink() }

// Handler answers requests that come from this user, such as over a socket in a folder of theirs.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/retrieve", work(s, func(ctx context.Context, ws Workspace, r RetrieveRequest) (Retrieved, error) {
		if strings.TrimSpace(r.Query) == "" {
			return Retrieved{}, &Error{400, "query is missing: the text of the user's turn"}
		}
		found, err := ws.Retrieve(ctx, r)
		s.hits.Add(float64(len(found.Hits)))
		say(ctx, found.Result)
		return found, err
	}))
	mux.HandleFunc("POST /v1/search", work(s, func(ctx context.Context, ws Workspace, r SearchRequest) (core.Result, error) {
		found, err := ws.Find(ctx, r)
		say(ctx, found)
		return found, err
	}))
	mux.HandleFunc("POST /v1/explain", work(s, func(ctx context.Context, ws Workspace, r RetrieveRequest) (Retrieved, error) {
		r.Explain = true
		return ws.Retrieve(ctx, r)
	}))
	mux.HandleFunc("POST /v1/context", work(s, func(ctx context.Context, ws Workspace, r ContextRequest) (TextReply, error) {
		return ws.Context(ctx, r)
	}))
	mux.HandleFunc("POST /v1/index", work(s, func(ctx context.Context, ws Workspace, r IndexRequest) (core.IndexReport, error) {
		return ws.Reindex(ctx, r)
	}))
	mux.HandleFunc("POST /v1/hook", work(s, func(ctx context.Context, ws Workspace, r HookRequest) (HookReply, error) { return ws.Hook(ctx, r) }))
	mux.HandleFunc("POST /v1/status", work(s, func(ctx context.Context, ws Workspace, _ Target) (core.Status, error) { return ws.Report(ctx) }))
	mux.HandleFunc("POST /v1/tools", work(s, func(_ context.Context, ws Workspace, _ Target) (ToolsReply, error) {
		reply := ToolsReply{Tools: []map[string]any{}}
		for _, t := range ws.Tools() {
			reply.Tools = append(reply.Tools, t.Definition())
		}
		return reply, nil
	}))
	tool := func(name func(*http.Request) string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			work(s, func(ctx context.Context, ws Workspace, asked ToolRequest) (notes.Answer, error) {
				for _, t := range ws.Tools() {
					if t.Name == name(r) {
						return t.Call(ctx, asked.Arguments)
					}
				}
				return notes.Answer{}, &Error{404, fmt.Sprintf("there is no tool %.100q; POST /v1/tools lists them", name(r))}
			})(w, r)
		}
	}
	mux.HandleFunc("POST /v1/tools/{name}", tool(func(r *http.Request) string { return r.PathValue("name") }))
	mux.HandleFunc("POST /v1/save", tool(func(*http.Request) string { return "save_memory" }))
	mux.HandleFunc("POST /v1/recall", tool(func(*http.Request) string { return "recall_memory" }))
	mux.HandleFunc("GET /v1/health", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, s.Health()) })
	mux.HandleFunc("GET /v1/ready", s.ready)
	mux.HandleFunc("GET /v1/events", s.events)
	mux.HandleFunc("GET /v1/openapi.json", func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, openAPI(s.o.Version)) })
	mux.HandleFunc("POST /v1/shutdown", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]bool{"ending": true})
		s.stop()
	})
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if methods := methodsOf(r.URL.Path); len(methods) > 0 {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			fail(w, &Error{405, fmt.Sprintf("%s takes %s, not %s", r.URL.Path, strings.Join(methods, " or "), r.Method)})
			return
		}
		fail(w, &Error{404, fmt.Sprintf("there is no %s %s; GET /v1/openapi.json lists what there is", r.Method, r.URL.Path)})
	})
	return s.guard(s.traced(mux))
}

// Remote is Handler for others than this user: each request needs the token, and what web pages send is refused.
func (s *Server) Remote(token string) http.Handler {
	local := s.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case webguard.IsForeign(r):
			fail(w, &Error{403, "pages of other sites may not use this service"})
		case webguard.IsMisnamed(r):
			fail(w, &Error{403, "this service is asked by its address on this machine, not by another name"})
		case !webguard.HasBearer(r, token):
			w.Header().Set("WWW-Authenticate", "Bearer")
			fail(w, &Error{401, "the token is missing or wrong: Authorization: Bearer …"})
		default:
			local.ServeHTTP(w, r)
		}
	})
}

// guard counts and logs requests, and survives those that panic.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun := time.Now()
		seen := &seenWriter{ResponseWriter: w, status: http.StatusOK}
		w.Header().Set("X-Memcore-Version", s.o.Version)
		defer func() {
			if p := recover(); p != nil {
				s.log.Error("request failed", "path", r.URL.Path, "panic", p, "stack", string(debug.Stack()))
				fail(seen, &Error{500, "the service has failed at this request"})
			}
			route := cmp.Or(r.Pattern, "unknown")
			s.served.Add(1)
			s.requests.WithLabelValues(route, strconv.Itoa(seen.status)).Inc()
			s.took.WithLabelValues(route).Observe(time.Since(begun).Seconds())
			s.log.Debug("request", "method", r.Method, "path", r.URL.Path, "status", seen.status, "took", time.Since(begun))
		}()
		next.ServeHTTP(seen, r)
	})
}

type seenWriter struct {
	http.ResponseWriter
	status int
}

func (w *seenWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (w *seenWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// bodyWait is how long a client may take to send its body, mostBodies how many bytes all bodies may have at a time; mostStreams bounds the streams of events.
const (
	bodyWait    = 10 * time.Second
	mostBodies  = 64 << 20
	mostStreams = 64
)

// targeted is a request that names a workspace.
type targeted interface{ workspace() string }

// work answers a request about a workspace.
func work[In targeted, Out any](s *Server, do func(ctx context.Context, ws Workspace, in In) (Out, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		s.used.Store(int64(time.Since(s.started)))
		if !s.rate.Allow() {
			fail(w, &Error{http.StatusTooManyRequests, "more requests a second than the service takes"})
			return
		}
		// Neither a client that sends its body slowly nor one that does not read its answer takes somebody's place.
		var in In
		free, err := read(s, w, r, &in)
		defer free()
		if err != nil {
			fail(w, err)
			return
		}
		out, err := within(s, r.Context(), func() (out Out, err error) {
			err = s.pool.use(r.Context(), in.workspace(), func(ws Workspace) (err error) {
				out, err = do(r.Context(), ws, in)
				return err
			})
			return out, err
		})
		if err != nil {
			fail(w, err)
			return
		}
		reply(w, http.StatusOK, out)
	}
}

// within does something in one of the places for requests that are worked on.
func within[Out any](s *Server, ctx context.Context, do func() (Out, error)) (out Out, err error) {
	wait := time.NewTimer(s.o.Wait)
	defer wait.Stop()
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
		return do()
	case <-wait.C:
		return out, &Error{http.StatusServiceUnavailable, "the service is working on as many requests as it can"}
	case <-ctx.Done():
		return out, ctx.Err()
	}
}

// read reads the body of a request, which counts until free is called.
func read[In any](s *Server, w http.ResponseWriter, r *http.Request, into *In) (free func(), err error) {
	data, free, err := s.bodies.Read(w, r, s.o.MaxBody, bodyWait)
	switch {
	case errors.Is(err, overload.ErrLarge):
		w.Header().Set("Connection", "close") // the rest is not read
		return free, &Error{413, fmt.Sprintf("the body is larger than %d bytes", s.o.MaxBody)}
	case errors.Is(err, overload.ErrFull):
		return free, &Error{http.StatusServiceUnavailable, err.Error()}
	case errors.Is(err, overload.ErrSlow):
		return free, &Error{http.StatusRequestTimeout, err.Error()}
	case err != nil:
		return free, &Error{400, "the body cannot be read: " + err.Error()}
	}
	return free, understand(data, into)
}

// understand reads a body, which must be as the document of the API has it.
func understand[In any](data []byte, into *In) error {
	err := decode(data, into)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) && strings.HasPrefix(kind.Value, "number ") {
		err = decode(withWholeNumbers[In](data), into)
	}
	if err == nil {
		err = checkBody[In](data)
	}
	if err != nil {
		return &Error{400, "the body is not what is wanted here: " + err.Error() + "; GET /v1/openapi.json describes it"}
	}
	return nil
}

func decode(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func reply(w http.ResponseWriter, status int, body any) {
	data, err := json.Marshal(body)
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(data, '\n'))
}

// fail answers an error with the status that it means.
func fail(w http.ResponseWriter, err error) {
	var known *Error
	switch {
	case errors.As(err, &known):
	case errors.Is(err, core.ErrOption), errors.Is(err, notes.ErrArguments), errors.Is(err, notes.ErrScope), errors.Is(err, notes.ErrPath), errors.Is(err, notes.ErrTarget),
		errors.Is(err, notes.ErrNothing), errors.Is(err, notes.ErrOpen), errors.Is(err, notes.ErrNoEntry), errors.Is(err, notes.ErrSecret), errors.Is(err, notes.ErrStatement), errors.Is(err, notes.ErrRole),
		errors.Is(err, hook.ErrAgent), errors.Is(err, hook.ErrEvent):
		known = &Error{400, err.Error()}
	case errors.Is(err, notes.ErrNotAllowed), errors.Is(err, notes.ErrUnseen):
		known = &Error{403, err.Error()}
	case errors.Is(err, notes.ErrNoFile), errors.Is(err, notes.ErrNoSession):
		known = &Error{404, err.Error()}
	case errors.Is(err, notes.ErrChanged):
		known = &Error{409, err.Error()}
	case errors.Is(err, ErrClosed), errors.Is(err, context.Canceled):
		known = &Error{503, err.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		known = &Error{504, err.Error()}
	default:
		known = &Error{500, err.Error()}
	}
	if known.Status == http.StatusServiceUnavailable || known.Status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	data, _ := json.Marshal(map[string]any{"error": known}) // strings and numbers always encode
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(known.Status)
	w.Write(append(data, '\n'))
}

// Health is what GET /v1/health answers.
func (s *Server) Health() Health {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Health{Version: s.o.Version, PID: os.Getpid(), Started: s.started, Requests: s.served.Load(), Memory: int64(m.Sys - m.HeapReleased), MemoryMost: debug.SetMemoryLimit(-1),
		Goroutines: runtime.NumGoroutine(), Open: s.pool.opened()}
}

// ready answers whether requests are taken now.
func (s *Server) ready(w http.ResponseWriter, _ *http.Request) {
	if len(s.slots) == cap(s.slots) {
		fail(w, &Error{http.StatusServiceUnavailable, "the service is working on as many requests as it can"})
		return
	}
	reply(w, http.StatusOK, map[string]bool{"ready": true})
}

// tell gives an event to all who listen; one that is slow misses some.
func (s *Server) tell(e Event) {
	if e.Kind == "problem" {
		s.log.Warn("workspace", "workspace", e.Workspace, "problem", e.Text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for to := range s.listeners {
		select {
		case to <- e:
		default:
		}
	}
}

// events streams what happens to workspaces, as server-sent events.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	mine := make(chan Event, 64)
	s.mu.Lock()
	full := len(s.listeners) >= mostStreams
	if !full {
		s.listeners[mine] = true
	}
	s.mu.Unlock()
	if full {
		fail(w, &Error{http.StatusServiceUnavailable, "as many listen to events as may"})
		return
	}
	defer func() {
		s.mu.Lock()
		delete(s.listeners, mine)
		s.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	only := r.URL.Query().Get("workspace")
	if out.Flush() != nil {
		return
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case <-s.ending:
			return
		case e := <-mine:
			if only != "" && only != e.Workspace {
				continue
			}
			data, err := json.Marshal(e)
			if err != nil {
				continue
			}
			if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.Kind, data); err != nil || out.Flush() != nil {
				return
			}
		}
	}
}

package httpapi

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/memcore/memcore/internal/web/origin"
	"github.com/memcore/memcore/internal/web/overload"
)

// Options are the settings of a Server.
type Options struct {
	// Open opens a workspace. It is needed.
	Open func(ctx context.Context, folder string) (Workspace, error)
	// WorkspaceOf returns a folder's workspace. It is needed.
	WorkspaceOf func(folder string) (string, error)
	// Opened reports whether a workspace was opened at this machine. Over TCP there is no other:
	// the token of a client opens no folder. nil means that none was.
	Opened func(workspace string) bool
	// View makes a link to the pages of a workspace; may be nil.
	View      func(folder string) (ViewReply, error)
	Version   string
	MaxBody   int64         // bytes of a body; 0 is 16 MB
	MaxAtOnce int           // running requests; 0 is 64
	Wait      time.Duration // of other requests; 0 is 1 s
	PerSecond float64       // requests; 0 is 2,000
	// MaxOpen and Idle bound open workspaces; 0 is 16 and 15 minutes.
	MaxOpen int
	Idle    time.Duration
	// Logger gets a line a request; nil is slog.Default().
	Logger *slog.Logger
}

// A Server is safe for concurrent use.
type Server struct {
	o       Options
	log     *slog.Logger
	pool    *pool
	bodies  overload.Bodies
	slots   overload.Slots
	rate    *rate.Limiter
	started time.Time
	served  atomic.Int64
	used    atomic.Int64 // nanoseconds from started to the last request
	stop    func()       // asks the daemon to end

	mu        sync.Mutex
	listeners map[chan Event]bool
	ending    chan struct{} // closed when streams end
	endOnce   sync.Once
}

// New returns a server that calls stop when asked to end.
func New(o Options, stop func()) *Server {
	o.MaxBody, o.MaxAtOnce, o.Wait = cmp.Or(o.MaxBody, 16<<20), cmp.Or(o.MaxAtOnce, 64), cmp.Or(o.Wait, time.Second)
	o.PerSecond, o.MaxOpen, o.Idle = cmp.Or(o.PerSecond, 2000), cmp.Or(o.MaxOpen, 16), cmp.Or(o.Idle, 15*time.Minute)
	s := &Server{o: o, log: o.Logger, slots: make(overload.Slots, o.MaxAtOnce), rate: rate.NewLimiter(rate.Limit(o.PerSecond), int(o.PerSecond)+1), started: time.Now(), stop: stop, listeners: map[chan Event]bool{}, ending: make(chan struct{})}
	s.bodies.Most = max(maxBodies, 2*o.MaxBody)
	if s.log == nil {
		s.log = slog.Default()
	}
	s.pool = &pool{open: o.Open, workspaceOf: o.WorkspaceOf, publish: s.publish, most: o.MaxOpen, idle: o.Idle, known: map[string]*kept{}}
	return s
}

// Close waits for running requests and closes all workspaces.
func (s *Server) Close() { s.pool.close() }

// EndStreams ends the streams of events.
func (s *Server) EndStreams() { s.endOnce.Do(func() { close(s.ending) }) }

// LastUsed is when the last request about a workspace came.
func (s *Server) LastUsed() time.Time { return s.started.Add(time.Duration(s.used.Load())) }

// Busy reports whether a request is being worked on.
func (s *Server) Busy() bool { return len(s.slots) > 0 }

// Shrink closes the workspaces that are not in use.
func (s *Server) Shrink() { s.pool.closeUnused(0) }

// Use calls do with the workspace of a folder.
func (s *Server) Use(ctx context.Context, folder string, do func(Workspace) error) error {
	s.used.Store(int64(time.Since(s.started)))
	return s.slots.Do(ctx, s.o.Wait, func() error { return s.pool.use(ctx, folder, do) })
}

// Listen returns events until stop is called. It returns nil if too many listen.
func (s *Server) Listen() (events <-chan Event, stop func()) {
	mine := make(chan Event, 64)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.listeners) >= maxStreams {
		return nil, func() {}
	}
	s.listeners[mine] = true
	return mine, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listeners, mine)
	}
}

// Handler answers requests of this user, such as over the socket.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	all := s.operations()
	for _, o := range all {
		mux.Handle(o.method+" "+o.path, o.handler)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if methods := methodsOf(all, r.URL.Path); len(methods) > 0 {
			w.Header().Set("Allow", strings.Join(methods, ", "))
			Fail(w, &Error{405, fmt.Sprintf("%s takes %s, not %s", r.URL.Path, strings.Join(methods, " or "), r.Method)})
			return
		}
		Fail(w, &Error{404, fmt.Sprintf("there is no %s %s; GET /v1/openapi.json lists what there is", r.Method, r.URL.Path)})
	})
	return s.guard(mux)
}

// Remote is Handler for TCP: it needs the token and refuses web pages.
func (s *Server) Remote(token string) http.Handler {
	local := s.Handler()
	personal := map[string]bool{}
	for _, o := range s.operations() {
		personal[o.path] = o.personal
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case origin.IsForeign(r):
			Fail(w, &Error{403, "web pages may not use this service"})
		case origin.IsMisnamed(r):
			Fail(w, &Error{403, "address this service by its IP address or localhost, not by another name"})
		case !origin.HasBearer(r, token):
			w.Header().Set("WWW-Authenticate", "Bearer")
			Fail(w, &Error{401, "the token is missing or wrong: Authorization: Bearer …"})
		case personal[r.URL.Path]:
			Fail(w, &Error{403, "only the person at this machine may do this: over the socket, or with memcore view"})
		default:
			local.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), remoteKey{}, true)))
		}
	})
}

// remoteKey marks the contexts of requests over TCP.
type remoteKey struct{}

// mayUse refuses workspaces over TCP that nobody opened at this machine.
func (s *Server) mayUse(ctx context.Context, folder string) error {
	if ctx.Value(remoteKey{}) == nil {
		return nil
	}
	if workspace, err := s.o.WorkspaceOf(folder); err == nil && s.o.Opened != nil && s.o.Opened(workspace) {
		return nil
	}
	return &Error{403, fmt.Sprintf("workspace %s was not opened at this machine; its person does so with memcore index", folder)}
}

// guard counts and logs requests.
func (s *Server) guard(next http.Handler) http.Handler {
	return Guard(next, s.o.Version, s.log, func(r *http.Request, status int, took time.Duration) {
		s.served.Add(1)
		s.log.Debug("request", "method", r.Method, "path", r.URL.Path, "status", status, "took", took)
	})
}

// Health returns the answer of GET /v1/health.
func (s *Server) Health() Health {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Health{Version: s.o.Version, PID: os.Getpid(), Started: s.started, Requests: s.served.Load(), Memory: int64(m.Sys - m.HeapReleased), MemoryMost: debug.SetMemoryLimit(-1),
		Heap:       int64(m.NextGC / 2), // the next collection starts at twice the heap of the last one
		Goroutines: runtime.NumGoroutine(), Open: s.pool.opened()}
}

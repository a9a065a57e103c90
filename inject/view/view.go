// Package view serves pages that show a person what memory holds, what it gave and why.
//
// The pages listen on loopback. A link opens them once, then a cookie does. They show data from
// outside: templates escape it, and the content security policy allows only their own style and
// script.
package view

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/web/origin"
	"github.com/memcore/memcore/internal/web/overload"
)

//go:embed assets
var assets embed.FS

// Memories are the workspaces of the daemon.
type Memories interface {
	// Use calls do with the workspace of a folder.
	Use(ctx context.Context, folder string, do func(Memory) error) error
	// Listen returns events until stop; nil if too many listen.
	Listen() (events <-chan httpapi.Event, stop func())
}

const (
	linkLife    = 2 * time.Minute
	sessionLife = 12 * time.Hour
	// maxSessions bounds links and sessions; the oldest end.
	maxSessions = 64
	cookieName  = "memcore_view"
	maxBody     = 16 << 20 // bytes of a form
	maxBodies   = 2 * maxBody
	// maxAtOnce bounds pages being made, so that hooks find the daemon free. Others wait up to
	// slotWait.
	maxAtOnce = 8
	slotWait  = 5 * time.Second
)

// formWait bounds sending a form.
var formWait = 30 * time.Second

// A Server serves the pages. It is safe for concurrent use.
type Server struct {
	memories Memories
	version  string
	ending   chan struct{}
	endOnce  sync.Once
	slots    overload.Slots
	bodies   overload.Bodies

	mu       sync.Mutex
	links    map[[32]byte]grant // by the hash of the link's secret
	sessions map[[32]byte]grant // by the hash of the cookie
}

// A grant opens one workspace until it ends.
type grant struct {
	folder string
	ends   time.Time
}

// New returns a server of pages.
func New(memories Memories, version string) *Server {
	return &Server{memories: memories, version: version, ending: make(chan struct{}), slots: make(overload.Slots, maxAtOnce), bodies: overload.Bodies{Most: maxBodies}, links: map[[32]byte]grant{}, sessions: map[[32]byte]grant{}}
}

// EndStreams ends the streams of events.
func (s *Server) EndStreams() { s.endOnce.Do(func() { close(s.ending) }) }

// Link returns the path that opens the pages of a workspace, once and until it expires.
func (s *Server) Link(folder string) (path string, expires time.Time) {
	secret := newSecret()
	expires = time.Now().Add(linkLife)
	s.mu.Lock()
	defer s.mu.Unlock()
	add(s.links, secret, grant{folder, expires})
	return "/open/" + secret, expires
}

func newSecret() string {
	data := make([]byte, 32)
	rand.Read(data) // never fails
	return hex.EncodeToString(data)
}

// add adds a grant, and drops ended ones and the oldest over maxSessions.
func add(all map[[32]byte]grant, secret string, g grant) {
	for key, old := range all {
		if time.Now().After(old.ends) {
			delete(all, key)
		}
	}
	for len(all) >= maxSessions {
		var oldest [32]byte
		for key, old := range all {
			if first, ok := all[oldest]; !ok || old.ends.Before(first.ends) {
				oldest = key
			}
		}
		delete(all, oldest)
	}
	all[sha256.Sum256([]byte(secret))] = g
}

// of returns the grant of a secret.
func (s *Server) of(all map[[32]byte]grant, secret string, once bool) (grant, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sha256.Sum256([]byte(secret))
	g, ok := all[key]
	if once {
		delete(all, key)
	}
	return g, ok && time.Now().Before(g.ends)
}

// idKey makes the names in addresses of this process unguessable.
var idKey = sync.OnceValue(newSecret)

// idOf names a workspace in addresses, for a cookie of its own. Ports share cookies: whoever
// guesses the name gets the cookie at another port of this machine.
func idOf(folder string) string {
	sum := sha256.Sum256([]byte(idKey() + folder))
	return hex.EncodeToString(sum[:16])
}

// Handler serves the pages.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /open/{secret}", s.open)
	mux.Handle("GET /assets/", http.FileServerFS(assets))
	for _, p := range pages() {
		method, path := "GET", p.path
		if p.changes {
			method = "POST"
		}
		if path == "" {
			path = "{$}"
		}
		mux.Handle(method+" /w/{id}/"+path, s.withSession(func(w http.ResponseWriter, r *http.Request, folder string) error {
			return s.visited(w, r, folder, p.answer)
		}))
	}
	mux.Handle("GET /w/{id}/events", s.withSession(s.events))
	mux.Handle("GET /w/{id}/{other}", s.withSession(func(http.ResponseWriter, *http.Request, string) error { return errNoPage }))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		s.problem(w, http.StatusNotFound, trouble{Text: "There is no such page."})
	})
	return s.guard(s.withForm(mux))
}

// guard refuses requests of other sites and restricts what browsers do with answers.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "same-origin") // forms of a page without one have no origin
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		switch {
		case origin.IsMisnamed(r):
			s.problem(w, http.StatusForbidden, trouble{Text: "Address this page by 127.0.0.1, not by another name."})
		case origin.IsForeign(r):
			s.problem(w, http.StatusForbidden, trouble{Text: "Another site may not open this page."})
		case r.Method == http.MethodPost && r.Header.Get("Origin") == "":
			s.problem(w, http.StatusForbidden, trouble{Text: "Only these pages may change something."})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// withForm reads the body of a request, which may have a form.
func (s *Server) withForm(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		data, free, err := s.bodies.Read(w, r, maxBody, formWait)
		defer free()
		if err != nil {
			w.Header().Set("Connection", "close") // the rest is not read
			p := trouble{Text: "The form cannot be read: " + err.Error() + "."}
			if errors.Is(err, overload.ErrLarge) {
				p.Hint = "Edit fewer lines at a time."
			}
			s.problem(w, overload.StatusOf(err), p)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
		next.ServeHTTP(w, r)
	})
}

// visited answers a visit of a workspace. Only making the page takes a slot and the workspace:
// clients who do not read block no others.
func (s *Server) visited(w http.ResponseWriter, r *http.Request, folder string, answer func(visit) error) error {
	page := made{ResponseWriter: w, status: http.StatusOK}
	err := s.slots.Do(r.Context(), slotWait, func() error {
		return s.memories.Use(r.Context(), folder, func(m Memory) error { return answer(visit{s, m, &page, r, folder}) })
	})
	if err != nil {
		return err
	}
	w.WriteHeader(page.status)
	_, _ = w.Write(page.body.Bytes())
	return nil
}

// A made page is not sent yet.
type made struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (m *made) WriteHeader(status int)      { m.status = status }
func (m *made) Write(p []byte) (int, error) { return m.body.Write(p) }

// needsLink asks for a new link.
func needsLink(text string) trouble {
	return trouble{Text: text, Hint: "For a new link, run this in the folder of your project:", Run: "memcore view"}
}

// open takes a link, sets the cookie and leads to the first page.
func (s *Server) open(w http.ResponseWriter, r *http.Request) {
	g, ok := s.of(s.links, r.PathValue("secret"), true)
	if !ok {
		s.problem(w, http.StatusForbidden, needsLink("This link was used already, or is too old: it works once, for two minutes."))
		return
	}
	cookie := newSecret()
	s.mu.Lock()
	add(s.sessions, cookie, grant{g.folder, time.Now().Add(sessionLife)})
	s.mu.Unlock()
	path := "/w/" + idOf(g.folder) + "/"
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: cookie, Path: path, MaxAge: int(sessionLife / time.Second), HttpOnly: true, SameSite: http.SameSiteStrictMode})
	http.Redirect(w, r, path, http.StatusSeeOther)
}

// closed answers requests without a session. It gives back the text of their form.
func (s *Server) closed(w http.ResponseWriter, r *http.Request) {
	p := needsLink("These pages are closed: they stay open for twelve hours, while memcore's daemon runs.")
	if r.ParseForm() == nil {
		p.Lost = r.PostForm.Get("text")
	}
	s.problem(w, http.StatusUnauthorized, p)
}

// withSession answers visitors with the workspace's cookie.
func (s *Server) withSession(answer func(w http.ResponseWriter, r *http.Request, folder string) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cookie, err := r.Cookie(cookieName)
		if err != nil {
			s.closed(w, r)
			return
		}
		g, ok := s.of(s.sessions, cookie.Value, false)
		if !ok || idOf(g.folder) != r.PathValue("id") {
			s.closed(w, r)
			return
		}
		if err := answer(w, r, g.folder); err != nil {
			s.failed(w, g.folder, err)
		}
	})
}

// events tells a page that something has changed, by server-sent events without content.
func (s *Server) events(w http.ResponseWriter, r *http.Request, folder string) error {
	events, stop := s.memories.Listen()
	defer stop()
	if events == nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return nil
	}
	httpapi.Stream(w, r, events, s.ending, func(e httpapi.Event) []byte {
		if e.Workspace != folder {
			return nil
		}
		return []byte("{}")
	})
	return nil
}

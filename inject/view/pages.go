package view

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/internal/text/plain"
	"github.com/memcore/memcore/internal/text/sanitize"
)

// templates are those of pages. They are lazy: most commands need none.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{
		"clean": clean, "time": timeText, "percent": percent,
		"count": plain.Count, "score": func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) },
		"signed": func(v float64) string { return fmt.Sprintf("%+.2f", v) }, "short": func(text string) string { return plain.Shorten(text, 12) },
		"beginning": func(text string) string { return plain.Shorten(text, maxPrompt) },
		"cosine":    cosine, "id": idOf, "role": func(name string) string { return roles[name] },
		"lines": linesText, "proposed": proposedText,
	}).ParseFS(assets, "assets/*.html"))
})

// clean removes control, bidirectional and invisible characters.
func clean(text string) string {
	text, _ = sanitize.Reveal(strings.ToValidUTF8(text, "\uFFFD"))
	return text
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.Local().Format("2006-01-02 15:04")
}

func percent(part, of int) string {
	if of == 0 {
		return "0 %"
	}
	return strconv.Itoa(100*part/of) + " %"
}

func cosine(v *float64) string {
	if v == nil {
		return "–"
	}
	return strconv.FormatFloat(*v, 'f', 2, 64)
}

// A frame is what every page has.
type frame struct {
	Title, Workspace, Version string
	Name                      string  // of the workspace
	Menu                      []entry // none without a workspace
	Content                   template.HTML
}

// An entry of the menu. Its key is its place.
type entry struct {
	Path, Title string
	Here        bool
}

// A visit is a request for a page of a workspace.
type visit struct {
	*Server
	memory Memory
	w      http.ResponseWriter
	r      *http.Request
	folder string
}

// A page answers visits.
type page struct {
	path   string
	title  string // in the menu; "" for none
	answer func(visit) error
	// changes marks a page that changes something, with POST.
	changes bool
}

// pages returns all pages, in the order of the menu.
func pages() []page {
	return []page{
		{path: "", title: "Overview", answer: visit.overview},
		{path: "ask", title: "Ask", answer: visit.ask},
		{path: "case", answer: visit.addCase, changes: true},
		{path: "turns", title: "Turns", answer: visit.turns},
		{path: "turn", answer: visit.turn},
		{path: "memory", title: "Memory", answer: visit.documents},
		{path: "document", answer: visit.document},
		{path: "edit", answer: visit.edit},
		{path: "change", answer: visit.preview},
		{path: "change", answer: visit.change, changes: true},
		{path: "queue", answer: visit.queue},
		{path: "system", title: "System prompt", answer: visit.system},
	}
}

// show writes a page. below is the path of its entry in the menu. The template runs first, so that
// an error leaves no half page.
func (v visit) show(below, name, title string, data any) error {
	return v.showWith(http.StatusOK, below, name, title, data)
}

// showWith is show with another status.
func (v visit) showWith(status int, below, name, title string, data any) error {
	return v.write(v.w, status, v.frame(v.folder, below, title), name, data)
}

// redirect leads to another page.
func (v visit) redirect(to string) error {
	http.Redirect(v.w, v.r, to, http.StatusSeeOther)
	return nil
}

// frame returns the frame of a page of a workspace.
func (s *Server) frame(folder, below, title string) frame {
	f := frame{Title: title, Workspace: folder, Name: filepath.Base(folder), Version: s.version}
	for _, p := range pages() {
		if p.title != "" {
			f.Menu = append(f.Menu, entry{p.path, p.title, p.path == below})
		}
	}
	return f
}

func (s *Server) write(w http.ResponseWriter, status int, f frame, name string, data any) error {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		return err
	}
	f.Content = template.HTML(b.String()) // a template made it
	b.Reset()
	if err := templates().ExecuteTemplate(&b, "page", f); err != nil {
		return err
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
	return nil
}

// A trouble says what is wrong and what to do.
type trouble struct {
	Text, Hint, Run string
	Lost            string // what a person typed, which is nowhere else
}

// problem writes a page without a menu, for visitors without a workspace.
func (s *Server) problem(w http.ResponseWriter, status int, p trouble) {
	_ = s.write(w, status, frame{Title: "memcore", Version: s.version}, "problem", p) // its template runs
}

// failed writes an error as a page with the menu.
func (s *Server) failed(w http.ResponseWriter, folder string, err error) {
	status, title := httpapi.StatusOf(err), "This did not work"
	if status == http.StatusNotFound {
		title = "Not found"
	}
	_ = s.write(w, status, s.frame(folder, "none", title), "problem", trouble{Text: err.Error(), Hint: kind.HintOf(err)})
}

// errNoPage answers an unknown address.
var errNoPage = kind.As(kind.NotFound, errors.New("there is no such page"))

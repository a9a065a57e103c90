package view

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/memcore/memcore/inject/httpapi"
)

// A caseBox shows and changes the case of a question.
type caseBox struct {
	Case    *httpapi.Case // nil for none
	Problem string        // why there can be none
	// About is the question and the form of the page, for the way back. It is encoded, since forms
	// change line ends.
	About string
	// missing are expected documents that are not indexed.
	missing map[string]bool
}

// askFields are the fields of a page that a case returns to.
var askFields = []string{"q", "kind", "path", "since", "until", "id", "with", "least"}

// caseBox returns the box of a question on a page with a form.
func (s askPages) caseBox(ctx context.Context, folder, query string, form url.Values) *caseBox {
	about := only(form, askFields)
	about.Set("question", query)
	box := &caseBox{About: about.Encode()}
	cases, err := get(ctx, s.Server, folder, func(ws httpapi.Workspace) (httpapi.Cases, error) {
		return ws.Cases(ctx, httpapi.CasesRequest{Query: query})
	})
	if err != nil {
		box.Problem = err.Error()
	} else if len(cases.Cases) > 0 {
		box.Case = &cases.Cases[0]
		box.missing = s.missing(ctx, folder, box.Case.Expect)
	}
	return box
}

// missing returns the expected documents that are not indexed. It skips folders.
func (s askPages) missing(ctx context.Context, folder string, expected []httpapi.Expectation) map[string]bool {
	missing := map[string]bool{}
	for _, e := range expected {
		if path.Ext(e.Path) == "" {
			continue
		}
		_, err := get(ctx, s.Server, folder, func(ws httpapi.Workspace) (httpapi.Document, error) {
			return ws.Document(ctx, httpapi.DocumentRequest{Path: e.Path})
		})
		missing[e.Path] = err != nil && httpapi.StatusOf(err) == http.StatusNotFound
	}
	return missing
}

// Missing reports whether an expected document is missing.
func (b caseBox) Missing(e httpapi.Expectation) bool { return b.missing[e.Path] }

// only returns the named fields that are set.
func only(form url.Values, names []string) url.Values {
	v := url.Values{}
	for _, name := range names {
		if form.Get(name) != "" {
			v.Set(name, form.Get(name))
		}
	}
	return v
}

// Undo is what the button beside an expectation sends.
func (caseBox) Undo(e httpapi.Expectation) string { return wish("come", e, true) }

// Nothing is what the button of an empty answer sends.
func (caseBox) Nothing(undo bool) string { return wish("nothing", httpapi.Expectation{}, undo) }

// changeCase changes a case and goes back to the page of the button.
func (s askPages) changeCase(w http.ResponseWriter, r *http.Request, folder string) error {
	if err := r.ParseForm(); err != nil {
		return &httpapi.Error{Status: http.StatusBadRequest, Message: "the form cannot be read: " + err.Error()}
	}
	said, err := url.ParseQuery(r.PostForm.Get("say"))
	form, unread := url.ParseQuery(r.PostForm.Get("about"))
	if err != nil || unread != nil {
		return &httpapi.Error{Status: http.StatusBadRequest, Message: "the form was not made by these pages"}
	}
	request := httpapi.CaseRequest{Query: form.Get("question"), Wish: said.Get("wish"), Path: said.Get("path"), Heading: said.Get("heading"), Text: said.Get("text"), Undo: said.Get("undo") != ""}
	if request.Wish == "" {
		request.Wish, request.Path = "come", r.PostForm.Get("expected")
	}
	_, err = get(r.Context(), s.Server, folder, func(ws httpapi.Workspace) (httpapi.Cases, error) { return ws.ChangeCase(r.Context(), request) })
	if err != nil {
		if strings.TrimSpace(form.Get("q")) == "" {
			form.Set("q", request.Query)
		}
		return s.showAsk(w, r, folder, form, err)
	}
	back := only(form, askFields)
	to := "ask?"
	if back.Has("id") {
		to = "turn?"
	}
	place := "#case"
	if at, err := strconv.Atoi(said.Get("at")); err == nil {
		place = fmt.Sprintf("#c%d", at)
	}
	http.Redirect(w, r, to+back.Encode()+place, http.StatusSeeOther)
	return nil
}

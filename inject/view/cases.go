package view

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/memcore/memcore/inject/httpapi"
)

// A caseBox shows what memcore-eval.yaml says about a question, and adds to it.
type caseBox struct {
	Case
	Problem string // why nothing can be added
	// About is the question and the form of the page, for the way back. It is encoded, since forms
	// change line ends.
	About string
}

// askFields are the fields of a page that a case returns to.
var askFields = []string{"q", "kind", "path", "since", "until", "id", "with", "least"}

// caseBox returns the box of a question on a page with a form.
func (v visit) caseBox(query string, form url.Values) *caseBox {
	about := only(form, askFields)
	about.Set("question", query)
	box := &caseBox{About: about.Encode()}
	var err error
	if box.Case, err = v.memory.Case(v.r.Context(), query); err != nil {
		box.Problem = err.Error()
	}
	return box
}

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

// Wishes that buttons send.
const (
	come     = "come"
	stayAway = "stayAway"
	nothing  = "nothing"
)

// wish encodes what a button asks for. at is the place of the candidate, to come back to.
func wish(wish string, e Expectation, at int) string {
	return url.Values{"wish": {wish}, "path": {e.Path}, "heading": {e.Heading}, "text": {e.Text}, "at": {strconv.Itoa(at)}}.Encode()
}

// addCase adds a case and goes back to the page of the button.
func (v visit) addCase() error {
	if err := v.r.ParseForm(); err != nil {
		return &httpapi.Error{Status: http.StatusBadRequest, Message: "the form cannot be read: " + err.Error()}
	}
	said, err := url.ParseQuery(v.r.PostForm.Get("say"))
	form, unread := url.ParseQuery(v.r.PostForm.Get("about"))
	if err != nil || unread != nil {
		return &httpapi.Error{Status: http.StatusBadRequest, Message: "the form was not made by these pages"}
	}
	c := Case{Query: form.Get("question")}
	hit := []Expectation{{Path: said.Get("path"), Heading: said.Get("heading"), Text: said.Get("text")}}
	switch said.Get("wish") {
	case come:
		c.Expect = hit
	case stayAway:
		c.ExpectNot = hit
	case nothing:
		c.ExpectNothing = true
	default:
		c.Expect = []Expectation{{Path: v.r.PostForm.Get("expected")}}
	}
	if err := v.memory.AddCase(v.r.Context(), c); err != nil {
		if strings.TrimSpace(form.Get("q")) == "" {
			form.Set("q", c.Query)
		}
		return v.showAsk(form, err)
	}
	back := only(form, askFields)
	to := "ask?"
	if back.Has("id") {
		to = "turn?"
	}
	place := "#case"
	if at := numberOf(said.Get("at")); at > 0 {
		place = fmt.Sprintf("#c%d", at)
	}
	return v.redirect(to + back.Encode() + place)
}

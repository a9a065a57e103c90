package view

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/memcore/memcore/inject/httpapi"
)

// askPage is a question and its answer.
type askPage struct {
	Request    httpapi.RetrieveRequest
	Problem    string // with what was asked
	Answer     *httpapi.Retrieved
	Candidates candidates
	Case       *caseBox
	Then       string // why the turn that is asked again got nothing
}

func (v visit) ask() error { return v.showAsk(v.r.URL.Query(), nil) }

// showAsk shows the answer to a form, or its problem.
func (v visit) showAsk(form url.Values, problem error) error {
	p, err := v.asked(form)
	if problem == nil {
		problem = err
	}
	status := http.StatusOK
	if problem != nil {
		if status = httpapi.StatusOf(problem); status >= http.StatusInternalServerError {
			return problem
		}
		p.Problem = problem.Error()
	}
	return v.showWith(status, "ask", "ask", "Ask", p)
}

// asked answers a form. After an error the page still has the form.
func (v visit) asked(form url.Values) (askPage, error) {
	p := askPage{Request: httpapi.RetrieveRequest{Query: form.Get("q"), Kind: form.Get("kind"), Path: form.Get("path"), Explain: true,
		Times: httpapi.Times{Since: form.Get("since"), Until: form.Get("until")}}}
	if strings.TrimSpace(p.Request.Query) == "" {
		return p, nil
	}
	if form.Get("with") == "threshold" {
		least, err := strconv.ParseFloat(form.Get("least"), 64)
		if err != nil || !(least > 0 && least <= 1) {
			return p, &httpapi.Error{Status: http.StatusBadRequest, Message: fmt.Sprintf("The threshold is %.20q, want a number above 0, at most 1.", form.Get("least"))}
		}
		p.Request.MinSimilarity = least
	}
	answer, err := v.memory.Retrieve(v.r.Context(), p.Request)
	if err != nil {
		return p, err
	}
	p.Answer, p.Candidates = &answer, candidatesOf(answer.Result)
	p.Candidates.Answer = &answer
	p.Then = v.silenceOf(form.Get("turn"))
	p.Case = v.caseBox(p.Request.Query, form)
	p.Candidates.mark(p.Case.Case)
	return p, nil
}

// silenceOf says why a turn got nothing; "" if it got something or is not known.
func (v visit) silenceOf(turn string) string {
	if turn == "" {
		return ""
	}
	all, err := v.memory.Turns(v.r.Context(), TurnsRequest{Turn: turn})
	if err != nil || len(all.Turns) == 0 || len(all.Turns[0].Passages()) > 0 {
		return ""
	}
	return all.Turns[0].Reason
}

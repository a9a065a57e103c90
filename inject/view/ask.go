package view

import (
	"context"
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

func (s askPages) ask(w http.ResponseWriter, r *http.Request, folder string) error {
	return s.showAsk(w, r, folder, r.URL.Query(), nil)
}

// showAsk shows the answer to a form, or its problem.
func (s askPages) showAsk(w http.ResponseWriter, r *http.Request, folder string, form url.Values, problem error) error {
	p, err := s.asked(r.Context(), folder, form)
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
	return s.write(w, status, s.frame(folder, "ask", "Ask"), "ask", p)
}

// asked answers a form. After an error the page still has the form.
func (s askPages) asked(ctx context.Context, folder string, form url.Values) (askPage, error) {
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
	answer, err := get(ctx, s.Server, folder, func(ws httpapi.Workspace) (httpapi.Retrieved, error) { return ws.Retrieve(ctx, p.Request) })
	if err != nil {
		return p, err
	}
	p.Answer, p.Candidates = &answer, candidatesOf(answer.Result)
	p.Candidates.Answer = &answer
	p.Then = s.silenceOf(ctx, folder, form.Get("turn"))
	p.Case = s.caseBox(ctx, folder, p.Request.Query, form)
	p.Candidates.mark(p.Case.Case)
	return p, nil
}

// silenceOf says why a turn got nothing; "" if it got something or is not known.
func (s askPages) silenceOf(ctx context.Context, folder, turn string) string {
	if turn == "" {
		return ""
	}
	all, err := get(ctx, s.Server, folder, func(ws httpapi.Workspace) (httpapi.Turns, error) {
		return ws.Turns(ctx, httpapi.TurnsRequest{Turn: turn})
	})
	if err != nil || len(all.Turns) == 0 || len(all.Turns[0].Hits) > 0 {
		return ""
	}
	return all.Turns[0].Silence
}

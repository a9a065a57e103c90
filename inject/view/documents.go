package view

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/memcore/memcore/inject/httpapi"
)

const (
	// listed bounds the documents of a page, listedInFile those of a file.
	listed       = 100
	listedInFile = 500
)

// documentsPage lists some documents, the last changed first.
type documentsPage struct {
	httpapi.DocumentsRequest
	httpapi.Documents
	First, Last int // of the documents found, from 1
	Problem     string
	// Previous and Next are queries of other pages, or "".
	Previous, Next string
}

func (s memoryPages) memory(w http.ResponseWriter, r *http.Request, folder string) error {
	q := r.URL.Query()
	skip, err := strconv.Atoi(q.Get("skip"))
	if err != nil || skip < 0 {
		skip = 0
	}
	request := httpapi.DocumentsRequest{Find: q.Get("find"), Kind: q.Get("kind"), Source: q.Get("source"), Day: q.Get("day"), Skip: skip, Limit: listed}
	some, err := get(r.Context(), s.Server, folder, func(ws httpapi.Workspace) (httpapi.Documents, error) {
		return ws.Documents(r.Context(), request)
	})
	p := documentsOf(request, some)
	switch {
	case err != nil && httpapi.StatusOf(err) == http.StatusBadRequest:
		p.Problem = err.Error()
	case err != nil:
		return err
	}
	return s.show(w, folder, "memory", "memory", "Memory", p)
}

func documentsOf(r httpapi.DocumentsRequest, some httpapi.Documents) documentsPage {
	p := documentsPage{DocumentsRequest: r, Documents: some, First: min(r.Skip+1, some.Found), Last: r.Skip + len(some.Documents)}
	if r.Skip > 0 {
		p.Previous = queryOf(r, max(r.Skip-listed, 0))
	}
	if p.Last < some.Found && len(some.Documents) > 0 {
		p.Next = queryOf(r, p.Last)
	}
	return p
}

// queryOf returns a request's query with another start.
func queryOf(r httpapi.DocumentsRequest, skip int) string {
	q := url.Values{}
	for name, value := range map[string]string{"find": r.Find, "kind": r.Kind, "source": r.Source, "day": r.Day} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if skip > 0 {
		q.Set("skip", strconv.Itoa(skip))
	}
	return "?" + q.Encode()
}

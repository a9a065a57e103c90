package view

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/httpapi"
)

const (
	// listed bounds the documents of a page, listedInFile those of a file.
	listed       = 100
	listedInFile = 500
)

// documentsPage lists some documents, the last changed first.
type documentsPage struct {
	core.DocumentsOptions
	Documents   []core.DocumentInfo
	Found       int // in all
	First, Last int // of the documents found, from 1
	Problem     string
	// Previous and Next are queries of other pages, or "".
	Previous, Next string
}

func (v visit) documents() error {
	q := v.r.URL.Query()
	o := core.DocumentsOptions{Find: q.Get("find"), Kind: q.Get("kind"), Source: q.Get("source"), Day: q.Get("day"), Skip: numberOf(q.Get("skip")), Limit: listed}
	some, found, err := v.memory.Documents(v.r.Context(), o)
	p := documentsOf(o, some, found)
	switch {
	case err != nil && httpapi.StatusOf(err) == http.StatusBadRequest:
		p.Problem = err.Error()
	case err != nil:
		return err
	}
	return v.show("memory", "memory", "Memory", p)
}

func documentsOf(o core.DocumentsOptions, some []core.DocumentInfo, found int) documentsPage {
	p := documentsPage{DocumentsOptions: o, Documents: some, Found: found, First: min(o.Skip+1, found), Last: o.Skip + len(some)}
	if o.Skip > 0 {
		p.Previous = queryOf(o, max(o.Skip-listed, 0))
	}
	if p.Last < found && len(some) > 0 {
		p.Next = queryOf(o, p.Last)
	}
	return p
}

// queryOf returns the query of a page with another start.
func queryOf(o core.DocumentsOptions, skip int) string {
	q := url.Values{}
	for name, value := range map[string]string{"find": o.Find, "kind": o.Kind, "source": o.Source, "day": o.Day} {
		if value != "" {
			q.Set(name, value)
		}
	}
	if skip > 0 {
		q.Set("skip", strconv.Itoa(skip))
	}
	return "?" + q.Encode()
}

package view

import (
	"net/http"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/httpapi"
)

// listed bounds the documents of a page.
const listed = 100

// documentsPage lists some documents, the last changed first.
type documentsPage struct {
	core.DocumentsOptions
	Documents   []core.DocumentInfo
	Found       int // in all
	First, Last int // of the documents found, from 1
	Problem     string
	Previous    int // how many documents the page before skips, if Skip is not 0
}

// More reports whether there is a next page.
func (p documentsPage) More() bool {
	return p.Last < p.Found && len(p.Documents) > 0
}

func (v visit) documents() error {
	q := v.r.URL.Query()
	o := core.DocumentsOptions{Find: q.Get("find"), Kind: q.Get("kind"), Source: q.Get("source"), Skip: numberOf(q.Get("skip")), Limit: listed}
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
	return documentsPage{DocumentsOptions: o, Documents: some, Found: found, First: min(o.Skip+1, found), Last: o.Skip + len(some), Previous: max(o.Skip-listed, 0)}
}

package service

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// An Access is a request in the audit log. It has no text and no question.
type Access struct {
	Time      time.Time `json:"time"`
	Tenant    string    `json:"tenant"`
	User      string    `json:"user,omitempty"` // "" if the request was not let in
	Key       string    `json:"key,omitempty"`  // its ID
	Operation string    `json:"operation"`
	Status    int       `json:"status"`
	// Documents were asked for or given: Hits of them, of which at most maxAudited are named.
	Documents []string `json:"documents,omitempty"`
	Hits      int      `json:"hits,omitempty"`
}

// maxAudited bounds the names of documents in a line.
const maxAudited = 100

// add notes documents that the request gets.
func (a *Access) add(documents ...string) {
	if a == nil {
		return
	}
	a.Hits += len(documents)
	a.Documents = append(a.Documents, documents[:max(0, min(len(documents), maxAudited-len(a.Documents)))]...)
}

// AddAnswer notes the documents that a JSON answer names.
func (a *Access) AddAnswer(answer any) {
	if a == nil {
		return
	}
	data, isJSON := answer.([]byte)
	if !isJSON {
		data, _ = json.Marshal(answer)
	}
	var named struct {
		Path, Source string
		Hits         []struct{ Path, Source string }
		Data         json.RawMessage // of a tool
	}
	if json.Unmarshal(data, &named) != nil {
		return
	}
	for _, hit := range append(named.Hits, struct{ Path, Source string }{named.Path, named.Source}) {
		if hit.Path != "" {
			a.add(hit.Path)
		} else if hit.Source != "" {
			a.addSources(hit.Source)
		}
	}
	if len(named.Data) > 0 {
		a.AddAnswer([]byte(named.Data))
	}
}

// addDocuments notes documents that are listed.
func (a *Access) addDocuments(all []Document) {
	for _, d := range all {
		a.add(d.Path)
	}
}

// addSources notes documents by their citations.
func (a *Access) addSources(sources ...string) {
	for _, source := range sources {
		document, _, _ := strings.Cut(source, "#L")
		a.add(document)
	}
}

// hits counts the documents that the request gets.
func (a *Access) hits() int {
	if a == nil {
		return 0
	}
	return a.Hits
}

type accessKey struct{}

// accessOf returns nil without an audit log.
func accessOf(ctx context.Context) *Access {
	a, _ := ctx.Value(accessKey{}).(*Access)
	return a
}

// An AuditLog writes accesses as lines of JSON. It is safe for concurrent use; nil writes nothing.
type AuditLog struct {
	failed func(error)

	mu      sync.Mutex
	out     io.Writer
	file    *os.File // nil if out is none
	name    string
	checked time.Time
}

// NewAuditLog returns a log that writes to out. failed gets errors.
func NewAuditLog(out io.Writer, failed func(error)) *AuditLog {
	return &AuditLog{out: out, failed: failed}
}

// OpenAuditLog appends to a file, and begins a new one if that is renamed.
func OpenAuditLog(name string, failed func(error)) (*AuditLog, error) {
	l := &AuditLog{name: name, failed: failed}
	return l, l.open()
}

func (l *AuditLog) open() error {
	file, err := os.OpenFile(l.name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if l.file != nil {
		_ = l.file.Close()
	}
	l.file, l.out = file, file
	return nil
}

// checkEvery is how long lines may go to a renamed file.
const checkEvery = time.Second

// follow opens the file again if it was renamed.
func (l *AuditLog) follow() error {
	if l.file == nil || time.Since(l.checked) < checkEvery {
		return nil
	}
	l.checked = time.Now()
	mine, err := l.file.Stat()
	if err != nil {
		return err
	}
	if named, err := os.Stat(l.name); err == nil && os.SameFile(mine, named) {
		return nil
	}
	return l.open()
}

// longestAudited bounds a text in a line, in bytes: a refused request may have any.
const longestAudited = 1024

// cut shortens a text to longestAudited.
func cut(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), longestAudited)], "")
}

// Add writes a line.
func (l *AuditLog) Add(a Access) {
	if l == nil {
		return
	}
	a.Tenant, a.Operation, a.Documents = cut(a.Tenant), cut(a.Operation), slices.Clone(a.Documents)
	for i, document := range a.Documents {
		a.Documents[i] = cut(document)
	}
	line, _ := json.Marshal(a) // texts, times and numbers always encode
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.follow()
	if err == nil {
		_, err = l.out.Write(append(line, '\n'))
	}
	if err != nil {
		l.failed(err)
	}
}

// Close closes the file.
func (l *AuditLog) Close() error {
	if l == nil || l.file == nil {
		return nil
	}
	return l.file.Close()
}

// audited adds an access to a request, for done.
func (s *Server) audited(r *http.Request) *http.Request {
	if s.o.Audit == nil && s.o.Traces == nil {
		return r
	}
	return r.WithContext(context.WithValue(r.Context(), accessKey{}, &Access{Time: time.Now().UTC()}))
}

// audit writes the line of a request.
func (s *Server) audit(r *http.Request, status int) {
	a := accessOf(r.Context())
	method, path, ok := strings.Cut(r.Pattern, tenantPath)
	if a == nil || !ok {
		return
	}
	a.Tenant, a.Operation, a.Status = r.PathValue("tenant"), method+path, status
	s.o.Audit.Add(*a)
}

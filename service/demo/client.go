package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const tenant = "acme"

// A request to the tenant's part of the service.
type request struct {
	url    string // of a node, or of the balancer
	key    string // its secret
	method string // "" for POST, or GET without a body
	path   string
	body   string
	header map[string]string
	quiet  bool
}

type answer struct {
	status int
	header http.Header
	body   string
}

// version is that of the memory.
func (a answer) version() int64 {
	v, _ := strconv.ParseInt(a.header.Get("Memcore-Version"), 10, 64)
	return v
}

// into decodes the body.
func (a answer) into(value any) {
	err := json.Unmarshal([]byte(a.body), value)
	check(err == nil, "the answer is no JSON: %v: %.300s", err, a.body)
}

// A client keeps connections open, as agents do.
var client = &http.Client{Timeout: 30 * time.Second}

// send sends the request and prints both unless it is quiet.
func (r request) send() (answer, error) {
	method := r.method
	switch {
	case method == "" && r.body == "":
		method = http.MethodGet
	case method == "":
		method = http.MethodPost
	}
	out, err := http.NewRequest(method, r.url+"/v1/tenants/"+tenant+r.path, strings.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	out.Header.Set("Authorization", "Bearer "+r.key)
	for name, value := range r.header {
		out.Header.Set(name, value)
	}
	in, err := client.Do(out)
	if err != nil {
		return answer{}, err
	}
	defer in.Body.Close()
	body, err := io.ReadAll(in.Body)
	a := answer{in.StatusCode, in.Header, string(body)}
	if !r.quiet {
		r.print(a)
	}
	return a, err
}

func (r request) print(a answer) {
	more := ""
	for name, value := range r.header {
		more += fmt.Sprintf(" -H '%s: %s'", name, value)
	}
	if r.method != "" {
		more += " -X " + r.method
	}
	if r.body != "" {
		more += " -d '" + shortened(r.body, 160) + "'"
	}
	fmt.Printf("$ curl -H 'Authorization: Bearer %.7s…'%s %s/v1/tenants/%s%s\n", r.key, more, r.url, tenant, r.path)
	version := a.header.Get("Memcore-Version")
	if version != "" {
		version = ", version " + version
	}
	fmt.Printf("  %d%s: %s\n", a.status, version, shortened(a.body, 300))
}

// shortened makes one line of a text.
func shortened(text string, most int) string {
	text = strings.ReplaceAll(strings.TrimSpace(text), "\n", "⏎")
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return text
}

// want sends a request that must be answered with a status.
func (r request) want(status int) answer {
	a, err := r.send()
	must(err)
	check(a.status == status, "%s %s at %s: status %d, want %d: %.300s", r.method, r.path, r.url, a.status, status, a.body)
	return a
}

// A load is what clients keep sending.
type load struct {
	stop chan struct{}
	all  sync.WaitGroup

	mu      sync.Mutex
	sent    int
	failed  []string
	written map[string]string // documents that the service says it has written
	version int64             // that has them all
}

// startLoad sends questions and writes to a URL. Each client sends the next request 50 ms after an
// answer.
func startLoad(url, key, name string) *load {
	l := &load{stop: make(chan struct{}), written: map[string]string{}}
	for c := range 4 {
		l.all.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-l.stop:
					return
				case <-time.After(50 * time.Millisecond):
				}
				l.one(request{url: url, key: key, quiet: true}, fmt.Sprintf("%s-%d-%d", name, c, n), (c+n)%3)
			}
		})
	}
	return l
}

func (l *load) one(r request, name string, kind int) {
	path, text := "load/"+name+".md", "# Load\n\nNote "+name+" of a client that keeps writing.\n"
	switch kind {
	case 0:
		r.method, r.path, r.body = "PUT", "/documents/"+path, text
	case 1:
		r.path, r.body = "/retrieve", `{"query":"which port does the staging database use?"}`
	default:
		r.path = "/documents"
	}
	a, err := r.send()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent++
	switch {
	case err != nil:
		l.failed = append(l.failed, fmt.Sprintf("%s: %v", r.path, err))
	case a.status != http.StatusOK:
		l.failed = append(l.failed, fmt.Sprintf("%s: status %d: %.200s", r.path, a.status, a.body))
	case kind == 0:
		l.written[path], l.version = text, max(l.version, a.version())
	}
}

// end waits for running requests and returns how many were sent and which failed.
func (l *load) end() (sent int, failed []string) {
	close(l.stop)
	l.all.Wait()
	return l.sent, l.failed
}

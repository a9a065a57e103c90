package service

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/proxy"
	"github.com/memcore/memcore/inject/turn"
	"github.com/memcore/memcore/internal/web/origin"
)

// An Upstream is a model's server.
type Upstream struct {
	Name    string // in the path of requests
	Forward *proxy.Forwarder
	// Key is for requests whose only key is this service's; may be "".
	Key string
}

// KeyHeader has this service's key if other headers have the upstream's.
const KeyHeader = "Memcore-Key"

// keyBegins begins keys of this service.
const keyBegins = "mck_"

// apiKeyHeader has the key of clients of Anthropic's API.
const apiKeyHeader = "X-Api-Key"

// secretOf returns the request's key of this service.
func (o operation) secretOf(r *http.Request) string {
	secret := origin.Bearer(r)
	if !o.proxy {
		return secret
	}
	for _, given := range []string{r.Header.Get(KeyHeader), secret, r.Header.Get(apiKeyHeader)} {
		if given != "" {
			return given
		}
	}
	return ""
}

// passes are the requests to models. No others pass: the upstream may keep files and answers of all
// tenants in one account.
var passes = map[string][]string{
	http.MethodGet: {"/models", "/api/tags", "/api/version"},
	http.MethodPost: {"/chat/completions", "/completions", "/responses", "/embeddings", "/messages", "/messages/count_tokens",
		"/api/chat", "/api/generate", "/api/embed", "/api/embeddings", "/api/show"},
}

// isForModel reports whether a request below an upstream is for a model.
func isForModel(method, path string) bool {
	path = strings.TrimPrefix(path, "/v1")
	id, isModel := strings.CutPrefix(path, "/models/")
	return slices.Contains(passes[method], path) || method == http.MethodGet && isModel && id != ""
}

// proxied passes a request on to an upstream, with memory if it is a chat.
func (s handlers) proxied(w http.ResponseWriter, r *request) error {
	i := slices.IndexFunc(s.o.Upstreams, func(u Upstream) bool { return u.Name == r.PathValue("upstream") })
	if i < 0 {
		return &httpapi.Error{Status: 404, Message: fmt.Sprintf("there is no upstream %.80q", r.PathValue("upstream"))}
	}
	u := s.o.Upstreams[i]
	below, err := belowUpstream(r.URL)
	if err != nil {
		return err
	}
	if !isForModel(r.Method, below.Path) || r.Header.Get("Upgrade") != "" && !proxy.OffersH2C(r.Request) {
		return &httpapi.Error{Status: 403, Message: fmt.Sprintf("%s %.200s does not pass: only requests to models do", r.Method, below.Path)}
	}
	out := r.Clone(r.Context())
	out.URL = below
	lent := u.lend(out)
	u.Forward.Forward(w, out, proxy.Passage{Memory: s.memoryOf(r), Bodies: &r.limit.said, Lent: lent, Done: func(t turn.Report) { accessOf(r.Context()).addSources(t.Sources...) }, Log: s.o.Logger.With("tenant", r.principal.Tenant)})
	return nil
}

// belowUpstream returns the URL for the upstream.
func belowUpstream(in *url.URL) (*url.URL, error) {
	asked, _ := url.QueryUnescape(in.RawQuery)
	if strings.Contains(in.Path+in.RawQuery+asked, keyBegins) {
		return nil, &httpapi.Error{Status: 400, Message: "the URL has a key of this service; send it in a header"}
	}
	parts := strings.SplitN(in.EscapedPath(), "/", 7) // "", v1, tenants, NAME, proxy, UPSTREAM, …
	out, err := url.Parse("/" + parts[len(parts)-1])
	if err != nil {
		return nil, &httpapi.Error{Status: 400, Message: "the path cannot be read"}
	}
	out.RawQuery = in.RawQuery
	return out, nil
}

// kept headers are not for an upstream.
var kept = []string{KeyHeader, AtLeast, "Cookie", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Port", "X-Real-Ip"}

// lend removes this service's keys from a request. A request without one for the upstream gets
// Upstream.Key, and lend returns true.
func (u Upstream) lend(r *http.Request) bool {
	own := r.Header.Get(KeyHeader) != ""
	bearer := origin.Bearer(r) != ""
	secret := operation{proxy: true}.secretOf(r)
	for _, name := range kept {
		r.Header.Del(name)
	}
	if !own {
		r.Header.Del("Authorization")
		r.Header.Del(apiKeyHeader)
	}
	for name, values := range r.Header {
		if slices.ContainsFunc(values, func(v string) bool { return strings.Contains(v, secret) || strings.Contains(v, keyBegins) }) {
			delete(r.Header, name)
		}
	}
	switch {
	case own:
		return false
	case u.Key != "" && bearer:
		r.Header.Set("Authorization", "Bearer "+u.Key)
	case u.Key != "":
		r.Header.Set(apiKeyHeader, u.Key)
	}
	return true
}

// memoryOf is the principal's memory for a chat. It fails if the database does not answer.
func (s handlers) memoryOf(r *request) proxy.Memory {
	return func(ctx context.Context, do func(turn.Retriever, proxy.SystemText) turn.Report) error {
		return s.spans.Memory(ctx, searchMemory, r.principal.Tenant, func(ctx context.Context) (found int, err error) {
			err = s.o.Node.Retriever(ctx, r.principal, func(m turn.Retriever, system func(context.Context) (turn.System, error)) error {
				found = do(m, system).Injected
				return nil
			})
			return found, err
		})
	}
}

// failChat is fail in the form of a model's API.
func (s handlers) failChat(w http.ResponseWriter, r *http.Request, err error) {
	err = s.shown(err)
	status := httpapi.StatusOf(err)
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	proxy.Fail(w, r, status, err.Error())
}

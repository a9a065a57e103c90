package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/memcore/memcore/internal/web/reply"
)

// statusClosed is logged if the client went away first.
const statusClosed = 499

// unanswered is called when the upstream did not answer.
func (p *Proxy) unanswered(w http.ResponseWriter, r *http.Request, err error) {
	x, _ := r.Context().Value(exchangeKey{}).(*exchange)
	if errors.Is(r.Context().Err(), context.Canceled) {
		x.status = statusClosed
		panic(http.ErrAbortHandler) // returning would be an empty answer with status 200
	}
	x.err = reply.Unquoted(err)
	tried := *r.URL
	tried.RawQuery = "" // it may hold a key
	x.fail(w, r, http.StatusBadGateway, fmt.Sprintf("the upstream does not answer: %s %s: %v; start it, or run memcore proxy with another --upstream",
		r.Method, tried.String(), x.err))
}

// fail answers in the API's form.
func (x *exchange) fail(w http.ResponseWriter, r *http.Request, status int, why string) {
	x.status = status
	x.headers(w.Header())
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(failure(r, status, "memcore: "+why)) // the client has gone, at worst
}

func failure(r *http.Request, status int, message string) any {
	kind := map[int]string{
		http.StatusBadRequest:         "invalid_request_error",
		http.StatusMethodNotAllowed:   "invalid_request_error",
		http.StatusUnauthorized:       "authentication_error",
		http.StatusForbidden:          "permission_error",
		http.StatusRequestTimeout:     "timeout_error",
		http.StatusBadGateway:         "api_error",
		http.StatusServiceUnavailable: "overloaded_error",
	}[status]
	switch {
	case strings.Contains(r.URL.Path, "/v1/messages") || r.Header.Get("Anthropic-Version") != "":
		return map[string]any{"type": "error", "error": map[string]string{"type": kind, "message": message}}
	case strings.HasPrefix(r.URL.Path, "/api/") && !strings.Contains(r.URL.Path, "/v1/"): // Ollama's
		return map[string]string{"error": message}
	}
	return map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": "memcore_proxy"}}
}

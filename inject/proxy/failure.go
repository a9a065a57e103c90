package proxy

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/memcore/memcore/internal/web/overload"
	"github.com/memcore/memcore/internal/web/reply"
)

// statusClosed is logged if the client went away first.
const statusClosed = 499

// unanswered is called when the upstream did not answer.
func (f *Forwarder) unanswered(w http.ResponseWriter, r *http.Request, err error) {
	x, _ := r.Context().Value(exchangeKey{}).(*exchange)
	cancelled := errors.Is(r.Context().Err(), context.Canceled)
	if errors.Is(err, overload.ErrSlow) || cancelled && x.late != nil && x.late() { // net/http cancels, too
		w.Header().Set("Connection", "close") // else net/http takes the rest for the next request
		x.fail(w, r, http.StatusRequestTimeout, fmt.Sprintf("%v: nothing more of it within %v", overload.ErrSlow, silence))
		return
	}
	if cancelled {
		x.status = statusClosed
		panic(http.ErrAbortHandler) // returning would be an empty answer with status 200
	}
	x.err = reply.Unquoted(err)
	if f.options.Discreet {
		x.fail(w, r, http.StatusBadGateway, "the upstream does not answer")
		return
	}
	tried := *r.URL
	tried.RawQuery = "" // it may hold a key
	x.fail(w, r, http.StatusBadGateway, fmt.Sprintf("the upstream does not answer: %s %s: %v; start it, or run memcore proxy with another --upstream",
		r.Method, tried.String(), x.err))
}

// Fail answers a request of a model's client with an error, in the form of the request's API.
func Fail(w http.ResponseWriter, r *http.Request, status int, why string) {
	(&exchange{}).fail(w, r, status, why)
}

// fail answers in the API's form.
func (x *exchange) fail(w http.ResponseWriter, r *http.Request, status int, why string) {
	x.status = status
	x.headers(w.Header())
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(failure(r, status, why)) // the client has gone, at worst
}

// failure returns the body of an error.
func failure(r *http.Request, status int, why string) []byte {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(shaped(r, status, "memcore: "+why)) // texts and numbers always encode
	return body.Bytes()
}

// withheld replaces the answer of an upstream that refuses a lent key.
func withheld(response *http.Response) {
	const why = "the upstream refuses the key that this service has for it; tell whoever runs the service"
	_ = response.Body.Close()
	body := failure(response.Request, http.StatusBadGateway, why)
	response.StatusCode, response.Status = http.StatusBadGateway, ""
	response.Header = http.Header{"Content-Type": {"application/json"}}
	response.Body, response.ContentLength, response.Trailer = io.NopCloser(bytes.NewReader(body)), int64(len(body)), nil
}

func shaped(r *http.Request, status int, message string) any {
	kind := map[int]string{
		http.StatusBadRequest:         "invalid_request_error",
		http.StatusMethodNotAllowed:   "invalid_request_error",
		http.StatusUnauthorized:       "authentication_error",
		http.StatusForbidden:          "permission_error",
		http.StatusNotFound:           "not_found_error",
		http.StatusRequestTimeout:     "timeout_error",
		http.StatusTooManyRequests:    "rate_limit_error",
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

package remote

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/memcore/memcore/internal/text/lazy"
	"github.com/memcore/memcore/internal/web/reply"
)

// maxAnswer: 32 vectors of 4,096 numbers are below 2 MB.
const maxAnswer = 64 << 20

// A StatusError is a failure that the server reports.
type StatusError struct {
	Code       int
	Message    string        // of the server: one line, short, without secrets
	RetryAfter time.Duration // 0: unknown
}

func (e *StatusError) Error() string {
	text := fmt.Sprintf("answered %d %s", e.Code, http.StatusText(e.Code))
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// NewHTTP returns a client for protocol libraries. It bounds answers; failures, and answers that
// are not JSON, are errors, equal for all. It follows no redirects. Errors never contain secret. A
// nil base is http.DefaultTransport.
func NewHTTP(base http.RoundTripper, secret string) *http.Client {
	if base == nil {
		base = http.DefaultTransport
	}
	return &http.Client{Transport: &transport{base, secret}}
}

type transport struct {
	base   http.RoundTripper
	secret string
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, t.safe(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("answer breaks off after %d bytes: %w", len(body), t.safe(err))
	case res.StatusCode < 200 || res.StatusCode > 299:
		return nil, t.failed(res, body)
	case len(body) > maxAnswer:
		return nil, Nonsense("answer is longer than %d MB", maxAnswer>>20)
	case !json.Valid(body):
		return nil, t.safe(Nonsense("answer is not JSON (%s): %s", kindOf(res), body))
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// safe returns an error that may quote the server, without the secret.
func (t *transport) safe(err error) error { return reply.New(err, t.secret) }

func kindOf(res *http.Response) string {
	if kind := res.Header.Get("Content-Type"); kind != "" {
		return kind
	}
	return "no content type"
}

func (t *transport) failed(res *http.Response, body []byte) error {
	e := &StatusError{Code: res.StatusCode, Message: t.safe(errors.New(message(body))).Error(), RetryAfter: reply.RetryAfter(res.Header)}
	switch {
	case e.Code == http.StatusUnauthorized || e.Code == http.StatusForbidden:
		e.Message = "" // it may quote the key
	case e.Code >= 300 && e.Code < 400:
		e.Message = "redirects are not followed"
	}
	return e
}

// message finds the server's message: {"error": "…"}, {"error": {"message": "…"}}, {"message":
// "…"}, {"detail": "…"}, or plain text.
func message(body []byte) string {
	var said struct {
		Error, Message, Detail json.RawMessage
	}
	if json.Unmarshal(body, &said) != nil {
		return string(body)
	}
	for _, raw := range []json.RawMessage{said.Error, said.Message, said.Detail} {
		var text string
		var inner struct{ Message string }
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return text
		}
		if json.Unmarshal(raw, &inner) == nil && inner.Message != "" {
			return inner.Message
		}
	}
	return string(body)
}

var tooMuchWords = lazy.Regexp(`(?i)context (length|size|window)|too (long|large|many)|exceed|maximum|must have less`)

// tooMuch reports whether a server refused texts for their size. Servers use 400, 413, 422 and 500,
// and words.
func tooMuch(err error) bool {
	var status *StatusError
	if !errors.As(err, &status) {
		return false
	}
	switch status.Code {
	case http.StatusRequestEntityTooLarge:
		return true
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return tooMuchWords().MatchString(status.Message)
	}
	return false
}

// refusesAll reports whether a server took no connection, or refused a request for its sender,
// model or moment, and so would have refused any text.
func refusesAll(err error) bool {
	var connection *net.OpError
	if errors.As(err, &connection) && connection.Op == "dial" {
		return true
	}
	var status *StatusError
	if !errors.As(err, &status) {
		return false
	}
	switch status.Code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	}
	return false
}

// bare removes net/http's address, which may hold a password.
func bare(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		var late net.Error
		if errors.As(request.Err, &late) && late.Timeout() {
			return errors.New("no answer in time")
		}
		return request.Err
	}
	return err
}

package remote

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/memcore/memcore/internal/web/reply"
)

// An Error is an answer of the service that is not OK.
type Error struct {
	Status  int
	Message string // of the service: one line without secrets
	// RetryAfter is how long to wait before the next try; 0 if the service does not say it.
	RetryAfter time.Duration
	Host       string
}

func (e *Error) Error() string {
	text := fmt.Sprintf("memory service %s answered %d %s", e.Host, e.Status, http.StatusText(e.Status))
	if e.Message != "" {
		text += ": " + e.Message
	}
	return text
}

// After is RetryAfter, as core.Remote has it.
func (e *Error) After() time.Duration { return e.RetryAfter }

// A request is one call.
type request struct {
	method, path string
	header       http.Header
	body         []byte
	json         bool // body is JSON
	unsafe       bool // never repeat it
	once         bool // repeat it only if the service did nothing
	gone         bool // 404 after the first try is success
}

// call sends a request, repeatedly if need be, and decodes the answer.
func (c *Client) call(ctx context.Context, r request, answer any) error {
	waits := &backoff.ExponentialBackOff{InitialInterval: 100 * time.Millisecond, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: 5 * time.Second}
	tries, started := 0, time.Now()
	var last error // the library's own errors lack the reason
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		tries++
		last = c.once(ctx, r, answer)
		if status := (*Error)(nil); errors.As(last, &status) && status.Status == http.StatusNotFound && r.gone && tries > 1 {
			last = nil
		}
		return struct{}{}, c.verdict(ctx, r, last, started)
	}, backoff.WithBackOff(waits), backoff.WithMaxTries(uint(c.options.Tries)), backoff.WithMaxElapsedTime(c.options.RetryFor))
	switch said := (*Error)(nil); {
	case err == nil:
		return nil
	case ctx.Err() != nil && !errors.As(last, &said):
		return c.failed(ctx.Err())
	}
	return last
}

// verdict marks an error for package backoff.
func (c *Client) verdict(ctx context.Context, r request, err error, started time.Time) error {
	if err == nil {
		return nil
	}
	var status *Error
	if r.unsafe || !transient(err, r.once) {
		return backoff.Permanent(err)
	}
	if errors.As(err, &status) && status.RetryAfter > 0 {
		last := started.Add(c.options.RetryFor)
		if deadline, ok := ctx.Deadline(); ok && deadline.Before(last) {
			last = deadline
		}
		if time.Now().Add(status.RetryAfter).After(last) {
			return backoff.Permanent(err)
		}
		return &backoff.RetryAfterError{Duration: status.RetryAfter}
	}
	return err
}

// transient reports whether the same request may succeed later. With refused, the service must have
// done nothing.
func transient(err error, refused bool) bool {
	var status *Error
	var broken *brokenError
	var dial *net.OpError
	var name *net.DNSError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.As(err, &status):
		switch status.Status {
		case http.StatusTooManyRequests, http.StatusServiceUnavailable:
			return true
		case http.StatusBadGateway, http.StatusGatewayTimeout:
			return !refused
		}
		return false
	case !errors.As(err, &broken), errors.As(err, &cert), errors.As(err, &name) && name.IsNotFound:
		return false
	}
	return !refused || errors.As(err, &dial) && dial.Op == "dial"
}

// A brokenError is of a connection: it is unknown whether the service has got the request.
type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

// once sends a request one time.
func (c *Client) once(ctx context.Context, r request, answer any) error {
	ctx, stop := context.WithTimeout(ctx, c.options.Timeout)
	defer stop()
	sent, err := c.request(ctx, r)
	if err != nil {
		return c.failed(err)
	}
	response, err := c.http.Do(sent)
	if err != nil {
		return &brokenError{c.failed(err)}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	switch {
	case err != nil:
		return &brokenError{c.failed(err)}
	case len(body) > maxAnswer:
		return c.failed(fmt.Errorf("its answer is longer than %d MB", maxAnswer>>20))
	case response.StatusCode < 200 || response.StatusCode > 299:
		return c.refusal(response, body)
	}
	if text, ok := answer.(*Text); ok {
		*text = Text{body, versionOf(response.Header)}
		return nil
	}
	if len(bytes.TrimSpace(body)) == 0 && r.method == http.MethodDelete {
		return nil
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return c.failed(reply.Unquoted(fmt.Errorf("its answer cannot be read: %w", err)))
	}
	return nil
}

func (c *Client) request(ctx context.Context, r request) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	sent, err := http.NewRequestWithContext(ctx, r.method, c.base.String()+r.path, body)
	if err != nil {
		return nil, errors.New("bad address")
	}
	maps.Copy(sent.Header, r.header)
	if r.json {
		sent.Header.Set("Content-Type", "application/json")
	}
	sent.Header.Set("Authorization", "Bearer "+c.key())
	if !r.unsafe && !r.once {
		sent.Header["Idempotency-Key"] = nil // net/http itself repeats it on a stale connection; nothing is sent
	}
	return sent, nil
}

// failed names the service in an error, without its key and address.
func (c *Client) failed(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		err = lateError{}
	}
	return fmt.Errorf("memory service %s: %w", c.base.Host, reply.New(err, c.key()))
}

// A lateError is context.DeadlineExceeded in words.
type lateError struct{}

func (lateError) Error() string { return "no answer in time" }

func (lateError) Unwrap() error { return context.DeadlineExceeded }

// refusal is the error of an answer that is not OK.
func (c *Client) refusal(response *http.Response, body []byte) error {
	var said struct {
		Error struct{ Message string }
	}
	_ = json.Unmarshal(body, &said) // a page of a proxy says nothing that helps
	message := said.Error.Message
	if response.StatusCode >= 300 && response.StatusCode < 400 {
		message = "redirects are not followed, since they would get the key: correct the address"
	}
	if message != "" {
		message = reply.New(errors.New(message), c.key()).Error()
	}
	return &Error{Status: response.StatusCode, Message: message, RetryAfter: reply.RetryAfter(response.Header), Host: c.base.Host}
}

// versionOf reads an ETag such as "12".
func versionOf(h http.Header) int64 {
	version, _ := strconv.ParseInt(strings.Trim(strings.TrimPrefix(h.Get("ETag"), "W/"), `"`), 10, 64)
	return version
}

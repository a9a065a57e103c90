package oidc

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// A keySet verifies with the issuer's keys. It tells a silent issuer from a wrong signature.
type keySet struct{ *oidc.RemoteKeySet }

// unansweredKey is the context key of a *error: why the issuer did not answer.
type unansweredKey struct{}

// VerifySignature implements oidc.KeySet.
func (k keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.RemoteKeySet.VerifySignature(ctx, jwt)
	var why *unansweredError
	if at, ok := ctx.Value(unansweredKey{}).(*error); ok && errors.As(err, &why) {
		*at = why
	}
	return payload, err
}

// An unansweredError is about a question to the issuer.
type unansweredError struct {
	url   string
	cause error
}

func (e *unansweredError) Error() string { return e.url + ": " + e.cause.Error() }
func (e *unansweredError) Unwrap() error { return e.cause }

const (
	// keptFor is how long answers of a silent issuer count.
	keptFor = time.Hour
	// failurePause bounds the pause after a question without an answer.
	failurePause = 2 * time.Second
	// maxKept bounds the URLs of an issuer: description and keys, which may move.
	maxKept = 8
	// maxAnswer is in bytes.
	maxAnswer = 1 << 20
)

// kept is a transport that keeps answers. Tokens with unknown keys cause one question in a pause,
// and while the issuer is away its last answers count.
type kept struct {
	pause time.Duration
	next  http.RoundTripper

	mu    sync.Mutex // of known, not of the answers
	known map[string]*keptAnswer
}

type keptAnswer struct {
	mu      sync.Mutex // held while the issuer is asked
	body    []byte
	at      time.Time // of body
	asked   time.Time
	failure error // of asked
}

func newKept(pause time.Duration) *kept {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	return &kept{pause: pause, next: transport, known: map[string]*keptAnswer{}}
}

// RoundTrip implements http.RoundTripper.
func (k *kept) RoundTrip(r *http.Request) (*http.Response, error) {
	a, err := k.answerTo(r.URL.String())
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	pause := k.pause
	if a.failure != nil {
		pause = min(pause, failurePause)
	}
	if a.asked.IsZero() || time.Since(a.asked) >= pause {
		body, err := k.ask(r)
		if a.asked, a.failure = time.Now(), err; err == nil {
			a.body, a.at = body, a.asked
		}
	}
	if a.failure != nil && (a.body == nil || time.Since(a.at) > keptFor) {
		return nil, &unansweredError{r.URL.Redacted(), a.failure}
	}
	return &http.Response{Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body))}, nil
}

func (k *kept) answerTo(url string) (*keptAnswer, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known[url] == nil {
		if len(k.known) >= maxKept {
			return nil, &unansweredError{url, errors.New("the issuer keeps naming other addresses")}
		}
		k.known[url] = &keptAnswer{}
	}
	return k.known[url], nil
}

// ask returns a JSON answer.
func (k *kept) ask(r *http.Request) ([]byte, error) {
	response, err := k.next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case response.StatusCode != http.StatusOK:
		return nil, fmt.Errorf("it answers with %s", response.Status)
	case len(body) > maxAnswer || !json.Valid(body):
		return nil, fmt.Errorf("its answer of %d bytes is no JSON, or too long", len(body))
	}
	return body, nil
}

package remote

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/memcore/memcore/embed"
)

// retry asks until an answer is usable, an error permanent, or the time up. It waits 0.25 to 15 s,
// with jitter, or as the server demands.
func (c *Client) retry(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	waits := &backoff.ExponentialBackOff{
		InitialInterval: 250 * time.Millisecond, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: 15 * time.Second}
	tries, retryFor := uint(c.opts.Tries), c.opts.RetryFor
	if kind == embed.Query {
		tries, retryFor = min(tries, queryTries), min(retryFor, queryRetryFor)
	}
	var last error // the library's error "retry after 5s" lacks the reason
	asked := 0
	vecs, err := backoff.Retry(ctx, func() (vecs [][]float32, err error) {
		vecs, last = c.once(ctx, texts)
		asked++
		if kind == embed.Document && mayBeText(last) && (len(texts) > 1 || asked == tripTries) {
			return nil, backoff.Permanent(last)
		}
		return vecs, verdict(last)
	}, backoff.WithBackOff(waits), backoff.WithMaxTries(tries), backoff.WithMaxElapsedTime(retryFor))
	if err != nil {
		return nil, last
	}
	return vecs, nil
}

// A server that trips over a text seems to fail for a moment. So several documents are not asked
// for again as they are, since the indexer goes on with fewer of them, and one is only a few times.
const tripTries = 3

func mayBeText(err error) bool { return err != nil && transient(err) && !refusesAll(err) }

// once asks one time, within the timeout.
func (c *Client) once(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	vecs, err := c.ask(ctx, texts)
	if err != nil {
		return nil, err
	}
	return vecs, c.accept(vecs, len(texts))
}

// verdict marks err for package backoff.
func verdict(err error) error {
	if err == nil {
		return nil
	}
	var status *StatusError
	if errors.As(err, &status) && status.RetryAfter > 0 && transient(err) {
		return &backoff.RetryAfterError{Duration: status.RetryAfter}
	}
	if transient(err) {
		return err
	}
	return backoff.Permanent(err)
}

// transient reports whether the same request may succeed later: the server or the connection is
// busy or failing. A refused key, an unknown model or host, a bad certificate or an unusable answer
// is permanent.
func transient(err error) bool {
	var (
		status  *StatusError
		answer  *answerError
		request *url.Error
		name    *net.DNSError
		cert    *tls.CertificateVerificationError
	)
	switch {
	case errors.As(err, &status):
		return (status.Code == 408 || status.Code == 429 || status.Code >= 500) && !tooMuch(err)
	case errors.As(err, &answer), errors.As(err, &cert):
		return false
	case errors.As(err, &name):
		return !name.IsNotFound
	}
	return errors.As(err, &request)
}

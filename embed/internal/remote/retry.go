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

// retry asks until there is an answer that makes sense, a reason why there never will be, or no
// patience left. The waits grow from about a quarter of a second to 15 s, with jitter, unless the
// server says how long to wait. A ctx that ends stops a wait at once.
func (c *Client) retry(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	waits := &backoff.ExponentialBackOff{
		InitialInterval: 250 * time.Millisecond, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: 15 * time.Second}
	tries, patience := uint(c.opts.Tries), c.opts.RetryFor
	if kind == embed.Query {
		tries, patience = min(tries, queryTries), min(patience, queryRetryFor)
	}
	var last error // the library's own error would be "retry after 5s", without the reason
	vecs, err := backoff.Retry(ctx, func() (vecs [][]float32, err error) {
		vecs, last = c.once(ctx, texts)
		return vecs, verdict(last)
	}, backoff.WithBackOff(waits), backoff.WithMaxTries(tries), backoff.WithMaxElapsedTime(patience))
	if err != nil {
		return nil, last
	}
	return vecs, nil
}

// once asks a single time, within the time a request may take.
func (c *Client) once(ctx context.Context, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Timeout)
	defer cancel()
	vecs, err := c.ask(ctx, texts)
	if err != nil {
		return nil, err
	}
	return vecs, c.accept(vecs, len(texts))
}

// verdict says to package backoff what to do about err.
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

// transient says whether the same question may be answered later: the server is busy or ill, or the
// line to it is. Everything else (a refused key, an unknown model or host, a bad certificate, an
// answer of nonsense) stays as it is.
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

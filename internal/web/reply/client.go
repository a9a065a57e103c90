package reply

import (
	"io"
	"net/http"
	"strconv"
	"time"
)

// Client follows no redirects and cuts answers after longest bytes. A nil transport is
// http.DefaultTransport.
func Client(transport http.RoundTripper, longest int64) *http.Client {
	if transport == nil {
		transport = http.DefaultTransport
	}
	return &http.Client{
		Transport:     bounded{transport, longest},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A bounded transport cuts long answers.
type bounded struct {
	http.RoundTripper
	longest int64
}

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, b.longest), response.Body}
	}
	return response, err
}

// RetryAfter reads how long a server wants to be left alone: seconds, at most a day, or a date. 0
// is unknown.
func RetryAfter(h http.Header) time.Duration {
	value := h.Get("Retry-After")
	const most = 24 * 60 * 60
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, most) * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

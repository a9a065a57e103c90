package reply

import (
	"io"
	"net/http"
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

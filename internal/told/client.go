package told

import (
	"io"
	"net/http"
)

// Client returns a client whose requests go where they are sent and nowhere else: a redirect is an answer, and not followed. Of an
// answer no more than longest bytes are read; what is cut there looks as if it had ended. A nil transport is http.DefaultTransport.
func Client(transport http.RoundTripper, longest int64) *http.Client {
	if transport == nil {
		transport = http.DefaultTransport
	}
	return &http.Client{
		Transport:     bounded{transport, longest},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// A bounded transport reads no answer to its end that has none.
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

package embed

import (
	"net/http"
	"time"
)

// RemoteOptions are for embedders with a server. Zero means the default: of the model, if For knows
// it, or of the embedder.
type RemoteOptions struct {
	// Dimension shortens vectors, if the model can.
	Dimension int
	// MaxTokens bounds a text, with its prefix, by CountTokens.
	MaxTokens int
	// DocumentPrefix and QueryPrefix are such as "search_query: ", or NoPrefix.
	DocumentPrefix, QueryPrefix string
	// BatchSize is a request's number of texts; the default is 32.
	BatchSize int
	// Timeout bounds a request; the default is 2 minutes, to load a model.
	Timeout time.Duration
	// Tries bounds how often a request is sent if the server is busy or unreachable, and RetryFor
	// when the last try starts; the defaults are 5 and 1 minute. A query is sent at most twice, in
	// 3 s.
	Tries    int
	RetryFor time.Duration
	// Transport is http.DefaultTransport by default.
	Transport http.RoundTripper
}

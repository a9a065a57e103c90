package embed

import (
	"net/http"
	"time"
)

// RemoteOptions are for embedders with a server. Zero means the default: the model's, if For knows
// it, else the embedder's.
type RemoteOptions struct {
	// MaxTokens bounds a text, with its prefix, by CountTokens.
	MaxTokens int
	// DocumentPrefix and QueryPrefix are such as "search_query: ".
	DocumentPrefix, QueryPrefix string
	// BatchSize is a request's number of texts; the default is 32.
	BatchSize int
	// Timeout bounds a request; the default is 2 minutes, to load a model.
	Timeout time.Duration
	// Tries bounds the attempts at a busy or unreachable server (5), RetryFor when the last one
	// starts (1 minute). A query has two attempts in 3 s.
	Tries    int
	RetryFor time.Duration
	// Transport is http.DefaultTransport by default.
	Transport http.RoundTripper
}

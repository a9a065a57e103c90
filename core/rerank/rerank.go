// Package rerank asks a model how well texts answer a question, to order the best few again.
//
// It knows rerank endpoints (POST base/rerank), as of Jina, Cohere, vLLM, llama.cpp and
// text-embeddings-inference. Texts go to the configured address only; redirects are not followed.
package rerank

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strings"

	"github.com/memcore/memcore/internal/web/baseurl"
	"github.com/memcore/memcore/internal/web/reply"
)

// Options are the settings of a Reranker.
type Options struct {
	// BaseURL is what precedes "/rerank", usually with "/v1".
	BaseURL string
	Model   string
	// Key is sent as bearer token; it is in no error.
	Key string
	// Transport carries the requests; nil is http.DefaultTransport.
	Transport http.RoundTripper
}

// ErrAnswer marks an unusable answer of the server.
var ErrAnswer = errors.New("reranker gave no usable answer")

// maxAnswer is in bytes.
const maxAnswer = 4 << 20

func (o Options) check() (*url.URL, error) {
	base, err := baseurl.Parse(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("rerank: base URL %w", err)
	}
	if o.Model == "" {
		return nil, errors.New("rerank: no model is named")
	}
	return base, nil
}

// failed names the server in an error and removes the key.
func failed(model, host, key string, err error) error {
	return fmt.Errorf("rerank model %q at %s: %w", model, host, reply.New(err, key))
}

// An Endpoint is safe for concurrent use.
type Endpoint struct {
	address, model, host string
	key                  func() string // so that fmt does not print it
	client               *http.Client
}

// NewEndpoint sends no request yet.
func NewEndpoint(o Options) (*Endpoint, error) {
	base, err := o.check()
	if err != nil {
		return nil, err
	}
	return &Endpoint{address: strings.TrimRight(o.BaseURL, "/") + "/rerank", model: o.Model, host: base.Host,
		key: func() string { return o.Key }, client: reply.Client(o.Transport, maxAnswer)}, nil
}

// Rerank implements core.Reranker. If a score is no probability, all go through the logistic
// function.
func (e *Endpoint) Rerank(ctx context.Context, query string, texts []string) ([]float64, error) {
	scores, err := e.rerank(ctx, query, texts)
	if err != nil {
		return nil, failed(e.model, e.host, e.key(), err)
	}
	return scores, nil
}

func (e *Endpoint) rerank(ctx context.Context, query string, texts []string) ([]float64, error) {
	body, err := json.Marshal(map[string]any{"model": e.model, "query": query, "documents": texts, "top_n": len(texts), "return_documents": false})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.address, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("bad address")
	}
	request.Header.Set("Content-Type", "application/json")
	if key := e.key(); key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	response, err := e.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: %s: %s", ErrAnswer, response.Status, bytes.TrimSpace(answer))
	}
	return parse(answer, len(texts))
}

func parse(answer []byte, n int) ([]float64, error) {
	var parsed struct {
		Results []struct {
			Index *int     `json:"index"`
			Score *float64 `json:"relevance_score"`
		} `json:"results"`
	}
	if err := json.Unmarshal(answer, &parsed); err != nil {
		return nil, fmt.Errorf("%w: %v", ErrAnswer, err)
	}
	scores, seen, raw := make([]float64, n), make([]bool, n), false
	for _, r := range parsed.Results {
		if r.Index == nil || r.Score == nil || *r.Index < 0 || *r.Index >= n || seen[*r.Index] || math.IsNaN(*r.Score) {
			return nil, fmt.Errorf("%w: a result without index or relevance_score, or with an index twice or out of range", ErrAnswer)
		}
		scores[*r.Index], seen[*r.Index] = *r.Score, true
		raw = raw || *r.Score < 0 || *r.Score > 1
	}
	if len(parsed.Results) != n {
		return nil, fmt.Errorf("%w: %d results for %d texts", ErrAnswer, len(parsed.Results), n)
	}
	if raw {
		for i, s := range scores {
			scores[i] = 1 / (1 + math.Exp(-s))
		}
	}
	return scores, nil
}

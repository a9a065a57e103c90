// Package openai embeds texts through any endpoint with OpenAI's embeddings protocol: OpenAI
// itself, and most hosted and local servers.
//
// It is an embed.Embedder over github.com/sashabaranov/go-openai. Every text goes to the configured
// endpoint and nowhere else: redirects are not followed.
package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/internal/remote"
	"github.com/memcore/memcore/internal/web/baseurl"
)

// Defaults of Options.
const (
	DefaultBaseURL   = "https://api.openai.com/v1"
	DefaultMaxTokens = 8191 // of OpenAI's models; local ones often read 512
)

// Options are the settings of an Embedder; the zero value works with a Key.
type Options struct {
	// MaxTokens is 8191 for unknown models. A refused text is cut further.
	embed.RemoteOptions
	// BaseURL is the address without "/embeddings", usually with "/v1" at its end; "" is
	// DefaultBaseURL.
	BaseURL string
	// Key is the bearer token. No error, log or fingerprint contains it.
	Key Key
}

// An Embedder is an embed.Embedder. It is safe for concurrent use.
type Embedder struct {
	*client     // Embed, Dimension, MaxTokens, CountTokens
	fingerprint string
}

// An endpoint sends requests. An Embedder has only a function value: go-openai's client holds the
// key as a string, which fmt would print.
type endpoint struct {
	api   *openai.Client
	model string
}

type client = remote.Client

var _ embed.Embedder = (*Embedder)(nil)

// New returns an Embedder for a model. It does not contact the endpoint.
func New(model string, opts Options) (*Embedder, error) {
	if model == "" {
		return nil, errors.New("openai: no model is named")
	}
	opts.BaseURL = cmp.Or(opts.BaseURL, DefaultBaseURL)
	opts.RemoteOptions = opts.For(model)
	opts.MaxTokens = cmp.Or(opts.MaxTokens, DefaultMaxTokens)
	base, err := baseurl.Parse(opts.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("openai: base URL %w", err)
	}
	name := fmt.Sprintf("openai model %q at %s", model, base.Host)
	settings := remote.Options{RemoteOptions: opts.RemoteOptions, Name: name}
	ep := &endpoint{api: opts.connect(), model: model}
	return &Embedder{remote.New(settings, ep.ask), remote.Fingerprint("openai", model, settings)}, nil
}

func (o Options) connect() *openai.Client {
	config := openai.DefaultConfig(o.Key.reveal())
	config.BaseURL = strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/embeddings")
	config.HTTPClient = remote.NewHTTP(o.Transport, o.Key.reveal())
	return openai.NewClientWithConfig(config)
}

// Fingerprint implements embed.Embedder. It omits the endpoint: equal models are assumed to give
// equal vectors.
func (e *Embedder) Fingerprint() string { return e.fingerprint }

// ask sets no encoding: "float" is every server's default, and some know no other.
func (e *endpoint) ask(ctx context.Context, texts []string) ([][]float32, error) {
	res, err := e.api.CreateEmbeddings(ctx, openai.EmbeddingRequest{
		Input: texts, Model: openai.EmbeddingModel(e.model)})
	if err != nil {
		return nil, err
	}
	return inOrder(res.Data, len(texts))
}

// inOrder sorts by the endpoint's index. Servers without it answer in order.
func inOrder(data []openai.Embedding, n int) ([][]float32, error) {
	if len(data) != n {
		return nil, remote.Nonsense("%d vectors for %d texts", len(data), n)
	}
	indexed := false
	for _, d := range data {
		indexed = indexed || d.Index != 0
	}
	vecs := make([][]float32, n)
	for i, d := range data {
		if indexed {
			i = d.Index
		}
		if i < 0 || i >= n || vecs[i] != nil {
			return nil, remote.Nonsense("a vector for text %d of %d, which is twice or none", i, n)
		}
		vecs[i] = d.Embedding
	}
	return vecs, nil
}

// Format prints only the fingerprint, to keep options out of logs.
func (e *Embedder) Format(f fmt.State, _ rune) { io.WriteString(f, e.fingerprint) }

// Package openai turns texts into vectors by any endpoint that speaks OpenAI's embeddings protocol:
// OpenAI itself, and most hosted and local servers.
//
// It is an embed.Embedder over github.com/sashabaranov/go-openai. Every text handed to it leaves
// the process for the configured endpoint, and for nowhere else: redirects are not followed.
package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/internal/remote"
	"github.com/memcore/memcore/internal/baseurl"
)

// Defaults for what Options leaves zero.
const (
	DefaultBaseURL   = "https://api.openai.com/v1"
	DefaultMaxTokens = 8191 // of OpenAI's own models; local ones often read 512
)

// Options are the settings of an Embedder; the zero value works with a Key.
type Options struct {
	// BaseURL is the endpoint's address up to and without "/embeddings", usually ending in "/v1"; ""
	// is DefaultBaseURL.
	BaseURL string
	// Key is sent as bearer token. It is in no error, no log and no fingerprint.
	Key Key
	// Dimension asks for vectors of this length, for models made for it; 0: as the model has it.
	Dimension int
	// MaxTokens is how many tokens of a text are sent, with its prefix, by CountTokens; 0 is
	// DefaultMaxTokens. A text that the endpoint still refuses as too long is cut further.
	MaxTokens int
	// DocumentPrefix and QueryPrefix go before each text of that kind, where a model wants it, such
	// as "query: ".
	DocumentPrefix, QueryPrefix string
	// BatchSize is the number of texts in one request; 0 is 32.
	BatchSize int
	// Timeout bounds one request; 0 is 2 minutes.
	Timeout time.Duration
	// Tries is how often one request is sent at most, when the endpoint limits the rate, fails or
	// cannot be reached, and RetryFor how much time may pass before the last of them; 0 is 5 times
	// and 1 minute. A query is sent twice at most, within 3 seconds.
	Tries    int
	RetryFor time.Duration
	// Transport carries the requests; nil is http.DefaultTransport.
	Transport http.RoundTripper
}

// An Embedder is an embed.Embedder. It is safe for concurrent use.
type Embedder struct {
	*client     // Embed, Dimension, MaxTokens, CountTokens
	fingerprint string
}

// An endpoint asks. An Embedder reaches it only through a function value, since go-openai's client
// holds the key as a plain string, which fmt would print.
type endpoint struct {
	api       *openai.Client
	model     string
	dimension int // to ask for; 0: do not ask
}

type client = remote.Client

var _ embed.Embedder = (*Embedder)(nil)

// New returns an Embedder for a model, such as "text-embedding-3-small", without asking the
// endpoint anything. It returns an error if model is empty or the base URL is none.
func New(model string, opts Options) (*Embedder, error) {
	if model == "" {
		return nil, errors.New("openai: no model is named")
	}
	if opts.Dimension < 0 {
		return nil, fmt.Errorf("openai: dimension is %d, want 0 or more", opts.Dimension)
	}
	if opts.BaseURL == "" {
		opts.BaseURL = DefaultBaseURL
	}
	if opts.MaxTokens == 0 {
		opts.MaxTokens = DefaultMaxTokens
	}
	base, err := baseurl.Parse(opts.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("openai: base URL %w", err)
	}
	settings := opts.remote(fmt.Sprintf("openai model %q at %s", model, base.Host))
	ep := &endpoint{api: opts.connect(), model: model, dimension: opts.Dimension}
	return &Embedder{remote.New(settings, ep.ask), remote.Fingerprint("openai", model, settings)}, nil
}

func (o Options) remote(name string) remote.Options {
	return remote.Options{
		Name: name, MaxTokens: o.MaxTokens, Dimension: o.Dimension, BatchSize: o.BatchSize,
		DocumentPrefix: o.DocumentPrefix, QueryPrefix: o.QueryPrefix,
		Timeout: o.Timeout, Tries: o.Tries, RetryFor: o.RetryFor,
	}
}

func (o Options) connect() *openai.Client {
	config := openai.DefaultConfig(o.Key.reveal())
	config.BaseURL = strings.TrimSuffix(strings.TrimRight(o.BaseURL, "/"), "/embeddings")
	config.HTTPClient = remote.NewHTTP(o.Transport, o.Key.reveal())
	return openai.NewClientWithConfig(config)
}

// Fingerprint is as embed.Embedder has it. It names the model, not the endpoint: the same model
// elsewhere is taken to give the same vectors.
func (e *Embedder) Fingerprint() string { return e.fingerprint }

// ask is a remote.Ask. The encoding is left to the server: "float" is every server's default, and
// some know no other.
func (e *endpoint) ask(ctx context.Context, texts []string) ([][]float32, error) {
	res, err := e.api.CreateEmbeddings(ctx, openai.EmbeddingRequest{
		Input: texts, Model: openai.EmbeddingModel(e.model), Dimensions: e.dimension})
	if err != nil {
		return nil, err
	}
	return inOrder(res.Data, len(texts))
}

// inOrder sorts n vectors by the index that the endpoint gave each. Servers that leave the index
// out (it is 0 everywhere then) answer in order.
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

// Format prints the fingerprint, whatever the verb, so that no option gets into a log.
func (e *Embedder) Format(f fmt.State, _ rune) { io.WriteString(f, e.fingerprint) }

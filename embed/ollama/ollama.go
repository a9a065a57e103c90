// Package ollama turns texts into vectors by a model that an Ollama server runs.
//
// It is an embed.Embedder over github.com/ollama/ollama/api. It starts no server and pulls no
// model. The rule for its users: an index remembers the Fingerprint, and a fingerprint knows the
// model's weights only if Options.Digest says which they are.
package ollama

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/internal/remote"
	"github.com/memcore/memcore/internal/baseurl"
)

// Defaults for what Options leaves zero.
const (
	DefaultAddress   = "http://127.0.0.1:11434"
	DefaultMaxTokens = 512 // the least of the common embedding models
)

// Options are the settings of an Embedder; the zero value works.
type Options struct {
	// Address of the server, with or without "http://"; "" is DefaultAddress. OLLAMA_HOST is not
	// read: whoever wants it reads it.
	Address string
	// Digest, if not "", is the digest that the model has to have on the server, as Digest returns
	// it. It becomes part of the fingerprint and is checked before the first text is sent.
	Digest string
	// Dimension asks the server for shorter vectors, for models made for it; 0: as the model has it.
	Dimension int
	// MaxTokens is how many tokens of a text are sent, with its prefix, by CountTokens; 0 is
	// DefaultMaxTokens. If it is more than the model reads, the server cuts the text, but its
	// tokeniser needs time that grows faster than a word's length: 22 s for a word of 5,000 letters
	// (measured with v0.17.4, all-minilm). So do not set it far beyond what the model reads.
	MaxTokens int
	// DocumentPrefix and QueryPrefix go before each text of that kind, where a model wants it, such
	// as "search_query: ".
	DocumentPrefix, QueryPrefix string
	// BatchSize is the number of texts in one request; 0 is 32.
	BatchSize int
	// KeepAlive is how long the server keeps the model in memory after a request: 0 is the server's
	// own default, negative is for ever.
	KeepAlive time.Duration
	// Timeout bounds one request; 0 is 2 minutes, since the first one may load the model.
	Timeout time.Duration
	// Tries is how often one request is sent at most, when the server is busy or cannot be reached,
	// and RetryFor how much time may pass before the last of them; 0 is 5 times and 1 minute. A
	// query is sent twice at most, within 3 seconds.
	Tries    int
	RetryFor time.Duration
	// Transport carries the requests; nil is http.DefaultTransport.
	Transport http.RoundTripper
}

// An Embedder is an embed.Embedder. It is safe for concurrent use.
type Embedder struct {
	*client // Embed, Dimension, MaxTokens, CountTokens
	api     *api.Client
	model   string
	name    string // of model and server, for errors
	opts    Options
	checked atomic.Bool // the model has Options.Digest
}

type client = remote.Client

var _ embed.Embedder = (*Embedder)(nil)

// New returns an Embedder for a model, such as "all-minilm" or "nomic-embed-text:v1.5", without
// asking the server anything. It returns an error if model is empty or the address is none.
func New(model string, opts Options) (*Embedder, error) {
	if model == "" {
		return nil, errors.New("ollama: no model is named")
	}
	if opts.Dimension < 0 {
		return nil, fmt.Errorf("ollama: dimension is %d, want 0 or more", opts.Dimension)
	}
	base, err := address(opts.Address)
	if err != nil {
		return nil, err
	}
	if opts.MaxTokens == 0 {
		opts.MaxTokens = DefaultMaxTokens
	}
	e := &Embedder{model: tagged(model), opts: opts, name: fmt.Sprintf("ollama model %q at %s", model, base.Host)}
	e.api = api.NewClient(base, remote.NewHTTP(opts.Transport, ""))
	e.client = remote.New(e.remote(), e.ask)
	return e, nil
}

func (e *Embedder) remote() remote.Options {
	o := e.opts
	return remote.Options{
		Name: e.name, MaxTokens: o.MaxTokens, Dimension: o.Dimension, BatchSize: o.BatchSize,
		DocumentPrefix: o.DocumentPrefix, QueryPrefix: o.QueryPrefix,
		Timeout: o.Timeout, Tries: o.Tries, RetryFor: o.RetryFor,
	}
}

// address makes a URL of what people write: "host", "host:port", "http://host:port/path".
func address(text string) (*url.URL, error) {
	if text == "" {
		text = DefaultAddress
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := baseurl.Parse(text)
	if err != nil {
		return nil, errors.New("ollama: address is not of the form http://host:port")
	}
	if u.Port() == "" && u.Scheme == "http" {
		u.Host += ":11434"
	}
	return u, nil
}

// tagged is the model's full name: to Ollama, "m" is "m:latest", and both are the same vectors.
func tagged(model string) string {
	if strings.Contains(model[strings.LastIndex(model, "/")+1:], ":") {
		return model
	}
	return model + ":latest"
}

// Fingerprint is as embed.Embedder has it. It holds the name of the model and, if Options.Digest is
// given, its digest. It cannot hold a digest that the caller does not know: it must be the same
// before and after the first answer, with the server up or down. Without one, a model that was
// replaced under its name ("ollama pull") is noticed only when its dimension changed.
func (e *Embedder) Fingerprint() string {
	f := remote.Fingerprint("ollama", e.model, e.remote())
	if e.opts.Digest != "" {
		f += "/" + url.QueryEscape(e.opts.Digest)
	}
	return f
}

// Digest asks the server for the digest of the model's weights and settings: 64 hex digits. It
// returns embed.ErrUnavailable if the server cannot be asked or lacks the model.
func (e *Embedder) Digest(ctx context.Context) (string, error) {
	limited, cancel := context.WithTimeout(ctx, e.timeout())
	defer cancel()
	digest, err := e.digest(limited)
	if err != nil {
		return "", remote.Explain(ctx, e.name, err)
	}
	return digest, nil
}

func (e *Embedder) timeout() time.Duration {
	if e.opts.Timeout > 0 {
		return e.opts.Timeout
	}
	return remote.DefaultTimeout
}

func (e *Embedder) digest(ctx context.Context) (string, error) {
	list, err := e.api.List(ctx)
	if err != nil {
		return "", err
	}
	for _, m := range list.Models {
		if strings.EqualFold(m.Name, e.model) {
			return m.Digest, nil
		}
	}
	return "", remote.Nonsense("the server has no such model; ollama pull %s gets it", e.model)
}

// ask is a remote.Ask.
func (e *Embedder) ask(ctx context.Context, texts []string) ([][]float32, error) {
	if err := e.check(ctx); err != nil {
		return nil, err
	}
	truncate := true // the server counts better than our estimate, and would refuse otherwise
	req := &api.EmbedRequest{Model: e.model, Input: texts, Truncate: &truncate, Dimensions: e.opts.Dimension}
	if e.opts.KeepAlive != 0 {
		req.KeepAlive = &api.Duration{Duration: e.opts.KeepAlive}
	}
	res, err := e.api.Embed(ctx, req)
	if err != nil {
		return nil, err
	}
	return res.Embeddings, nil
}

// check compares the model's digest with the wanted one, until it agreed once.
func (e *Embedder) check(ctx context.Context) error {
	if e.opts.Digest == "" || e.checked.Load() {
		return nil
	}
	got, err := e.digest(ctx)
	if err != nil {
		return err
	}
	if !strings.EqualFold(got, e.opts.Digest) {
		return remote.Nonsense("the model has digest %q, want %q: it was replaced", got, e.opts.Digest)
	}
	e.checked.Store(true)
	return nil
}

// Format prints the fingerprint, whatever the verb, so that no option gets into a log.
func (e *Embedder) Format(f fmt.State, _ rune) { io.WriteString(f, e.Fingerprint()) }

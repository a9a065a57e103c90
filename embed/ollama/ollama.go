// Package ollama embeds texts through an Ollama server.
//
// It is an embed.Embedder over github.com/ollama/ollama/api. It starts no server and pulls no
// model. The rule for its users: only with Options.Digest does the Fingerprint identify the model's
// weights.
package ollama

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ollama/ollama/api"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/internal/remote"
	"github.com/memcore/memcore/internal/web/baseurl"
)

// Defaults of Options.
const (
	DefaultAddress   = "http://127.0.0.1:11434"
	DefaultMaxTokens = 512 // the least of common embedding models
)

// Options are the settings of an Embedder; the zero value works.
type Options struct {
	// MaxTokens is 512 for unknown models: Ollama's tokeniser is slow with longer texts, 22 s for a
	// word of 5,000 letters (v0.17.4, all-minilm).
	embed.RemoteOptions
	// Address of the server, with or without "http://"; "" is DefaultAddress.
	Address string
	// Digest is what the model must have, as Digest returns it; "" accepts any. It is part of the
	// fingerprint, and checked before the first text is sent.
	Digest string
	// KeepAlive is how long the model stays in memory: 0 is the server's default, negative forever.
	KeepAlive time.Duration
}

// An Embedder is an embed.Embedder. It is safe for concurrent use.
type Embedder struct {
	*client // Embed, Dimension, MaxTokens, CountTokens
	api     *api.Client
	model   string
	opts    Options
	remote  remote.Options
	checked atomic.Bool // the model has Options.Digest
}

type client = remote.Client

var _ embed.Embedder = (*Embedder)(nil)

// New returns an Embedder for a model such as "all-minilm". It does not contact the server.
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
	opts.RemoteOptions = opts.For(model)
	opts.MaxTokens = cmp.Or(opts.MaxTokens, DefaultMaxTokens)
	name := fmt.Sprintf("ollama model %q at %s", model, base.Host)
	e := &Embedder{model: tagged(model), opts: opts, remote: remote.Options{RemoteOptions: opts.RemoteOptions, Name: name}}
	e.api = api.NewClient(base, remote.NewHTTP(opts.Transport, ""))
	e.client = remote.New(e.remote, e.ask)
	return e, nil
}

// address parses "host", "host:port" or "http://host:port/path".
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

// tagged makes "m:latest" of "m".
func tagged(model string) string {
	if strings.Contains(model[strings.LastIndex(model, "/")+1:], ":") {
		return model
	}
	return model + ":latest"
}

// Fingerprint has the model's name and Options.Digest. Without a digest, only another dimension
// shows that the model was replaced ("ollama pull").
func (e *Embedder) Fingerprint() string {
	f := remote.Fingerprint("ollama", e.model, e.remote)
	if e.opts.Digest != "" {
		f += "/" + url.QueryEscape(e.opts.Digest)
	}
	return f
}

// Digest returns the digest of the model's weights and settings: 64 hex digits. Without server or
// model it is embed.ErrUnavailable.
func (e *Embedder) Digest(ctx context.Context) (string, error) {
	limited, cancel := context.WithTimeout(ctx, cmp.Or(max(e.opts.Timeout, 0), remote.DefaultTimeout))
	defer cancel()
	digest, err := e.digest(limited)
	if err != nil {
		return "", remote.Explain(ctx, e.remote.Name, err)
	}
	return digest, nil
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
	truncate := true // the server counts exactly, and would refuse longer texts
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

// check compares digests until they agree once.
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

// Format prints only the fingerprint, to keep options out of logs.
func (e *Embedder) Format(f fmt.State, _ rune) { io.WriteString(f, e.Fingerprint()) }

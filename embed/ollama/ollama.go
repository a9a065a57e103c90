// Package ollama embeds texts through an Ollama server.
//
// It is an embed.Embedder over github.com/ollama/ollama/api. It starts no server and pulls no
// model. The Fingerprint has the model's name: only another dimension shows that the model was
// replaced ("ollama pull").
package ollama

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

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
}

// An Embedder is an embed.Embedder. It is safe for concurrent use.
type Embedder struct {
	*client     // Embed, Dimension, MaxTokens, CountTokens
	fingerprint string
}

type client = remote.Client

var _ embed.Embedder = (*Embedder)(nil)

// New returns an Embedder for a model such as "all-minilm". It does not contact the server.
func New(model string, opts Options) (*Embedder, error) {
	if model == "" {
		return nil, errors.New("ollama: no model is named")
	}
	base, err := address(opts.Address)
	if err != nil {
		return nil, err
	}
	opts.RemoteOptions = opts.For(model)
	opts.MaxTokens = cmp.Or(opts.MaxTokens, DefaultMaxTokens)
	name := fmt.Sprintf("ollama model %q at %s", model, base.Host)
	settings := remote.Options{RemoteOptions: opts.RemoteOptions, Name: name}
	model = tagged(model)
	server := api.NewClient(base, remote.NewHTTP(opts.Transport, ""))
	ask := func(ctx context.Context, texts []string) ([][]float32, error) {
		truncate := true // the server counts exactly, and would refuse longer texts
		res, err := server.Embed(ctx, &api.EmbedRequest{Model: model, Input: texts, Truncate: &truncate})
		if err != nil {
			return nil, err
		}
		return res.Embeddings, nil
	}
	return &Embedder{remote.New(settings, ask), remote.Fingerprint("ollama", model, settings)}, nil
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

// Fingerprint implements embed.Embedder.
func (e *Embedder) Fingerprint() string { return e.fingerprint }

// Format prints only the fingerprint, to keep options out of logs.
func (e *Embedder) Format(f fmt.State, _ rune) { io.WriteString(f, e.fingerprint) }

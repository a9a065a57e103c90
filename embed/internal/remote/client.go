// Package remote is what embedders with a server share: they cut and batch texts, retry, check
// answers and normalise vectors. A package such as ollama passes a function that sends a request.
package remote

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/memcore/memcore/embed"
)

// Defaults of Options.
const (
	DefaultBatchSize = 32
	DefaultTimeout   = 2 * time.Minute
	DefaultTries     = 5
	DefaultRetryFor  = time.Minute
)

// A person waits for a query, which works without its vector.
const (
	queryTries    = 2
	queryRetryFor = 3 * time.Second
)

// maxBatchTokens bounds a request: hosted endpoints refuse more than about 300,000.
const maxBatchTokens = 100_000

// Options are the settings of a Client.
type Options struct {
	embed.RemoteOptions
	Name string // of model and server, for errors: `ollama model "x" at host:1`
}

// Ask sends one request and returns the vectors in order. It returns the errors of NewHTTP's
// client.
type Ask func(ctx context.Context, texts []string) ([][]float32, error)

// A Client is an embed.Embedder without a fingerprint, safe for concurrent use.
type Client struct {
	opts Options
	ask  Ask
	dim  atomic.Int64
}

// New returns a Client that sends requests by ask.
func New(opts Options, ask Ask) *Client {
	return &Client{opts: opts.withDefaults(), ask: ask}
}

func (o Options) withDefaults() Options {
	o.MaxTokens = max(o.MaxTokens, minTokens)
	o.BatchSize = cmp.Or(max(o.BatchSize, 0), DefaultBatchSize)
	o.Timeout = cmp.Or(max(o.Timeout, 0), DefaultTimeout)
	o.Tries = cmp.Or(max(o.Tries, 0), DefaultTries)
	o.RetryFor = cmp.Or(max(o.RetryFor, 0), DefaultRetryFor)
	return o
}

// Dimension implements embed.Embedder.
func (c *Client) Dimension() int { return int(c.dim.Load()) }

// MaxTokens leaves room for the longer prefix.
func (c *Client) MaxTokens() int {
	return max(c.opts.MaxTokens-max(CountTokens(c.opts.DocumentPrefix), CountTokens(c.opts.QueryPrefix)), minTokens)
}

// CountTokens implements embed.Embedder.
func (c *Client) CountTokens(text string) int { return CountTokens(text) }

// Embed implements embed.Embedder.
func (c *Client) Embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(texts) == 0 {
		return nil, nil
	}
	texts = c.prepare(kind, texts)
	vecs := make([][]float32, 0, len(texts))
	for len(texts) > 0 {
		n := c.batch(texts)
		got, err := c.fit(ctx, kind, texts[:n])
		if err != nil {
			return nil, explain(ctx, c.opts.Name, err)
		}
		vecs, texts = append(vecs, got...), texts[n:]
	}
	return vecs, nil
}

// prepare cuts, prefixes and cleans texts.
func (c *Client) prepare(kind embed.Kind, texts []string) []string {
	prefix := c.opts.DocumentPrefix
	if kind == embed.Query {
		prefix = c.opts.QueryPrefix
	}
	sent := make([]string, len(texts))
	for i, text := range texts {
		sent[i] = clean(prefix + text[:cutAt(text, c.MaxTokens())])
	}
	return sent
}

// clean suits servers: some refuse an empty text or cut at a NUL, and JSON lacks invalid UTF-8.
func clean(text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", " "), "\ufffd")
	if text == "" {
		return " "
	}
	return text
}

// batch returns how many texts the next request takes.
func (c *Client) batch(texts []string) int {
	n, tokens := 0, 0
	for n < min(len(texts), c.opts.BatchSize) {
		tokens += CountTokens(texts[n])
		if n > 0 && tokens > maxBatchTokens {
			break
		}
		n++
	}
	return n
}

// fit halves a batch that is too much for the server. It cuts only a single text, so that vectors
// do not depend on batches.
func (c *Client) fit(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	vecs, err := c.retry(ctx, kind, texts)
	if err == nil || !tooMuch(err) {
		return vecs, err
	}
	if len(texts) > 1 {
		return c.halves(ctx, kind, texts)
	}
	tokens := CountTokens(texts[0]) / 2
	if tokens < minTokens/2 {
		return nil, err
	}
	return c.fit(ctx, kind, []string{clean(texts[0][:cutAt(texts[0], tokens)])})
}

func (c *Client) halves(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	mid := len(texts) / 2
	left, err := c.fit(ctx, kind, texts[:mid])
	if err != nil {
		return nil, err
	}
	right, err := c.fit(ctx, kind, texts[mid:])
	if err != nil {
		return nil, err
	}
	return append(left, right...), nil
}

// explain returns the error of the contract: that of ctx if it ended, or one of embed's. It does
// not wrap err, since the Client's timeout is not the caller's.
func explain(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	sentinel := embed.ErrUnavailable
	if wrong, ok := err.(*dimensionError); ok {
		sentinel, err = embed.ErrDimension, wrong
	} else if refusesAll(err) {
		sentinel = embed.ErrRefused
	}
	return fmt.Errorf("%s: %w: %v", name, sentinel, bare(err))
}

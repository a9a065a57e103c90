// Package remote is what embedders that ask a server have in common: cutting and batching texts,
// trying again, reading answers with distrust, and making unit vectors of them.
//
// It knows no protocol. A package such as ollama gives it a function that asks once; everything
// around that question is here, so that each server's faults are met in the same way.
package remote

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/memcore/memcore/embed"
)

// Defaults for what Options leaves zero.
const (
	DefaultBatchSize = 32
	DefaultTimeout   = 2 * time.Minute
	DefaultTries     = 5
	DefaultRetryFor  = time.Minute
)

// A person waits for the vector of a query, and search does without it: a query is tried twice at
// most, and not again when this much time has gone by.
const (
	queryTries    = 2
	queryRetryFor = 3 * time.Second
)

// maxBatchTokens bounds one request beside the number of its texts; hosted endpoints refuse more
// than about 300,000 tokens.
const maxBatchTokens = 100_000

// Options are the settings of a Client. Zero means the default for all but Dimension.
type Options struct {
	Name           string // what errors call the model, such as `ollama model "x" at host:1`
	MaxTokens      int    // tokens of one text, prefix included; at least 16
	Dimension      int    // length of the vectors; 0: learned from the first answer
	BatchSize      int    // texts in one request
	DocumentPrefix string // put before each document
	QueryPrefix    string // put before each query
	Timeout        time.Duration
	Tries          int
	RetryFor       time.Duration
}

// Ask sends texts in one request, once, and returns what the server answered, in order of the texts.
// It passes on the errors of the HTTP client made by NewHTTP.
type Ask func(ctx context.Context, texts []string) ([][]float32, error)

// A Client is all of an embed.Embedder but its fingerprint. It is safe for concurrent use.
type Client struct {
	opts Options
	ask  Ask
	dim  atomic.Int64
}

// New returns a Client that asks by ask.
func New(opts Options, ask Ask) *Client {
	c := &Client{opts: opts.withDefaults(), ask: ask}
	c.dim.Store(int64(opts.Dimension))
	return c
}

func (o Options) withDefaults() Options {
	o.MaxTokens = max(o.MaxTokens, minTokens)
	if o.BatchSize <= 0 {
		o.BatchSize = DefaultBatchSize
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Tries <= 0 {
		o.Tries = DefaultTries
	}
	if o.RetryFor <= 0 {
		o.RetryFor = DefaultRetryFor
	}
	return o
}

// Dimension is as embed.Embedder has it.
func (c *Client) Dimension() int { return int(c.dim.Load()) }

// MaxTokens is how many tokens of a text are sent, those of the longer prefix left out.
func (c *Client) MaxTokens() int {
	return max(c.opts.MaxTokens-max(CountTokens(c.opts.DocumentPrefix), CountTokens(c.opts.QueryPrefix)), minTokens)
}

// CountTokens is the function of the same name.
func (c *Client) CountTokens(text string) int { return CountTokens(text) }

// Embed is as embed.Embedder has it.
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
			return nil, Explain(ctx, c.opts.Name, err)
		}
		vecs, texts = append(vecs, got...), texts[n:]
	}
	return vecs, nil
}

// prepare makes of each text what is sent: valid, with its prefix, and never longer than allowed.
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

// clean makes any bytes something that a server accepts. Some refuse an empty text, some end it at
// its first NUL, and JSON holds no invalid UTF-8.
func clean(text string) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", " "), "\ufffd")
	if text == "" {
		return " "
	}
	return text
}

// batch is how many of texts go into the next request, at least one.
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

// fit asks for texts, and for less at once when the server says that they are too much for it: half
// the texts, and when it is one text, half of that. Only a text on its own is ever cut, so its
// vector never depends on the others of its batch.
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

// Explain makes of err what the contract promises: the caller's own reason if ctx ended, otherwise
// one of embed's errors. The cause is told, not wrapped: a timeout of ours is not the caller's.
func Explain(ctx context.Context, name string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	sentinel := embed.ErrUnavailable
	if wrong, ok := err.(*dimensionError); ok {
		sentinel, err = embed.ErrDimension, wrong
	}
	return fmt.Errorf("%s: %w: %v", name, sentinel, bare(err))
}

package proxy

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/memcore/memcore/inject/turn"
)

// maxBody is the largest request body that memory is put into. It has to be held whole; larger ones pass through.
const maxBody = 64 << 20

// Reasons why nothing was injected, beside those of package turn.
const (
	reasonCompressed = "the request is compressed"
	reasonLarge      = "the request is over 64 MB"
	reasonOff        = "memory is turned off"
)

// speculative is the Upgrade that Java's client offers with every first request, whatever it is for. Nobody takes it.
const speculative = "h2c"

// An editor is one of package turn's functions for requests as JSON.
type editor func(context.Context, retriever, []byte, turn.Options) ([]byte, turn.Report, error)

// routes are the paths whose requests get memory, by how they end, so that any base will do.
var routes = []struct {
	suffix string
	edit   editor
}{
	{"/chat/completions", func(ctx context.Context, r retriever, request []byte, o turn.Options) ([]byte, turn.Report, error) {
		return turn.JSON(ctx, r, request, o)
	}},
	{"/responses", func(ctx context.Context, r retriever, request []byte, o turn.Options) ([]byte, turn.Report, error) {
		return turn.ResponsesJSON(ctx, r, request, o)
	}},
	{"/v1/messages", func(ctx context.Context, r retriever, request []byte, o turn.Options) ([]byte, turn.Report, error) {
		return turn.AnthropicJSON(ctx, r, request, o)
	}},
	{"/api/chat", func(ctx context.Context, r retriever, request []byte, o turn.Options) ([]byte, turn.Report, error) {
		return turn.OllamaJSON(ctx, r, request, o)
	}},
}

// editorOf returns how memory gets into a request; nil if it is to pass as it is.
func editorOf(r *http.Request) editor {
	upgrade := r.Header.Get("Upgrade")
	if r.Method != http.MethodPost || upgrade != "" && upgrade != speculative {
		return nil
	}
	for _, route := range routes {
		if strings.HasSuffix(r.URL.Path, route.suffix) {
			return route.edit
		}
	}
	return nil
}

// withMemory returns the request to pass on, and notes in x what was done. An error is one of reading the body.
func (p *Proxy) withMemory(r *http.Request, x *exchange) (*http.Request, error) {
	edit := editorOf(r)
	if edit == nil {
		return r, nil
	}
	x.chat, x.dry = true, p.options.DryRun
	switch encoding := r.Header.Get("Content-Encoding"); {
	case p.memory == nil:
		x.report.Reason = reasonOff
		return r, nil
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		x.report.Reason = reasonCompressed
		return r, nil
	case r.ContentLength > maxBody:
		x.report.Reason = reasonLarge
		return r, nil
	}
	body, err := readBody(r)
	if err != nil {
		return nil, err
	}
	out := r.Clone(r.Context())
	if len(body) > maxBody {
		x.report.Reason = reasonLarge
		out.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
		return out, nil
	}
	setBody(out, p.edited(r.Context(), edit, body, x))
	return out, nil
}

// readBody reads a body, of one that is too large a byte more than is allowed.
func readBody(r *http.Request) ([]byte, error) {
	var body bytes.Buffer
	body.Grow(int(min(max(r.ContentLength, 0), 1<<20)) + bytes.MinRead)
	_, err := body.ReadFrom(io.LimitReader(r.Body, maxBody+1))
	return body.Bytes(), err
}

// edited returns the body with memory, or body itself.
func (p *Proxy) edited(ctx context.Context, edit editor, body []byte, x *exchange) []byte {
	began := time.Now()
	with, report, err := edit(ctx, p.memory, body, p.options.Turn)
	x.report, x.added = report, time.Since(began)
	if err != nil {
		x.report.Reason = err.Error()
	}
	if p.options.DryRun {
		return body
	}
	return with
}

// setBody gives a request a body that can be sent again, should the upstream close an idle connection at the same moment.
func setBody(r *http.Request, body []byte) {
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
	if r.ContentLength >= 0 { // else it comes in pieces, and goes on so
		r.ContentLength = int64(len(body))
	}
	r.Header.Del("Expect")  // the client was told to go on already
	r.Header.Del("Upgrade") // speculative, if any
}

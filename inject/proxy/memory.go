package proxy

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/inject/turn"
	"github.com/memcore/memcore/internal/overload"
)

// maxBody is the largest request body that memory is put into. It has to be held whole; larger ones pass through.
const maxBody = 64 << 20

// Reasons why nothing was injected, beside those of package turn.
const (
	reasonCompressed = "the request is compressed"
	reasonLarge      = "the request is over 64 MB"
	reasonFull       = "the proxy holds as much of other requests as it can"
	reasonOff        = "memory is turned off"
)

// speculative is the Upgrade that Java's client offers with every first request, whatever it is for. Nobody takes it.
const speculative = "h2c"

// offersH2C tells whether a request offers, among others perhaps, to go on as HTTP/2.
func offersH2C(r *http.Request) bool {
	return slices.ContainsFunc(r.Header.Values("Upgrade"), func(offered string) bool {
		return slices.ContainsFunc(strings.Split(offered, ","), func(protocol string) bool { return strings.EqualFold(strings.TrimSpace(protocol), speculative) })
	})
}

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
	if r.Method != http.MethodPost || r.Header.Get("Upgrade") != "" && !offersH2C(r) {
		return nil
	}
	for _, route := range routes {
		if strings.HasSuffix(r.URL.Path, route.suffix) {
			return route.edit
		}
	}
	return nil
}

// bodyWait is how long a client may take to send a chat request.
const bodyWait = 2 * time.Minute

// withMemory returns the request to pass on, and notes in x what was done. What it holds counts until free is called. An error is one of reading the body.
func (p *Proxy) withMemory(w http.ResponseWriter, r *http.Request, x *exchange) (out *http.Request, free func(), err error) {
	nothing := func() {}
	edit := editorOf(r)
	if edit == nil {
		return r, nothing, nil
	}
	x.chat, x.dry = true, p.options.DryRun
	switch encoding := r.Header.Get("Content-Encoding"); {
	case p.memory == nil:
		x.report.Reason = reasonOff
		return r, nothing, nil
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		x.report.Reason = reasonCompressed
		return r, nothing, nil
	case r.ContentLength > maxBody:
		x.report.Reason = reasonLarge
		return r, nothing, nil
	}
	body, free, err := p.bodies.Read(w, r, maxBody, bodyWait)
	out = r.Clone(r.Context())
	switch {
	case errors.Is(err, overload.ErrLarge):
		x.report.Reason = reasonLarge
	case errors.Is(err, overload.ErrFull):
		x.report.Reason = reasonFull
	case err != nil:
		return nil, free, err
	default:
		setBody(out, p.edited(r.Context(), edit, body, x))
		return out, free, nil
	}
	out.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), r.Body), r.Body}
	return out, free, nil
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

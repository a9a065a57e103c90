package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/inject/turn"
	"github.com/memcore/memcore/internal/web/overload"
)

// maxBody bounds the requests that get memory, in bytes.
const maxBody = 64 << 20

// Reasons for no memory, beside those of package turn.
const (
	reasonCompressed = "the request is compressed"
	reasonLarge      = "the request is over %d MB"
	reasonFull       = "the proxy holds too much of other requests"
	reasonOff        = "memory is turned off"
)

// speculative is offered by Java's client, and accepted by no server.
const speculative = "h2c"

// OffersH2C reports whether a request offers HTTP/2.
func OffersH2C(r *http.Request) bool {
	return slices.ContainsFunc(r.Header.Values("Upgrade"), func(offered string) bool {
		return slices.ContainsFunc(strings.Split(offered, ","), func(protocol string) bool { return strings.EqualFold(strings.TrimSpace(protocol), speculative) })
	})
}

// An editor puts memory into an API's request.
type editor func(context.Context, turn.Retriever, []byte, turn.Options) ([]byte, turn.Report, error)

// routes are the ends of paths that get memory.
var routes = []struct {
	suffix string
	edit   editor
}{
	{"/chat/completions", turn.JSON},
	{"/responses", turn.ResponsesJSON},
	{"/v1/messages", turn.AnthropicJSON},
	{"/api/chat", turn.OllamaJSON},
}

func editorOf(r *http.Request) editor {
	if r.Method != http.MethodPost || r.Header.Get("Upgrade") != "" && !OffersH2C(r) {
		return nil
	}
	for _, route := range routes {
		if strings.HasSuffix(r.URL.Path, route.suffix) {
			return route.edit
		}
	}
	return nil
}

// bodyWait bounds sending a chat request.
const bodyWait = 2 * time.Minute

// silence bounds how long nothing comes of a body that passes on as it comes.
var silence = 2 * time.Minute

// passing returns a request whose body passes on as it comes.
func passing(w http.ResponseWriter, r *http.Request, x *exchange) *http.Request {
	out := r.WithContext(r.Context())
	out.Body, x.late = moving(w, r, silence)
	return out
}

// withMemory returns the request to pass on, and reports in x. The caller calls free when done with
// the body, whose reading may fail.
func (f *Forwarder) withMemory(w http.ResponseWriter, r *http.Request, x *exchange) (out *http.Request, free func(), err error) {
	nothing := func() {}
	edit := editorOf(r)
	if edit == nil {
		return passing(w, r, x), nothing, nil
	}
	x.chat = true
	switch encoding := r.Header.Get("Content-Encoding"); {
	case x.passage.Memory == nil:
		x.report.Reason = reasonOff
		return passing(w, r, x), nothing, nil
	case encoding != "" && !strings.EqualFold(encoding, "identity"):
		x.report.Reason = reasonCompressed
		return passing(w, r, x), nothing, nil
	case r.ContentLength > f.options.MaxBody:
		x.report.Reason = fmt.Sprintf(reasonLarge, f.options.MaxBody>>20)
		return passing(w, r, x), nothing, nil
	}
	bodies := x.passage.Bodies
	if bodies == nil {
		bodies = &f.bodies
	}
	body, free, err := bodies.Read(w, r, f.options.MaxBody, bodyWait)
	out = r.Clone(r.Context())
	switch {
	case errors.Is(err, overload.ErrLarge):
		x.report.Reason = fmt.Sprintf(reasonLarge, f.options.MaxBody>>20)
	case errors.Is(err, overload.ErrFull):
		x.report.Reason = reasonFull
	case err != nil:
		return nil, free, err
	default:
		setBody(out, f.edited(r.Context(), edit, body, x))
		return out, free, nil
	}
	var unread io.ReadCloser
	unread, x.late = moving(w, r, silence)
	out.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), unread), unread}
	return out, free, nil
}

// edited returns the body with memory, or body itself.
func (f *Forwarder) edited(ctx context.Context, edit editor, body []byte, x *exchange) []byte {
	began := time.Now()
	with, report := body, turn.Report{Reason: turn.ReasonFailed}
	waiting, stop := f.within(ctx)
	err := x.passage.Memory(waiting, func(memory turn.Retriever, system SystemText) turn.Report {
		o := f.options.Turn
		o.System = system
		if o.Timeout > 0 {
			o.Timeout = max(o.Timeout-time.Since(began), time.Millisecond)
		}
		var failed error
		if with, report, failed = edit(ctx, memory, body, o); failed != nil {
			report.Reason = failed.Error()
		}
		return report
	})
	late := waiting.Err() != nil
	stop()
	switch {
	case err == nil: // also if memory failed: the report says why
	case ctx.Err() != nil:
		report.Reason = turn.ReasonCancelled
	case late:
		report.Reason = turn.ReasonLate
	default:
		x.log(f).Warn("memory is not injected", "error", err)
	}
	x.report, x.added = report, time.Since(began)
	return with
}

// within returns a context that ends when a chat no longer waits for memory.
func (f *Forwarder) within(ctx context.Context) (context.Context, context.CancelFunc) {
	if f.options.Turn.Timeout < 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, f.options.Turn.Timeout)
}

// setBody lets a body be sent again, as over a new connection.
func setBody(r *http.Request, body []byte) {
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	r.Body, _ = r.GetBody()
	if r.ContentLength >= 0 { // else it is chunked
		r.ContentLength = int64(len(body))
	}
	r.Header.Del("Expect")  // the client was answered already
	r.Header.Del("Upgrade") // speculative, if any
}

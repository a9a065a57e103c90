package proxy

import (
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/inject/turn"
)

// Headers of an answer to a chat request, and of a request.
const (
	injectedHeader = "X-Memcore-Injected" // how many hits
	tokensHeader   = "X-Memcore-Tokens"   // about what they cost
	sourcesHeader  = "X-Memcore-Sources"  // their citations
	reasonHeader   = "X-Memcore-Reason"   // why there are none
	dryRunHeader   = "X-Memcore-Dry-Run"  // "true" if the others say what would have been
	tokenHeader    = "X-Memcore-Token"    // of a request: Options.Token
)

// Limits of what goes into headers, which clients and proxies limit as a whole, often to 8 KB.
const (
	maxSources       = 8
	maxSourcesHeader = 2048 // bytes
	maxReason        = 200  // bytes
)

// An exchange is what is to be said about one request.
type exchange struct {
	chat   bool // one that gets memory
	dry    bool
	report turn.Report
	added  time.Duration // for which the request was held up once it was there
	status int
	err    error // why the upstream did not answer
}

type exchangeKey struct{}

// headers sets what the answer to a chat request says about memory; whatever an upstream says under these names is another memcore's.
func (x *exchange) headers(h http.Header) {
	for _, name := range []string{injectedHeader, tokensHeader, sourcesHeader, reasonHeader, dryRunHeader} {
		h.Del(name)
	}
	if !x.chat {
		return
	}
	h.Set(injectedHeader, strconv.Itoa(x.report.Injected))
	if x.report.Injected > 0 {
		h.Set(tokensHeader, strconv.Itoa(x.report.Tokens))
		h.Set(sourcesHeader, sourcesOf(x.report.Sources))
	} else {
		h.Set(reasonHeader, headerText(x.reason(), maxReason))
	}
	if x.dry {
		h.Set(dryRunHeader, "true")
	}
}

// reason is why nothing was injected. That nothing is known is only said if all of memory could be asked.
func (x *exchange) reason() string {
	switch {
	case x.report.Reason != turn.ReasonNothing:
		return x.report.Reason
	case x.report.State == core.StateMissing:
		return "nothing is indexed yet: run memcore index"
	case x.report.State == core.StateBuilding:
		return "nothing relevant was found, and the index is not complete yet"
	case len(x.report.Degraded) > 0:
		return "nothing relevant was found, but not all was asked: " + strings.Join(x.report.Degraded, "; ")
	}
	return turn.ReasonNothing
}

// sourcesOf joins citations to "a.md#L1, b.md#L2", as many as a header should hold. What is not plain ASCII in them, blanks and
// commas are percent-encoded.
func sourcesOf(sources []string) string {
	var all strings.Builder
	for _, source := range sources[:min(len(sources), maxSources)] {
		source = escape(source)
		if all.Len()+len(source) > maxSourcesHeader {
			break
		}
		if all.Len() > 0 {
			all.WriteString(", ")
		}
		all.WriteString(source)
	}
	return all.String()
}

func escape(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' || c == ',' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// headerText is a text in plain ASCII, cut to most bytes.
func headerText(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	return text[:min(len(text), most)]
}

// answered is called with each answer of the upstream before it is passed on.
func (p *Proxy) answered(response *http.Response) error {
	x, _ := response.Request.Context().Value(exchangeKey{}).(*exchange)
	x.status = response.StatusCode
	x.headers(response.Header)
	return nil
}

// logExchange writes the line of a request. The path may be anyone's, so it is logged escaped; the query may hold a key, so it is not.
func (p *Proxy) logExchange(r *http.Request, x *exchange) {
	attributes := []any{"method", r.Method, "path", r.URL.EscapedPath(), "status", x.status}
	if x.chat {
		attributes = append(attributes, "injected", x.report.Injected, "added", x.added.Round(100*time.Microsecond))
	}
	if x.chat && x.report.Injected > 0 {
		attributes = append(attributes, "tokens", x.report.Tokens)
	}
	if x.report.Suspicious > 0 {
		attributes = append(attributes, "suspicious", x.report.Suspicious)
	}
	if x.report.Withheld > 0 {
		attributes = append(attributes, "withheld", x.report.Withheld)
	}
	if x.chat && x.report.Reason != "" {
		attributes = append(attributes, "reason", x.reason())
	}
	if x.dry {
		attributes = append(attributes, "dryRun", true)
	}
	if x.report.Injected > 0 && len(x.report.Degraded) > 0 {
		attributes = append(attributes, "degraded", strings.Join(x.report.Degraded, "; "))
	}
	level := slog.LevelInfo
	if x.err != nil {
		level, attributes = slog.LevelWarn, append(attributes, "error", x.err)
	}
	p.log.Log(r.Context(), level, "request", attributes...)
}

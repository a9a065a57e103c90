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

// Headers of answers to chat requests, and of requests.
const (
	injectedHeader = "X-Memcore-Injected" // how many hits
	tokensHeader   = "X-Memcore-Tokens"   // about what they cost
	sourcesHeader  = "X-Memcore-Sources"  // their citations
	rulesHeader    = "X-Memcore-Rules"    // files of the rules that apply
	reasonHeader   = "X-Memcore-Reason"   // why it has neither hits nor rules
	systemHeader   = "X-Memcore-System"   // how many characters the system message was given
	tokenHeader    = "X-Memcore-Token"    // of a request: Options.Token
)

// Many clients and proxies take 8 KB of headers.
const (
	maxSources       = 8
	maxSourcesHeader = 2048 // bytes
	maxReason        = 200  // bytes
)

// An exchange is the report about one request.
type exchange struct {
	passage Passage
	chat    bool // one that gets memory
	report  turn.Report
	added   time.Duration // by memory
	status  int
	err     error       // why the upstream did not answer
	late    func() bool // whether the rest of the body did not come in time; nil for a body without bound
}

// log gets the lines about the request.
func (x *exchange) log(f *Forwarder) *slog.Logger {
	if x.passage.Log != nil {
		return x.passage.Log
	}
	return f.log
}

type exchangeKey struct{}

// headers replaces another memcore's.
func (x *exchange) headers(h http.Header) {
	for _, name := range []string{injectedHeader, tokensHeader, sourcesHeader, rulesHeader, reasonHeader, systemHeader} {
		h.Del(name)
	}
	if !x.chat {
		return
	}
	set := func(when bool, name, value string) {
		if when {
			h.Set(name, value)
		}
	}
	report := x.report
	set(true, injectedHeader, strconv.Itoa(report.Injected))
	set(report.Tokens > 0, tokensHeader, strconv.Itoa(report.Tokens))
	set(len(report.Rules) > 0, rulesHeader, sourcesOf(report.Rules))
	set(report.Injected > 0, sourcesHeader, sourcesOf(report.Sources))
	set(report.Injected == 0 && report.Reason != "", reasonHeader, headerText(x.reason(), maxReason))
	set(report.System > 0, systemHeader, strconv.Itoa(report.System))
}

// reason returns why nothing was injected. "Nothing known" needs a complete index.
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

// sourcesOf joins citations that fit, percent-encoded: "a.md#L1, b.md#L2".
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

// headerText returns at most most bytes of ASCII.
func headerText(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
	return text[:min(len(text), most)]
}

// answered sees each answer before it is passed on.
func (f *Forwarder) answered(response *http.Response) error {
	x, _ := response.Request.Context().Value(exchangeKey{}).(*exchange)
	if refused := response.StatusCode == http.StatusUnauthorized || response.StatusCode == http.StatusForbidden; refused && x.passage.Lent {
		x.err = fmt.Errorf("the upstream refuses the service's key with status %d", response.StatusCode)
		withheld(response)
	}
	x.status = response.StatusCode
	x.headers(response.Header)
	return nil
}

// logExchange leaves out the query, which may hold a key.
func (f *Forwarder) logExchange(r *http.Request, x *exchange) {
	attributes := []any{"method", r.Method, "path", r.URL.EscapedPath(), "status", x.status}
	add := func(when bool, key string, value any) {
		if when {
			attributes = append(attributes, key, value)
		}
	}
	add(x.chat, "injected", x.report.Injected)
	add(x.chat, "added", x.added.Round(100*time.Microsecond))
	add(x.chat && x.report.Tokens > 0, "tokens", x.report.Tokens)
	add(x.report.System > 0, "system", x.report.System)
	add(x.chat && len(x.report.Rules) > 0, "rules", len(x.report.Rules))
	add(x.report.Flagged > 0, "flagged", x.report.Flagged)
	add(x.report.Withheld > 0, "withheld", x.report.Withheld)
	add(x.chat && x.report.Reason != "", "reason", x.reason())
	add(x.report.Injected > 0 && len(x.report.Degraded) > 0, "degraded", strings.Join(x.report.Degraded, "; "))
	level := slog.LevelInfo
	if x.err != nil {
		level, attributes = slog.LevelWarn, append(attributes, "error", x.err)
	}
	x.log(f).Log(r.Context(), level, "request", attributes...)
}

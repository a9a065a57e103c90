package proxy

import (
	"net/http"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/web/origin"
)

type refusal struct {
	status int
	why    string
}

// check returns nil for what can be passed on.
func check(r *http.Request) *refusal {
	switch {
	case r.Method == http.MethodConnect:
		return &refusal{http.StatusMethodNotAllowed, "memcore proxy opens no tunnels: give the client its address as base URL, not as the proxy of the system"}
	case r.URL.Opaque != "" || r.URL.Path != "" && r.URL.Path[0] != '/':
		return &refusal{http.StatusBadRequest, "the request has no path"}
	case climbs(r.URL.Path):
		return &refusal{http.StatusBadRequest, `the path has "." or ".." in it, which may lead out of the upstream's base`}
	}
	return nil
}

// admit returns nil for those who may pass. This machine's processes are trusted, but not web
// pages: they have an Origin, or a Host that only resolves to this machine.
func (p *Proxy) admit(r *http.Request) *refusal {
	switch {
	case origin.IsForeign(r):
		return &refusal{http.StatusForbidden, "memcore proxy does not serve web pages: the request has the Origin of another site"}
	case p.listen.IP.IsLoopback() && !origin.IsLocal(r.Host, p.host):
		return &refusal{http.StatusForbidden, "memcore proxy listens on this machine only: address it as " + p.listen.IP.String() + " or localhost, not as " + headerText(r.Host, maxReason)}
	case p.options.Token != "" && !origin.IsToken(r.Header.Get(tokenHeader), p.options.Token):
		return &refusal{http.StatusUnauthorized, "memcore proxy wants its token in the header " + tokenHeader}
	}
	return nil
}

// climbs reports whether some server would leave its base: by "..", "..;x" or `\..\`.
func climbs(path string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }), func(element string) bool {
		name, _, _ := strings.Cut(element, ";")
		return name == "." || name == ".."
	})
}

package proxy

import (
	"net/http"
	"slices"
	"strings"

	"github.com/memcore/memcore/internal/webguard"
)

// A refusal is why a request gets no further.
type refusal struct {
	status int
	why    string
}

// admit returns nil for a request that may pass. Who can reach this machine's loopback is trusted, but a web page in the user's
// browser can, too: it would be found out by its Origin, or, if its name was made to resolve to this machine, by the Host it asks for.
func (p *Proxy) admit(r *http.Request) *refusal {
	switch {
	case r.Method == http.MethodConnect:
		return &refusal{http.StatusMethodNotAllowed, "memcore proxy opens no tunnels: give the client its address as base URL, not as the proxy of the system"}
	case r.URL.Opaque != "" || r.URL.Path != "" && r.URL.Path[0] != '/':
		return &refusal{http.StatusBadRequest, "the request asks for no path"}
	case climbs(r.URL.Path):
		return &refusal{http.StatusBadRequest, `the path has "." or ".." in it, which may lead out of the upstream's base`}
	case webguard.IsForeign(r):
		return &refusal{http.StatusForbidden, "memcore proxy does not serve web pages: the request has the Origin of another site"}
	case p.listen.IP.IsLoopback() && !webguard.IsLocal(r.Host, p.host):
		return &refusal{http.StatusForbidden, "memcore proxy listens on this machine only: address it as " + p.listen.IP.String() + " or localhost, not as " + headerText(r.Host, maxReason)}
	case p.options.Token != "" && !webguard.IsToken(r.Header.Get(tokenHeader), p.options.Token):
		return &refusal{http.StatusUnauthorized, "memcore proxy wants its token in the header " + tokenHeader}
	}
	return nil
}

// climbs tells whether a path, decoded, has an element that some server would take for this folder or the one above, such as "..", "..;x" or, between
// backslashes, `..`. What a request asks for is joined to the base of the upstream, and is to stay below it.
func climbs(path string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' }), func(element string) bool {
		name, _, _ := strings.Cut(element, ";")
		return name == "." || name == ".."
	})
}

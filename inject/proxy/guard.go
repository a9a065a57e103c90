package proxy

import (
	"net/http"

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
	case webguard.IsForeign(r):
		return &refusal{http.StatusForbidden, "memcore proxy does not serve web pages: the request has the Origin of another site"}
	case p.listen.IP.IsLoopback() && !webguard.IsLocal(r.Host, p.host):
		return &refusal{http.StatusForbidden, "memcore proxy listens on this machine only: address it as " + p.listen.IP.String() + " or localhost, not as " + headerText(r.Host, maxReason)}
	case p.options.Token != "" && !webguard.IsToken(r.Header.Get(tokenHeader), p.options.Token):
		return &refusal{http.StatusUnauthorized, "memcore proxy wants its token in the header " + tokenHeader}
	}
	return nil
}

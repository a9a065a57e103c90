package proxy

import (
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"strings"
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
	case !sameOrigin(r):
		return &refusal{http.StatusForbidden, "memcore proxy does not serve web pages: the request has the Origin of another site"}
	case p.listen.IP.IsLoopback() && !p.isLocal(r.Host):
		return &refusal{http.StatusForbidden, "memcore proxy listens on this machine only: address it as " + p.listen.IP.String() + " or localhost, not as " + headerText(r.Host, maxReason)}
	case p.options.Token != "" && subtle.ConstantTimeCompare([]byte(r.Header.Get(tokenHeader)), []byte(p.options.Token)) != 1:
		return &refusal{http.StatusUnauthorized, "memcore proxy wants its token in the header " + tokenHeader}
	}
	return nil
}

// sameOrigin tells whether a request comes from no page, or from one that we served.
func sameOrigin(r *http.Request) bool {
	for _, sent := range r.Header.Values("Origin") {
		origin, err := url.Parse(sent)
		if err != nil || origin.Host == "" || !strings.EqualFold(origin.Host, r.Host) || origin.Scheme != "http" && origin.Scheme != "https" {
			return false
		}
	}
	return true
}

// isLocal tells whether a Host header names this machine in a way that no name server can be made to.
func (p *Proxy) isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.Trim(host, "[]")
	return strings.EqualFold(host, "localhost") || strings.EqualFold(host, p.host) || net.ParseIP(host).IsLoopback()
}

// Package origin recognises requests that a web page sends through the user's browser to a server
// on this machine.
//
// Pages cannot change Origin and Sec-Fetch-Site. A page whose name resolves to this machine (DNS
// rebinding) asks for that name; a server on loopback accepts only names that no name server
// decides. And unlike cookies, browsers add no token by themselves.
package origin

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// IsForeign reports whether a page of another site, or without an origin ("null"), sent a request.
func IsForeign(r *http.Request) bool {
	for _, sent := range r.Header.Values("Origin") {
		origin, err := url.Parse(sent)
		if err != nil || origin.Host == "" || !strings.EqualFold(origin.Host, r.Host) || origin.Scheme != "http" && origin.Scheme != "https" {
			return true
		}
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" { // none: the user typed the address
			return true
		}
	}
	return false
}

// IsMisnamed reports whether a request to loopback asks for a foreign name.
func IsMisnamed(r *http.Request, also ...string) bool {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && isLoopback(at) && !IsLocal(r.Host, also...)
}

func isLoopback(at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// IsLocal reports whether a host, perhaps with a port, is localhost, loopback or one of also.
func IsLocal(host string, also ...string) bool {
	if name, port, err := net.SplitHostPort(host); err == nil {
		if strings.Trim(port, "0123456789") != "" {
			return false
		}
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	same := func(name string) bool { return name != "" && strings.EqualFold(host, name) }
	return same("localhost") || slices.ContainsFunc(also, same) || net.ParseIP(host).IsLoopback()
}

// Bearer returns the bearer token of a request, or "".
func Bearer(r *http.Request) string {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return given
}

// HasBearer reports whether a request has the token.
func HasBearer(r *http.Request, token string) bool { return IsToken(Bearer(r), token) }

// IsToken reports whether given is the token. Its time reveals nothing, not even the length.
// Nothing equals the empty token.
func IsToken(given, token string) bool {
	x, y := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1 && token != ""
}

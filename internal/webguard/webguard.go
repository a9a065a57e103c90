// Package webguard tells requests that a server on a user's machine may answer from those that a web page has sent through the user's browser.
//
// Whoever can reach a port is not yet the user: any page can have its browser send requests to this machine. Three things give it away. Origin and
// Sec-Fetch-Site are set by browsers and cannot be set by pages. A page whose own name was made to resolve to this machine (DNS rebinding) is of the
// same origin, but asks for that name, so a server on loopback takes only names that no name server decides about. And a token is something that a
// page does not have. None of it is remembered by a browser, as cookies are, so a request that a page forges has no more than the page.
package webguard

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// IsForeign tells whether a browser sent a request for a page that is not of the server itself. What is no browser sends none of the headers that tell,
// and passes; a page that is nobody's ("null") does not.
func IsForeign(r *http.Request) bool {
	for _, sent := range r.Header.Values("Origin") {
		origin, err := url.Parse(sent)
		if err != nil || origin.Host == "" || !strings.EqualFold(origin.Host, r.Host) || origin.Scheme != "http" && origin.Scheme != "https" {
			return true
		}
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" { // none: the user has typed the address
			return true
		}
	}
	return false
}

// IsMisnamed tells whether a request that came to a server on loopback asks for another name than one that stands for this machine everywhere: localhost or
// an address of the loopback. also are names that count beside them. Requests that came by another way are not misnamed; how they came is in their
// context, as net/http puts it there.
func IsMisnamed(r *http.Request, also ...string) bool {
	at, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return ok && isLoopback(at) && !IsLocal(r.Host, also...)
}

func isLoopback(at net.Addr) bool {
	tcp, ok := at.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// IsLocal tells whether a host, with or without a port, names this machine in a way that no name server can be made to; or is one of also.
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

// HasBearer tells whether a request has a token as its Authorization.
func HasBearer(r *http.Request, token string) bool {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return strings.EqualFold(scheme, "Bearer") && IsToken(given, token)
}

// IsToken compares what was given with a token. How long it takes tells nothing of the token, not even its length. Nothing is the empty token.
func IsToken(given, token string) bool {
	x, y := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1 && token != ""
}

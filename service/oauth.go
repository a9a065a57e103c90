package service

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/memcore/memcore/inject/httpapi"
)

// wellKnown, before the path of a resource, is where clients look for its issuer (RFC 9728).
const wellKnown = "/.well-known/oauth-protected-resource"

// address returns the address of a path for clients.
func (s *Server) address(r *http.Request, path string) string {
	if s.o.PublicURL != "" {
		return strings.TrimSuffix(s.o.PublicURL, "/") + path
	}
	scheme := "http"
	if r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https" {
		scheme = "https"
	}
	return scheme + "://" + r.Host + path
}

// challenge says on a 401 how to authenticate, and where the issuer of tokens is named.
func (s *Server) challenge(w http.ResponseWriter, r *http.Request, hasSecret bool) {
	said := `Bearer realm="memcore"`
	if hasSecret {
		said += `, error="invalid_token"`
	}
	if s.o.Issuer != "" {
		said += fmt.Sprintf(", resource_metadata=%q", s.address(r, wellKnown+"/v1/tenants/"+url.PathEscape(r.PathValue("tenant"))+"/mcp"))
	}
	w.Header().Set("WWW-Authenticate", said)
}

// metadata describes a path as a resource that needs tokens of the issuer. It does not reveal
// whether the tenant exists.
func (s *Server) metadata(path string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		resource := strings.ReplaceAll(path, "{tenant}", url.PathEscape(r.PathValue("tenant")))
		httpapi.Reply(w, http.StatusOK, map[string]any{
			"resource": s.address(r, resource), "resource_name": "memcore", "authorization_servers": []string{s.o.Issuer},
			"scopes_supported": s.o.Scopes, "bearer_methods_supported": []string{"header"},
		})
	}
}

// describeAsResource adds the routes of metadata if there is an issuer.
func (s *Server) describeAsResource() {
	if s.o.Issuer == "" {
		return
	}
	for _, path := range []string{"", "/v1/tenants/{tenant}", "/v1/tenants/{tenant}/mcp"} {
		s.routes.HandleFunc("GET "+wellKnown+path, s.metadata(path))
	}
}

package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
	"github.com/memcore/memcore/service/oidc"
)

// tokenOptions are the flags about tokens of an OpenID Connect issuer.
type tokenOptions struct {
	oidc.Options
	right     string
	scopes    []string
	publicURL string
}

// addFlags adds the flags. Each has a variable: MEMCORE_SERVICE_OIDC_ISSUER for --oidc-issuer.
func (o *tokenOptions) addFlags(f *pflag.FlagSet) {
	text := func(to *string, name, fallback, usage string) {
		if value := os.Getenv(variableOf(name)); value != "" {
			fallback = value
		}
		f.StringVar(to, name, fallback, fmt.Sprintf("%s (or $%s)", usage, variableOf(name)))
	}
	list := func(to *[]string, name string, fallback []string, usage string) {
		if value := os.Getenv(variableOf(name)); value != "" {
			fallback = strings.Split(value, ",")
		}
		f.StringSliceVar(to, name, fallback, fmt.Sprintf("%s; may be repeated (or $%s)", usage, variableOf(name)))
	}
	text(&o.Issuer, "oidc-issuer", "", "`URL` of an OpenID Connect issuer whose tokens count like keys")
	list(&o.Audiences, "oidc-audience", nil, "`NAME` of this service, for which the tokens have to be")
	text(&o.Tenant, "oidc-tenant", "", "`NAME` of the tenant of all tokens; empty: --oidc-tenant-claim says it")
	text(&o.TenantClaim, "oidc-tenant-claim", "", "`CLAIM` with the name of the tenant; empty: tenant")
	text(&o.UserClaim, "oidc-user-claim", "sub", "`CLAIM` with the user, which no user can change")
	text(&o.GroupsClaim, "oidc-groups-claim", "groups", "`CLAIM` with groups, which are the user's teams")
	text(&o.TeamPrefix, "oidc-team-prefix", "", "`TEXT` with which groups begin that are teams; it is left out of the team's name")
	text(&o.right, "oidc-right", string(service.Write), "`RIGHT` of tokens that say nothing else: read, write or admin")
	text(&o.RightClaim, "oidc-right-claim", "", "`CLAIM` with read, write or admin")
	list(&o.AdminGroups, "oidc-admin-group", nil, "`GROUP` whose members are admins")
	list(&o.scopes, "oidc-scope", []string{"openid"}, "`SCOPE` that MCP clients ask the issuer for")
	text(&o.publicURL, "public-url", "", "`URL` by which clients reach the service, as metadata for MCP clients say; empty: that of each request")
}

func variableOf(flag string) string {
	return "MEMCORE_SERVICE_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// verifier returns nil without an issuer. It only warns of an issuer that does not answer yet: keys
// work without it.
func (o tokenOptions) verifier(ctx context.Context, log *slog.Logger) (*oidc.Verifier, error) {
	if o.Issuer == "" {
		if len(o.Audiences) > 0 || o.Tenant != "" || o.TenantClaim != "" {
			return nil, kind.Usagef("there are settings of tokens, but no issuer: name it with --oidc-issuer")
		}
		return nil, nil
	}
	o.Options.Right, o.Logger = service.Right(o.right), log
	if o.Tenant == "" && o.TenantClaim == "" {
		o.TenantClaim = "tenant"
	}
	v, err := oidc.New(o.Options)
	if err != nil {
		return nil, err
	}
	_ = v.Check(ctx) // it logs
	return v, nil
}

// Package oidc verifies tokens of an OpenID Connect issuer for a service.
//
// A token is a JWT, signed by the issuer with an asymmetric key, with the service as its audience.
// Its claims say who asks. A Verifier asks the issuer when it first needs to, and again from time
// to time. While the issuer is away, known keys count for a while.
package oidc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
)

// Options say whose tokens count, and what their claims mean. Issuer, Audiences and one of Tenant
// and TenantClaim are required. A claim is a name in the token, or a path with dots, such as
// realm_access.roles.
type Options struct {
	// Issuer is the URL by which the issuer names itself. It needs TLS unless it is on this
	// machine.
	Issuer string
	// Audiences are names of this service, of which a token has one.
	Audiences []string
	// Tenant is all tokens' tenant; "" takes it from TenantClaim.
	Tenant, TenantClaim string
	UserClaim           string // "" is sub
	GroupsClaim         string // a list of texts, or one text; "" is groups
	// TeamPrefix begins the groups that are teams; the rest is the team's name. It may be "".
	TeamPrefix string
	// Right is for tokens without one in RightClaim (read, write or admin; the highest counts)
	// whose user is in none of AdminGroups; "" is write.
	Right       service.Right
	RightClaim  string
	AdminGroups []string
	// Skew of clocks; 0 is 30 s.
	Skew time.Duration
	// Pause between questions to the issuer that others can cause; 0 is 10 s.
	Pause  time.Duration
	Logger *slog.Logger
}

// An Identity is what a valid token says.
type Identity struct {
	Tenant, User string
	Teams        []string // as the issuer names them: not all need be names of teams
	Right        service.Right
	Expires      time.Time
}

// algorithms are asymmetric: whoever can verify a token cannot make one.
var algorithms = []string{oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA}

const (
	// longestToken is in bytes.
	longestToken = 16 << 10
	// renewed is how old the issuer's description and keys may be. A withdrawn key counts until
	// then.
	renewed = 5 * time.Minute
	// askTimeout bounds a question to the issuer.
	askTimeout = 3 * time.Second
)

// A Verifier is safe for concurrent use.
type Verifier struct {
	o      Options
	client *http.Client

	asking chan struct{} // has a place for who asks the issuer
	known  *issuer       // guarded by asking
}

// An issuer is one that has described itself.
type issuer struct {
	verifier *oidc.IDTokenVerifier
	at       time.Time
}

// New returns a verifier, without asking the issuer.
func New(o Options) (*Verifier, error) {
	u, err := url.Parse(o.Issuer)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, kind.Usagef("the issuer is %.200q, want the URL by which it names itself, such as https://id.example", o.Issuer)
	case u.Scheme != "https" && !(u.Scheme == "http" && isLocal(u.Hostname())):
		return nil, kind.Usagef("the issuer %s is reached without TLS: whoever is between could make tokens", o.Issuer)
	case len(o.Audiences) == 0 || slices.Contains(o.Audiences, ""):
		return nil, kind.Hint(kind.Usagef("the audience of tokens is missing: those for other services of the issuer would count"), "name this service as the issuer does")
	case (o.Tenant == "") == (o.TenantClaim == ""):
		return nil, kind.Usagef("name either the tenant of all tokens, or the claim that has it")
	}
	o.UserClaim, o.GroupsClaim, o.Right = cmp.Or(o.UserClaim, "sub"), cmp.Or(o.GroupsClaim, "groups"), cmp.Or(o.Right, service.Write)
	o.Skew, o.Pause = cmp.Or(o.Skew, 30*time.Second), cmp.Or(o.Pause, 10*time.Second)
	if !slices.Contains(service.AllRights, o.Right) {
		return nil, kind.Usagef("the right of tokens is %.80q, want one of %q", o.Right, service.AllRights)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Verifier{o: o, client: &http.Client{Timeout: askTimeout, Transport: newKept(o.Pause)}, asking: make(chan struct{}, 1)}, nil
}

func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// IsToken reports whether a secret looks like a token.
func IsToken(secret string) bool { return strings.Count(secret, ".") == 2 }

// Check asks the issuer for its description, to find out early that it is away.
func (v *Verifier) Check(ctx context.Context) error {
	_, err := v.issuer(ctx)
	return err
}

// Verify returns what a token says. Errors are a service.ErrKey for an invalid token, of
// kind.Forbidden for claims that do not fit, and of kind.Unavailable if the issuer's keys are
// unknown.
func (v *Verifier) Verify(ctx context.Context, token string) (Identity, error) {
	if len(token) > longestToken {
		return Identity{}, service.Refused("the token has more than %d bytes", longestToken)
	}
	known, err := v.issuer(ctx)
	if err != nil {
		return Identity{}, err
	}
	var unanswered error
	valid, err := known.verifier.Verify(context.WithValue(ctx, unansweredKey{}, &unanswered), token)
	var expired *oidc.TokenExpiredError
	switch {
	case unanswered != nil:
		return Identity{}, unavailable(unanswered)
	case ctx.Err() != nil:
		return Identity{}, ctx.Err()
	case errors.As(err, &expired):
		return Identity{}, service.Refused("the token has expired at %s", expired.Expiry.UTC().Format(time.RFC3339))
	case err != nil:
		return Identity{}, service.Refused("the token is refused: %.300s", strings.TrimPrefix(err.Error(), "oidc: "))
	case !slices.ContainsFunc(valid.Audience, func(a string) bool { return slices.Contains(v.o.Audiences, a) }):
		return Identity{}, service.Refused("the token is for %.200q, not for this service (%q)", valid.Audience, v.o.Audiences)
	}
	var claims map[string]any
	if err := valid.Claims(&claims); err != nil {
		return Identity{}, service.Refused("the claims of the token cannot be read")
	}
	return v.identity(claims, valid.Expiry)
}

// unavailable is for questions that only the issuer can answer.
func unavailable(err error) error {
	return kind.As(kind.Unavailable, fmt.Errorf("the issuer of tokens does not answer: %w", err))
}

// issuer returns what is known of the issuer, asked again if that is old. Concurrent requests share
// the question.
func (v *Verifier) issuer(ctx context.Context) (*issuer, error) {
	select {
	case v.asking <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-v.asking }()
	if v.known != nil && time.Since(v.known.at) < renewed {
		return v.known, nil
	}
	// The question outlives this request: others wait for the answer.
	all, stop := context.WithTimeout(oidc.ClientContext(context.WithoutCancel(ctx), v.client), askTimeout)
	defer stop()
	provider, err := oidc.NewProvider(all, v.o.Issuer)
	var about struct {
		Keys string `json:"jwks_uri"`
	}
	if err == nil {
		err = provider.Claims(&about)
	}
	if err != nil {
		v.o.Logger.Warn("the issuer of tokens is not known", "issuer", v.o.Issuer, "error", err)
		return nil, unavailable(err)
	}
	keys := keySet{oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), v.client), about.Keys)}
	v.known = &issuer{oidc.NewVerifier(v.o.Issuer, keys, &oidc.Config{
		SkipClientIDCheck: true, SupportedSigningAlgs: algorithms, Now: func() time.Time { return time.Now().Add(-v.o.Skew) },
	}), time.Now()}
	return v.known, nil
}

// identity reads claims.
func (v *Verifier) identity(claims map[string]any, expires time.Time) (id Identity, err error) {
	id = Identity{Tenant: v.o.Tenant, Right: v.o.Right, Expires: expires}
	if id.User, err = textOf(claims, v.o.UserClaim); err != nil {
		return Identity{}, err
	}
	if v.o.TenantClaim != "" {
		if id.Tenant, err = textOf(claims, v.o.TenantClaim); err != nil {
			return Identity{}, err
		}
	}
	if v.o.RightClaim != "" {
		named := textsOf(claims, v.o.RightClaim)
		for _, right := range service.AllRights { // the highest is the last
			if slices.Contains(named, string(right)) {
				id.Right = right
			}
		}
	}
	for _, group := range textsOf(claims, v.o.GroupsClaim) {
		if slices.Contains(v.o.AdminGroups, group) {
			id.Right = service.Admin
		}
		if team, ok := strings.CutPrefix(group, v.o.TeamPrefix); ok {
			id.Teams = append(id.Teams, team)
		}
	}
	return id, nil
}

// valueOf returns a claim by its name, or by a path with dots.
func valueOf(claims map[string]any, name string) any {
	if value, ok := claims[name]; ok {
		return value
	}
	first, rest, isPath := strings.Cut(name, ".")
	if inner, ok := claims[first].(map[string]any); ok && isPath {
		return valueOf(inner, rest)
	}
	return nil
}

// textsOf returns a claim that is a text or a list of texts. It ignores other values.
func textsOf(claims map[string]any, name string) (all []string) {
	switch value := valueOf(claims, name).(type) {
	case string:
		return []string{value}
	case []any:
		for _, one := range value {
			if text, ok := one.(string); ok {
				all = append(all, text)
			}
		}
	}
	return all
}

// textOf returns a claim that must be one text, or a list of one.
func textOf(claims map[string]any, name string) (string, error) {
	texts := textsOf(claims, name)
	if len(texts) != 1 || texts[0] == "" {
		found, _ := json.Marshal(valueOf(claims, name))
		return "", kind.As(kind.Forbidden, fmt.Errorf("the claim %s of the token is %.100s, want one text", name, found))
	}
	return texts[0], nil
}

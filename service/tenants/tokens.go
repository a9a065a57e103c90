package tenants

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
)

// tokenKey is the Principal.Key for tokens. No key has this ID.
const tokenKey = "oidc"

// withToken returns the principal of a token for a tenant.
func (all Keys) withToken(ctx context.Context, tenant, token string) (p service.Principal, err error) {
	id, err := all.tokens.Verify(ctx, token)
	switch {
	case kind.Of(err) == kind.Unavailable:
		all.log.Warn("a token was not verified", "error", err)
		return p, &httpapi.Error{Status: http.StatusServiceUnavailable, Message: "the issuer of tokens does not answer: try again"}
	case err != nil:
		return p, err
	case id.Tenant != tenant:
		return p, kind.As(kind.Forbidden, errors.New("the token is for another tenant"))
	}
	teams, err := teamsOfGroups(id.Teams)
	if err != nil {
		return p, err
	}
	of, err := all.db.Keys().ByName(ctx, tenant, userOf(id.User), teams)
	if kind.Of(err) == kind.NotFound {
		err = service.Refused("there is no tenant %.80q here, which the token is for", tenant)
	}
	if err != nil {
		return p, err
	}
	return principalOf(of, tokenKey, id.Right, id.Expires)
}

// hashedUser begins the names of users whose subject is no valid name here.
const hashedUser = "id-"

// userOf returns a user's name for a subject of the issuer: a valid name stays, all else is hashed,
// so that no two subjects get one name. A key for that name is for the same user.
func userOf(subject string) string {
	if checkName("user", subject) == nil && !strings.HasPrefix(subject, hashedUser) {
		return subject
	}
	sum := sha256.Sum256([]byte(subject))
	return hashedUser + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:25]))
}

// teamsOfGroups takes groups with valid names as teams. It changes no name: two that differ in case
// would become one.
func teamsOfGroups(groups []string) ([]string, error) {
	var names []string
	for _, group := range groups {
		if checkName("team", group) == nil {
			names = append(names, group)
		}
	}
	teams, err := teamsOf(names)
	if err != nil {
		return nil, kind.As(kind.Forbidden, fmt.Errorf("the token has too many groups that are teams: %w; the operator can choose with --oidc-team-prefix which are", err))
	}
	return teams, nil
}

// Issuer is an OpenID provider for tests: the one of github.com/zitadel/oidc, whose users, claims,
// keys and lifetimes a test sets. It is a module of its own, so that the program needs nothing of
// it.
//
//	issuer [-listen ADDRESS]
//
// Its first line says "issuer URL". It ends with its standard input. Every user and client has the
// password "secret"; a client is also the user that it gets tokens for with its own credentials.
// POST /control takes a control.
package main

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	jose "github.com/go-jose/go-jose/v4"
	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "`ADDRESS`")
	flag.Parse()
	if err := run(*listen); err != nil {
		fmt.Fprintln(os.Stderr, "issuer:", err)
		os.Exit(1)
	}
}

func run(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	issuer := "http://" + listener.Addr().String()
	p := &provider{Storage: storage.NewStorageWithClients(users{}, nil), claims: map[string]map[string]any{}, audience: []string{"memcore"}, lifetime: 5 * time.Minute}
	if err := p.rotate(); err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /control", p.serveControl)
	mux.Handle("/", exampleop.SetupServer(issuer, p, slog.New(slog.DiscardHandler), false))
	fmt.Println("issuer", issuer)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return http.Serve(listener, mux)
}

// password is that of all users and clients.
const password = "secret"

// users has a user for each name.
type users struct{}

func (users) ExampleClientID() string { return "service" }

func (users) GetUserByID(id string) *storage.User {
	return &storage.User{ID: id, Username: id, Password: password, Email: id + "@example.com"}
}

func (u users) GetUserByUsername(name string) *storage.User { return u.GetUserByID(name) }

// A provider is the storage of the example with what tests set.
type provider struct {
	*storage.Storage

	mu       sync.Mutex
	claims   map[string]map[string]any // of access tokens, by subject
	audience []string                  // of all tokens
	lifetime time.Duration
	keys     []key // the last one signs
}

// A control changes the provider; empty fields change nothing.
type control struct {
	Subject  string         `json:"subject"`
	Claims   map[string]any `json:"claims"` // of the subject, instead of the former ones
	Audience []string       `json:"audience"`
	Lifetime string         `json:"lifetime"`
	Rotate   bool           `json:"rotate"`   // sign with a new key
	Withdraw bool           `json:"withdraw"` // forget all keys but the last
}

func (p *provider) serveControl(w http.ResponseWriter, r *http.Request) {
	var c control
	err := json.NewDecoder(r.Body).Decode(&c)
	if err == nil {
		err = p.change(c)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func (p *provider) change(c control) error {
	if c.Rotate {
		if err := p.rotate(); err != nil {
			return err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.Subject != "" {
		p.claims[c.Subject] = c.Claims
	}
	if c.Audience != nil {
		p.audience = c.Audience
	}
	if c.Withdraw {
		p.keys = p.keys[len(p.keys)-1:]
	}
	if c.Lifetime == "" {
		return nil
	}
	lifetime, err := time.ParseDuration(c.Lifetime)
	p.lifetime = lifetime
	return err
}

// A key signs, and is published.
type key struct {
	id      string
	private *rsa.PrivateKey
}

func (p *provider) rotate() error {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keys = append(p.keys, key{rand.Text(), private})
	return nil
}

func (k key) ID() string                                  { return k.id }
func (k key) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (k key) Key() any                                    { return k.private }

type publicKey struct{ key }

func (k publicKey) Algorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (k publicKey) Use() string                        { return "sig" }
func (k publicKey) Key() any                           { return &k.private.PublicKey }

// SigningKey implements op.Storage.
func (p *provider) SigningKey(context.Context) (op.SigningKey, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.keys[len(p.keys)-1], nil
}

// KeySet implements op.Storage.
func (p *provider) KeySet(context.Context) (all []op.Key, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, k := range p.keys {
		all = append(all, publicKey{k})
	}
	return all, nil
}

// GetPrivateClaimsFromScopes implements op.Storage.
func (p *provider) GetPrivateClaimsFromScopes(_ context.Context, user, _ string, _ []string) (map[string]any, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.claims[user], nil
}

// CreateAccessToken implements op.Storage.
func (p *provider) CreateAccessToken(ctx context.Context, request op.TokenRequest) (string, time.Time, error) {
	id, _, err := p.Storage.CreateAccessToken(ctx, request)
	p.mu.Lock()
	defer p.mu.Unlock()
	return id, time.Now().Add(p.lifetime), err
}

// A client is one of the example with access tokens that others can verify.
type client struct{ *storage.Client }

func (client) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeJWT }

func (c client) GrantTypes() []oidc.GrantType {
	return append(c.Client.GrantTypes(), oidc.GrantTypeClientCredentials)
}

// GetClientByClientID implements op.Storage.
func (p *provider) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	return client{storage.WebClient(id, password, "http://127.0.0.1/callback")}, nil
}

var errPassword = errors.New("wrong password")

// AuthorizeClientIDSecret implements op.Storage.
func (p *provider) AuthorizeClientIDSecret(_ context.Context, _, secret string) error {
	if secret != password {
		return errPassword
	}
	return nil
}

// ClientCredentials implements op.ClientCredentialsStorage.
func (p *provider) ClientCredentials(ctx context.Context, id, secret string) (op.Client, error) {
	if err := p.AuthorizeClientIDSecret(ctx, id, secret); err != nil {
		return nil, err
	}
	return p.GetClientByClientID(ctx, id)
}

// ClientCredentialsTokenRequest implements op.ClientCredentialsStorage.
func (p *provider) ClientCredentialsTokenRequest(_ context.Context, id string, scopes []string) (op.TokenRequest, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return &oidc.JWTTokenRequest{Subject: id, Audience: p.audience, Scopes: scopes}, nil
}

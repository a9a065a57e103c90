// Package oidctest starts a real OpenID provider for tests (service/issuer), and forges
// tokens.
package oidctest

import (
	"bufio"
	"bytes"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"io"
	"math/big"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Secret is the password of all users and clients.
const Secret = "secret"

// Audience is that of tokens unless a Control changes it.
const Audience = "memcore"

// A Provider runs until its test ends.
type Provider struct {
	URL   string
	input io.Closer
	done  chan error
}

// Start starts a provider. The first time it is compiled.
func Start(t testing.TB) *Provider { return StartAt(t, "127.0.0.1:0") }

// StartAt is Start at an address.
func StartAt(t testing.TB, address string) *Provider {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	cmd := exec.Command("go", "run", "-C", filepath.Join(filepath.Dir(here), "../../issuer"), ".", "-listen", address)
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0")
	var problems bytes.Buffer
	cmd.Stderr = &problems
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	p := &Provider{input: input, done: make(chan error, 1)}
	go func() { p.done <- cmd.Wait() }()
	t.Cleanup(p.Stop)
	if err != nil {
		_ = input.Close()
		<-p.done
		p.done <- nil
		t.Fatalf("the provider does not start: %v: %s", err, problems.String())
	}
	p.URL = strings.TrimSpace(strings.TrimPrefix(line, "issuer "))
	return p
}

// Stop ends the provider.
func (p *Provider) Stop() {
	_ = p.input.Close()
	err := <-p.done
	p.done <- err // for the next call
}

// A Control changes the provider; empty fields change nothing.
type Control struct {
	Subject  string         `json:"subject,omitempty"`
	Claims   map[string]any `json:"claims,omitempty"`
	Audience []string       `json:"audience,omitempty"`
	Lifetime string         `json:"lifetime,omitempty"`
	Rotate   bool           `json:"rotate,omitempty"`
	Withdraw bool           `json:"withdraw,omitempty"`
}

// Do changes the provider.
func (p *Provider) Do(t testing.TB, c Control) {
	t.Helper()
	body, err := json.Marshal(c)
	require.NoError(t, err)
	response, err := http.Post(p.URL+"/control", "application/json", bytes.NewReader(body))
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
}

// Token returns a token that a subject gets with its own credentials.
func (p *Provider) Token(t testing.TB, subject string) string {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, p.URL+"/oauth/token", strings.NewReader("grant_type=client_credentials&scope=openid"))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(url.QueryEscape(subject), Secret)
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer response.Body.Close()
	var answer struct {
		Token string `json:"access_token"`
	}
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &answer), "%s", text)
	require.NotEmpty(t, answer.Token, "%s", text)
	return answer.Token
}

// TokenWith is Token for a subject that has some claims.
func (p *Provider) TokenWith(t testing.TB, subject string, claims map[string]any) string {
	t.Helper()
	p.Do(t, Control{Subject: subject, Claims: claims})
	return p.Token(t, subject)
}

// Forged returns tokens that nobody should take, by what is wrong: with the claims of a valid
// token, changed for some of them.
func (p *Provider) Forged(t testing.TB, valid string, changed map[string]any) map[string]string {
	t.Helper()
	header, payload := part(t, valid, 0), part(t, valid, 1)
	parts := strings.Split(valid, ".")
	var claims, head map[string]any
	require.NoError(t, json.Unmarshal(payload, &claims))
	require.NoError(t, json.Unmarshal(header, &head))
	for name, value := range changed {
		claims[name] = value
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	public := p.publicKey(t, head["kid"].(string))
	with := func(changes map[string]any) string { return encode(t, merged(head, changes)) + "." + encode(t, claims) }
	unsigned := with(nil)
	jwk := map[string]any{"kty": "RSA", "n": base64.RawURLEncoding.EncodeToString(other.N.Bytes()), "e": "AQAB"}
	return map[string]string{
		"alg none":                   with(map[string]any{"alg": "none"}) + ".",
		"alg None":                   with(map[string]any{"alg": "None"}) + ".",
		"alg none with a signature":  with(map[string]any{"alg": "none"}) + "." + parts[2],
		"no alg":                     with(map[string]any{"alg": ""}) + "." + parts[2],
		"HS256 with the public key":  byHMAC(with(map[string]any{"alg": "HS256"}), public),
		"HS256 with an empty key":    byHMAC(with(map[string]any{"alg": "HS256"}), nil),
		"another key":                byRSA(t, unsigned, other),
		"another key of unknown ID":  byRSA(t, with(map[string]any{"kid": "unknown"}), other),
		"another key without an ID":  byRSA(t, with(map[string]any{"kid": ""}), other),
		"another key in its header":  byRSA(t, with(map[string]any{"jwk": jwk}), other),
		"another key by an address":  byRSA(t, with(map[string]any{"jku": "http://127.0.0.1:1/keys"}), other),
		"other claims":               unsigned[:strings.LastIndex(unsigned, ".")] + "." + encode(t, merged(claims, map[string]any{"jti": "x"})) + "." + parts[2],
		"no signature":               unsigned + ".",
		"another signature":          unsigned + "." + strings.Repeat("A", len(parts[2])),
		"no claims":                  parts[0] + ".." + parts[2],
		"no JSON":                    base64.RawURLEncoding.EncodeToString([]byte("x")) + "." + parts[1] + "." + parts[2],
		"critical header":            with(map[string]any{"crit": []string{"exp"}}) + "." + parts[2],
		"three dots":                 valid + ".x",
		"too long":                   parts[0] + "." + parts[1] + "." + strings.Repeat("A", 20_000),
		"the issuer's own encrypted": "a.b.c",
	}
}

func merged(a, b map[string]any) map[string]any {
	all := map[string]any{}
	for _, some := range []map[string]any{a, b} {
		for name, value := range some {
			all[name] = value
		}
	}
	return all
}

func part(t testing.TB, token string, i int) []byte {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[i])
	require.NoError(t, err)
	return data
}

func encode(t testing.TB, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	require.NoError(t, err)
	return base64.RawURLEncoding.EncodeToString(data)
}

func byHMAC(text string, key []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func byRSA(t testing.TB, text string, key *rsa.PrivateKey) string {
	t.Helper()
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])
	require.NoError(t, err)
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// publicKey returns a key of the provider as PEM.
func (p *Provider) publicKey(t testing.TB, id string) []byte {
	t.Helper()
	response, err := http.Get(p.URL + "/keys")
	require.NoError(t, err)
	defer response.Body.Close()
	var set struct {
		Keys []struct{ Kid, N, E string }
	}
	require.NoError(t, json.NewDecoder(response.Body).Decode(&set))
	for _, k := range set.Keys {
		if k.Kid != id {
			continue
		}
		n, err := base64.RawURLEncoding.DecodeString(k.N)
		require.NoError(t, err)
		e, err := base64.RawURLEncoding.DecodeString(k.E)
		require.NoError(t, err)
		der, err := x509.MarshalPKIXPublicKey(&rsa.PublicKey{N: new(big.Int).SetBytes(n), E: int(new(big.Int).SetBytes(e).Int64())})
		require.NoError(t, err)
		return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	}
	t.Fatalf("the provider has no key %s", id)
	return nil
}

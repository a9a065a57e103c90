// Package remote asks a memory service: memory that a team keeps on a server.
//
//	c, err := remote.New("https://memory.example/v1/tenants/acme", key, remote.Options{})
//	found, err := c.Retrieve(ctx, remote.RetrieveRequest{Query: "How do we rotate keys?"})
//
// Most programs use Retrieve at each turn, Context once a session, and Save or Put to add to
// memory. Texts of answers are data from outside: only Retrieved.Block and what Context returns are
// made for a model.
//
// Calls end with their ctx. Reads, Put and Delete are repeated if the service is busy or the
// connection breaks. Save is not: it could save twice.
package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/internal/web/baseurl"
	"github.com/memcore/memcore/internal/web/origin"
	"github.com/memcore/memcore/internal/web/reply"
)

// Options change what New does by default.
type Options struct {
	// AllowHTTP also sends the key over connections without encryption. To this machine itself it
	// may always be sent.
	AllowHTTP bool
	// Transport carries the requests; nil is http.DefaultTransport.
	Transport http.RoundTripper
	// Tries is how often a call is tried; 0 means 4, 1 repeats nothing.
	Tries int
	// RetryFor bounds the time from the first try to the last; 0 means 20 s. If the service asks
	// for a longer wait, the call fails at once.
	RetryFor time.Duration
	// Timeout bounds each try; 0 means 30 s.
	Timeout time.Duration
}

const (
	defaultTries    = 4
	defaultRetryFor = 20 * time.Second
	defaultTimeout  = 30 * time.Second
	// maxAnswer is in bytes.
	maxAnswer = 64 << 20
)

// A Client asks one tenant's memory. It is safe for concurrent use.
type Client struct {
	base    *url.URL
	key     func() string // so that fmt does not print it
	http    *http.Client
	options Options
	atLeast int64
}

// ErrInsecure means that the key would be sent without encryption.
var ErrInsecure = errors.New("would get the key without encryption: use https")

// New returns a Client for a tenant's address, such as https://memory.example/v1/tenants/acme. It
// sends no request.
func New(address, key string, o Options) (*Client, error) {
	base, err := baseurl.Parse(strings.TrimRight(address, "/"))
	switch {
	case err != nil:
		return nil, errors.New("the address of the memory service is not of the form https://host/v1/tenants/NAME")
	case base.User != nil:
		return nil, errors.New("the address of the memory service has a user or password: the key is all it needs")
	case base.Scheme == "http" && !o.AllowHTTP && !origin.IsLocal(base.Host):
		return nil, fmt.Errorf("memory service %s %w", base.Host, ErrInsecure)
	case key == "" || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return nil, errors.New("the key of the memory service is empty, or has spaces or other characters that no key has")
	}
	o.Tries = cmp.Or(max(o.Tries, 0), defaultTries)
	o.RetryFor = cmp.Or(max(o.RetryFor, 0), defaultRetryFor)
	o.Timeout = cmp.Or(max(o.Timeout, 0), defaultTimeout)
	return &Client{base: base, key: func() string { return key }, http: reply.Client(o.Transport, maxAnswer+1), options: o}, nil
}

// Host is the service's host, with its port if the address has one.
func (c *Client) Host() string { return c.base.Host }

// AtLeast returns a Client whose reads see the version that a write returned, or a later one.
func (c *Client) AtLeast(version int64) *Client {
	later := *c
	later.atLeast = max(c.atLeast, version)
	return &later
}

// An Identity says whose key it is, and what it allows.
type Identity struct {
	Tenant  string    `json:"tenant"`
	User    string    `json:"user"`
	Teams   []string  `json:"teams,omitempty"`  // of the user
	Rights  []string  `json:"rights"`           // "read", "write", …
	Expires time.Time `json:"expires,omitzero"` // zero: never
}

// Whoami returns whose key it is.
func (c *Client) Whoami(ctx context.Context) (Identity, error) {
	var who Identity
	if err := c.read(ctx, http.MethodGet, "/whoami", nil, &who); err != nil {
		return Identity{}, err
	}
	if who.Tenant == "" {
		return Identity{}, c.failed(errors.New("its answer names no tenant: is the address that of a memory service?"))
	}
	return who, nil
}

// A RetrieveRequest asks what is relevant for a turn. Only Query is required.
type RetrieveRequest struct {
	Query         string  `json:"query"` // the text of the user's turn
	Scope         string  `json:"scope,omitempty"`
	Path          string  `json:"path,omitempty"` // a document, or a folder of documents
	Kind          string  `json:"kind,omitempty"`
	Limit         int     `json:"limit,omitempty"`
	TokenBudget   int     `json:"tokenBudget,omitempty"`
	MinSimilarity float64 `json:"minSimilarity,omitempty"`
	Explain       bool    `json:"explain,omitempty"`
	// Given is what the conversation was given before, which is not given again.
	Given []string `json:"given,omitempty"`
	// Since, Until and Now are RFC 3339, a date, or words such as "last week".
	Since string `json:"since,omitempty"`
	Until string `json:"until,omitempty"`
	Now   string `json:"now,omitempty"`
}

// Retrieved is what is relevant, and a block for a model.
type Retrieved struct {
	core.Result
	Block    string              `json:"block"` // "" for nothing
	Findings []formatter.Finding `json:"findings,omitempty"`
}

// Retrieve returns what is relevant for a turn.
func (c *Client) Retrieve(ctx context.Context, r RetrieveRequest) (found Retrieved, err error) {
	err = c.read(ctx, http.MethodPost, "/retrieve", r, &found)
	return found, err
}

// A SearchRequest searches, also for weak hits. Its fields are as in RetrieveRequest.
type SearchRequest struct {
	Query         string  `json:"query"`
	Scope         string  `json:"scope,omitempty"`
	Path          string  `json:"path,omitempty"`
	Kind          string  `json:"kind,omitempty"`
	Limit         int     `json:"limit,omitempty"`
	MinSimilarity float64 `json:"minSimilarity,omitempty"`
	Explain       bool    `json:"explain,omitempty"`
	Sessions      bool    `json:"sessions,omitempty"` // only conversations, and notes of sessions
	Session       string  `json:"session,omitempty"`  // only this one
	Exact         bool    `json:"exact,omitempty"`    // only what holds the query as it is written
	Since         string  `json:"since,omitempty"`
	Until         string  `json:"until,omitempty"`
	Now           string  `json:"now,omitempty"`
}

// Search returns the best hits, also weak ones.
func (c *Client) Search(ctx context.Context, r SearchRequest) (found core.Result, err error) {
	err = c.read(ctx, http.MethodPost, "/search", r, &found)
	return found, err
}

// Context returns the curated memory of tenant and user, as text for a system prompt.
func (c *Client) Context(ctx context.Context) (string, error) {
	var answer struct {
		Text string `json:"text"`
	}
	err := c.read(ctx, http.MethodPost, "/context", struct{}{}, &answer)
	return answer.Text, err
}

// A SaveRequest has something to remember. Only Content is required.
type SaveRequest struct {
	Content    string `json:"content"`              // Markdown; one line becomes an item of a list
	Section    string `json:"section,omitempty"`    // heading to add it under
	Target     string `json:"target,omitempty"`     // "project", the tenant's (default), or "global", the user's
	Supersedes string `json:"supersedes,omitempty"` // the older statement that this one corrects
}

// Save saves a statement in curated memory. It is tried once.
func (c *Client) Save(ctx context.Context, r SaveRequest) (answer tools.Answer, err error) {
	body := struct {
		Arguments SaveRequest `json:"arguments"`
	}{r}
	err = c.call(ctx, request{method: http.MethodPost, path: "/save", body: encode(body), json: true, unsafe: true}, &answer)
	return answer, err
}

// read asks something that may be asked again.
func (c *Client) read(ctx context.Context, method, path string, body, answer any) error {
	r := request{method: method, path: path, header: http.Header{}}
	if body != nil {
		r.body, r.json = encode(body), true
	}
	if c.atLeast > 0 {
		r.header.Set("Memcore-At-Least", fmt.Sprint(c.atLeast))
	}
	return c.call(ctx, r, answer)
}

// encode encodes requests of this package, which JSON can always hold.
func encode(body any) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(body)
	return b.Bytes()
}

// Package service serves the memories of many tenants over HTTP: as JSON, and as MCP.
//
// Each request has the key of a tenant's user. Who asks, for which tenant and with which right, is
// decided here and nowhere else; a Node is only called with the Principal of the key.
package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/memcore/memcore/inject/turn"
)

// A Right is what a key may do. Each includes those before it in AllRights.
type Right string

// Rights.
const (
	Read  Right = "read"  // ask
	Write Right = "write" // also change documents that do not act as instruction, and the user's own
	Admin Right = "admin" // also change what instructs all users of the tenant or a team, and its keys
)

// AllRights are ordered.
var AllRights = []Right{Read, Write, Admin}

// Includes reports whether who has a right also has another.
func (r Right) Includes(other Right) bool {
	return slices.Index(AllRights, r) >= slices.Index(AllRights, other)
}

// A Principal is who a request is from.
type Principal struct {
	Tenant, User string
	Teams        []string // of the user within the tenant, sorted
	TenantID     string   // never used again, even if the name of the tenant is
	Key          string   // its ID
	Right        Right
	Expires      time.Time // zero for never
}

// ErrKey means that a key is not known, or no longer valid.
var ErrKey = errors.New("the key is missing, wrong, of another tenant, expired or revoked: Authorization: Bearer mck_…")

// Refused returns an ErrKey with a text of its own.
func Refused(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }

type refusal string

func (r refusal) Error() string       { return string(r) }
func (r refusal) Is(other error) bool { return other == ErrKey }

// A Key is an API key.
type Key struct {
	ID      string    `json:"id"`
	Tenant  string    `json:"tenant"`
	User    string    `json:"user"`
	Teams   []string  `json:"teams,omitempty"`
	Right   Right     `json:"right"`
	Name    string    `json:"name,omitempty"` // what it is for
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires,omitzero"`
	// Secret is what a client sends; only a new key has it.
	Secret string `json:"secret,omitempty"`
}

// A Document of a tenant.
type Document struct {
	Path    string    `json:"path"` // "~/…" for the user's own, "@platform/…" for that of a team
	Version int64     `json:"version"`
	Bytes   int64     `json:"bytes"`
	By      string    `json:"by"` // user and ID of the key that wrote it
	At      time.Time `json:"at"`
	Text    string    `json:"text,omitempty"`
	Gone    bool      `json:"gone,omitempty"` // in a history
}

// Documents are listed.
type Documents struct {
	Documents []Document `json:"documents"`
	Version   int64      `json:"version"`        // of the memory
	More      bool       `json:"more,omitempty"` // there are earlier ones
}

// A Page is a part of a history: the newest revisions before a version, or of all for 0.
type Page struct {
	Before int64
	Limit  int // of revisions
}

// A Written answers a change.
type Written struct {
	Path    string `json:"path,omitempty"`
	Version int64  `json:"version"` // that has the change
}

// A Condition is about the version of a document that is to be changed.
type Condition struct {
	Match int64 // it must have this version; 0 for any
	New   bool  // it must not exist
}

// Limits bound a tenant. 0 and less are no limit.
type Limits struct {
	PerSecond     float64 `json:"rate,omitempty"` // requests to a node
	MostDocuments int     `json:"mostDocuments,omitempty"`
	MostBytes     int64   `json:"mostBytes,omitempty"`
	// MostEmbedded are tokens of documents that a node embeds in a day.
	MostEmbedded int64 `json:"mostEmbedded,omitempty"`
}

// Usage is what a tenant has and may have.
type Usage struct {
	Documents int   `json:"documents"`
	Bytes     int64 `json:"bytes"`
	Limits
	Embedder string `json:"embedder,omitempty"` // if it is the tenant's own
	Model    string `json:"model,omitempty"`
}

// A Node has the memories of tenants. Its methods are safe for concurrent use and return soon after
// ctx ends. They see nothing but the principal's tenant, and in it what all users share, what the
// principal's teams have and what is the user's own.
type Node interface {
	// Authenticate returns who has a key or a token for a tenant, or ErrKey, also if there is no
	// such tenant.
	Authenticate(ctx context.Context, tenant, secret string) (Principal, error)
	// Fresh brings the memory in step with the storage: not older than the node's age, and at least
	// a version. It returns the version that requests see from now on.
	Fresh(ctx context.Context, p Principal, atLeast int64) (int64, error)
	// Folder names the memory for httpapi.
	Folder(ctx context.Context, p Principal) (string, error)
	// Write lets do change the memory, and returns the version that has the change.
	Write(ctx context.Context, p Principal, do func() error) (int64, error)

	List(ctx context.Context, p Principal) (Documents, error)
	Get(ctx context.Context, p Principal, path string) (Document, error)
	Put(ctx context.Context, p Principal, path, text string, c Condition) (Written, error)
	Delete(ctx context.Context, p Principal, path string, c Condition) (Written, error)
	// PutAll writes several documents in one step.
	PutAll(ctx context.Context, p Principal, documents []Document) (Written, error)
	// History returns revisions that the log still has, oldest first: of a document, or of all for
	// "", without texts.
	History(ctx context.Context, p Principal, path string, page Page) (Documents, error)
	// Restore gives all documents that the principal sees the texts that they had at a version.
	Restore(ctx context.Context, p Principal, version int64) (Written, error)
	Usage(ctx context.Context, p Principal) (Usage, error)
	// Limits are those of the principal's tenant, as far as is known.
	Limits(p Principal) Limits

	// MCP serves the memory to MCP clients.
	MCP(ctx context.Context, p Principal) (http.Handler, error)
	// Retriever is for turns; system returns what the system message gets.
	Retriever(ctx context.Context, p Principal, use func(m turn.Retriever, system func(context.Context) (turn.System, error)) error) error

	Keys(ctx context.Context, p Principal) ([]Key, error)
	CreateKey(ctx context.Context, p Principal, k Key) (Key, error)
	RevokeKey(ctx context.Context, p Principal, id string) error
	// Ready reports whether the storage answers.
	Ready(ctx context.Context) error
}

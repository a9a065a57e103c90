// Package service serves the memories of many tenants over HTTP, as JSON and as MCP.
//
// Each request has the key of a tenant's user. Only this package decides who asks, for which tenant
// and with which right. It calls a Node with the Principal of the key.
package service

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/memcore/memcore/core/tools"
	"github.com/memcore/memcore/inject/turn"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/service/postgres"
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

// Includes reports whether a right includes another.
func (r Right) Includes(other Right) bool {
	return slices.Index(AllRights, r) >= slices.Index(AllRights, other)
}

// A Principal makes a request.
type Principal struct {
	Tenant, User string
	Teams        []string           // of the user within the tenant, sorted
	Of           postgres.Principal // what the user may see
	Key          string             // its ID
	Right        Right
	Expires      time.Time // zero for never
	Settings     Settings  // of the tenant
}

// ErrKey means that a key is unknown or no longer valid.
var ErrKey = errors.New("the key is missing, wrong, of another tenant, expired or revoked: Authorization: Bearer mck_…")

// Refused returns an ErrKey with another text.
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
type Document = postgres.Document

// Documents are listed.
type Documents struct {
	Documents []Document `json:"documents"`
	Version   int64      `json:"version"`        // of the memory
	More      bool       `json:"more,omitempty"` // there are earlier ones
}

// A Page of a history has the newest revisions before a version; 0 is the latest.
type Page struct {
	Before int64
	Limit  int // of revisions
}

// A Written answers a change.
type Written struct {
	Path    string `json:"path,omitempty"`
	Version int64  `json:"version"` // that has the change
}

// Exported says what an export has: without both, what the principal sees.
type Exported struct {
	User string // what is this user's own
	All  bool   // what all users and teams of the tenant have
}

// A Condition of a change is about the current document.
type Condition struct {
	Match int64 // it must have this version; 0 for any
	New   bool  // it must not exist
}

// Limits of a tenant. 0 and less are no limit.
type Limits struct {
	PerSecond    float64 `json:"rate,omitempty"` // requests to a node
	MaxDocuments int     `json:"maxDocuments,omitempty"`
	MaxBytes     int64   `json:"maxBytes,omitempty"`
	// MaxEmbedded is in tokens of documents, for a node and a day.
	MaxEmbedded int64 `json:"maxEmbedded,omitempty"`
}

// Settings of a tenant. Zero values are the node's.
type Settings struct {
	Limits
	Embedder string `json:"embedder,omitempty"` // as the setting
	Model    string `json:"model,omitempty"`    // of an embedder that is a server
}

// A Tenant owns a memory and shares nothing with others.
type Tenant struct {
	Name    string    `json:"name"`
	Created time.Time `json:"created"`
	Settings
}

// Usage is what a tenant has and may have.
type Usage struct {
	Documents int   `json:"documents"`
	Bytes     int64 `json:"bytes"`
	History   int64 `json:"history"` // bytes of replaced and removed texts
	Limits
	Embedder string `json:"embedder,omitempty"` // if it is the tenant's own
	Model    string `json:"model,omitempty"`
}

// Keys say who asks. Their methods are safe for concurrent use, as those of Tenants and Node are.
type Keys interface {
	// Authenticate returns the owner of a key or token, or ErrKey, also for an unknown tenant.
	Authenticate(ctx context.Context, tenant, secret string) (Principal, error)
	// AsOperator returns the operator as an admin of a tenant.
	AsOperator(ctx context.Context, tenant string) (Principal, error)
	// List, Create and Revoke are for keys of the principal's tenant.
	List(ctx context.Context, p Principal) ([]Key, error)
	Create(ctx context.Context, p Principal, k Key) (Key, error)
	Revoke(ctx context.Context, p Principal, id string) error
}

// Tenants are who has memory.
type Tenants interface {
	List(ctx context.Context) ([]Tenant, error)
	Create(ctx context.Context, name string) (Tenant, error)
	Set(ctx context.Context, name string, change func(*Settings) error) (Tenant, error)
	// Delete removes a tenant with its keys, documents and history.
	Delete(ctx context.Context, name string) error
	// DeleteUser removes a user's own documents with their history, and the user's keys.
	DeleteUser(ctx context.Context, p Principal, user string) error
	// DeleteTeam removes a team's documents with their history. Keys lose the team.
	DeleteTeam(ctx context.Context, p Principal, team string) error
}

// A Node has the memories of tenants. Its methods return soon after ctx ends. Of the principal's
// tenant they see what all users share, what the principal's teams share, and the user's own; of
// other tenants nothing.
type Node interface {
	// Await returns once what has a version can be read.
	Await(ctx context.Context, p Principal, version int64) error

	// Tools describes the tools that Call calls.
	Tools(ctx context.Context, p Principal) ([]tools.Tool, error)
	// Ask lets do ask the memory, without files.
	Ask(ctx context.Context, p Principal, do func(*app.Service) error) error
	// AskWithFiles also gives it the files that instruct agents or that they write.
	AskWithFiles(ctx context.Context, p Principal, do func(*app.Service) error) error
	// Call calls a tool. It returns the version of its change, 0 for none.
	Call(ctx context.Context, p Principal, tool string, arguments []byte) (tools.Answer, int64, error)
	// MCP serves the memory to MCP clients.
	MCP(ctx context.Context, p Principal) (http.Handler, error)
	// Retriever is for turns; system returns text for the system message.
	Retriever(ctx context.Context, p Principal, use func(m turn.Retriever, system func(context.Context) (turn.System, error)) error) error

	List(ctx context.Context, p Principal) (Documents, error)
	Get(ctx context.Context, p Principal, path string) (Document, error)
	Put(ctx context.Context, p Principal, path, text string, c Condition) (Written, error)
	Delete(ctx context.Context, p Principal, path string, c Condition) (Written, error)
	// PutAll writes several documents in one step.
	PutAll(ctx context.Context, p Principal, documents []Document) (Written, error)
	// Export yields the documents with their texts.
	Export(ctx context.Context, p Principal, of Exported) iter.Seq2[Document, error]
	// History returns revisions without texts, oldest first: of a document, or of all for "".
	// Replaced ones are kept for a while.
	History(ctx context.Context, p Principal, path string, page Page) (Documents, error)
	// Restore takes all documents that the principal sees back to a version.
	Restore(ctx context.Context, p Principal, version int64) (Written, error)
	Usage(ctx context.Context, p Principal) (Usage, error)
	// Limits returns the limits of the principal's tenant.
	Limits(p Principal) Limits
	// Ready reports whether the database answers.
	Ready(ctx context.Context) error
}

package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A Document is one that the service has.
type Document struct {
	Path    string    `json:"path"`
	Version int64     `json:"version"`
	Bytes   int64     `json:"bytes"`
	By      string    `json:"by"` // the user who wrote it
	At      time.Time `json:"at"`
}

// Documents are all of a tenant's, as of a version.
type Documents struct {
	Documents []Document `json:"documents"`
	Version   int64      `json:"version"`
}

// A Written says what a write has made.
type Written struct {
	Path    string `json:"path"`
	Version int64  `json:"version"` // for AtLeast
}

// A Condition must hold for a Put; the zero value is none. If it does not, the error has the status
// 409.
type Condition struct {
	// IfVersion is the version that the document must have; 0 is any.
	IfVersion int64
	// IfNew means that there must be no such document.
	IfNew bool
}

// Put writes a document: Markdown, at a path such as "runbooks/deploy.md". With a Condition it is
// repeated only if the service refused it, since a lost answer may mean that it is written.
func (c *Client) Put(ctx context.Context, path string, text []byte, o Condition) (written Written, err error) {
	at, err := documentPath(path)
	if err != nil {
		return Written{}, err
	}
	r := request{method: http.MethodPut, path: at, body: text, header: http.Header{"Content-Type": {"text/markdown; charset=utf-8"}}}
	if o.IfVersion > 0 {
		r.header.Set("If-Match", strconv.Quote(strconv.FormatInt(o.IfVersion, 10)))
	}
	if o.IfNew {
		r.header.Set("If-None-Match", "*")
	}
	r.once = o != Condition{}
	err = c.call(ctx, r, &written)
	return written, err
}

// A Text is the text of a document. Version is 0 if the service does not say it.
type Text struct {
	Text    []byte
	Version int64
}

// Get returns the text of a document.
func (c *Client) Get(ctx context.Context, path string) (text Text, err error) {
	at, err := documentPath(path)
	if err != nil {
		return Text{}, err
	}
	err = c.read(ctx, http.MethodGet, at, nil, &text)
	return text, err
}

// Delete removes a document. If it has gone when Delete is repeated, that is no error.
func (c *Client) Delete(ctx context.Context, path string) (written Written, err error) {
	at, err := documentPath(path)
	if err != nil {
		return Written{}, err
	}
	err = c.call(ctx, request{method: http.MethodDelete, path: at, gone: true}, &written)
	return written, err
}

// Documents lists the documents.
func (c *Client) Documents(ctx context.Context) (all Documents, err error) {
	err = c.read(ctx, http.MethodGet, "/documents", nil, &all)
	return all, err
}

// documentPath escapes each element of a path.
func documentPath(path string) (string, error) {
	if !fs.ValidPath(path) || path == "." {
		return "", fmt.Errorf("document %.200q: %w", path, errPath)
	}
	names := strings.Split(path, "/")
	for i, name := range names {
		names[i] = url.PathEscape(name)
	}
	return "/documents/" + strings.Join(names, "/"), nil
}

var errPath = errors.New(`want a path such as runbooks/deploy.md, without "." and ".."`)

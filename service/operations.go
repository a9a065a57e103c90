package service

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/turn"
)

// An operation is a route below /v1/tenants/{tenant}.
type operation struct {
	method, path, summary string
	right                 Right
	do                    func(w http.ResponseWriter, r *request) error
	like                  string // path of the operation of httpapi with the same body and answer
	ownBody               bool   // it reads its body itself
	streams               bool   // it has no body and may answer for long
	unread                bool   // it does not look at the memory
	memory                string // of the semantic conventions, if it is one
	proxy                 bool   // it passes to an upstream, and may answer for long
}

// onMemory names what the request does with the memory, for spans.
func (o operation) onMemory(r *http.Request) string {
	if tool := r.PathValue("name"); tool != "" {
		return MemoryOperation(tool)
	}
	return o.memory
}

// handlers answer the operations.
type handlers struct{ *Server }

// operations returns all routes.
func (s *Server) operations() []operation {
	node, h := s.o.Node, handlers{s}
	return []operation{
		{method: "GET", path: "/whoami", summary: "Say whose key it is", right: Read, do: h.whoami, unread: true},
		{method: "POST", path: "/retrieve", memory: searchMemory, summary: "Retrieve what is relevant for a turn", right: Read, do: asked(node.Ask, httpapi.Retrieve), like: "/v1/retrieve"},
		{method: "POST", path: "/search", memory: searchMemory, summary: "Search, also for weak matches", right: Read, do: asked(node.Ask, search), like: "/v1/search"},
		{method: "POST", path: "/context", summary: "Get curated memory as text for a system prompt", right: Read, do: asked(node.AskWithFiles, beginning), like: "/v1/context"},
		{method: "POST", path: "/turn", memory: searchMemory, summary: "Add what is relevant to the body of a chat completion; ?path= and ?scope= narrow it", right: Read, do: h.turn},
		{method: "POST", path: "/save", memory: upsertMemory, summary: "Save something to remember", right: Write, do: h.call(notes.SaveToolName), like: "/v1/tools/{name}"},
		{method: "POST", path: "/forget", memory: deleteMemory, summary: "Delete a statement", right: Write, do: h.call("forget"), like: "/v1/tools/{name}"},
		{method: "POST", path: "/tools", summary: "List the tools for a model", right: Read, do: answer(h.listTools), like: "/v1/tools"},
		{method: "POST", path: "/tools/{name}", summary: "Call a tool", right: Read, do: h.call(""), like: "/v1/tools/{name}"},
		{method: "POST", path: "/status", summary: "Describe the index", right: Read, do: asked(node.Ask, status)},
		{method: "GET", path: "/documents", summary: "List the documents", right: Read, do: answer(func(r *request) (Documents, error) { return node.List(r.Context(), r.principal) })},
		{method: "GET", path: "/documents/{path...}", summary: "Get a document as text", right: Read, do: h.get},
		{method: "PUT", path: "/documents/{path...}", memory: upsertMemory, summary: "Write a document", right: Write, do: h.put},
		{method: "DELETE", path: "/documents/{path...}", memory: deleteMemory, summary: "Remove a document", right: Write, do: h.remove},
		{method: "POST", path: "/conversations/{session}", memory: upsertMemory, summary: "Add a conversation, as messages of a chat completion", right: Write, do: h.conversation},
		{method: "GET", path: "/history", summary: "List the last revisions of a document (?path=) or of all, ?limit= of them (1000), ?before= a version", right: Read, do: answer(h.history)},
		{method: "POST", path: "/restore", summary: "Give all documents the texts that they had at a version", right: Admin, do: h.restore},
		{method: "GET", path: "/export", summary: "Get all documents as a tar archive", right: Read, do: h.export(Read)},
		{method: "GET", path: "/export/all", summary: "Get the documents of all users and teams as a tar archive", right: Admin, do: h.export(Admin)},
		{method: "GET", path: "/users/{user}/export", summary: "Get a user's own documents as a tar archive", right: Admin, do: h.export(Admin)},
		{method: "DELETE", path: "/users/{user}", summary: "Remove a user's own documents with their history, and the user's keys", right: Admin, do: deleted("user", s.o.Tenants.DeleteUser)},
		{method: "DELETE", path: "/teams/{team}", summary: "Remove a team's documents with their history; keys lose the team", right: Admin, do: deleted("team", s.o.Tenants.DeleteTeam)},
		{method: "POST", path: "/import", memory: upsertMemory, summary: "Write the documents of a tar archive in one step", right: Write, do: h.importAll},
		{method: "GET", path: "/usage", summary: "Say how much the tenant has and may have", right: Read, do: answer(func(r *request) (Usage, error) { return node.Usage(r.Context(), r.principal) })},
		{method: "GET", path: "/keys", summary: "List the keys of the tenant", right: Admin, unread: true, do: answer(func(r *request) (map[string][]Key, error) {
			keys, err := s.o.Keys.List(r.Context(), r.principal)
			return map[string][]Key{"keys": keys}, err
		})},
		{method: "POST", path: "/keys", summary: "Make a key; only this answer has its secret", right: Admin, unread: true, do: h.createKey},
		{method: "DELETE", path: "/keys/{id}", summary: "Revoke a key", right: Admin, unread: true, do: h.revokeKey},
		{method: "GET", path: "/mcp", summary: "Model Context Protocol, streamable HTTP", right: Read, do: h.mcp, streams: true},
		{method: "POST", path: "/mcp", summary: "Model Context Protocol, streamable HTTP", right: Read, do: h.mcp, ownBody: true},
		{method: "DELETE", path: "/mcp", summary: "End a session of the Model Context Protocol", right: Read, do: h.mcp, ownBody: true},
		{method: "GET", path: "/proxy/{upstream}/{path...}", summary: "List the models of an upstream", right: Read, do: h.proxied, ownBody: true, unread: true, proxy: true},
		{method: "POST", path: "/proxy/{upstream}/{path...}", summary: "Ask a model of an upstream; chats get memory", right: Read, do: h.proxied, ownBody: true, unread: true, proxy: true},
	}
}

// answer makes an operation of a function.
func answer[T any](do func(*request) (T, error)) func(http.ResponseWriter, *request) error {
	return func(w http.ResponseWriter, r *request) error {
		out, err := do(r)
		if listed, ok := any(out).(Documents); ok {
			accessOf(r.Context()).addDocuments(listed.Documents)
		}
		if err == nil {
			httpapi.Reply(w, http.StatusOK, out)
		}
		return err
	}
}

func (s handlers) whoami(w http.ResponseWriter, r *request) error {
	p := r.principal
	who := struct {
		Tenant  string    `json:"tenant"`
		User    string    `json:"user"`
		Teams   []string  `json:"teams,omitempty"`
		Rights  []Right   `json:"rights"`
		Expires time.Time `json:"expires,omitzero"`
	}{Tenant: p.Tenant, User: p.User, Teams: p.Teams, Expires: p.Expires}
	for _, right := range AllRights {
		if p.Right.Includes(right) {
			who.Rights = append(who.Rights, right)
		}
	}
	httpapi.Reply(w, http.StatusOK, who)
	return nil
}

func search(ctx context.Context, ws httpapi.Workspace, r httpapi.SearchRequest) (core.Result, error) {
	return ws.Search(ctx, r)
}

func beginning(ctx context.Context, ws httpapi.Workspace, r httpapi.ContextRequest) (httpapi.TextReply, error) {
	r.Workspace = ""
	return ws.Context(ctx, r)
}

func (s handlers) listTools(r *request) (out httpapi.ToolsReply, err error) {
	if _, err := body[httpapi.Target](r); err != nil {
		return out, err
	}
	all, err := s.o.Node.Tools(r.Context(), r.principal)
	return httpapi.DescribeTools(all), err
}

// A Status describes a principal's memory.
type Status struct {
	State     core.State     `json:"state"`
	Documents map[string]int `json:"documents"` // by kind
	Chunks    int            `json:"chunks"`
	Embedded  int            `json:"embedded"` // chunks that have a vector
	Embedder  string         `json:"embedder"`
	Dimension int            `json:"dimension"`
	Updated   time.Time      `json:"updated,omitzero"`
}

func status(ctx context.Context, ws httpapi.Workspace, _ httpapi.Target) (Status, error) {
	all, err := ws.Status(ctx)
	return Status{all.State, all.Documents, all.Chunks, all.Embedded, all.Embedder, all.Dimension, all.Updated}, err
}

// turn adds memory to a chat completion, as the proxy does.
func (s handlers) turn(w http.ResponseWriter, r *request) error {
	narrow := core.RetrieveOptions{Path: r.URL.Query().Get("path"), Scope: r.URL.Query().Get("scope")}
	return s.o.Node.Retriever(r.Context(), r.principal, func(m turn.Retriever, _ func(context.Context) (turn.System, error)) error {
		body, report, err := turn.JSON(r.Context(), m, r.body, turn.Options{Retrieve: narrow, Logger: s.o.Logger})
		if err != nil {
			return &httpapi.Error{Status: 400, Message: err.Error()}
		}
		accessOf(r.Context()).addSources(report.Sources...)
		httpapi.Reply(w, http.StatusOK, map[string]any{"request": json.RawMessage(body), "report": report})
		return nil
	})
}

func (s handlers) get(w http.ResponseWriter, r *request) error {
	accessOf(r.Context()).add(r.PathValue("path"))
	d, err := s.o.Node.Get(r.Context(), r.principal, r.PathValue("path"))
	if err != nil {
		return err
	}
	w.Header().Set("ETag", strconv.Quote(strconv.FormatInt(d.Version, 10)))
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	_, _ = io.WriteString(w, d.Text)
	return nil
}

// conditionOf reads If-Match and If-None-Match.
func conditionOf(r *http.Request) (c Condition, err error) {
	if match := r.Header.Get("If-Match"); match != "" {
		text, errQuote := strconv.Unquote(match)
		c.Match, err = strconv.ParseInt(text, 10, 64)
		if errQuote != nil || err != nil || c.Match < 1 {
			return c, &httpapi.Error{Status: 400, Message: fmt.Sprintf("If-Match is %.40q, want a version in quotes", match)}
		}
	}
	switch none := r.Header.Get("If-None-Match"); none {
	case "", "*":
		c.New = none == "*"
	default:
		return c, &httpapi.Error{Status: 400, Message: fmt.Sprintf("If-None-Match is %.40q, want *", none)}
	}
	return c, nil
}

func (s handlers) put(w http.ResponseWriter, r *request) error {
	c, err := conditionOf(r.Request)
	if err != nil {
		return err
	}
	if !utf8.Valid(r.body) {
		return &httpapi.Error{Status: 400, Message: "the document is no UTF-8 text"}
	}
	return s.written(w, r, func() (Written, error) {
		return s.o.Node.Put(r.Context(), r.principal, r.PathValue("path"), string(r.body), c)
	})
}

func (s handlers) remove(w http.ResponseWriter, r *request) error {
	c, err := conditionOf(r.Request)
	if err != nil {
		return err
	}
	return s.written(w, r, func() (Written, error) {
		return s.o.Node.Delete(r.Context(), r.principal, r.PathValue("path"), c)
	})
}

func (s handlers) written(w http.ResponseWriter, r *request, do func() (Written, error)) error {
	done, err := do()
	if err == nil {
		if done.Path != "" {
			accessOf(r.Context()).add(done.Path)
		}
		w.Header().Set(Version, strconv.FormatInt(done.Version, 10))
		httpapi.Reply(w, http.StatusOK, done)
	}
	return err
}

// conversation writes messages as a log.
func (s handlers) conversation(w http.ResponseWriter, r *request) error {
	var body struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(r.body, &body); err != nil || len(body.Messages) == 0 {
		return &httpapi.Error{Status: 400, Message: fmt.Sprintf(`want {"messages": [{"role": …, "content": …}, …]}: %v`, cmp.Or(err, errors.New("there are none")))}
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return s.written(w, r, func() (Written, error) {
		return s.o.Node.Put(r.Context(), r.principal, "conversations/"+r.PathValue("session")+".json", string(text)+"\n", Condition{})
	})
}

const (
	usualHistory   = 1000 // revisions
	longestHistory = 10_000
)

func (s handlers) history(r *request) (Documents, error) {
	page := Page{Limit: usualHistory}
	query := r.URL.Query()
	for name, into := range map[string]func(int64){"limit": func(n int64) { page.Limit = int(min(n, longestHistory)) }, "before": func(n int64) { page.Before = n }} {
		text := query.Get(name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n < 1 {
			return Documents{}, &httpapi.Error{Status: 400, Message: fmt.Sprintf("%s is %.40q, want a number from 1 on", name, text)}
		}
		into(n)
	}
	return s.o.Node.History(r.Context(), r.principal, query.Get("path"), page)
}

func (s handlers) restore(w http.ResponseWriter, r *request) error {
	var body struct {
		Version int64 `json:"version"`
	}
	if err := json.Unmarshal(r.body, &body); err != nil || body.Version < 1 {
		return &httpapi.Error{Status: 400, Message: `want {"version": N}, a version from /history`}
	}
	return s.written(w, r, func() (Written, error) { return s.o.Node.Restore(r.Context(), r.principal, body.Version) })
}

// export writes documents, dated as their revisions: of the principal, or with the right Admin
// those of the user in the path, or of all.
func (s handlers) export(right Right) func(http.ResponseWriter, *request) error {
	return func(w http.ResponseWriter, r *request) error {
		of := Exported{User: r.PathValue("user")}
		of.All = right == Admin && of.User == ""
		out := tar.NewWriter(w)
		written := false
		for d, err := range s.o.Node.Export(r.Context(), r.principal, of) {
			if err != nil && !written {
				return err
			}
			if err == nil {
				w.Header().Set("Content-Type", "application/x-tar")
				written = true
				accessOf(r.Context()).add(d.Path)
				_ = out.WriteHeader(&tar.Header{Name: d.Path, Mode: 0o600, Size: int64(len(d.Text)), ModTime: d.At, Format: tar.FormatPAX})
				_, err = io.WriteString(out, d.Text)
			}
			if err != nil {
				s.o.Logger.Warn("an export was broken off", "error", err)
				panic(http.ErrAbortHandler) // the client sees a broken archive, not a short one
			}
		}
		w.Header().Set("Content-Type", "application/x-tar")
		_ = out.Close()
		return nil
	}
}

// deleted removes what the path names.
func deleted(what string, remove func(ctx context.Context, p Principal, name string) error) func(http.ResponseWriter, *request) error {
	return func(w http.ResponseWriter, r *request) error {
		name := r.PathValue(what)
		err := remove(r.Context(), r.principal, name)
		if err == nil {
			httpapi.Reply(w, http.StatusOK, map[string]string{"deleted": name})
		}
		return err
	}
}

func (s handlers) importAll(w http.ResponseWriter, r *request) error {
	var all []Document
	for in := tar.NewReader(bytes.NewReader(r.body)); ; {
		header, err := in.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return &httpapi.Error{Status: 400, Message: "the body is no tar archive: " + err.Error()}
		}
		if header.Typeflag == tar.TypeDir {
			continue
		}
		// A sparse file may be longer than its bytes.
		if header.Typeflag != tar.TypeReg || header.Size > int64(len(r.body)) {
			return &httpapi.Error{Status: 400, Message: fmt.Sprintf("%.200q in the archive is no plain file", header.Name)}
		}
		text, err := io.ReadAll(in)
		if err != nil || !utf8.Valid(text) {
			return &httpapi.Error{Status: 400, Message: fmt.Sprintf("%.200q in the archive is no file of UTF-8 text", header.Name)}
		}
		all = append(all, Document{Path: strings.TrimPrefix(header.Name, "./"), Text: string(text)})
	}
	if len(all) == 0 {
		return &httpapi.Error{Status: 400, Message: "the archive has no documents"}
	}
	return s.written(w, r, func() (Written, error) { return s.o.Node.PutAll(r.Context(), r.principal, all) })
}

// decodeStrictly decodes JSON without unknown fields.
func decodeStrictly(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func (s handlers) createKey(w http.ResponseWriter, r *request) error {
	var k Key
	if err := decodeStrictly(r.body, &k); err != nil {
		return &httpapi.Error{Status: 400, Message: `want {"user": "ann", "right": "read"}, also "teams", "name" and "expires": ` + err.Error()}
	}
	made, err := s.o.Keys.Create(r.Context(), r.principal, k)
	if err == nil {
		httpapi.Reply(w, http.StatusOK, made)
	}
	return err
}

func (s handlers) revokeKey(w http.ResponseWriter, r *request) error {
	err := s.o.Keys.Revoke(r.Context(), r.principal, r.PathValue("id"))
	if err == nil {
		httpapi.Reply(w, http.StatusOK, map[string]string{"revoked": r.PathValue("id")})
	}
	return err
}

// openAPI describes the operations. For bodies that the daemon has too, it refers to the daemon's.
func openAPI(version string, all []operation) map[string]any {
	paths := map[string]map[string]any{}
	for _, o := range all {
		path := tenantPath + strings.ReplaceAll(o.path, "...}", "}")
		parameters := []map[string]any{}
		for rest := path; ; {
			_, after, found := strings.Cut(rest, "{")
			if !found {
				break
			}
			name, more, _ := strings.Cut(after, "}")
			parameters, rest = append(parameters, map[string]any{"name": name, "in": "path", "required": true, "schema": map[string]any{"type": "string"}}), more
		}
		described := map[string]any{"summary": o.summary, "parameters": parameters, "x-memcore-right": o.right,
			"responses": map[string]any{"200": map[string]any{"description": "done"}, "default": map[string]any{"description": `{"error": {"status", "message"}}`}}}
		if o.like != "" {
			described["description"] = "Body and answer are those of the daemon's " + o.like + ", without the workspace."
		}
		if paths[path] == nil {
			paths[path] = map[string]any{}
		}
		paths[path][strings.ToLower(o.method)] = described
	}
	return map[string]any{"openapi": "3.1.0", "info": map[string]any{"title": "memcore service", "version": version}, "paths": paths,
		"security":   []map[string]any{{"key": []string{}}},
		"components": map[string]any{"securitySchemes": map[string]any{"key": map[string]any{"type": "http", "scheme": "bearer", "description": "an API key, or a token (JWT) of the service's issuer"}}}}
}

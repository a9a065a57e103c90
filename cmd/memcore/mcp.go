package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/static"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/inject/mcp"
	"github.com/memcore/memcore/internal/beneath"
	"github.com/memcore/memcore/internal/paths"
)

func mcpCommand(a *app) *cobra.Command {
	var address, tokenEnv string
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Serve memory by the Model Context Protocol, on standard input and output or HTTP",
		Long: `Serve the memory of the workspace to a client of the Model Context Protocol: tools to search, recall, save and forget, memory files as resources,
and prompts. Agents start it themselves; 'memcore init' puts it into their configuration. It ends when its input does.

With --http it serves streamable HTTP at /mcp. That takes a bearer token, which --token-env names: other users of this machine could ask otherwise.`,
		Args: arguments(cobra.NoArgs, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			token := os.Getenv(tokenEnv)
			if address != "" && (tokenEnv == "" || token == "") {
				return &hintError{usagef("--http takes a token, on loopback too: other users of this machine could ask otherwise"), "set a variable to one and name it with --token-env"}
			}
			a.logFrom(slog.LevelWarn)
			return a.withService(cmd.Context(), func(s *service) error { return s.serveMCP(cmd.Context(), address, token) })
		},
	}
	f := cmd.Flags()
	f.StringVar(&address, "http", "", "`ADDRESS` to listen on, such as 127.0.0.1:7472, instead of standard input and output")
	f.StringVar(&tokenEnv, "token-env", "", "`NAME` of the environment variable that holds the bearer token")
	return cmd
}

func (s *service) serveMCP(ctx context.Context, address, token string) error {
	ctx, stop := context.WithCancel(ctx)
	var first sync.WaitGroup
	first.Go(func() { s.indexOnce(ctx) })
	defer first.Wait()
	defer stop()
	memory, err := newMCPMemory(s)
	if err != nil {
		return err
	}
	server := mcp.New(memory, mcp.Options{Version: version(), Logger: s.log})
	if address == "" {
		if isTerminal(s.stdout) {
			s.note("this is a server for agents; it reads the Model Context Protocol from standard input. End it with Ctrl-D")
		}
		return server.ServeStdio(ctx, s.stdin, s.stdout)
	}
	listener, err := listenOn(ctx, address, token)
	if err != nil {
		return err
	}
	s.note("serving MCP at http://%s/mcp", listener.Addr())
	return server.ServeHTTP(ctx, listener, token)
}

// listenOn listens on an address, off loopback only with a token.
func listenOn(ctx context.Context, address, token string) (net.Listener, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if at, ok := listener.Addr().(*net.TCPAddr); ok && !at.IP.IsLoopback() && token == "" {
		listener.Close()
		return nil, &hintError{usagef("%s can be reached from other machines: that takes a token", address), "set a variable to one and name it with --token-env"}
	}
	return listener, nil
}

// indexOnce makes the index of a workspace that has none yet, so that whoever connects an agent needs no other command.
func (s *service) indexOnce(ctx context.Context) {
	status, err := s.Status(ctx)
	if err != nil || status.State != core.StateMissing {
		return
	}
	if _, err := s.Index(ctx, core.IndexOptions{}); err != nil && ctx.Err() == nil {
		s.log.Warn("the first index could not be made", "error", err)
	}
}

// An mcpMemory gives MCP clients the memory of a workspace.
type mcpMemory struct {
	*service
	files shownFiles
	tools []notes.Tool
}

func newMCPMemory(s *service) (*mcpMemory, error) {
	files, err := s.shownFiles()
	if err != nil {
		return nil, err
	}
	tools, err := s.modelTools(files)
	return &mcpMemory{s, files, tools}, err
}

// Tools implements mcp.Memory.
func (m *mcpMemory) Tools() []notes.Tool { return m.tools }

// Curated implements mcp.Memory.
func (m *mcpMemory) Curated(ctx context.Context) (string, error) {
	text, _, err := m.service.Curated(ctx, nil)
	return text, err
}

// Files implements mcp.Memory: facts, episodes and curated files.
func (m *mcpMemory) Files(ctx context.Context) ([]mcp.File, error) {
	var all []mcp.File
	seen := map[string]bool{}
	add := func(name, file, title string) {
		info, err := os.Stat(file)
		if err != nil || seen[name] {
			return
		}
		seen[name] = true
		all = append(all, mcp.File{URI: uriOf(name), Name: m.files.name(ctx, name), Title: title, Size: info.Size(), Changed: info.ModTime()})
	}
	items, err := m.files.Data.List(ctx) // with the names that they have
	if err != nil {
		return nil, err
	}
	for _, item := range items {
		add(item.Path, filepath.Join(m.dataDir(), filepath.FromSlash(item.Path)), m.files.line(ctx, item.Summary))
	}
	memory, err := m.layer().Load(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range memory.Files {
		if !f.Untrusted && f.File != "" {
			add(strings.TrimPrefix(f.Path, "~/"), f.File, "")
		}
	}
	return all, nil
}

func uriOf(name string) string {
	return mcp.Scheme + strings.TrimPrefix((&url.URL{Path: "/" + name}).EscapedPath(), "/")
}

// Read implements mcp.Memory. Only files that Files lists can be read.
func (m *mcpMemory) Read(ctx context.Context, uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "memcore" {
		return "", mcp.ErrNoFile
	}
	name := strings.TrimPrefix(u.Path, "/")
	if text, err := m.files.Read(ctx, name); err == nil {
		return text, nil
	} else if !errors.Is(err, notes.ErrNoFile) && !errors.Is(err, notes.ErrPath) {
		return "", err
	}
	memory, err := m.layer().Load(ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(memory.Files, func(f static.File) bool {
		return !f.Untrusted && f.File != "" && strings.TrimPrefix(f.Path, "~/") == name
	})
	if i < 0 {
		return "", mcp.ErrNoFile
	}
	text, err := readCurated(memory.Files[i].File)
	text, _ = notes.Clean(text)
	return text, err
}

// mostResource is the largest curated file that is read as a resource, in bytes; package static reads none above it.
const mostResource = 1 << 20

func readCurated(file string) (string, error) {
	f, _, err := beneath.Open(paths.Resolve(filepath.Dir(file)), filepath.Base(file))
	if err != nil {
		return "", mcp.ErrNoFile
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostResource))
	return strings.ToValidUTF8(string(text), "\uFFFD"), err
}

// searchParams are those of search_memory.
type searchParams struct {
	Query string `json:"query" jsonschema:"what to look for, a question or words"`
	Scope string `json:"scope,omitempty" jsonschema:"which memory: project (default) or global, the user's own in all projects"`
	Limit int    `json:"limit,omitempty" jsonschema:"maximum results; default 8"`
	Since string `json:"since,omitempty" jsonschema:"only what is not older: a date such as 2026-11-17, or words such as last week"`
	Until string `json:"until,omitempty" jsonschema:"only what is not newer, in the same forms"`
	Kind  string `json:"kind,omitempty" jsonschema:"only markdown (notes) or conversation (past sessions)"`
	Path  string `json:"path,omitempty" jsonschema:"only this document, or folder of documents, as sources name it"`
}

// mostResults bounds what a model can ask for at once.
const mostResults = 50

type forgetParams struct {
	Text string `json:"text" jsonschema:"what the statement says, all of its words, or a citation such as BEANS.md#L5 as search_memory prints it"`
}

type noParams struct{}

// modelTools are those for an agent that is not memcore's own command: all of them.
func (s *service) modelTools(files shownFiles) ([]notes.Tool, error) {
	journal, err := s.journal()
	if err != nil {
		return nil, err
	}
	recall, err := s.recallOptions()
	if err != nil {
		return nil, err
	}
	sessions := &openSessions{app: s.app}
	tools := []notes.Tool{
		notes.NewTool("search_memory", "Search long-term memory: notes, decisions and past conversations of this project and its user. Returns what is relevant with its sources, as reference.",
			func(ctx context.Context, p searchParams) (notes.Answer, error) { return s.searchTool(ctx, files, p) },
			notes.ReadOnly, notes.Choices("scope", core.ScopeProject, core.ScopeGlobal), notes.Choices("kind", source.KindMarkdown, source.KindConversation)),
		notes.RecallTool(sessions.all, recall),
	}
	tools = append(tools, notes.Tools(notes.NewSaver(s.layer(), journal, notes.SaveOptions{Find: files.find, Shown: files.line}), nil)...)
	tools = append(tools, notes.FileTools(files)...)
	return append(tools,
		notes.NewTool("forget", "Take a statement out of the memory files for good: the one that says the text, or that a citation names. If several do, none is taken out, and they are named.",
			func(ctx context.Context, p forgetParams) (notes.Answer, error) {
				return files.forgetTool(ctx, journal, p)
			}, notes.Destructive),
		notes.NewTool("refresh_memory", "Bring the search index in step with the files. Rarely needed: searching does it by itself.", s.refreshTool, notes.ReadOnly),
	), nil
}

func (s *service) searchTool(ctx context.Context, files shownFiles, p searchParams) (notes.Answer, error) {
	if strings.TrimSpace(p.Query) == "" {
		return notes.Answer{}, fmt.Errorf("%w: query is empty", notes.ErrArguments)
	}
	scope := cmp.Or(p.Scope, core.ScopeProject)
	// The model has asked, so less has to be sure than for what a turn is given unasked.
	b, err := boundsOf(httpapi.Times{Since: p.Since, Until: p.Until})
	if err != nil {
		return notes.Answer{}, fmt.Errorf("%w: %w", notes.ErrArguments, err)
	}
	result, err := s.RetrieveRelevant(ctx, p.Query, b.retrieve(core.RetrieveOptions{Scope: scope, Kind: p.Kind, Path: s.document(p.Path),
		Limit: min(cmp.Or(max(p.Limit, 0), 8), mostResults), TokenBudget: -1, MinSimilarity: s.Threshold() / 2}))
	return notes.Answer{Text: formatter.SearchAnswer(result), Data: files.result(ctx, result)}, err
}

func (f shownFiles) forgetTool(ctx context.Context, journal *notes.Journal, p forgetParams) (notes.Answer, error) {
	found, err := f.named(ctx, p.Text)
	if err != nil {
		return notes.Answer{}, err
	}
	if len(found) != 1 {
		return notes.Answer{Text: "Nothing was taken out: " + f.saying(ctx, found), Data: map[string]any{"success": false, "statements": len(found)}}, nil
	}
	place := found[0]
	change, written, err := journal.Forget(ctx, place, nil)
	if err != nil {
		return notes.Answer{}, err
	}
	return notes.Answer{Text: "Taken out: " + f.name(ctx, place.At(change.Line).Citation()) + ".", Data: map[string]any{"success": written, "path": f.name(ctx, change.Path), "line": change.Line}}, nil
}

func (s *service) refreshTool(ctx context.Context, _ noParams) (notes.Answer, error) {
	report, err := s.Index(ctx, core.IndexOptions{Progress: func(p core.Progress) { mcp.Progress(ctx, p.Done, p.Total, p.Stage) }})
	if err != nil {
		return notes.Answer{}, err
	}
	return notes.Answer{Text: fmt.Sprintf("%s, %s: %d added, %d changed, %d removed.", count(report.Documents, "document"), count(report.Chunks, "chunk"), report.Added, report.Changed, report.Removed), Data: shownReport(report)}, nil
}

// openSessions keeps the sessions of a workspace open, so that only what is new in them is read.
type openSessions struct {
	*app
	mu   sync.Mutex
	open map[string]*notes.Session
}

// mostSessions are searched, those that were used last.
const mostSessions = 50

func (o *openSessions) all(context.Context) ([]*notes.Session, error) {
	ids, err := notes.ListSessions(o.sessions())
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%w: none was noted in this workspace yet", notes.ErrNoSession)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	kept := map[string]*notes.Session{}
	var all []*notes.Session
	for _, id := range ids[:min(len(ids), mostSessions)] {
		s := o.open[id]
		if s == nil {
			if s, err = o.session(id); err != nil {
				continue // it was removed meanwhile
			}
		}
		kept[id] = s
		all = append(all, s)
	}
	o.open = kept
	return all, nil
}

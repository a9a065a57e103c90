// Package memcore gives an agent a memory of the Markdown files and conversation logs in a folder.
//
//	memory, err := memcore.Open("notes", memcore.Options{})
//	defer memory.Close()
//	request, report := memory.Inject(ctx, messages) // at each turn; messages stay the history
//
// Inject adds what is worth knowing for the last user message, in a copy of the messages. Nothing
// is added when nothing relevant is known, and no failure of memory fails a turn. Retrieve returns
// the same as data.
//
// Everything runs in this process: the embedding model is built in, and the index is a folder that
// can be deleted at any time. For other engines, sources or ways to inject, use the packages that
// this one joins: core, core/source, embed, store and inject/turn.
package memcore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/trust"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/minilm"
	"github.com/memcore/memcore/formatter"
	"github.com/memcore/memcore/inject/turn"
	"github.com/memcore/memcore/internal/userdir"
	"github.com/memcore/memcore/internal/workspace"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/flat"
	"github.com/memcore/memcore/store/keyword"
)

// Options change what Open does by default.
type Options struct {
	// Index is the folder of the index. "" is one in memcore/library in the user's cache folder.
	Index string
	// Embedder makes the vectors; nil is the built-in model.
	Embedder embed.Embedder
	// Sources are indexed in addition to the folder.
	Sources []source.Source
	// Curated makes Inject add curated memory: the folder's (BEANS.md and its imports) and that of
	// ~/.beans to the system message, rules for a turn to that turn. It acts as instruction: set
	// this only if you trust the folder's files as you trust your code.
	Curated bool
	// Start, if not nil, returns what a session begins with as reference, such as the index of memory
	// files (notes.Index of package core/notes) and the session's overview (core/session). Inject
	// adds it to the system message, framed and made safe.
	Start func(context.Context) (formatter.Start, error)
	// Retrieve narrows what Retrieve and Inject find.
	Retrieve core.RetrieveOptions
	// Logger gets what goes wrong; nil is slog.Default().
	Logger *slog.Logger
}

// A Memory is an open memory. Its methods are safe for concurrent use.
type Memory struct {
	manager *core.Manager
	options Options
	curated *curated.Layer // nil for none

	stop    context.CancelFunc
	indexed chan struct{} // closed when err is the result of the first indexing
	err     error
}

// Open opens the memory of a folder, or of one file, and starts to update its index. If there is an
// index, questions do not wait for that: each first looks for changed files itself. The caller must
// call Close.
func Open(folder string, o Options) (*Memory, error) {
	m, err := open(folder, o)
	if err != nil {
		return nil, fmt.Errorf("open memory of %s: %w", folder, err)
	}
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	go func() {
		defer close(m.indexed)
		_, m.err = m.manager.Index(ctx, core.IndexOptions{})
	}()
	return m, nil
}

func open(folder string, o Options) (*Memory, error) {
	if folder == "" {
		return nil, errors.New("the name of the folder is empty")
	}
	path, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	dir := path
	if !info.IsDir() {
		dir = filepath.Dir(path)
	}
	if o.Index == "" {
		cache, err := userdir.Cache()
		if err != nil {
			return nil, fmt.Errorf("no folder for the index: %w: set Options.Index", err)
		}
		o.Index = filepath.Join(cache, "library", workspace.IndexName(path))
	}
	if o.Embedder == nil {
		o.Embedder = minilm.New()
	}
	m := &Memory{options: o, indexed: make(chan struct{})}
	home, _ := os.UserHomeDir() // without one there is no global memory
	if o.Curated {
		m.curated = curated.New(curated.Options{Dir: dir, Project: dir, Home: home, Trust: trust.Open("", dir), Log: o.Logger})
	}
	m.manager, err = core.Open(context.Background(), core.Options{
		Folder:   o.Index,
		Sources:  append([]source.Source{source.NewFolder(source.FolderOptions{Path: path, Workspace: dir, Home: home})}, o.Sources...),
		Engine:   engine,
		Embedder: o.Embedder,
		Curated:  m.curated,
		Logger:   o.Logger,
	})
	return m, err
}

// engine keeps vectors in a flat file and keywords in Bleve segments.
var engine = store.Engine{
	Name: "flat",
	Vectors: func(ctx context.Context, dir string, dimension int) (store.VectorIndex, error) {
		return flat.Open(ctx, dir, dimension)
	},
	Keywords: func(ctx context.Context, dir string) (store.KeywordIndex, error) { return keyword.Open(ctx, dir) },
}

// Wait waits for the indexing that Open started, and returns its error or that of ctx. Callers need
// not call it: without an index, Retrieve and Inject wait themselves.
func (m *Memory) Wait(ctx context.Context) error {
	select {
	case <-m.indexed:
		return m.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Retrieve returns the relevant passages for a user's prompt, best first. Their texts are data from
// outside: pass them through Block. The first question to a new memory waits, as long as
// ctx allows, until keywords find all text; Result.Degraded reports missing vectors.
func (m *Memory) Retrieve(ctx context.Context, request string) (core.Result, error) {
	return retriever{m}.RetrieveRelevant(ctx, request, m.options.Retrieve)
}

// Block returns hits as text for a prompt: made safe, framed as reference, with their sources; ""
// without hits.
func Block(hits []core.MemoryHit) string {
	text, _ := formatter.Block(hits)
	return text
}

// A Message is one of a chat.
type Message = turn.Message

// Inject returns the messages with what is worth knowing before the last user message, and a
// report. The given messages do not change: keep those as the history, and send the others. It
// waits at most one second for memory. For other types of messages see packages inject/turn and
// inject/turn/goopenai.
func (m *Memory) Inject(ctx context.Context, messages []Message) ([]Message, turn.Report) {
	options := turn.Options{Retrieve: m.options.Retrieve, Logger: m.options.Logger, System: m.system}
	return turn.Messages(ctx, retriever{m}, messages, options)
}

// system returns text of the system message: curated memory, what a session begins with, and what the
// user said for all later work.
func (m *Memory) system(ctx context.Context) (text turn.System, err error) {
	if m.curated != nil {
		var memory curated.Memory
		memory, err = m.curated.Load(ctx)
		text.Curated = formatter.Curated(memory)
		for _, f := range memory.Files {
			if f.IsWhole() {
				text.Whole = append(text.Whole, f.Path)
			}
		}
	}
	var start formatter.Start
	if m.options.Start != nil {
		var failed error
		start, failed = m.options.Start(ctx)
		err = errors.Join(err, failed)
	}
	if len(start.Standing) == 0 {
		var failed error
		start.Standing, failed = m.manager.Standing(ctx, core.MaxStanding, core.MaxStandingTokens)
		err = errors.Join(err, failed)
	}
	text.Reference, text.Standing = formatter.Reference(start), start.Standing
	return text, err
}

// Manager returns the memory with all its methods, such as Search, Forget and Status. Close closes
// it.
func (m *Memory) Manager() *core.Manager { return m.manager }

// Close stops indexing and releases the index. The next Open continues.
func (m *Memory) Close() error {
	m.stop()
	<-m.indexed
	return m.manager.Close()
}

// A retriever asks a memory, and once more after the first indexing.
type retriever struct{ *Memory }

func (r retriever) RetrieveRelevant(ctx context.Context, request string, options core.RetrieveOptions) (core.Result, error) {
	result, err := r.manager.RetrieveRelevant(ctx, request, options)
	if err != nil || result.State == core.StateReady {
		return result, err
	}
	if err := r.Wait(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return core.Result{State: result.State}, fmt.Errorf("index memory: %w", err)
	}
	return r.manager.RetrieveRelevant(ctx, request, options)
}

// RulesFor returns the rules for a request, as package turn requires.
func (r retriever) RulesFor(ctx context.Context, request string) (curated.Memory, error) {
	return r.manager.RulesFor(ctx, request)
}

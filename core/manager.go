// Package core finds what is worth knowing.
//
// A Manager indexes the documents of one memory and answers queries. It knows embedders, stores and
// sources only by their interfaces. Its answers are data from outside: pass them through package
// formatter before a model reads them.
//
// Files index_*.go keep the indexes in step with the documents; query_*.go answer questions. Others
// may keep an index: what it has of a document is made by a Cutter, and a Manager answers from its
// Contents.
package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/memcore/memcore/chunker"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/source/keptlog"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/internal/text/injection"
	"github.com/memcore/memcore/store"
)

// Options are the parts of a Manager. Folder, Sources and Engine are required, or else Contents.
type Options struct {
	// Folder holds the index, which is derived. Delete it only while no process uses it.
	Folder string
	// Sources are what is indexed.
	Sources []source.Source
	// Engine opens the indexes.
	Engine store.Engine
	// Engines returns the engine of a name, if it is there. An index of another engine than Engine
	// gives its vectors to the next one, instead of new ones being made. Engines may be nil.
	Engines func(name string) (engine store.Engine, ok bool)
	// Contents, if set, gives what a memory holds that is kept elsewhere, once for each question. Then
	// the Manager has no files: Folder, Sources, Engine, Forgotten, Kept, Freshness and Version do
	// not matter, and what changes an index returns ErrElsewhere.
	Contents func(ctx context.Context) (Contents, error)
	// Embedder makes the vectors; nil means keywords alone.
	Embedder embed.Embedder
	// Former returns the embedder with a fingerprint, or nil. It embeds questions until Index has
	// replaced another embedder's vectors. Former may be nil.
	Former func(fingerprint string) embed.Embedder
	// Chunking is the size of chunks, as in CutterOptions.
	Chunking chunker.Options
	// Curated is the curated memory for the system prompt; may be nil.
	Curated *curated.Layer
	// KeepSecrets keeps keys, tokens and passwords in indexed text. By default they are removed.
	KeepSecrets bool
	// Forgotten is the file with Forget's list (package forgotten), which all memories of a user
	// share. Keep it outside Folder: it is not derived. Without it Forget fails. Name is that of
	// this memory in the list.
	Forgotten, Name string
	// Kept is the folder with what is kept of logs whose agents delete them
	// (source.Document.Rotated). Keep it outside Folder: it is not derived, once such a log is
	// gone. "" keeps nothing.
	Kept string
	// Freshness limits how long a query first indexes changes on disk; 0 is 150 ms, negative skips
	// that.
	Freshness time.Duration
	// EmbedTimeout limits a query's wait for its embedding; then keywords answer alone. 0 is 2 s
	// for a turn and 10 s for a search.
	EmbedTimeout time.Duration
	// Remote, if set, is asked together with the index, within RemoteBudget (0 is 300 ms; ten times
	// that for a search). If it is late or fails, Result.Degraded says so, and turns rest from
	// asking it. RemoteRest, if set, is a file that tells other processes.
	Remote       Remote
	RemoteBudget time.Duration
	RemoteRest   string
	// Saved are prefixes of documents that models write. Their text, like that of tools and of the
	// Remote, becomes suspicious sooner.
	Saved []string
	// IsUsers reports whether what the user of a log says is this user's word; nil is always. A log
	// that came with a repository may say anything: nothing of it is a Statement, or a Failure.
	IsUsers func(document string) bool
	// Injection says what happens to suspicious hits: InjectionFrame (or ""), InjectionWithhold or
	// InjectionOff.
	Injection string
	// Logger gets warnings; nil means slog.Default().
	Logger *slog.Logger
}

const (
	defaultFreshness   = 150 * time.Millisecond
	turnEmbedTimeout   = 2 * time.Second
	searchEmbedTimeout = 10 * time.Second
)

func (o *Options) embedTimeout(inTurn bool) time.Duration {
	switch {
	case o.EmbedTimeout > 0:
		return o.EmbedTimeout
	case inTurn:
		return turnEmbedTimeout
	}
	return searchEmbedTimeout
}

// ErrClosed is returned by every method after Close.
var ErrClosed = errors.New("memory is closed")

// A Manager is one memory for any number of sessions, of which it keeps no state. It is safe for
// concurrent use.
type Manager struct {
	*indexer
	catalogue
	injections *injection.Filter
	rest       rest

	closing sync.Once
}

// An indexer opens the indexes of a memory and updates them from its documents.
type indexer struct {
	options     Options
	log         *slog.Logger
	cutter      *Cutter
	folder      *generation.Dir
	kept        keptlog.Store // of Options.Kept; only if that is set
	forgotten   forgottenList
	writing     writerLock
	generations *generation.Follower[*view]
	asked
	// lookAgain is the constant; tests shorten it.
	lookAgain time.Duration
	closed    atomic.Bool
	digests   digestCache // of Options.Contents
	watched   atomic.Bool // a Watch is running and has reported no change since it looked
	tooSoon   atomic.Bool // a document was read right after it was written, so that it is Unsure
}

// asked has the embedder of questions and the relevance model fitted to it.
type asked struct {
	embedder  embedder
	relevance *relevance.Model
}

// Open opens the memory in options.Folder, which need not exist. It also opens a damaged or
// outdated index: Status and Result.State report that, and Index rebuilds it.
func Open(ctx context.Context, options Options) (*Manager, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case options.Contents != nil:
		options = options.elsewhere()
	case options.Folder == "":
		return nil, errors.New("open memory: Options.Folder is empty, want the folder of the index")
	case options.Engine.Keywords == nil || options.Engine.Vectors == nil:
		return nil, errors.New("open memory: Options.Engine opens no keyword or no vector index")
	}
	if info, err := os.Stat(options.Folder); options.Contents == nil && err == nil && !info.IsDir() {
		return nil, fmt.Errorf("open memory: index folder %s is a file", options.Folder)
	}
	options.Freshness = cmp.Or(options.Freshness, defaultFreshness)
	log := cmp.Or(options.Logger, slog.Default())
	cutter, err := NewCutter(CutterOptions{options.Chunking, options.Embedder, options.KeepSecrets, log})
	if err != nil {
		return nil, fmt.Errorf("open memory: %w", err)
	}
	injections, err := injection.NewFilter(injection.Policy(options.Injection))
	if err != nil {
		return nil, fmt.Errorf("open memory: %w", err)
	}
	x := &indexer{
		options:   options,
		log:       log,
		cutter:    cutter,
		folder:    generation.New(options.Folder),
		kept:      keptlog.In(options.Kept),
		forgotten: forgottenList{file: options.Forgotten, name: options.Name},
		writing:   newWriterLock(options.Folder),
		asked:     asked{embedder{options.Embedder}, relevance.For(fingerprintOf(options.Embedder))},

		lookAgain: lookAgain,
	}
	x.generations = generation.Follow(x.folder, store.ManifestFile, x.openView)
	return &Manager{indexer: x, catalogue: catalogue{x}, injections: injections,
		rest: rest{file: options.RemoteRest}}, nil
}

// elsewhere drops the options that are about files.
func (o Options) elsewhere() Options {
	o.Folder, o.Sources, o.Engine, o.Forgotten, o.Kept, o.Freshness = "", nil, store.Engine{}, "", "", -1
	return o
}

// Close releases the indexes. Running calls may finish.
func (m *Manager) Close() (err error) {
	m.closing.Do(func() {
		m.closed.Store(true)
		err = m.generations.Close()
	})
	return err
}

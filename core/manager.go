// Package core finds what is worth knowing.
//
// A Manager keeps the indexes of one memory in step with its documents and answers queries from
// them. It knows embedders, stores and sources only by their interfaces; which ones they are is
// chosen by whoever opens it. One rule for its users: what it returns is data from outside and goes
// through package formatter before a model reads it.
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
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/core/static"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/generation"
	"github.com/memcore/memcore/internal/suspicion"
	"github.com/memcore/memcore/store"
)

// Options are what a Manager is made of. Folder, Sources and Engine are needed.
type Options struct {
	// Folder is where the index lives. Everything in it is derived and may be deleted while no
	// process uses it.
	Folder string
	// Sources are what is indexed.
	Sources []source.Source
	// Engine opens the indexes.
	Engine store.Engine
	// Embedder makes the vectors; nil means keywords alone.
	Embedder embed.Embedder
	// Chunking says how large chunks are. Its Count is the Embedder's; a Max, or a Target without Max, that
	// is more than the model reads is taken as what it reads, and the Logger is told.
	Chunking chunker.Options
	// Shared, if set, is where this memory and others give each other their records: at the end of
	// Index, never during a query. Owner is the name of this memory there: of letters, digits, '.', '_'
	// and '-', the same each time, and no other memory's. With an Owner but without Shared, what was
	// taken over from others stays; without both it is removed.
	Shared store.Shared
	Owner  string
	// Publish says what the others get: PublishMarkdown (or ""), PublishAll or PublishNothing. Global
	// documents, which are the person's own, are never published.
	Publish string
	// Static is the curated memory for the system prompt; nil is none.
	Static *static.Layer
	// KeepSecrets indexes text as it is. By default what looks like a key, a token or a password is taken out first.
	KeepSecrets bool
	// KeepSuperseded also indexes statements of Markdown files that are struck through as a whole (~~…~~). By default what holds no longer is not found.
	KeepSuperseded bool
	// Forgotten is the file that Forget keeps its list in: hashes of texts and names of documents that are not indexed. It is not derived from
	// anything, so it stands outside of Folder. "" is none; Forget then fails.
	Forgotten string
	// Freshness is how long a query may spend on folding in what has changed on disk before it
	// answers; 0 means 150 ms, negative means not to look.
	Freshness time.Duration
	// EmbedTimeout is how long a query waits for its embedding before keywords answer alone; 0
	// means 2 s.
	EmbedTimeout time.Duration
	// Reranker has a second look at the best RerankCandidates (0 means 16) of each question, for RerankBudget (0 means
	// 500 ms) at most: if it is late or fails, the answer is as without it, and Degraded says so. nil means none.
	Reranker         Reranker
	RerankBudget     time.Duration
	RerankCandidates int
	// Relevance says how evidence becomes a score; nil means the model that was fitted for the Embedder.
	Relevance *relevance.Model
	// Turns says what of memory the prompts of agents at work want; nil means relevance.ForTurns.
	Turns *relevance.Turn
	// Injection says what becomes of hits that seem to be written for a model to obey: InjectionFrame (or ""), InjectionWithhold or
	// InjectionOff.
	Injection string
	// Logger gets what goes wrong; nil means slog.Default().
	Logger *slog.Logger
}

const (
	defaultFreshness    = 150 * time.Millisecond
	defaultEmbedTimeout = 2 * time.Second
)

// ErrClosed is returned by every method after Close.
var ErrClosed = errors.New("memory is closed")

// A Manager is one memory. Its methods are safe for concurrent use.
type Manager struct {
	relevance *relevance.Model
	turns     *relevance.Turn

	options Options
	log     *slog.Logger
	folder  *generation.Dir
	writing writerLock
	usage   *usage
	screen  *suspicion.Screen
	watched atomic.Bool // a Watch is running, and nothing was heard since it has looked
	tooSoon atomic.Bool // a document was read so soon after it was written that it is Unsure

	mu      sync.Mutex
	current snapshot        // without indexes until first needed, and after Close
	shown   map[string]bool // files whose whole text the static layer has given
	closed  bool
}

// Open opens the memory in options.Folder, which need not exist yet. An index that is damaged or was
// made by another release or embedder does not fail Open: Status and Result.State tell, and Index
// mends it.
func Open(ctx context.Context, options Options) (*Manager, error) {
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case options.Folder == "":
		return nil, errors.New("open memory: Options.Folder is empty, want the folder of the index")
	case options.Engine.Keywords == nil || options.Engine.Vectors == nil:
		return nil, errors.New("open memory: Options.Engine opens no keyword or no vector index")
	}
	if err := checkSharing(options); err != nil {
		return nil, err
	}
	if info, err := os.Stat(options.Folder); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("open memory: index folder %s is a file", options.Folder)
	}
	if options.Freshness == 0 {
		options.Freshness = defaultFreshness
	}
	if options.EmbedTimeout <= 0 {
		options.EmbedTimeout = defaultEmbedTimeout
	}
	log := options.Logger
	if log == nil {
		log = slog.Default()
	}
	if err := fitChunks(&options, log); err != nil {
		return nil, fmt.Errorf("open memory: %w", err)
	}
	screen, err := suspicion.NewScreen(suspicion.Policy(options.Injection), fingerprintOf(options.Embedder), screenEmbedder(options))
	if err != nil {
		return nil, fmt.Errorf("open memory: %w", err)
	}
	return &Manager{
		screen:    screen,
		options:   options,
		relevance: relevanceOf(options),
		turns:     cmp.Or(options.Turns, relevance.ForTurns()),
		log:       log,
		folder:    generation.New(options.Folder),
		writing:   newWriterLock(options.Folder),
		usage:     newUsage(options.Folder),
	}, nil
}

const (
	// defaultMaxTokens is the largest chunk where neither the caller nor the model sets a smaller one.
	// Models that read more are not given more: a vector of a long text is about nothing in particular.
	defaultMaxTokens = 240
	// leastMaxTokens is the smallest Max that package chunker takes as it is.
	leastMaxTokens = 32
)

func relevanceOf(options Options) *relevance.Model {
	switch {
	case options.Relevance != nil:
		return options.Relevance
	case options.Embedder == nil:
		return relevance.Keywords()
	}
	return relevance.For(options.Embedder.Fingerprint())
}

// fitChunks makes chunks of a size that the embedder reads whole.
func fitChunks(options *Options, log *slog.Logger) error {
	if options.Embedder == nil {
		return nil
	}
	chunking, limit := &options.Chunking, options.Embedder.MaxTokens()
	chunking.Count = options.Embedder.CountTokens
	if limit < leastMaxTokens {
		return fmt.Errorf("embedder %s reads %d tokens of a text, want at least %d: use another model, or shorter prefixes if it has some",
			options.Embedder.Fingerprint(), limit, leastMaxTokens)
	}
	if chunking.Max <= 0 {
		chunking.Max = max(min(limit, defaultMaxTokens), chunking.Target)
	}
	if chunking.Max > limit {
		log.Warn("chunks are smaller than asked for: the embedding model reads no more",
			"asked", chunking.Max, "tokens", limit, "embedder", options.Embedder.Fingerprint())
		chunking.Max = limit
	}
	return nil
}

// Close releases the indexes, and Options.Shared. Calls that are running keep theirs until they return.
func (m *Manager) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	m.closed = true
	m.usage.flush()
	err := m.dropCurrent()
	if m.shares() {
		err = errors.Join(err, m.options.Shared.Close())
	}
	return err
}

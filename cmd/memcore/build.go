package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/relevance"
	"github.com/memcore/memcore/core/rerank"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/cache"
	"github.com/memcore/memcore/embed/minilm"
	"github.com/memcore/memcore/embed/ollama"
	"github.com/memcore/memcore/embed/openai"
	"github.com/memcore/memcore/internal/workspace"
	"github.com/memcore/memcore/store"
)

// A place is where a workspace's index, its list of sources and the list of what it shall not find are.
type place struct{ root, index, sources, forgotten string }

// Names of the folders below the root.
const (
	indexFolder      = "index"
	embeddingsFolder = "embeddings"
	hooksFolder      = "hooks"
	journalFolder    = "journal"
)

// embeddings is the folder of cached vectors, which all workspaces share.
func (p place) embeddings() string { return filepath.Join(p.root, embeddingsFolder) }

// hooks is the folder of what sessions of agents were given.
func (p place) hooks() string { return filepath.Join(p.root, hooksFolder) }

// use is the file of what the workspace's memory has given to agents, and what of it they used.
func (p place) use() string { return filepath.Join(filepath.Dir(p.index), "use.jsonl") }

// last is the file that says what the last hook of the workspace has done.
func (p place) last() string { return filepath.Join(filepath.Dir(p.index), "last.json") }

func (a *app) place() (place, error) {
	root, err := a.settings.indexRoot()
	if err == nil {
		err = a.foreign()
	}
	if err != nil {
		return place{}, err
	}
	folder := filepath.Join(root, indexFolder, workspace.IndexName(a.project))
	return place{root: root, index: filepath.Join(folder, "data"), sources: filepath.Join(folder, "sources.json"), forgotten: filepath.Join(folder, "forgotten.json")}, nil
}

// open builds the memory of the workspace around an engine.
func (a *app) open(ctx context.Context, at place, engine store.Engine) (*core.Manager, error) {
	registered, err := workspace.Load(at.sources)
	if err != nil {
		return nil, err
	}
	embedder, err := a.embedder(at)
	if err != nil {
		return nil, err
	}
	options := core.Options{
		Folder:         at.index,
		Forgotten:      at.forgotten,
		Sources:        append(a.projectSources(registered), a.globalSources()...),
		Engine:         engine,
		Embedder:       embedder,
		Static:         a.layer(),
		KeepSecrets:    !a.settings.Redact,
		KeepSuperseded: a.settings.Superseded,
		Freshness:      a.settings.Freshness,
		Injection:      a.settings.Injection.Policy,
		Logger:         a.log,
	}
	if options.Relevance, err = a.relevanceModel(); err != nil {
		return nil, err
	}
	if err := a.reranking(&options); err != nil {
		return nil, err
	}
	if err := a.sharing(&options, embedder); err != nil {
		return nil, err
	}
	return core.Open(ctx, options)
}

// Ways to rerank.
const (
	rerankEndpoint = "endpoint"
	rerankJudge    = "judge"
)

// reranking sets the reranker that the configuration names, if any.
func (a *app) reranking(options *core.Options) (err error) {
	s := a.settings.Rerank
	if s.BaseURL == "" {
		return nil
	}
	o := rerank.Options{BaseURL: s.BaseURL, Model: s.Model}
	if s.APIKeyEnv != "" {
		if o.Key = os.Getenv(s.APIKeyEnv); o.Key == "" {
			return fmt.Errorf("memory.rerank.apiKeyEnv is %s, which is not set", s.APIKeyEnv)
		}
	}
	options.RerankBudget, options.RerankCandidates = s.Budget, s.Candidates
	if s.By == rerankJudge {
		options.Reranker, err = rerank.NewJudge(o)
	} else {
		options.Reranker, err = rerank.NewEndpoint(o)
	}
	if err != nil {
		return fmt.Errorf("memory.rerank: %w", err)
	}
	return nil
}

// relevanceModel is the one that the configuration names; nil is that of the embedder.
func (a *app) relevanceModel() (*relevance.Model, error) {
	name := a.settings.Relevance
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("memory.relevance: %w", err)
	}
	model, err := relevance.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("memory.relevance: %s: %w", name, err)
	}
	return model, nil
}

// embedder returns the configured embedder behind its cache; nil for none.
func (a *app) embedder(at place) (embed.Embedder, error) {
	inner, err := a.uncached()
	if err != nil || inner == nil {
		return nil, err
	}
	cached, err := a.cached(at, inner)
	if err != nil {
		a.note("vectors are not cached: %v", err)
		return inner, nil
	}
	return cached, nil
}

// uncached is the model, nil for none; one that is a server is sent no secrets.
func (a *app) uncached() (embed.Embedder, error) {
	inner, err := a.model()
	if remote := a.settings.Embedder == "ollama" || a.settings.Embedder == "openai"; err == nil && remote && a.settings.Redact {
		inner = discreet{inner}
	}
	return inner, err
}

// A discreet embedder sends no secrets: what is asked may have some, such as a log that somebody has pasted. Documents have lost theirs before.
type discreet struct{ embed.Embedder }

func (d discreet) Embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	if kind == embed.Query {
		texts = slices.Clone(texts)
		for i, text := range texts {
			texts[i], _ = notes.Clean(text)
		}
	}
	return d.Embedder.Embed(ctx, kind, texts)
}

func (a *app) cached(at place, inner embed.Embedder) (*cache.Cache, error) {
	return cache.Open(inner, at.embeddings(), cache.Options{Logger: a.log})
}

func (a *app) model() (embed.Embedder, error) {
	s := a.settings
	switch s.Embedder {
	case "none":
		return nil, nil
	case "ollama":
		return ollama.New(s.Ollama.Model, ollama.Options{Address: s.Ollama.Host})
	case "openai":
		return openai.New(s.OpenAI.Model, openai.Options{BaseURL: s.OpenAI.BaseURL, Key: openai.NewKey(os.Getenv(s.OpenAI.APIKeyEnv))})
	default:
		return minilm.New(), nil
	}
}

// projectSources are the registered paths, else the workspace itself, and the logs of agents if they
// are wanted.
func (a *app) projectSources(registered workspace.Sources) []source.Source {
	paths := registered.Paths
	if len(paths) == 0 {
		paths = []string{a.project}
	}
	if !slices.ContainsFunc(paths, func(path string) bool { return isInside(path, a.dataDir()) }) {
		paths = append(slices.Clip(paths), a.dataDir()) // what agents write there is found, whatever was registered
	}
	var all []source.Source
	for _, path := range paths {
		all = append(all, source.NewFolder(source.FolderOptions{
			Path: path, Scope: source.ScopeProject, Workspace: a.project, Home: a.home, Optional: path == a.dataDir(), Hidden: a.settings.Folder, Private: a.settings.IndexLocal, Exclude: a.settings.Exclude}))
	}
	if registered.Conversations {
		all = append(all, source.Known(a.project, a.home)...)
	}
	return all
}

func isInside(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// globalSources are the user's own memory, which belongs to every workspace.
func (a *app) globalSources() []source.Source {
	beans := a.beans()
	if beans == "" {
		return nil
	}
	var all []source.Source
	for _, name := range append([]string{"memories"}, a.settings.FileNames...) {
		all = append(all, source.NewFolder(source.FolderOptions{
			Path: filepath.Join(beans, name), Scope: source.ScopeGlobal, Workspace: a.project, Home: a.home, Private: a.settings.IndexLocal, Optional: true}))
	}
	return all
}

// withMemory opens the memory for queries, does something and closes it.
func (a *app) withMemory(ctx context.Context, do func(*core.Manager) error) error {
	at, err := a.place()
	if err != nil {
		return err
	}
	engines := a.engineOf(at)
	if isBuilt(engines.inUse) && !isBuilt(engines.next) {
		a.note("%s; until then %s answers, %s", engines.problem(), engines.inUse, engines.reason)
	}
	return a.withEngine(ctx, at, engineNamed(engines.inUse), do)
}

// withEngine opens the memory around an engine, does something and closes it.
func (a *app) withEngine(ctx context.Context, at place, engine store.Engine, do func(*core.Manager) error) (err error) {
	m, err := a.open(ctx, at, engine)
	if err != nil {
		return fmt.Errorf("open memory: %w", err)
	}
	defer func() {
		if closing := m.Close(); err == nil {
			err = closing
		}
	}()
	return do(m)
}

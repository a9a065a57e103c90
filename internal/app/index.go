package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/core/curated"
	"github.com/memcore/memcore/core/notes"
	"github.com/memcore/memcore/core/session"
	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/cache"
	"github.com/memcore/memcore/embed/minilm"
	"github.com/memcore/memcore/embed/ollama"
	"github.com/memcore/memcore/embed/openai"
	"github.com/memcore/memcore/inject/agents"
	"github.com/memcore/memcore/internal/agenthome"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/app/models"
	"github.com/memcore/memcore/internal/text/injection"
	"github.com/memcore/memcore/internal/text/secret"
	"github.com/memcore/memcore/internal/workspace"
	"github.com/memcore/memcore/store"
)

// An Index opens a workspace's index.
type Index struct{ w *Workspace }

// Index returns the index of the workspace.
func (w *Workspace) Index() Index { return Index{w} }

// Open builds the memory around an engine.
func (x Index) Open(ctx context.Context, at config.Folders, engine store.Engine) (*core.Manager, error) {
	if _, err := os.Stat(at.Sources()); err == nil { // else nobody follows sessions here
		x.w.Remember(ctx)
	}
	registered, err := workspace.Load(at.Sources())
	if err != nil {
		return nil, err
	}
	embedder, err := x.Embedder(at)
	if err != nil {
		return nil, err
	}
	sources := append(x.ProjectSources(registered), x.GlobalSources()...)
	options := x.options(embedder)
	options.Folder, options.Forgotten, options.Name = at.Index, at.Forgotten(), at.Name()
	options.Sources, options.Engine, options.Engines = sources, engine, builtEngine
	options.Former = formerEmbedder(models.Folder(at.Models()))
	options.Freshness = limit(x.w.Settings.Freshness)
	if registered.HasConversations() {
		options.Kept = at.Kept()
	}
	RemoteOf(x.w).Join(&options, at)
	return core.Open(ctx, options)
}

// Elsewhere opens a memory whose index others keep.
func (x Index) Elsewhere(ctx context.Context, embedder embed.Embedder, contents func(context.Context) (core.Contents, error)) (*core.Manager, error) {
	options := x.options(embedder)
	options.Contents = contents
	return core.Open(ctx, options)
}

// options are those that do not depend on where the index is.
func (x Index) options(embedder embed.Embedder) core.Options {
	return core.Options{
		Embedder:    embedder,
		Curated:     x.w.Curated().Layer(),
		KeepSecrets: !x.w.Settings.Redact,
		Saved:       append(x.w.Notes().folders(), x.w.Names().Of(filepath.Join(x.w.SessionsDir(), notes.UnconfirmedFile))),
		IsUsers:     x.isUsers,
		Injection:   x.w.Settings.Injection.Policy,
		Logger:      x.w.Log,
	}
}

// isUsers reports whether a log is the user's own: agents keep it outside of the project, or the
// user trusts that.
func (x Index) isUsers(document string) bool {
	return strings.HasPrefix(document, "~/") || strings.HasPrefix(document, session.PathPrefix) || filepath.IsAbs(document) || x.w.Trusted()
}

// Embedder returns the configured embedder, cached; nil for none.
func (x Index) Embedder(at config.Folders) (embed.Embedder, error) {
	inner, err := x.Uncached()
	if err != nil || inner == nil {
		return nil, err
	}
	cached, err := cache.Open(inner, at.Embeddings(), cache.Options{Logger: x.w.Log})
	if err != nil {
		x.w.Note("vectors are not cached: %v", err)
		return inner, nil
	}
	return cached, nil
}

// Uncached returns the configured embedder, which removes secrets from what a server gets; nil for
// none.
func (x Index) Uncached() (embed.Embedder, error) {
	inner, err := x.Model()
	if err == nil && inner != nil && x.w.Settings.EmbedsElsewhere() && x.w.Settings.Redact {
		inner = discreet{inner}
	}
	return inner, err
}

// A discreet embedder removes secrets from queries. Documents have none.
type discreet struct{ embed.Embedder }

func (d discreet) Embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	if kind == embed.Query {
		texts = slices.Clone(texts)
		for i, text := range texts {
			text, _ = notes.Clean(text)
			texts[i] = secret.RedactQuestion(text, "")
		}
	}
	return d.Embedder.Embed(ctx, kind, texts)
}

// Model returns the configured embedder itself; nil for none.
func (x Index) Model() (embed.Embedder, error) {
	s := x.w.Settings
	switch s.Embedder {
	case config.EmbedderNone:
		return nil, nil
	case config.EmbedderMiniLM:
		return minilm.New(), nil
	case config.EmbedderOllama:
		return ollama.New(s.Ollama.Model, ollama.Options{Address: s.Ollama.Host})
	case config.EmbedderOpenAI:
		return openai.New(s.OpenAI.Model, openai.Options{BaseURL: s.OpenAI.BaseURL, Key: openai.NewKey(os.Getenv(s.OpenAI.APIKeyEnv))})
	}
	at, err := x.w.Folders()
	if err != nil {
		return nil, err
	}
	m, err := models.Folder(at.Models()).Open(s.Embedder)
	if err != nil {
		return models.Absent{Name: s.Embedder, Err: err}, nil
	}
	return m, nil
}

// formerEmbedder finds the model that made an index's vectors before another was configured.
func formerEmbedder(folder models.Folder) func(fingerprint string) embed.Embedder {
	return func(fingerprint string) embed.Embedder {
		if m := minilm.New(); m.Fingerprint() == fingerprint {
			return m
		}
		if m := folder.WithFingerprint(fingerprint); m != nil {
			return m
		}
		return nil
	}
}

// ProjectSources returns the project's folder, registered paths, and logs.
func (x Index) ProjectSources(registered workspace.Sources) []source.Source {
	paths := registered.Paths
	if documents := x.w.WorkingDirectories().Documents(); documents != "" && !registered.WithoutProject {
		paths = append([]string{documents}, paths...)
	}
	if !slices.ContainsFunc(paths, func(path string) bool { return config.IsInside(path, x.w.DataDir()) }) {
		paths = append(slices.Clip(paths), x.w.DataDir()) // so that search finds what agents write
	}
	var all []source.Source
	options := source.FolderOptions{Scope: source.ScopeProject, Workspace: x.w.Project, Home: x.w.Home, Hidden: x.w.Settings.Folder,
		Exclude: x.w.Settings.Exclude}
	for _, path := range paths {
		o := options
		o.Path, o.Optional, o.Private = path, path == x.w.DataDir(), true
		var folder source.Source = source.NewFolder(o)
		if err := x.w.NotIndexed(); err != nil {
			folder = unlisted{folder, err}
		}
		all = append(all, folder)
	}
	for _, m := range x.w.Mounts() {
		o := options
		o.Path, o.Name, o.Optional = m.Folder, m.Name, true
		all = append(all, source.NewFolder(o))
	}
	for _, name := range []string{core.StatedFile, core.SolvedFile, notes.UnconfirmedFile} { // of earlier sessions
		all = append(all, source.NewFolder(source.FolderOptions{
			Path: filepath.Join(x.w.SessionsDir(), name), Scope: source.ScopeProject, Workspace: x.w.Project, Home: x.w.Home, Optional: true}))
	}
	sessions := options
	sessions.Path, sessions.Name, sessions.Sessions, sessions.Optional = x.w.SessionsDir(), session.PathPrefix, true, true
	sessions.OfAgent = func(id string) bool { return !slices.Contains([]string{"", agents.Text}, agentOf(id)) }
	sessions.Exclude = []string{"/*/" + session.OverviewFile} // every request has it
	all = append(all, source.NewFolder(sessions))
	if registered.HasConversations() {
		all = append(all, x.Logs(registered)...)
	}
	return all
}

// Logs are the folders in which agents keep logs of the workspace.
func (x Index) Logs(registered workspace.Sources) []source.Source {
	options := source.KnownOptions{Workspace: x.w.Project, Home: x.w.Home, Homes: x.agentHomes()}
	if at, err := x.w.Folders(); err == nil {
		options.Facts = at.IndexFolder()
	}
	return source.Known(x.w.WorkingDirectories().With(registered, x.w.noteOther), options)
}

// agentHomes returns where agents keep logs. The variables of a service's process are not its
// tenants'.
func (x Index) agentHomes() func(agent string) []string {
	if x.w.Places != nil {
		return func(agent string) []string {
			if folder := agenthome.Default(agent); folder != "" && x.w.Home != "" {
				return []string{filepath.Join(x.w.Home, folder)}
			}
			return nil
		}
	}
	remembered, err := x.w.rememberedHomes()
	if err != nil {
		x.w.Note("%v", err)
	}
	return func(agent string) []string { return remembered.All(agent, x.w.Home) }
}

// rememberedHomes returns the folders of agents that were seen named by variables.
func (w *Workspace) rememberedHomes() (agenthome.Homes, error) {
	at, err := w.Folders()
	if err != nil {
		return nil, err
	}
	return agenthome.Load(at.AgentHomes())
}

// An unlisted source fails to list: what to exclude is unknown. Its documents in the index stay.
type unlisted struct {
	source.Source
	why error
}

func (u unlisted) List(context.Context) (source.Listing, error) {
	return source.Listing{}, fmt.Errorf("it is unknown what to exclude: %w", u.why)
}

// GlobalSources are the user's own memory.
func (x Index) GlobalSources() []source.Source {
	beans := x.w.Beans()
	if beans == "" {
		return nil
	}
	var all []source.Source
	names := []string{"memories"}
	for _, name := range x.w.Settings.FileNames {
		names = append(names, name, curated.LocalName(name))
	}
	for _, name := range names {
		all = append(all, source.NewFolder(source.FolderOptions{
			Path: filepath.Join(beans, name), Scope: source.ScopeGlobal, Workspace: x.w.Project, Home: x.w.Home, Private: true, Optional: true}))
	}
	return all
}

// With opens the index for queries.
func (x Index) With(ctx context.Context, do func(*core.Manager) error) error {
	at, err := x.w.Folders()
	if err != nil {
		return err
	}
	engines := x.Engine(at)
	if IsBuilt(engines.InUse) && !IsBuilt(engines.Next) {
		x.w.Note("%s; until then %s answers, %s", engines.Problem(), engines.InUse, engines.Reason)
	}
	return x.WithEngine(ctx, at, EngineNamed(engines.InUse), do)
}

// WithEngine is With around an engine.
func (x Index) WithEngine(ctx context.Context, at config.Folders, engine store.Engine, do func(*core.Manager) error) (err error) {
	m, err := x.Open(ctx, at, engine)
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

// ForWriting opens the index for a change.
func (x Index) ForWriting(ctx context.Context, do func(*core.Manager) error) error {
	at, err := x.w.Folders()
	if err != nil {
		return err
	}
	engines := x.Engine(at)
	if IsBuilt(engines.InUse) { // only 'memcore index' moves vectors
		return x.WithEngine(ctx, at, EngineNamed(engines.InUse), do)
	}
	engine, err := engines.Writable()
	if err != nil {
		return err
	}
	return x.WithEngine(ctx, at, engine, do)
}

// injectionFilter judges text for models by the configured policy.
func (x Index) injectionFilter() (*injection.Filter, error) {
	return injection.NewFilter(injection.Policy(x.w.Settings.Injection.Policy))
}

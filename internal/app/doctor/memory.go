package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/pack"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/app/models"
	"github.com/memcore/memcore/internal/text/plain"
)

// memory opens the index like a query. It skips failed sources.
func (d *doctor) memory(ctx context.Context, at config.Folders, failed []string) {
	engines := d.w.Index().Engine(at)
	d.engine(engines)
	embedder, err := d.w.Index().Model()
	if err != nil {
		d.problem("embedder", "correct memory.embedder and its settings", "%v", err)
		return
	}
	m, err := d.w.Index().Open(ctx, at, app.EngineNamed(engines.InUse))
	if err != nil {
		d.problem("index", "fix that, then: memcore index", "%v", err)
		return
	}
	defer m.Close()
	known, err := m.Status(ctx)
	if err != nil {
		return // ctx has ended
	}
	c := indexChecks{d, at, known, embedder}
	failed = append(failed, app.NotBuilt(engines.InUse).Error())
	if missing := embed.Missing(embedder); missing != nil {
		failed = append(failed, missing.Error()) // embedding reports it
	}
	c.state(failed)
	c.agreement(ctx, m)
	c.changes()
	c.embedding(ctx)
	c.languages()
}

// indexChecks check an open index and its embedder.
type indexChecks struct {
	*doctor
	at       config.Folders
	known    core.Status
	embedder embed.Embedder
}

func (d *doctor) engine(engines app.EngineChoice) {
	if problem := engines.Problem(); problem != "" {
		d.problem("engine", "use a build that has it, or another engine: memcore index --engine "+app.BuiltEngines[0].Name, "%s", problem)
		return
	}
	if engines.Moves() {
		d.warn("engine", "memcore index", "%s is in use (%s), and not yet %s (%s)", engines.InUse, engines.Reason, engines.Next, engines.NextReason)
		return
	}
	d.ok("engine", "%s (%s)", engines.InUse, engines.Reason)
}

// state reports the index's state and new problems.
func (d indexChecks) state(known []string) {
	const name, again = "index", "memcore index"
	wrong := 0
	for _, problem := range d.known.Problems {
		if !slices.ContainsFunc(known, func(text string) bool { return strings.Contains(problem, text) }) {
			d.problem(name, again, "%s", problem)
			wrong++
		}
	}
	switch {
	case d.known.State == core.StateMissing:
		d.problem(name, again, "nothing is indexed here yet")
	case d.known.State == core.StateBuilding:
		d.warn(name, again, "not complete yet: %d chunks so far", d.known.Chunks)
	case d.known.State == core.StateReady && wrong == 0:
		d.ok(name, "%s, %s, of %s", plain.Count(d.known.Documents["markdown"]+d.known.Documents["conversation"], "document"),
			plain.Count(d.known.Chunks, "chunk"), d.known.Updated.Local().Format(time.DateTime))
	}
}

// agreement reads both indexes whole.
func (d indexChecks) agreement(ctx context.Context, m *core.Manager) {
	if d.known.State != core.StateReady && d.known.State != core.StateBuilding {
		return
	}
	err := m.Check(ctx)
	switch {
	case err == nil:
		d.ok("agreement", "files, keywords and vectors of the index fit together")
	case !slices.Contains(d.known.Problems, err.Error()): // state reports those
		d.problem("agreement", "memcore index", "%v", err)
	}
}

// changes reports files and chunks that queries miss.
func (d indexChecks) changes() {
	if d.known.State != core.StateReady && d.known.State != core.StateBuilding {
		return
	}
	pending := 0
	if d.embedder != nil {
		pending = d.known.Pending
	}
	if d.known.Stale != nil {
		d.warn("files", "memcore index", "%s %s", plain.Count(d.known.Stale.Files, "file"), d.known.Stale.Reason)
	}
	if pending > 0 {
		d.warn("files", "memcore index", "%s without a vector, found by keywords only", plain.Count(pending, "chunk"))
	}
	for _, s := range d.known.Unread {
		d.warn("files", "make it readable, or leave it out by memory.exclude", "%s is not read: %s", s.Path, s.Reason)
	}
	if d.known.Logs != nil {
		for _, u := range d.known.Logs.Unknown {
			d.ok("logs", "records that memcore does not know are passed over: %s", u)
		}
	}
	for _, s := range d.known.SetAside {
		d.warn("files", "change the text, or memory.embedder", "%s is found by words only: %s", s.Source, s.Reason)
	}
	if d.known.Stale == nil && pending+len(d.known.SetAside)+len(d.known.Unread) == 0 {
		d.ok("files", "as they were indexed")
	}
}

// embedderTimeout limits the embedding of one short text.
const embedderTimeout = 10 * time.Second

// embedding asks the embedder for one vector.
func (d indexChecks) embedding(ctx context.Context) {
	const name = "embedder"
	if d.embedder == nil {
		d.ok(name, "none (memory.embedder is none): keywords answer alone")
		return
	}
	if _, err := models.Folder(d.at.Models()).Verify(d.w.Settings.Embedder); errors.Is(err, pack.ErrFormat) {
		d.problem(name, d.embedderHint(), "%v", err)
		return
	}
	inTime, stop := context.WithTimeout(ctx, embedderTimeout)
	defer stop()
	started := time.Now()
	vectors, err := d.embedder.Embed(inTime, embed.Query, []string{"memory"})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		d.problem(name, d.embedderHint(), "%s: %v; keywords answer alone", d.w.Settings.Embedder, err)
	case len(vectors) != 1 || d.known.Dimension > 0 && d.known.Embedder == d.embedder.Fingerprint() && len(vectors[0]) != d.known.Dimension:
		d.problem(name, "memcore index --rebuild", "%s makes vectors that do not fit those of the index, of length %d", d.embedder.Fingerprint(), d.known.Dimension)
	default:
		d.ok(name, "%s answers in %v with vectors of length %d", d.embedder.Fingerprint(), time.Since(started).Round(time.Millisecond), len(vectors[0]))
	}
}

// languages says what another model would find.
func (d indexChecks) languages() {
	if text := app.UnknownLanguages(d.known.Unknown, d.known.Chunks); text != "" {
		d.warn("languages", strings.Join(models.Folder(d.at.Models()).Knowing(d.w.Settings.Embedder), ", then "), "%s", text)
	}
}

func (d indexChecks) embedderHint() string {
	s := d.w.Settings
	switch s.Embedder {
	case config.EmbedderOllama:
		return "start Ollama at " + plain.Address(s.Ollama.Host) + " and pull " + s.Ollama.Model + ", or choose another memory.embedder"
	case config.EmbedderOpenAI:
		return "check memory.openai.baseURL, memory.openai.model and the key in " + s.OpenAI.APIKeyEnv + ", or choose another memory.embedder"
	case config.EmbedderMiniLM:
		return "choose another memory.embedder"
	default:
		return "memcore model add " + s.Embedder + ", or choose another memory.embedder"
	}
}

package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/cache"
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
	c.space()
	c.agreement(ctx, m)
	c.changes()
	c.lock(m)
	c.embedding(ctx)
	c.languages()
	c.cache()
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

// Free bytes, below which indexing or a rebuild may fail.
const (
	spaceNeeded = 16 << 20
	spaceWanted = 256 << 20
)

// space checks for room for a rebuild.
func (d indexChecks) space() {
	const name, do = "disk", "make room, or name a folder on another disk with memory.indexDir"
	there, _, err := nearest(d.at.Index)
	if err != nil {
		return // folder reports it
	}
	free, err := freeSpace(there)
	switch wanted := max(spaceWanted, 2*uint64(d.known.Vectors.Bytes+d.known.Keywords.Bytes)); {
	case errors.Is(err, errors.ErrUnsupported):
	case err != nil:
		d.warn(name, do, "free space at %s is not known: %v", there, err)
	case free < spaceNeeded:
		d.problem(name, do, "%d MB are free at %s", free>>20, there)
	case free < wanted:
		d.warn(name, do, "%d MB are free at %s, a rebuild may need %d", free>>20, there, wanted>>20)
	default:
		d.ok(name, "%d MB are free", free>>20)
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
		pending = d.known.Chunks - d.known.Embedded
	}
	if d.known.Stale != nil {
		d.warn("files", "memcore index", "%s %s", plain.Count(d.known.Stale.Files, "file"), d.known.Stale.Reason)
	}
	if pending > 0 {
		d.warn("files", "memcore index", "%s without a vector, found by keywords only", plain.Count(pending, "chunk"))
	}
	if d.known.Stale == nil && pending == 0 {
		d.ok("files", "as they were indexed")
	}
}

func (d indexChecks) lock(m *core.Manager) {
	busy, err := m.Writing()
	switch {
	case err != nil:
		d.problem("lock", "correct the permissions of the index folder", "%v", err)
	case busy:
		d.warn("lock", "wait; a run that hangs can be ended and loses nothing", "another process is indexing now; queries answer from what there is")
	default:
		d.ok("lock", "free")
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

// cache checks that vectors are cached.
func (d indexChecks) cache() {
	const name, do = "cache", "correct its permissions or delete it; it fills again"
	if d.embedder == nil {
		return
	}
	cached, err := d.w.Index().Cached(d.at, d.embedder)
	if err == nil {
		err = tryWriting(d.at.Embeddings())
	}
	if err == nil {
		err = tryReadingAll(d.at.Embeddings())
	}
	if err != nil {
		d.warn(name, do, "vectors are not kept, and embedded again each time: %v", err)
		return
	}
	d.cacheStats(cached.Stats())
}

func (d indexChecks) cacheStats(stats cache.Stats) {
	if stats.Corrupt > 0 {
		d.warn("cache", "nothing: they are embedded again when needed", "%s of %d in %s damaged", plain.Count(int(stats.Corrupt), "vector"), stats.Records, d.at.Embeddings())
		return
	}
	d.ok("cache", "%s, %.1f MB in %s", plain.Count(int(stats.Records), "vector"), float64(stats.Bytes)/1e6, d.at.Embeddings())
}

// tryReadingAll opens every file in a folder.
func tryReadingAll(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.Type().IsRegular() {
			err = errors.Join(err, tryReading(filepath.Join(dir, entry.Name())))
		}
	}
	return err
}

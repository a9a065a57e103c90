package main

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
)

// memory opens the memory as a query would and looks at all of it. Sources that failed were told.
func (d *doctor) memory(ctx context.Context, at place, failed []string) {
	engines := d.app.engineOf(at)
	d.engine(engines)
	embedder, err := d.app.model()
	if err != nil {
		d.problem("embedder", "mend memory.embedder and what belongs to it", "%v", err)
		return
	}
	m, err := d.app.open(ctx, at, engineNamed(engines.inUse))
	if err != nil {
		d.problem("index", "mend what is said, then: memcore index", "%v", err)
		return
	}
	defer m.Close()
	known, err := m.Status(ctx)
	if err != nil {
		return // ctx has ended
	}
	d.index(known, append(failed, notBuilt(engines.inUse).Error()))
	d.space(at, known)
	d.agreement(ctx, m, known)
	d.changes(known, embedder)
	d.lock(m)
	d.embedding(ctx, embedder, known)
	d.cache(at, embedder)
	d.shared(ctx, embedder)
}

func (d *doctor) engine(engines engineChoice) {
	if problem := engines.problem(); problem != "" {
		d.problem("engine", "use a build that has it, or another engine: memcore index --engine "+builtEngines[0].name, "%s", problem)
		return
	}
	if engines.moves() {
		d.warn("engine", "memcore index", "%s is in use (%s), and not yet %s (%s)", engines.inUse, engines.reason, engines.next, engines.nextReason)
		return
	}
	d.ok("engine", "%s (%s)", engines.inUse, engines.reason)
}

// index tells the state and, of what is wrong, all that contains nothing of told.
func (d *doctor) index(s core.Status, told []string) {
	const name, again = "index", "memcore index"
	wrong := 0
	for _, problem := range s.Problems {
		if !slices.ContainsFunc(told, func(text string) bool { return strings.Contains(problem, text) }) {
			d.problem(name, again, "%s", problem)
			wrong++
		}
	}
	switch {
	case s.State == core.StateMissing:
		d.problem(name, again, "nothing is indexed here yet")
	case s.State == core.StateBuilding:
		d.warn(name, again, "not complete yet: %d chunks so far", s.Chunks)
	case s.State == core.StateReady && wrong == 0:
		d.ok(name, "%s, %s, of %s", count(s.Documents["markdown"]+s.Documents["conversation"], "document"),
			count(s.Chunks, "chunk"), s.Updated.Local().Format(time.DateTime))
	}
}

// Free space below which indexing will soon fail, or may.
const (
	spaceNeeded = 16 << 20
	spaceWanted = 256 << 20
)

// space compares what is free with what a rebuild needs, which stands beside the old index.
func (d *doctor) space(at place, s core.Status) {
	const name, do = "disk", "make room, or name a folder on another disk with memory.indexDir"
	there, _, err := nearest(at.index)
	if err != nil {
		return // folder has told
	}
	free, err := freeSpace(there)
	switch wanted := max(spaceWanted, 2*uint64(s.Vectors.Bytes+s.Keywords.Bytes)); {
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
func (d *doctor) agreement(ctx context.Context, m *core.Manager, s core.Status) {
	if s.State != core.StateReady && s.State != core.StateBuilding {
		return
	}
	err := m.Check(ctx)
	switch {
	case err == nil:
		d.ok("agreement", "files, keywords and vectors of the index fit together")
	case !slices.Contains(s.Problems, err.Error()): // else told
		d.problem("agreement", "memcore index", "%v", err)
	}
}

// changes tells what queries do not know yet.
func (d *doctor) changes(s core.Status, embedder embed.Embedder) {
	if s.State != core.StateReady && s.State != core.StateBuilding {
		return
	}
	pending := 0
	if embedder != nil {
		pending = s.Chunks - s.Embedded
	}
	if s.Stale != nil {
		d.warn("files", "memcore index", "%s %s", count(s.Stale.Files, "file"), s.Stale.Reason)
	}
	if pending > 0 {
		d.warn("files", "memcore index", "%s without a vector, found by keywords only", count(pending, "chunk"))
	}
	if s.Stale == nil && pending == 0 {
		d.ok("files", "as they were indexed")
	}
}

func (d *doctor) lock(m *core.Manager) {
	busy, err := m.Writing()
	switch {
	case err != nil:
		d.problem("lock", "mend the permissions of the index folder", "%v", err)
	case busy:
		d.warn("lock", "wait; a run that hangs can be ended and loses nothing", "another process is indexing now; queries answer from what there is")
	default:
		d.ok("lock", "free")
	}
}

// embedderPatience is how long an embedder may take for one short text.
const embedderPatience = 10 * time.Second

// embedding asks the embedder for one vector.
func (d *doctor) embedding(ctx context.Context, embedder embed.Embedder, s core.Status) {
	const name = "embedder"
	if embedder == nil {
		d.ok(name, "none (memory.embedder is none): keywords answer alone")
		return
	}
	inTime, stop := context.WithTimeout(ctx, embedderPatience)
	defer stop()
	started := time.Now()
	vectors, err := embedder.Embed(inTime, embed.Query, []string{"memory"})
	switch {
	case ctx.Err() != nil:
	case err != nil:
		d.problem(name, d.embedderHint(), "%s: %v; keywords answer alone", d.app.settings.Embedder, err)
	case len(vectors) != 1 || s.Dimension > 0 && s.Embedder == embedder.Fingerprint() && len(vectors[0]) != s.Dimension:
		d.problem(name, "memcore index --rebuild", "%s makes vectors that do not fit those of the index, of length %d", embedder.Fingerprint(), s.Dimension)
	default:
		d.ok(name, "%s answers in %v with vectors of length %d", embedder.Fingerprint(), time.Since(started).Round(time.Millisecond), len(vectors[0]))
	}
}

func (d *doctor) embedderHint() string {
	s := d.app.settings
	switch s.Embedder {
	case "ollama":
		return "start Ollama at " + shownAddress(s.Ollama.Host) + " and pull " + s.Ollama.Model + ", or choose another memory.embedder"
	case "openai":
		return "check memory.openai.baseURL, memory.openai.model and the key in " + s.OpenAI.APIKeyEnv + ", or choose another memory.embedder"
	default:
		return "choose another memory.embedder"
	}
}

// cache looks whether vectors are kept, so that moving or rebuilding an index embeds nothing again.
func (d *doctor) cache(at place, embedder embed.Embedder) {
	const name, do = "cache", "mend its permissions or delete it; it fills again"
	if embedder == nil {
		return
	}
	cached, err := d.app.cached(at, embedder)
	if err == nil {
		err = tryWriting(at.embeddings())
	}
	if err == nil {
		err = tryReadingAll(at.embeddings())
	}
	if err != nil {
		d.warn(name, do, "vectors are not kept, and embedded again each time: %v", err)
		return
	}
	d.cacheStats(at, cached.Stats())
}

func (d *doctor) cacheStats(at place, stats cache.Stats) {
	if stats.Corrupt > 0 {
		d.warn("cache", "nothing: they are embedded again when needed", "%s of %d in %s damaged", count(int(stats.Corrupt), "vector"), stats.Records, at.embeddings())
		return
	}
	d.ok("cache", "%s, %.1f MB in %s", count(int(stats.Records), "vector"), float64(stats.Bytes)/1e6, at.embeddings())
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

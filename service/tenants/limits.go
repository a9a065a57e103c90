package tenants

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
)

// maxPerSecond keeps Limits.PerSecond printable and countable.
const maxPerSecond = 1e6

// check refuses what no node could use.
func check(s service.Settings) error {
	if !(math.Abs(s.PerSecond) <= maxPerSecond) { // NaN, too
		return kind.Usagef("the rate is %v, want a number of requests a second, at most %d", s.PerSecond, int(maxPerSecond))
	}
	if s.Embedder != "" && !config.IsEmbedder(s.Embedder) {
		return kind.Usagef("embedder is %.80q, want %s", s.Embedder, config.Embedders)
	}
	if !isPrintable(s.Model) {
		return kind.Usagef("the model is %.80q, want characters that can be printed", s.Model)
	}
	if isServer := (config.Settings{Embedder: s.Embedder}).EmbedsElsewhere(); isServer != (s.Model != "") {
		return kind.Usagef("embedder is %q and its model %.80q: want a model for %s and %s, and for no other", s.Embedder, s.Model, config.EmbedderOllama, config.EmbedderOpenAI)
	}
	return nil
}

// imposedBy returns the settings of memcore for a tenant.
func imposedBy(s service.Settings) map[string]string {
	all := maps.Clone(imposed)
	if s.Embedder != "" {
		all["embedder"] = s.Embedder
	}
	if s.Model != "" {
		all[s.Embedder+".model"] = s.Model
	}
	return all
}

// or fills in the node's limits where a tenant has none of its own. Less than 0 is no limit.
func or(own, node service.Limits) service.Limits {
	return service.Limits{PerSecond: cmp.Or(own.PerSecond, node.PerSecond), MaxDocuments: cmp.Or(own.MaxDocuments, node.MaxDocuments),
		MaxBytes: cmp.Or(own.MaxBytes, node.MaxBytes), MaxEmbedded: cmp.Or(own.MaxEmbedded, node.MaxEmbedded)}
}

const secondsPerDay = 24 * 60 * 60

// A meter bounds the tokens that this node embeds for a tenant in a day.
type meter struct {
	most  int // of tokens
	spent *rate.Limiter
	used  time.Time // guarded by meters
}

// take counts tokens, or refuses them if they are too many.
func (m *meter) take(tokens int) error {
	if !m.spent.AllowN(time.Now(), min(tokens, m.most)) {
		return fmt.Errorf("%w: the tenant has used up the %d tokens that may be embedded in a day: keywords find what is new", embed.ErrRefused, m.most)
	}
	return nil
}

// meters are those of a node's tenants with a limit.
type meters struct {
	mu    sync.Mutex
	known map[int64]*meter // by ID of the tenant
}

// of returns the meter of a tenant, another one if its limit has changed.
func (m *meters) of(tenant, most int64) *meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[int64]*meter{}
	}
	known := m.known[tenant]
	if known == nil || known.most != int(most) {
		known = &meter{most: int(most), spent: rate.NewLimiter(rate.Limit(float64(most)/secondsPerDay), int(most))}
		m.known[tenant] = known
	}
	known.used = time.Now()
	return known
}

// forget drops the meters of who has all tokens of a day again.
func (m *meters) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.known, func(_ int64, one *meter) bool { return time.Since(one.used) > idleAfter })
}

// A metered embedder embeds documents within the tenant's limit.
type metered struct {
	embed.Embedder
	meter *meter
}

// Embed implements embed.Embedder.
func (e metered) Embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	if kind == embed.Document {
		tokens := 0
		for _, text := range texts {
			tokens += min(e.CountTokens(text), e.MaxTokens())
		}
		if err := e.meter.take(tokens); err != nil {
			return nil, err
		}
	}
	return e.Embedder.Embed(ctx, kind, texts)
}

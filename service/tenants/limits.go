package tenants

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/inject/httpapi"
	"github.com/memcore/memcore/internal/app"
	"github.com/memcore/memcore/internal/app/config"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
)

// Settings of a tenant. Zero values are the node's.
type Settings struct {
	service.Limits
	Embedder string `json:"embedder,omitempty"` // as the setting
	Model    string `json:"model,omitempty"`    // of an embedder that is a server
}

// mostPerSecond keeps Limits.PerSecond printable and countable.
const mostPerSecond = 1e6

// check refuses what no node could use.
func (s Settings) check() error {
	if !(math.Abs(s.PerSecond) <= mostPerSecond) { // NaN, too
		return kind.Usagef("the rate is %v, want a number of requests a second, at most %d", s.PerSecond, int(mostPerSecond))
	}
	if s.Embedder != "" && !config.IsEmbedder(s.Embedder) {
		return kind.Usagef("embedder is %.80q, want %s", s.Embedder, config.Embedders)
	}
	if isServer := (config.Settings{Embedder: s.Embedder}).EmbedsElsewhere(); isServer != (s.Model != "") {
		return kind.Usagef("embedder is %q and its model %.80q: want a model for %s and %s, and for no other", s.Embedder, s.Model, config.EmbedderOllama, config.EmbedderOpenAI)
	}
	return nil
}

// imposed are the settings of memcore for a tenant.
func (s Settings) imposed() map[string]string {
	all := maps.Clone(imposed)
	if s.Embedder != "" {
		all["embedder"] = s.Embedder
	}
	if s.Model != "" {
		all[s.Embedder+".model"] = s.Model
	}
	return all
}

// embedderOf names the embedder of a workspace.
func embedderOf(w *app.Workspace) string {
	return strings.Join([]string{w.Settings.Embedder, w.Settings.Ollama.Model, w.Settings.OpenAI.Model}, " ")
}

// or fills in the node's limits where a tenant has none of its own. Less than 0 is no limit.
func or(own, node service.Limits) service.Limits {
	return service.Limits{PerSecond: cmp.Or(own.PerSecond, node.PerSecond), MostDocuments: cmp.Or(own.MostDocuments, node.MostDocuments),
		MostBytes: cmp.Or(own.MostBytes, node.MostBytes), MostEmbedded: cmp.Or(own.MostEmbedded, node.MostEmbedded)}
}

// Set changes the settings of a tenant.
func (r *Registry) Set(ctx context.Context, by, name string, change func(*Settings)) (t Tenant, err error) {
	if checkName("tenant", name) != nil {
		return t, errNoTenant(name)
	}
	return t, r.change(ctx, by, name, "set", func(rec *record) error {
		if rec.Tenant == nil {
			return errNoTenant(name)
		}
		change(&rec.Tenant.Settings)
		t = *rec.Tenant
		return t.check()
	})
}

// settings returns a tenant's settings, as far as they are known.
func (r *Registry) settings(id string) Settings {
	e, _ := r.entryOf(nameOf(id))
	t, _ := e.tenant(id)
	return t.Settings
}

// freshSettings is settings, at most the registry's age old.
func freshSettings(ctx context.Context, r *Registry, id string) (Settings, error) {
	if _, err := r.Tenant(ctx, nameOf(id)); err != nil && kind.Of(err) != kind.NotFound {
		return Settings{}, err
	}
	return r.settings(id), nil
}

// nameOf returns the name of the tenant with an ID.
func nameOf(id string) string { return id[:max(strings.LastIndexByte(id, '-'), 0)] }

// Limits implements service.Node.
func (n *Node) Limits(p service.Principal) service.Limits { return n.limitsOf(p.TenantID) }

func (n *pool) limitsOf(id string) service.Limits {
	return or(n.o.Registry.settings(id).Limits, n.o.Limits)
}

// fits refuses a write that leaves a tenant above its limits, unless it has less than before.
func fits(most service.Limits, before, after size) error {
	refuse := func(format string, most any) error {
		return &httpapi.Error{Status: http.StatusTooManyRequests, Message: fmt.Sprintf("the tenant would have more than its "+format, most)}
	}
	switch {
	case most.MostDocuments > 0 && after.documents > max(most.MostDocuments, before.documents):
		return refuse("%d documents", most.MostDocuments)
	case most.MostBytes > 0 && after.bytes > max(most.MostBytes, before.bytes):
		return refuse("%d bytes", most.MostBytes)
	}
	return nil
}

const secondsPerDay = 24 * 60 * 60

// A meter bounds the tokens that this node embeds for a tenant in a day.
type meter struct {
	limits func() service.Limits

	mu    sync.Mutex
	most  int64 // of tokens
	spent *rate.Limiter
}

// take counts tokens, or refuses them if they are too many.
func (m *meter) take(tokens int) error {
	most := m.limits().MostEmbedded
	if most <= 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if most != m.most {
		m.most, m.spent = most, rate.NewLimiter(rate.Limit(float64(most)/secondsPerDay), int(most))
	}
	if !m.spent.AllowN(time.Now(), min(tokens, int(most))) {
		return fmt.Errorf("%w: the tenant has used up the %d tokens that may be embedded in a day: keywords find what is new", embed.ErrRefused, most)
	}
	return nil
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

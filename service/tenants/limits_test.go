package tenants

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/internal/kind"
	"github.com/memcore/memcore/service"
)

// A rate that is no number leaves a tenant as it is.
func TestOddRates(t *testing.T) {
	n := newTestNode(t, nil)
	for _, rate := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300} {
		_, err := n.Tenants().Set(t.Context(), "acme", func(s *service.Settings) error { s.PerSecond = rate; return nil })
		require.Equal(t, kind.BadInput, kind.Of(err), "%v: %v", rate, err)
		_, err = NewNode(Options{DB: n.o.DB, Workspace: n.o.Workspace, Logger: n.o.Logger, Limits: service.Limits{PerSecond: rate}})
		require.Equal(t, kind.BadInput, kind.Of(err), "%v: %v", rate, err)
	}
	require.Zero(t, n.Limits(n.ann()))
}

// Nodes heed the limits of a tenant at once, and others have their own.
func TestLimitsOfATenant(t *testing.T) {
	w := newWorld(t)
	w.fill([]string{"acme", "globex"}, []string{"ann"})
	acme, globex := w.people[0], w.people[1]
	put := func(p *person, name string) int {
		return w.do(call{node: 1, method: "PUT", tenant: p.tenant, path: "/documents/" + name, key: bearer(p.write), body: "x"}).status
	}
	usage := func(p *person) (u service.Usage) {
		text, _, _ := strings.Cut(w.must(call{node: 1, method: "GET", tenant: p.tenant, path: "/usage", key: bearer(p.read)}).text, "\n")
		require.NoError(t, json.Unmarshal([]byte(text), &u))
		return u
	}
	set := func(change func(*service.Settings)) {
		_, err := w.inside[0].Tenants().Set(t.Context(), "acme", func(s *service.Settings) error { change(s); return nil })
		require.NoError(t, err)
	}
	require.Equal(t, http.StatusOK, put(acme, "a.md"))
	has := usage(acme)
	require.Zero(t, has.Limits)
	set(func(s *service.Settings) { s.MaxDocuments = has.Documents + 1 })
	require.Equal(t, has.Documents+1, usage(acme).MaxDocuments)
	require.Equal(t, http.StatusOK, put(acme, "b.md"))
	require.Equal(t, http.StatusTooManyRequests, put(acme, "c.md"))
	require.Equal(t, http.StatusOK, put(globex, "c.md"))
	set(func(s *service.Settings) { s.MaxDocuments, s.MaxBytes = -1, has.Bytes })
	require.Equal(t, http.StatusTooManyRequests, put(acme, "c.md"))
	set(func(s *service.Settings) { *s = service.Settings{Limits: service.Limits{PerSecond: 2}} })
	statuses := map[int]int{}
	for range 20 {
		statuses[put(acme, "c.md")]++
		require.Equal(t, http.StatusOK, put(globex, "c.md"))
	}
	require.GreaterOrEqual(t, statuses[http.StatusTooManyRequests], 10)
	first, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/tenants/acme/whoami", http.NoBody)
	require.NoError(t, err)
	first.Header.Set("Authorization", bearer(acme.read))
	answered := &recorded{header: http.Header{}, status: http.StatusOK}
	service.New(service.Options{Keys: NewKeys(w.inside[1].o.DB, nil, w.inside[1].o.Logger), Node: w.inside[1], Tenants: w.inside[1].Tenants()}).ServeHTTP(answered, first)
	require.Equal(t, http.StatusOK, answered.status, "the first request to a node")
	set(func(s *service.Settings) { *s = service.Settings{} })
	for range 20 {
		require.Equal(t, http.StatusOK, put(acme, "c.md"))
	}
}

// What no node could use is refused, and changes nothing.
func TestSettingsAreChecked(t *testing.T) {
	w := newWorld(t)
	w.fill([]string{"acme"}, []string{"ann"})
	for _, bad := range []service.Settings{{Embedder: "Min LM"}, {Embedder: "no-such-model"}, {Embedder: "ollama"}, {Model: "x"}, {Embedder: "minilm", Model: "x"}} {
		_, err := w.inside[0].Tenants().Set(t.Context(), "acme", func(s *service.Settings) error { *s = bad; return nil })
		require.Equal(t, kind.BadInput, kind.Of(err), "%+v: %v", bad, err)
	}
	_, err := w.inside[0].Tenants().Set(t.Context(), "nobody", func(*service.Settings) error { return nil })
	require.Equal(t, kind.NotFound, kind.Of(err))
	require.Zero(t, w.inside[1].Limits(testNode{w.inside[1], t, w.database}.ann()))
}

// A tenant that gets another embedder is answered all the time, and then by the new one.
func TestEmbedderOfATenant(t *testing.T) {
	w := newWorld(t)
	w.fill([]string{"acme"}, []string{"ann"})
	p := w.people[0]
	ask := func() string {
		return w.must(call{node: 1, method: "POST", tenant: "acme", path: "/search", key: bearer(p.read), body: `{"query": "staging database of the shop"}`}).text
	}
	embedder := func() string {
		text, _, _ := strings.Cut(w.must(call{node: 1, method: "POST", tenant: "acme", path: "/status", key: bearer(p.read)}).text, "\n")
		var status struct {
			Embedder         string
			Chunks, Embedded int
		}
		require.NoError(t, json.Unmarshal([]byte(text), &status), text)
		if status.Embedder != "" && status.Embedded < status.Chunks {
			return "unfinished"
		}
		return status.Embedder
	}
	require.Contains(t, ask(), "zq")
	require.Empty(t, embedder())
	for _, want := range []string{"minilm", "none", "minilm"} {
		_, err := w.inside[0].Tenants().Set(t.Context(), "acme", func(s *service.Settings) error { s.Embedder = want; return nil })
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			require.Contains(t, ask(), "zq")
			now := embedder()
			return want == "none" && now == "" || want != "none" && strings.Contains(strings.ToLower(now), "minilm")
		}, time.Minute, 20*time.Millisecond, want)
	}
}

// A fixed embedder counts a token a byte.
type fixed struct{ embed.Embedder }

func (fixed) CountTokens(text string) int { return len(text) }
func (fixed) MaxTokens() int              { return 10 }
func (fixed) Embed(_ context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	return make([][]float32, len(texts)), nil
}

// Documents are embedded as far as a tenant may, questions always.
func TestMeter(t *testing.T) {
	var all meters
	e := metered{fixed{}, all.of(1, 25)}
	embedded := func(kind embed.Kind, texts ...string) bool {
		vectors, err := e.Embed(t.Context(), kind, texts)
		require.True(t, err == nil && len(vectors) == len(texts) || errors.Is(err, embed.ErrUnavailable), err)
		return err == nil
	}
	require.True(t, embedded(embed.Document, strings.Repeat("x", 100), strings.Repeat("x", 10)), "20 are read")
	require.False(t, embedded(embed.Document, "123456"))
	require.True(t, embedded(embed.Document, "12345"))
	require.False(t, embedded(embed.Document, "1"))
	require.True(t, embedded(embed.Query, "1"))
	require.Same(t, e.meter, all.of(1, 25))
	e.meter = all.of(1, 5)
	require.True(t, embedded(embed.Document, "123456789"), "more than a day has, in one piece")
	require.False(t, embedded(embed.Document, "1"))

	all.of(2, 5).used = time.Now().Add(-idleAfter - time.Second)
	all.forget()
	require.Equal(t, []int64{1}, slices.Collect(maps.Keys(all.known)), "2 has all tokens of a day again")
}

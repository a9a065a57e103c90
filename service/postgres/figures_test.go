package postgres_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/core"
	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/service/postgres"
	"github.com/memcore/memcore/service/postgres/postgrestest"
	"github.com/memcore/memcore/store"
	"github.com/memcore/memcore/store/keyword"
)

// figuresVariable, if set, lets TestFigures measure.
const figuresVariable = "MEMCORE_POSTGRES_FIGURES"

// large is the embedder of figures, with the dimension of the built-in model.
var large = postgres.Embedder{Fingerprint: "large", Dimension: 384}

// made makes a document of some chunks of about a hundred words.
func made(random *rand.Rand, vocabulary []string, path string, chunks int) postgres.Change {
	c := postgres.Change{Path: path, Indexed: []byte(`{}`)}
	var text strings.Builder
	for i := range chunks {
		var words []string
		for range 90 {
			words = append(words, vocabulary[int(float64(len(vocabulary))*math.Pow(random.Float64(), 3))])
		}
		r := recordOf(path, i+1, strings.Join(words, " "))
		r.Vector = unit(random)
		r.Hash = fmt.Sprintf("%064x", random.Uint64())
		text.WriteString(r.Text + "\n")
		c.Records = append(c.Records, r)
	}
	for _, w := range keyword.Analyse(c.Records) {
		c.Words = append(c.Words, w.Append(nil))
	}
	c.Text = text.String()
	return c
}

func unit(random *rand.Rand) []float32 {
	vector, square := make([]float32, large.Dimension), 0.0
	for i := range vector {
		vector[i] = float32(random.NormFloat64())
		square += float64(vector[i]) * float64(vector[i])
	}
	for i := range vector {
		vector[i] /= float32(math.Sqrt(square))
	}
	return vector
}

func vocabularyOf(random *rand.Rand, n int) []string {
	all := make([]string, n)
	for i := range all {
		for range 2 + random.IntN(3) {
			all[i] += string("bcdfgklmnprstvz"[random.IntN(15)]) + string("aeiou"[random.IntN(5)])
		}
	}
	return all
}

// measured begins to measure on a server that keeps what it acknowledges.
func measured(t *testing.T) (w *world, random *rand.Rand, vocabulary []string) {
	if os.Getenv(figuresVariable) == "" {
		t.Skipf("%s is not set", figuresVariable)
	}
	server := postgrestest.New(t, "fsync=on", "autovacuum=on", "shared_buffers=1GB", "max_wal_size=4GB")
	random = rand.New(rand.NewPCG(1, 1))
	return newWorldOn(t, server.Database), random, vocabularyOf(random, 30_000)
}

var figures = postgres.Write{By: "ann/key", Embedder: large.Fingerprint, Keep: time.Hour, MaxBytes: 1 << 40}

// TestFiguresOfWrites measures documents a second in one scope.
func TestFiguresOfWrites(t *testing.T) {
	w, random, vocabulary := measured(t)
	w.put(w.as("ann"), "first.md", "x")
	p := w.as("ann")
	for _, writers := range []int{1, 16, 100} {
		var documents []postgres.Change
		for i := range 300 * min(writers, 10) {
			documents = append(documents, made(random, vocabulary, fmt.Sprintf("w%d/%d.md", writers, i), 1))
		}
		var next atomic.Int64
		var wait sync.WaitGroup
		var mu sync.Mutex
		var took []time.Duration
		begun := time.Now()
		for range writers {
			wait.Go(func() {
				for {
					i := int(next.Add(1)) - 1
					if i >= len(documents) {
						return
					}
					one := time.Now()
					documents[i].Base = w.state(p, documents[i].Path).Version
					_, err := w.db.Write(context.Background(), p, documents[i:i+1], figures)
					if err != nil {
						t.Error(err)
						return
					}
					mu.Lock()
					took = append(took, time.Since(one))
					mu.Unlock()
				}
			})
		}
		wait.Wait()
		seconds := time.Since(begun).Seconds()
		slices.Sort(took)
		t.Logf("%d writers: %.0f documents a second, p50 %v, p99 %v", writers, float64(len(documents))/seconds, took[len(took)/2], took[len(took)*99/100])
	}

}

// A given embedder takes no time.
type given struct{ random *rand.Rand }

func (given) Fingerprint() string         { return large.Fingerprint }
func (given) Dimension() int              { return large.Dimension }
func (given) MaxTokens() int              { return 256 }
func (given) CountTokens(text string) int { return len(text) / 4 }

func (g given) Embed(_ context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	vectors := make([][]float32, len(texts))
	for i := range vectors {
		vectors[i] = unit(g.random)
	}
	return vectors, nil
}

// cpu is what this process has used, which other programs disturb less than the time.
func cpu() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // fails for other arguments
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// heap is what this process holds, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// transactions counts those of the database; each is a round trip, but for writes.
func (w *world) transactions() (n int64) {
	time.Sleep(1500 * time.Millisecond) // connections tell the server what they did each second
	c, err := pgx.Connect(w.Context(), w.owner)
	require.NoError(w, err)
	defer c.Close(w.Context())
	require.NoError(w, c.QueryRow(w.Context(), `select xact_commit from pg_stat_database where datname = current_database()`).Scan(&n))
	return n
}

// TestFiguresOfQuestions measures what questions ask, each with what changed before.
func TestFiguresOfQuestions(t *testing.T) {
	w, random, vocabulary := measured(t)
	for _, chunks := range []int{1_000, 30_000, 100_000} {
		tenant := fmt.Sprint("of", chunks)
		_, err := w.db.Tenants().Create(t.Context(), tenant)
		require.NoError(t, err)
		begun := time.Now()
		for i := 0; i < chunks/10; i += 50 {
			var some []postgres.Change
			for j := range 50 {
				some = append(some, made(random, vocabulary, fmt.Sprintf("%d.md", i+j), 10))
			}
			_, err := w.db.Write(t.Context(), w.of(tenant, "ann"), some, figures)
			require.NoError(t, err)
		}
		t.Logf("%d chunks: written in %.1f s", chunks, time.Since(begun).Seconds())
		q := w.of(tenant, "ann")
		held := heap()
		begun = time.Now()
		spent := cpu()
		_, err = w.db.Contents(t.Context(), q, large)
		require.NoError(t, err)
		took, used := time.Since(begun), cpu()-spent
		t.Logf("%d chunks: first contents of a node in %v, %v of CPU, %d KB of memory", chunks, took, used, (heap()-held)/1024)
		manager, err := core.Open(t.Context(), core.Options{Embedder: given{random}, Contents: func(ctx context.Context) (core.Contents, error) { return w.db.Contents(ctx, q, large) }})
		require.NoError(t, err)
		for name, ask := range map[string]func(postgres.Change) error{
			"question": func(c postgres.Change) error {
				_, err := manager.RetrieveRelevant(t.Context(), strings.Join(strings.Fields(c.Text)[:12], " "), core.RetrieveOptions{Lines: core.MaxLines})
				return err
			},
			"contents":  func(postgres.Change) error { _, err := w.db.Contents(t.Context(), q, large); return err },
			"principal": func(postgres.Change) error { _, err := w.db.Keys().ByName(t.Context(), tenant, "ann", nil); return err },
			"nearest 50": func(c postgres.Change) error {
				contents, err := w.db.Contents(t.Context(), q, large)
				if err == nil {
					_, err = contents.Vectors.Nearest(t.Context(), c.Records[0].Vector, 50, store.Filter{NotKind: store.KindStatement})
				}
				return err
			},
			"match 50": func(c postgres.Change) error {
				contents, err := w.db.Contents(t.Context(), q, large)
				if err == nil {
					_, err = contents.Keywords.Match(t.Context(), strings.Join(strings.Fields(c.Text)[:8], " "), 50, store.Filter{NotKind: store.KindStatement})
				}
				return err
			},
			"a write and contents": func(c postgres.Change) error {
				state := w.state(q, "0.md")
				c.Path, c.Base = "0.md", state.Version
				for i := range c.Records {
					c.Records[i].Path = c.Path
				}
				for _, r := range state.Records {
					c.Removed = append(c.Removed, r.ID)
				}
				_, err := w.db.Write(t.Context(), q, []postgres.Change{c}, figures)
				if err == nil {
					_, err = w.db.Contents(t.Context(), q, large)
				}
				return err
			},
		} {
			var took []time.Duration
			before, spent := w.transactions(), cpu()
			for i := range 40 {
				c := made(random, vocabulary, fmt.Sprint("question", name, i, ".md"), 1)
				one := time.Now()
				require.NoError(t, ask(c))
				took = append(took, time.Since(one))
			}
			slices.Sort(took)
			t.Logf("%d chunks: %s p50 %v, p90 %v, %v of CPU in the node, %.1f transactions", chunks, name, took[20], took[36], (cpu()-spent)/40, float64(w.transactions()-before)/40)
		}
	}
}

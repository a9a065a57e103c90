package embedtest

import (
	"context"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/memcore/memcore/embed"
)

// fake is a correct embedder with random vectors, seeded by the text. Its hooks break one clause at
// a time.
type fake struct {
	embed func(ctx context.Context, texts []string) ([][]float32, error)
	print func() string
	count func(text string) int
}

const fakeDim = 16

func (f *fake) Embed(ctx context.Context, _ embed.Kind, texts []string) ([][]float32, error) {
	if f.embed != nil {
		return f.embed(ctx, texts)
	}
	return good(ctx, texts)
}

func (f *fake) Dimension() int { return fakeDim }
func (f *fake) MaxTokens() int { return 100 }

func (f *fake) Fingerprint() string {
	if f.print != nil {
		return f.print()
	}
	return "fake/16"
}

func (f *fake) CountTokens(text string) int {
	if f.count != nil {
		return f.count(text)
	}
	return len(strings.Fields(text))
}

func good(ctx context.Context, texts []string) ([][]float32, error) {
	var vecs [][]float32
	for _, text := range texts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		vecs = append(vecs, vector(text))
	}
	return vecs, nil
}

func vector(text string) []float32 {
	h := fnv.New64a()
	h.Write([]byte(text))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	v := make([]float32, fakeDim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	norm := float32(math.Sqrt(dot(v, v)))
	for i := range v {
		v[i] /= norm
	}
	return v
}

func TestFake(t *testing.T) {
	TestEmbedder(t, func(*testing.T) embed.Embedder { return &fake{} })
}

// recorder is a testing.TB that stores failures.
type recorder struct {
	testing.TB
	mu     sync.Mutex
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.mu.Lock(); r.failed = true; r.mu.Unlock() }
func (r *recorder) Fatalf(string, ...any) { r.Errorf(""); panic(r) }

// fails reports whether the check reports e.
func fails(t *testing.T, name string, e embed.Embedder) (failed bool) {
	r := &recorder{TB: t}
	defer func() {
		if p := recover(); p != nil && p != r {
			panic(p)
		}
		failed = r.failed
	}()
	for _, c := range checks {
		if c.name == name {
			c.test(r, e)
			return
		}
	}
	t.Fatalf("no check is named %q", name)
	return
}

// The kit must detect a break of each clause.
func TestBroken(t *testing.T) {
	each := func(change func(i int, text string, v []float32) []float32) *fake {
		return &fake{embed: func(ctx context.Context, texts []string) ([][]float32, error) {
			vecs, err := good(ctx, texts)
			for i := range vecs {
				vecs[i] = change(i, texts[i], vecs[i])
			}
			return vecs, err
		}}
	}
	calls := 0
	shared := make([]float32, fakeDim)
	cached := map[string][]float32{}
	for _, tt := range []struct {
		check, how string
		e          *fake
	}{
		{"no texts give no vectors", "one vector too many", &fake{embed: func(ctx context.Context, texts []string) ([][]float32, error) {
			return good(ctx, append([]string{""}, texts...))
		}}},
		{"vectors have length one and one dimension", "twice as long", each(func(_ int, _ string, v []float32) []float32 { v[0] += 1; return v })},
		{"vectors have length one and one dimension", "no number", each(func(_ int, _ string, v []float32) []float32 { v[0] = float32(math.NaN()); return v })},
		{"vectors have length one and one dimension", "a zero more", each(func(_ int, _ string, v []float32) []float32 { return append(v, 0) })},
		{"no text is refused", "zero for the empty text", each(func(_ int, text string, v []float32) []float32 {
			if text == "" {
				clear(v)
			}
			return v
		})},
		{"a very long text has a vector", "refused", &fake{embed: func(ctx context.Context, texts []string) ([][]float32, error) {
			if len(strings.Join(texts, "")) > 20000 {
				return nil, embed.ErrUnavailable
			}
			return good(ctx, texts)
		}}},
		{"vectors come in the order of the texts", "turned round", &fake{embed: func(ctx context.Context, texts []string) ([][]float32, error) {
			vecs, err := good(ctx, texts)
			if len(vecs) > 1 {
				vecs[0], vecs[1] = vecs[1], vecs[0]
			}
			return vecs, err
		}}},
		{"a batch equals its texts one by one", "depends on the place", each(func(i int, text string, _ []float32) []float32 { return vector(text + strings.Repeat("!", i)) })},
		{"equal texts have equal vectors", "depends on the call", each(func(_ int, text string, _ []float32) []float32 {
			calls++
			return vector(strings.Repeat("!", calls) + text)
		})},
		{"the caller owns the vectors", "one buffer for all", each(func(_ int, _ string, v []float32) []float32 { copy(shared, v); return shared })},
		{"the caller owns the vectors", "a cache hands out its own", each(func(_ int, text string, v []float32) []float32 {
			if c, ok := cached[text]; ok {
				return c
			}
			cached[text] = v
			return v
		})},
		{"the caller owns the vectors", "neighbours in one array", &fake{embed: func(ctx context.Context, texts []string) ([][]float32, error) {
			vecs, err := good(ctx, texts)
			var all []float32
			for _, v := range vecs {
				all = append(all, v...)
			}
			for i := range vecs {
				vecs[i] = all[i*fakeDim : (i+1)*fakeDim]
			}
			return vecs, err
		}}},
		{"the texts are left alone", "lowered in place", &fake{embed: func(ctx context.Context, texts []string) ([][]float32, error) {
			vecs, err := good(ctx, texts)
			texts[0] = strings.ToLower(texts[0])
			return vecs, err
		}}},
		{"a cancelled call answers with the reason", "context ignored", &fake{embed: func(_ context.Context, texts []string) ([][]float32, error) {
			return good(context.Background(), texts)
		}}},
		{"cancelling ends a call soon", "another error", &fake{embed: func(ctx context.Context, texts []string) ([][]float32, error) {
			<-ctx.Done()
			return nil, embed.ErrUnavailable
		}}},
		{"the fingerprint is printable and stable", "a space", &fake{print: func() string { return "a b" }}},
		{"the fingerprint is printable and stable", "changes", &fake{print: func() string { return time.Now().Format("150405.000000000") }}},
		{"tokens are counted", "never", &fake{count: func(string) int { return 0 }}},
		{"tokens are counted", "below zero", &fake{count: func(s string) int { return len(strings.Fields(s)) - 1 }}},
	} {
		t.Run(tt.check+": "+tt.how, func(t *testing.T) {
			if !fails(t, tt.check, tt.e) {
				t.Errorf("the check let an embedder pass that breaks it")
			}
			if fails(t, tt.check, &fake{}) {
				t.Errorf("the check failed a good embedder")
			}
		})
	}
}

// served is an embedder that fails with the poisoned text as these functions say.
type served struct {
	BagOfWords
	mended *atomic.Bool
	fail   func(vecs [][]float32) ([][]float32, error)
	after  error // of calls after a failure
	failed atomic.Bool
}

func (e *served) Embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	if e.after != nil && e.failed.Load() {
		return nil, e.after
	}
	vecs, err := e.BagOfWords.Embed(ctx, kind, texts)
	if !e.mended.Load() && strings.Contains(strings.Join(texts, " "), poison) {
		e.failed.Store(true)
		return e.fail(vecs)
	}
	return vecs, err
}

// The kit must detect an embedder that makes too much or too little of a server's failure.
func TestServerKit(t *testing.T) {
	away := func([][]float32) ([][]float32, error) { return nil, embed.ErrUnavailable }
	for name, tt := range map[string]struct {
		e    *served
		want bool
	}{
		"as it should be":   {&served{fail: away}, false},
		"no error":          {&served{fail: func(vecs [][]float32) ([][]float32, error) { return vecs, nil }}, true},
		"another error":     {&served{fail: func([][]float32) ([][]float32, error) { return nil, context.Canceled }}, true},
		"refused":           {&served{fail: func([][]float32) ([][]float32, error) { return nil, embed.ErrRefused }}, true},
		"vectors, too":      {&served{fail: func(vecs [][]float32) ([][]float32, error) { return vecs, embed.ErrUnavailable }}, true},
		"fails ever after":  {&served{fail: away, after: embed.ErrUnavailable}, true},
		"another dimension": {&served{fail: away, after: embed.ErrDimension}, true},
	} {
		t.Run(name, func(t *testing.T) {
			mended := new(atomic.Bool)
			tt.e.BagOfWords, tt.e.mended = BagOfWords{Dim: 16}, mended
			r := &recorder{TB: t}
			func() {
				defer func() {
					if p := recover(); p != nil && p != r {
						panic(p)
					}
				}()
				testSpoilt(r, mended, tt.e)
			}()
			if r.failed != tt.want {
				t.Errorf("the kit failed the embedder: %v, want %v", r.failed, tt.want)
			}
		})
	}
}

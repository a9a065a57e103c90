package cache

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/embedtest"
)

func TestContract(t *testing.T) {
	for _, tt := range []struct {
		name string
		opts Options
	}{
		{"as it comes", Options{}},
		{"batches of one", Options{BatchSize: 1}},
		{"evicting all the time", Options{MaxBytes: 400}},
		{"no room at all", Options{MaxBytes: 1, Queries: -1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			embedtest.TestEmbedder(t, func(t *testing.T) embed.Embedder { return open(t, newFake(), t.TempDir(), tt.opts) })
		})
	}
	t.Run("everything cached", func(t *testing.T) {
		dir := t.TempDir()
		embedtest.TestEmbedder(t, func(t *testing.T) embed.Embedder { return open(t, newFake(), dir, Options{}) })
	})
}

func TestNothingTwice(t *testing.T) {
	dir, inner, texts := t.TempDir(), newFake(), numbered(100)
	c := open(t, inner, dir, Options{BatchSize: 7})
	mustEmbed(t, c, append(texts, texts...)...)
	mustEmbed(t, c, texts[50])
	if got, want := c.Stats(), (Stats{Records: 100, Bytes: 48 + 100*68}); got != want {
		t.Errorf("Stats() = %+v, want %+v", got, want)
	}
	after := newFake()
	mustEmbed(t, open(t, after, dir, Options{}), texts...)
	if inner.total() != 100 || after.total() != 0 {
		t.Errorf("inner embedder was asked for %d texts, and %d after reopening; want 100 and 0", inner.total(), after.total())
	}
}

func TestKeepsWhatWasDone(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(cancel func()) error
		want error
	}{
		{"an error", func(func()) error { return embed.ErrUnavailable }, embed.ErrUnavailable},
		{"cancellation", func(cancel func()) error { cancel(); return nil }, context.Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, inner := t.TempDir(), newFake()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			batches := 0
			inner.hook = func([]string) error {
				if batches++; batches == 3 {
					return tt.end(cancel)
				}
				return nil
			}
			vecs, err := open(t, inner, dir, Options{BatchSize: 10}).Embed(ctx, embed.Document, numbered(100))
			if !errors.Is(err, tt.want) || vecs != nil {
				t.Errorf("Embed = %d vectors, %v; want none and %v", len(vecs), err, tt.want)
			}
			again := newFake()
			mustEmbed(t, open(t, again, dir, Options{}), numbered(100)...)
			if again.total() != 80 {
				t.Errorf("after two batches of 10 were made, %d of 100 texts were embedded, want 80", again.total())
			}
		})
	}
}

func TestQueriesStayInMemory(t *testing.T) {
	dir, inner := t.TempDir(), newFake()
	c := open(t, inner, dir, Options{Queries: 2})
	ask := func(texts ...string) {
		t.Helper()
		vecs, err := c.Embed(t.Context(), embed.Query, texts)
		require.NoError(t, err)
		for i, text := range texts {
			if want := vector(embed.Query, text, 8); !equal(vecs[i], want) {
				t.Errorf("Embed of query %q = %v, want %v", text, vecs[i], want)
			}
			clear(vecs[i])
		}
	}
	ask("a", "b", "a")
	ask("b", "a")
	ask("b", "a") // what ask wrote over was its own
	if inner.total() != 2 {
		t.Errorf("inner embedder was asked for %d queries, want 2", inner.total())
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	require.NoError(t, err)
	if len(files) != 0 {
		t.Errorf("queries left files %v, want none", files)
	}
	ask("c")
	ask("b")
	if inner.asked["b"] != 2 {
		t.Errorf("the query used longest ago was embedded %d times, want again after it made room", inner.asked["b"])
	}
	mustEmbed(t, c, "a")
	if inner.asked["a"] != 2 {
		t.Errorf("a document equal to a query was not embedded for itself")
	}
}

func TestDimensionFromFile(t *testing.T) {
	dir := t.TempDir()
	inner := newFake()
	inner.shy = true
	c := open(t, inner, dir, Options{})
	if got := c.Dimension(); got != 0 {
		t.Errorf("Dimension() of nothing = %d, want 0", got)
	}
	mustEmbed(t, c, "a")
	for _, again := range []*Cache{c, open(t, inner, dir, Options{})} {
		if got := again.Dimension(); got != 8 {
			t.Errorf("Dimension() of a file of vectors = %d, want 8", got)
		}
	}
}

func TestAnotherDimension(t *testing.T) {
	dir := t.TempDir()
	mustEmbed(t, open(t, newFake(), dir, Options{}), numbered(10)...)
	replaced := newFake()
	replaced.dim, replaced.shy = 5, true
	for _, kind := range []embed.Kind{embed.Document, embed.Query} {
		t.Run(map[embed.Kind]string{embed.Document: "document", embed.Query: "query"}[kind], func(t *testing.T) {
			dir := t.TempDir()
			mustEmbed(t, open(t, newFake(), dir, Options{}), numbered(10)...)
			c := open(t, replaced, dir, Options{})
			mustEmbed(t, c, numbered(10)...)
			vecs, err := c.Embed(t.Context(), kind, []string{"new"})
			if !errors.Is(err, embed.ErrDimension) || vecs != nil {
				t.Errorf("first vector of another length: %d vectors, %v; want none and ErrDimension", len(vecs), err)
			}
			mustEmbed(t, c, append(numbered(10), "new")...)
			if got := c.Dimension(); got != 5 {
				t.Errorf("Dimension() afterwards = %d, want 5", got)
			}
		})
	}
	t.Run("known on opening", func(t *testing.T) {
		known := newFake()
		known.dim = 5
		mustEmbed(t, open(t, known, dir, Options{}), numbered(10)...)
		if known.total() != 10 {
			t.Errorf("embedded %d texts again, want 10", known.total())
		}
	})
}

// One text whose vector is of another length than the embedder says costs no other its vector.
func TestOneVectorOfAnotherLength(t *testing.T) {
	inner := newFake()
	c := open(t, inner, t.TempDir(), Options{})
	mustEmbed(t, c, numbered(10)...)
	inner.says, inner.dim = 8, 5
	for range 2 {
		if vecs, err := c.Embed(t.Context(), embed.Document, []string{"odd"}); !errors.Is(err, embed.ErrDimension) || vecs != nil {
			t.Errorf("Embed = %d vectors, %v; want none and ErrDimension", len(vecs), err)
		}
	}
	inner.dim = 8
	mustEmbed(t, c, append(numbered(10), "new")...)
	if inner.total() != 13 {
		t.Errorf("embedded %d texts, want the 10, the odd one twice and the new one", inner.total())
	}
}

func TestStrangeVectors(t *testing.T) {
	inner := newFake()
	for _, tt := range []struct {
		name string
		vecs [][]float32
		want error
	}{
		{"too few", nil, embed.ErrUnavailable},
		{"two lengths", [][]float32{{1, 0}, {1}}, embed.ErrDimension},
		{"empty", [][]float32{{}, {}}, embed.ErrDimension},
		{"not of length one", [][]float32{{3, 4}, {1, 0}}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			c := open(t, odd{inner, tt.vecs}, dir, Options{})
			if _, err := c.Embed(t.Context(), embed.Document, []string{"a", "b"}); !errors.Is(err, tt.want) {
				t.Errorf("Embed = %v, want %v", err, tt.want)
			}
			if got := c.Stats().Records; got != 0 {
				t.Errorf("%d records were stored, want none", got)
			}
		})
	}
}

type odd struct {
	*fake
	vecs [][]float32
}

func (o odd) Embed(context.Context, embed.Kind, []string) ([][]float32, error) { return o.vecs, nil }
func (o odd) Dimension() int                                                   { return 0 }

func TestOpenErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for _, tt := range []struct {
		name  string
		inner embed.Embedder
		dir   string
	}{
		{"no embedder", nil, t.TempDir()},
		{"no folder", newFake(), ""},
		{"a file instead of a folder", newFake(), filepath.Join(file, "sub")},
	} {
		if _, err := Open(tt.inner, tt.dir, Options{}); err == nil {
			t.Errorf("Open with %s = nil, want an error", tt.name)
		}
	}
}

// If nothing can be stored, everything works, with one warning.
func TestUnwritable(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(t *testing.T, path string)
	}{
		{"file that cannot be written", func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path, 0o700)) }},
		{"lock that cannot be taken", func(t *testing.T, path string) { require.NoError(t, os.Mkdir(path+".lock", 0o700)) }},
		{"full disk", func(t *testing.T, path string) {
			if runtime.GOOS != "linux" {
				t.Skip("needs /dev/full")
			}
			require.NoError(t, os.Symlink("/dev/full", path))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, inner := t.TempDir(), newFake()
			var log bytes.Buffer
			opts := Options{Logger: slog.New(slog.NewTextHandler(&log, nil)), BatchSize: 4}
			tt.spoil(t, pathOf(dir))
			c := open(t, inner, dir, opts)
			mustEmbed(t, c, numbered(10)...)
			mustEmbed(t, c, numbered(10)...)
			if inner.total() != 20 {
				t.Errorf("embedded %d texts, want 20 as nothing is stored", inner.total())
			}
			if got := strings.Count(log.String(), "level=WARN"); got != 1 {
				t.Errorf("%d warnings, want 1:\n%s", got, log.String())
			}
		})
	}
}

// Vectors of another dimension, on a disk that cannot be changed, are not returned.
func TestUnwritableDimension(t *testing.T) {
	dir, inner := t.TempDir(), newFake()
	mustEmbed(t, open(t, inner, dir, Options{}), "a")
	path := pathOf(dir)
	require.NoError(t, os.Remove(path+".lock"))
	require.NoError(t, os.Mkdir(path+".lock", 0o700))
	inner.dim = 5
	c := open(t, inner, dir, Options{})
	mustEmbed(t, c, "a", "b")
	mustEmbed(t, c, "a", "b")
	if got := c.Dimension(); got != 5 {
		t.Errorf("Dimension() = %d, want 5", got)
	}
}

func TestUnwrap(t *testing.T) {
	inner := newFake()
	if got := open(t, inner, t.TempDir(), Options{}).Unwrap(); got != embed.Embedder(inner) {
		t.Errorf("Unwrap() = %v, want the inner embedder", got)
	}
}

func TestKept(t *testing.T) {
	c, err := Open(newFake(), t.TempDir(), Options{})
	require.NoError(t, err)
	require.Equal(t, [][]float32{nil, nil}, c.Kept([]string{"a", "b"}))
	made, err := c.Embed(t.Context(), embed.Document, []string{"a"})
	require.NoError(t, err)
	kept := c.Kept([]string{"a", "b", "a"})
	require.Equal(t, [][]float32{made[0], nil, made[0]}, kept)
	kept[0][0]++
	require.NotEqual(t, kept[0], kept[2], "each is the caller's own")
	require.Empty(t, c.Kept(nil))
}

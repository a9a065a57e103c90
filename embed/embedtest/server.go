package embedtest

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/memcore/memcore/embed"
)

// An Answer is a server's to a request for vectors.
type Answer struct {
	// Vectors are those of the texts, if neither HangsUp nor Status is set. A nil vector is null.
	Vectors [][]float32
	// Status and Body are an answer in no protocol; 200 may come with a page of HTML.
	Status int
	Body   string
	// HangsUp means that the server closes the connection without an answer.
	HangsUp bool
}

// poison marks a text with which the server fails.
const poison = "poison"

// spoilt are answers to a request with a poisoned text, made of the right vectors and its index.
var spoilt = map[string]func(vectors [][]float32, i int) Answer{
	"400":                status(http.StatusBadRequest, `{"error": "cannot read this"}`),
	"400 for its length": status(http.StatusBadRequest, `{"error": "the input length exceeds the context length"}`),
	"413":                status(http.StatusRequestEntityTooLarge, ""),
	"422":                status(http.StatusUnprocessableEntity, `{"detail": [{"msg": "what"}]}`),
	"500":                status(http.StatusInternalServerError, `{"error": "failed to encode response: json: unsupported value: NaN"}`),
	"502":                status(http.StatusBadGateway, "<html>bad gateway</html>"),
	"no number":          status(http.StatusOK, `{"embeddings": [[NaN, 1]], "data": [{"embedding": [NaN, 1]}]}`),
	"too large a number": status(http.StatusOK, `{"embeddings": [[1e99, 1]], "data": [{"embedding": [1e99, 1]}]}`),
	"a page":             status(http.StatusOK, "<html>Sign in</html>"),
	"half of it":         status(http.StatusOK, `{"embeddings": [[1,`),
	"nothing":            status(http.StatusOK, "{}"),
	"hangs up":           func([][]float32, int) Answer { return Answer{HangsUp: true} },
	"zero":               swapped(func(v []float32) []float32 { return make([]float32, len(v)) }),
	"empty":              swapped(func([]float32) []float32 { return []float32{} }),
	"null":               swapped(func([]float32) []float32 { return nil }),
	"shorter":            swapped(func(v []float32) []float32 { return v[:len(v)-1] }),
	"longer":             swapped(func(v []float32) []float32 { return append(v, 1) }),
	"one too few":        func(vectors [][]float32, i int) Answer { return Answer{Vectors: slices.Delete(vectors, i, i+1)} },
	"one too many": func(vectors [][]float32, i int) Answer {
		return Answer{Vectors: append(vectors, vectors[i])}
	},
}

func status(code int, body string) func([][]float32, int) Answer {
	return func([][]float32, int) Answer { return Answer{Status: code, Body: body} }
}

func swapped(change func([]float32) []float32) func([][]float32, int) Answer {
	return func(vectors [][]float32, i int) Answer {
		vectors[i] = change(vectors[i])
		return Answer{Vectors: vectors}
	}
}

// refusals are statuses for which no text can be at fault.
var refusals = []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusServiceUnavailable}

// TestServer checks what an embedder makes of a server that fails with one text and no other: an
// error for all texts of a call with that text, and the vectors of the others in later calls. open
// returns an embedder for a new server that answers by answer, in its protocol, to the texts of
// each request.
func TestServer(t *testing.T, open func(t *testing.T, answer func(texts []string) Answer) embed.Embedder) {
	t.Helper()
	for name, spoil := range spoilt {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mended atomic.Bool
			testSpoilt(t, &mended, open(t, func(texts []string) Answer {
				vectors, _ := BagOfWords{Dim: 16}.Embed(t.Context(), embed.Document, texts)
				if i := slices.IndexFunc(texts, func(text string) bool { return strings.Contains(text, poison) }); i >= 0 && !mended.Load() {
					return spoil(vectors, i)
				}
				return Answer{Vectors: vectors}
			}))
		})
	}
	for _, code := range refusals {
		t.Run("refused by "+http.StatusText(code), func(t *testing.T) {
			t.Parallel()
			e := open(t, func([]string) Answer { return Answer{Status: code} })
			vecs, err := e.Embed(t.Context(), embed.Document, []string{"tea"})
			if !errors.Is(err, embed.ErrRefused) || len(vecs) != 0 {
				t.Errorf("Embed by a server that answers %d = %d vectors, %v; want none and ErrRefused", code, len(vecs), err)
			}
		})
	}
}

func testSpoilt(t testing.TB, mended *atomic.Bool, e embed.Embedder) {
	others := []string{"tea", "green leaves", "a cup"}
	want := clone(mustEmbed(t, e, others...))
	dim := e.Dimension()
	for _, texts := range [][]string{{"tea", poison + " in a cup", "a cup"}, {poison}} {
		vecs, err := e.Embed(t.Context(), embed.Document, texts)
		if len(vecs) != 0 || !errors.Is(err, embed.ErrUnavailable) && !errors.Is(err, embed.ErrDimension) || errors.Is(err, embed.ErrRefused) {
			t.Errorf("Embed of %q = %d vectors, %v; want none and ErrUnavailable or ErrDimension", texts, len(vecs), err)
		}
	}
	if got := e.Dimension(); got != dim {
		t.Errorf("Dimension() = %d after a failure, want the %d of before", got, dim)
	}
	checkSame(t, "the other texts after a failure", others, mustEmbed(t, e, others...), want)
	mended.Store(true)
	checkUnit(t, poison, mustEmbed(t, e, poison)[0])
}

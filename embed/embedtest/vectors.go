package embedtest

import (
	"fmt"
	"math"
	"testing"

	"github.com/memcore/memcore/embed"
)

// texts are short, different, and not sorted by length.
var texts = []string{
	"The deployment failed because the certificate had expired.",
	"tea",
	"Who decided that tokens live in the system keychain, and when was it?",
	"",
	"func main() { fmt.Println(\"hello\") }",
	"Sessions end after an hour.",
	"Die Sitzung endet nach einer Stunde, außer bei Überlast.",
	"数据库在凌晨三点备份",
	"a much longer sentence that goes on about nothing in particular, turns around, and comes back to where it began",
	"tea leaves",
}

// mustEmbed stops the test on an error or wrong count.
func mustEmbed(t testing.TB, e embed.Embedder, texts ...string) [][]float32 {
	t.Helper()
	vecs, err := e.Embed(t.Context(), embed.Document, texts)
	if err != nil {
		t.Fatalf("Embed of %d texts: %v", len(texts), err)
	}
	if len(vecs) != len(texts) {
		t.Fatalf("Embed of %d texts gave %d vectors", len(texts), len(vecs))
	}
	return vecs
}

func checkUnit(t testing.TB, text string, vec []float32) {
	t.Helper()
	norm := math.Sqrt(dot(vec, vec))
	if math.IsNaN(norm) || math.Abs(norm-1) > 1e-3 {
		t.Errorf("vector of %s has norm %v, want 1 ± 0.001", shorten(text), norm)
	}
}

// apart returns the largest difference of components.
func apart(a, b []float32) float64 {
	if len(a) != len(b) {
		return math.Inf(1)
	}
	worst := 0.0
	for i := range a {
		d := math.Abs(float64(a[i]) - float64(b[i]))
		if math.IsNaN(d) {
			return math.Inf(1)
		}
		worst = max(worst, d)
	}
	return worst
}

// checkSame reports pairs of vectors that differ.
func checkSame(t testing.TB, what string, texts []string, got, want [][]float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d vectors, want %d", what, len(got), len(want))
		return
	}
	for i := range got {
		if d := apart(got[i], want[i]); d > tolerance {
			t.Errorf("%s: vector %d, of %s, is %v off", what, i, shorten(texts[i]), d)
		}
	}
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// clone shows later if an embedder changes vectors.
func clone(vecs [][]float32) [][]float32 {
	out := make([][]float32, len(vecs))
	for i, v := range vecs {
		out[i] = append([]float32(nil), v...)
	}
	return out
}

// shorten quotes text for a failure message.
func shorten(text string) string {
	if len(text) > 40 {
		return fmt.Sprintf("%q… (%d bytes)", text[:40], len(text))
	}
	return fmt.Sprintf("%q", text)
}

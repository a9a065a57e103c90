package remote

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/memcore/memcore/embed"
)

// sink is an Ask that stores its requests.
type sink struct {
	asked  [][]string
	answer func(texts []string) ([][]float32, error)
}

func (s *sink) ask(_ context.Context, texts []string) ([][]float32, error) {
	s.asked = append(s.asked, texts)
	if s.answer != nil {
		return s.answer(texts)
	}
	return ones(texts), nil
}

// ones returns vectors that encode the length of the text.
func ones(texts []string) [][]float32 {
	vecs := make([][]float32, len(texts))
	for i, text := range texts {
		vecs[i] = []float32{float32(len(text)), 1}
	}
	return vecs
}

func TestBatches(t *testing.T) {
	s := new(sink)
	c := New(Options{RemoteOptions: embed.RemoteOptions{BatchSize: 3, MaxTokens: 1 << 20}}, s.ask)
	texts := []string{"1", "22", "333", "4444", strings.Repeat("7", 60_000), strings.Repeat("8", 60_001), "9"}
	vecs, err := c.Embed(t.Context(), embed.Document, texts)
	if err != nil {
		t.Fatal(err)
	}
	var sizes []int
	for _, batch := range s.asked {
		sizes = append(sizes, len(batch))
	}
	if got := fmt.Sprint(sizes); got != "[3 2 2]" { // at most 3 texts and 100,000 tokens
		t.Errorf("texts were sent in batches of %s, want [3 2 2]", got)
	}
	for i, v := range vecs {
		if ratio := float64(v[0] / v[1]); math.Abs(ratio/float64(len(texts[i]))-1) > 1e-3 {
			t.Errorf("vector %d is of a text of %.0f bytes, want %d", i, ratio, len(texts[i]))
		}
	}
}

func TestWhatIsSent(t *testing.T) {
	for _, tt := range []struct{ name, in, document, query string }{
		{"prefixes", "text", "passage: text", "query: text"},
		{"invalid bytes", "a\xff\xffb", "passage: a\ufffdb", "query: a\ufffdb"},
		{"NUL", "a\x00b", "passage: a b", "query: a b"},
		{"empty", "", "passage: ", "query: "},
		{"a long text is cut", "1234567890123456789012345", "passage: 1234567890123456789", "query: 1234567890123456789"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := new(sink)
			c := New(Options{RemoteOptions: embed.RemoteOptions{DocumentPrefix: "passage: ", QueryPrefix: "query: ", MaxTokens: 22}}, s.ask)
			for kind, want := range map[embed.Kind]string{embed.Document: tt.document, embed.Query: tt.query} {
				s.asked = nil
				if _, err := c.Embed(t.Context(), kind, []string{tt.in}); err != nil {
					t.Fatal(err)
				}
				if got := s.asked[0][0]; got != want {
					t.Errorf("sent %q, want %q", got, want)
				}
			}
		})
	}
	s := new(sink)
	New(Options{}, s.ask).Embed(t.Context(), embed.Document, []string{""})
	if s.asked[0][0] == "" {
		t.Errorf("an empty text was sent, which many servers refuse")
	}
}

func TestNormalised(t *testing.T) {
	for _, v := range [][]float32{{3, 4}, {1e30, 1e30}, {1e-15, 0}, {math.MaxFloat32, -math.MaxFloat32}} {
		s := &sink{answer: func([]string) ([][]float32, error) { return [][]float32{v}, nil }}
		vecs, err := New(Options{}, s.ask).Embed(t.Context(), embed.Document, []string{"a"})
		if err != nil {
			t.Fatal(err)
		}
		if norm := math.Hypot(float64(vecs[0][0]), float64(vecs[0][1])); math.Abs(norm-1) > 1e-3 {
			t.Errorf("vector %v has norm %f, want 1", vecs[0], norm)
		}
	}
}

func TestNonsense(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, tt := range []struct {
		name string
		vecs [][]float32
		want error
		text string
	}{
		{"none", nil, embed.ErrUnavailable, "0 vectors for 2 texts"},
		{"too many", [][]float32{{1}, {1}, {1}}, embed.ErrUnavailable, "3 vectors for 2 texts"},
		{"an empty one", [][]float32{{1}, {}}, embed.ErrUnavailable, "vector 1 is empty"},
		{"zero", [][]float32{{1, 0}, {0, 0}}, embed.ErrUnavailable, "vector 1 is zero"},
		{"NaN", [][]float32{{nan, 0}, {1, 0}}, embed.ErrUnavailable, "vector 0 holds a number that is not finite"},
		{"infinite", [][]float32{{1, 0}, {0, inf}}, embed.ErrUnavailable, "vector 1 holds"},
		{"two lengths", [][]float32{{1, 0}, {1}}, embed.ErrDimension, "got 1 numbers, want 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &sink{answer: func([]string) ([][]float32, error) { return tt.vecs, nil }}
			c := New(Options{Name: "model m"}, s.ask)
			vecs, err := c.Embed(t.Context(), embed.Document, []string{"a", "b"})
			if !errors.Is(err, tt.want) || vecs != nil || !strings.HasPrefix(err.Error(), "model m: ") || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("Embed = %v, %v; want no vectors and %v that says %q", vecs, err, tt.want, tt.text)
			}
			if c.Dimension() != 0 || len(s.asked) != 1 {
				t.Errorf("Dimension() = %d after %d requests, want nothing learned and no second try", c.Dimension(), len(s.asked))
			}
		})
	}
}

func TestDimension(t *testing.T) {
	dim := 3
	s := &sink{answer: func(texts []string) ([][]float32, error) {
		v := make([]float32, dim)
		v[0] = 1
		return [][]float32{v}, nil
	}}
	learns := New(Options{}, s.ask)
	if _, err := learns.Embed(t.Context(), embed.Document, []string{"a"}); err != nil || learns.Dimension() != 3 {
		t.Errorf("Dimension() = %d, %v; want 3 learned", learns.Dimension(), err)
	}
	dim = 4
	if _, err := learns.Embed(t.Context(), embed.Query, []string{"a"}); !errors.Is(err, embed.ErrDimension) || learns.Dimension() != 3 {
		t.Errorf("4 numbers after 3: %v, Dimension() = %d; want ErrDimension, 3", err, learns.Dimension())
	}
}

// A server takes few and short texts only. Where a text is cut must not depend on its batch.
func TestTooMuch(t *testing.T) {
	sent := map[string]string{}
	s := &sink{}
	s.answer = func(texts []string) ([][]float32, error) {
		if len(texts) > 4 {
			return nil, &StatusError{Code: 422, Message: "batch size 8 > maximum allowed batch size 4"}
		}
		for _, text := range texts {
			if len(text) > 100 {
				return nil, &StatusError{Code: 400, Message: "the input length exceeds the context length"}
			}
		}
		for _, text := range texts {
			sent[text[:1]] = text
		}
		return ones(texts), nil
	}
	texts := []string{"a", "b" + strings.Repeat("1", 150), "c" + strings.Repeat("é", 400), "d", "e", "f", "g" + strings.Repeat("2", 99), "h"}
	if _, err := New(Options{RemoteOptions: embed.RemoteOptions{MaxTokens: 8000}}, s.ask).Embed(t.Context(), embed.Document, texts); err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		got := sent[text[:1]]
		if len(text) <= 100 && got != text {
			t.Errorf("%q was cut to %q for its neighbours", text, got)
		}
		if got == "" || !strings.HasPrefix(text, got) || !utf8.ValidString(got) {
			t.Errorf("%q was sent as %q, want its beginning", text, got)
		}
	}
	refuses := &sink{answer: func([]string) ([][]float32, error) { return nil, &StatusError{Code: 413} }}
	if _, err := New(Options{}, refuses.ask).Embed(t.Context(), embed.Document, texts); !errors.Is(err, embed.ErrUnavailable) || len(refuses.asked) > 12 {
		t.Errorf("a server that refuses everything: %v after %d requests, want ErrUnavailable soon", err, len(refuses.asked))
	}
}

func TestMaxTokensLeavesRoomForPrefix(t *testing.T) {
	c := New(Options{RemoteOptions: embed.RemoteOptions{MaxTokens: 100, QueryPrefix: strings.Repeat("1", 30)}}, nil)
	if got := c.MaxTokens(); got != 70 {
		t.Errorf("MaxTokens() = %d, want 70", got)
	}
	if got := New(Options{RemoteOptions: embed.RemoteOptions{MaxTokens: -5}}, nil).MaxTokens(); got != minTokens {
		t.Errorf("MaxTokens() of a senseless option = %d, want %d", got, minTokens)
	}
}

func TestRetries(t *testing.T) {
	busy := &StatusError{Code: 503}
	for _, tt := range []struct {
		name string
		kind embed.Kind
		err  error
		want int // requests
	}{
		{"a busy server is asked again", embed.Document, busy, 4},
		{"for a query only once more", embed.Query, busy, 2},
		{"a refused key is final", embed.Document, &StatusError{Code: 401}, 1},
		{"a wait beyond RetryFor is permanent", embed.Document, &StatusError{Code: 429, RetryAfter: time.Hour}, 1},
		{"nonsense is final", embed.Document, Nonsense("what"), 1},
		{"an unknown error is final", embed.Document, errors.New("bug"), 1},
		{"a server's error, which may come of the text, is asked again", embed.Document, &StatusError{Code: 500}, 3},
		{"and for a query once", embed.Query, &StatusError{Code: 500}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := &sink{answer: func([]string) ([][]float32, error) { return nil, tt.err }}
			_, err := New(Options{RemoteOptions: embed.RemoteOptions{Tries: 4}}, s.ask).Embed(t.Context(), tt.kind, []string{"a"})
			if !errors.Is(err, embed.ErrUnavailable) || !strings.Contains(err.Error(), tt.err.Error()) || len(s.asked) != tt.want {
				t.Errorf("Embed = %v after %d requests, want ErrUnavailable with the cause after %d", err, len(s.asked), tt.want)
			}
		})
	}
}

// Several documents that may have tripped the server are left to the caller, who asks for fewer.
func TestServerErrorOfABatch(t *testing.T) {
	for kind, want := range map[embed.Kind]int{embed.Document: 1, embed.Query: 2} {
		s := &sink{answer: func([]string) ([][]float32, error) { return nil, &StatusError{Code: 500} }}
		_, err := New(Options{}, s.ask).Embed(t.Context(), kind, []string{"a", "b"})
		if !errors.Is(err, embed.ErrUnavailable) || len(s.asked) != want {
			t.Errorf("Embed of two texts of kind %d = %v after %d requests, want ErrUnavailable after %d", kind, err, len(s.asked), want)
		}
	}
}

func TestCancelDuringBackoff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &sink{answer: func([]string) ([][]float32, error) {
		time.AfterFunc(10*time.Millisecond, cancel)
		return nil, &StatusError{Code: 429, RetryAfter: 50 * time.Second}
	}}
	start := time.Now()
	_, err := New(Options{}, s.ask).Embed(ctx, embed.Document, []string{"a"})
	if !errors.Is(err, context.Canceled) || errors.Is(err, embed.ErrUnavailable) || time.Since(start) > 10*time.Second {
		t.Errorf("cancelled while waiting: %v after %v, want context.Canceled at once", err, time.Since(start))
	}
}

func TestFingerprint(t *testing.T) {
	base := Options{RemoteOptions: embed.RemoteOptions{MaxTokens: 512}}
	same := base
	same.Name, same.BatchSize, same.Timeout, same.Tries, same.RetryFor = "x", 7, time.Second, 9, time.Second
	if a, b := Fingerprint("k", "m", base), Fingerprint("k", "m", same); a != b {
		t.Errorf("Fingerprint = %q and %q, want what changes no vector left out", a, b)
	}
	// It changes only when vectors change: then indexes are rebuilt.
	if got, want := Fingerprint("k", "m", base), "k/m/max=512.1/prefix=4d01ebbbc427"; got != want {
		t.Errorf("Fingerprint = %q, want %q", got, want)
	}
	seen := map[string]bool{Fingerprint("k", "m", base): true}
	for i, o := range []embed.RemoteOptions{{MaxTokens: 256}, {MaxTokens: 512, QueryPrefix: "p"}, {MaxTokens: 512, DocumentPrefix: "p"}} {
		f := Fingerprint("k", "m", Options{RemoteOptions: o})
		if seen[f] {
			t.Errorf("Fingerprint of options %d = %q, which another one has", i, f)
		}
		seen[f] = true
	}
	if got := Fingerprint("k", "a model\n/é", base); strings.ContainsAny(got, " \n") {
		t.Errorf("Fingerprint = %q, want no spaces", got)
	}
}

package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/embed"
	"github.com/memcore/memcore/embed/cache"
	"github.com/memcore/memcore/embed/minilm"
)

// A watched embedder records its texts, and can fail.
type watched struct {
	embed.Embedder
	texts []string
	err   error
	delay time.Duration
}

func (w *watched) Embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	if w.err != nil {
		return nil, w.err
	}
	if kind == embed.Document {
		w.texts = append(w.texts, texts...)
		select {
		case <-time.After(w.delay):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return w.Embedder.Embed(ctx, kind, texts)
}

func (d *fixture) talk() *Session {
	for _, text := range []string{"the staging server lives behind the blue gateway", "we picked Postgres because the team knows it", "please always run the linter before committing", "lunch was good"} {
		d.say("user", text)
	}
	d.detail("ferry.md", "# Ferry\n\nThe boat leaves at dawn, the timetable hangs in the harbour office.\n\nPassword: hunter2-is-secret\n")
	return d.session()
}

// A word that is nowhere is near to nothing.
func TestRecallOfUnknownWords(t *testing.T) {
	d := newFixture(t)
	s := d.talk()
	for _, query := range []string{"zzqqxx", "frobnicate", "Quxley GmbH"} {
		found, err := Recall(t.Context(), []*Session{s}, RecallRequest{Query: query}, RecallOptions{Embedder: minilm.New(), EmbedFor: time.Minute})
		require.NoError(t, err)
		require.Empty(t, found.Results, query)
	}
}

// Query and answer share only their meaning.
func TestRecallByMeaning(t *testing.T) {
	d := newFixture(t)
	s := d.talk()
	for query, want := range map[string]string{
		"which relational database was chosen":      "messages.jsonl#L2",
		"where is the test environment":             "messages.jsonl#L1",
		"when does the ship depart in the morning?": "detail/ferry.md#L3",
	} {
		require.NotContains(t, recall(t, RecallRequest{Query: query}, s), want, "%s: it must be found by meaning", query)
		found, err := Recall(t.Context(), []*Session{s}, RecallRequest{Query: query}, RecallOptions{Embedder: minilm.New(), EmbedFor: time.Minute})
		require.NoError(t, err)
		require.NotEmpty(t, found.Results, query)
		require.Equal(t, want, found.Results[0].Citation, query)
		require.Zero(t, found.Unembedded)
		require.Empty(t, found.Degraded)
	}
	found, err := Recall(t.Context(), []*Session{s}, RecallRequest{Query: "quantum chromodynamics"}, RecallOptions{Embedder: minilm.New(), EmbedFor: time.Minute})
	require.NoError(t, err)
	require.Empty(t, found.Results, "what is not near is not shown")
	found, err = Recall(t.Context(), []*Session{s}, RecallRequest{Query: "password"}, RecallOptions{})
	require.NoError(t, err)
	require.Equal(t, "Password: [redacted: password]", found.Results[0].Text, "an agent may have written it with its own tools")
}

// Vectors are made once. Recall does not wait for missing ones.
func TestRecallMakesVectorsInItsTime(t *testing.T) {
	d := newFixture(t)
	s := d.talk()
	inner := &watched{Embedder: minilm.New()}
	keeper, err := cache.Open(inner, t.TempDir(), cache.Options{})
	require.NoError(t, err)
	find := func(s *Session, o RecallOptions) RecallResult {
		found, err := Recall(t.Context(), []*Session{s}, RecallRequest{Query: "blue gateway"}, o)
		require.NoError(t, err)
		require.Equal(t, "messages.jsonl#L1", found.Results[0].Citation)
		return found
	}
	require.Equal(t, 6, find(s, RecallOptions{Embedder: keeper, EmbedFor: -1}).Unembedded)
	inner.delay = time.Hour
	begun := time.Now()
	require.Equal(t, 6, find(s, RecallOptions{Embedder: keeper}).Unembedded)
	require.Less(t, time.Since(begun), time.Minute)
	inner.delay, inner.texts = 0, nil

	made, err := s.Embed(t.Context(), keeper)
	require.NoError(t, err)
	require.Equal(t, 6, made)
	require.NotContains(t, strings.Join(inner.texts, "\n"), "hunter2", "the model may be another's server")
	require.Contains(t, inner.texts, "Ferry\nThe boat leaves at dawn, the timetable hangs in the harbour office.")
	inner.texts = nil
	again, err := Open(d.sessions(), "s1")
	require.NoError(t, err)
	require.Zero(t, find(again, RecallOptions{Embedder: keeper, EmbedFor: time.Minute}).Unembedded)
	require.Empty(t, inner.texts, "another process finds them")
	made, err = s.Embed(t.Context(), keeper)
	require.NoError(t, err)
	require.Zero(t, made, "nothing is made twice")
	require.Zero(t, find(again, RecallOptions{Embedder: keeper, EmbedFor: -1}).Unembedded)

	d.say("user", "one more about the gateway")
	inner.err = errors.New("the server is away")
	found := find(s, RecallOptions{Embedder: keeper})
	require.Contains(t, found.Degraded, "the server is away")
	_, err = s.Embed(t.Context(), keeper)
	require.ErrorContains(t, err, "the server is away")
	_, err = s.Embed(t.Context(), nil)
	require.Error(t, err)
	inner.err = nil
	cancelled, stop := context.WithCancel(t.Context())
	stop()
	_, err = s.Embed(cancelled, keeper)
	require.ErrorIs(t, err, context.Canceled)
}

// A key longer than a piece is redacted before cutting.
func TestKeysAreNotCutIntoPieces(t *testing.T) {
	lines := make([]string, 40)
	for i := range lines {
		lines[i] = strings.Repeat(fmt.Sprintf("%c%cQ9", 'A'+i%26, 'a'+i/2), 16)
	}
	u := &unit{text: strings.Repeat("I was looking at the deployment. ", 25) + "\n-----BEGIN RSA PRIVATE " + "KEY-----\n" + strings.Join(lines, "\n") + "\n-----END RSA PRIVATE " + "KEY-----\n"}
	all := strings.Join(u.safePieces(), "\n")
	require.Contains(t, all, "deployment")
	for _, line := range lines {
		require.NotContains(t, all, line)
	}
}

// A failing embedder of documents only: the question still has its vector.
func TestRecallSaysWhatIsMissing(t *testing.T) {
	d := newFixture(t)
	s := d.talk()
	found, err := Recall(t.Context(), []*Session{s}, RecallRequest{Query: "blue gateway"}, RecallOptions{Embedder: documentsFail{minilm.New()}})
	require.NoError(t, err)
	require.Equal(t, "6 pieces of the session are found by words only: no documents today", found.Degraded)
	require.NotEmpty(t, found.Results)
}

type documentsFail struct{ embed.Embedder }

func (e documentsFail) Embed(ctx context.Context, kind embed.Kind, texts []string) ([][]float32, error) {
	if kind == embed.Document {
		return nil, errors.New("no documents today")
	}
	return e.Embedder.Embed(ctx, kind, texts)
}

func TestPieces(t *testing.T) {
	for name, text := range map[string]string{
		"short":    "a few words",
		"lines":    strings.Repeat("a line of some words\n", 200),
		"words":    strings.Repeat("word ", 500),
		"one word": strings.Repeat("x", 5000),
		"wide":     strings.Repeat("渡轮", 2000),
		"blank":    "hello" + strings.Repeat("\n", 5000) + "end",
		"huge":     strings.Repeat("word ", 100_000),
	} {
		u := &unit{text: text, extra: []string{"Title"}}
		pieces := u.pieces(u.text)
		require.LessOrEqual(t, len(pieces), maxPieces, name)
		length := 0
		for _, p := range pieces {
			require.True(t, strings.HasPrefix(p, "Title\n"), name)
			require.NotEmpty(t, strings.TrimSpace(strings.TrimPrefix(p, "Title\n")), name)
			require.LessOrEqual(t, len(p), pieceLength+len("Title\n"), name)
			length += len(p) - len("Title\n")
		}
		if name != "huge" && name != "blank" {
			require.Greater(t, float64(length), 0.9*float64(len(strings.TrimSpace(text))), "%s: nothing is left out", name)
		}
	}
	require.Nil(t, (&unit{text: "x"}).cosine([]float32{1}))
	u := &unit{}
	u.setVectors([][]float32{{1, 0}, {0, 1}})
	require.InDelta(t, 0.8, *u.cosine([]float32{0.6, 0.8}), 1e-6, "that of the nearest piece")
	require.Nil(t, u.cosine([]float32{1, 0, 0}), "another model's")
	require.False(t, u.setVectors([][]float32{nil}))
}

// A word counts, a neighbour's a little, the whole query most.
func TestScore(t *testing.T) {
	d := newFixture(t)
	for _, text := range []string{"the harbour opens", "deploy window", "the window of the deploy is on friday", "nothing here"} {
		d.say("user", text)
	}
	s := d.session()
	units, asked, err := s.units(t.Context(), "", "deploy window")
	require.NoError(t, err)
	q := newQuestion(RecallRequest{Query: "deploy window"})
	q.add(asked)
	found := q.score(units)
	require.Greater(t, found.bm25[1], found.bm25[2])
	require.Zero(t, found.bm25[0], "its neighbour says it, not itself")
	require.Zero(t, found.bm25[3])
	require.Positive(t, found.ceiling)
	require.False(t, math.IsNaN(found.ceiling))
	require.Zero(t, found.holds[0])
	require.Equal(t, uint64(0b11), found.holds[1], "both words")
	none := question{text: "x"}.score(nil)
	require.Empty(t, none.bm25)
	require.Zero(t, none.ceiling)
}

func BenchmarkRecallByMeaning(b *testing.B) {
	s, err := New(b.TempDir(), "x")
	if err != nil {
		b.Fatal(err)
	}
	keeper, err := cache.Open(minilm.New(), filepath.Join(b.TempDir(), "cache"), cache.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 10_000 {
		if _, err := s.Append(b.Context(), Message{Role: "user", Content: fmt.Sprintf("message %d about subject%d", i, i%97)}, AppendOptions{}); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := s.Embed(b.Context(), keeper); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		found, err := Recall(b.Context(), []*Session{s}, RecallRequest{Query: "message about subject5"}, RecallOptions{Embedder: keeper})
		if err != nil || len(found.Results) != 5 || found.Unembedded > 0 {
			b.Fatal(len(found.Results), found.Unembedded, err)
		}
	}
}

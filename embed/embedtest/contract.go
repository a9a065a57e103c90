package embedtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/memcore/memcore/embed"
)

func testNoTexts(t testing.TB, e embed.Embedder) {
	for _, none := range [][]string{nil, {}} {
		vecs, err := e.Embed(t.Context(), embed.Document, none)
		if err != nil || len(vecs) != 0 {
			t.Errorf("Embed(%#v) = %d vectors, %v; want none and no error", none, len(vecs), err)
		}
	}
}

func testUnit(t testing.TB, e embed.Embedder) {
	vecs := mustEmbed(t, e, texts...)
	dim := e.Dimension()
	if dim < 1 {
		t.Errorf("Dimension() after a call = %d, want at least 1", dim)
	}
	for i, v := range vecs {
		checkUnit(t, texts[i], v)
		if len(v) != dim {
			t.Errorf("vector of %s has length %d, want Dimension() = %d", shorten(texts[i]), len(v), dim)
		}
	}
}

// odd texts break encoders, tokenisers and divisions.
var odd = []string{
	"",
	" \t\r\n\u00a0\u3000",
	"\x00",
	"a\x00b\x1b[31mc\x7f",
	"\xff\xfe\xfd",
	"cut in \xe4\xb8",
	"lone surrogate \xed\xa0\x80 end",
	"\ufffd\ufeff\u200b\u200d\u202e",
	"👩\u200d👩\u200d👧\u200d👦 🇩🇪 👍🏽",
	"e\u0301\u0301\u0301\u0301 Z\u0351\u036b\u0343a\u0329\u0321lgo",
	"مرحبا بالعالم",
	"नमस्ते दुनिया",
	"!!! ??? --- ###",
	"[CLS] [SEP] [MASK] [PAD] <s> </s> <|endoftext|>",
	strings.Repeat("x", 5000),
	`{"input": ["a", null]}`,
}

func testAnyText(t testing.TB, e embed.Embedder) {
	for i, v := range mustEmbed(t, e, odd...) {
		checkUnit(t, odd[i], v)
	}
	for _, text := range odd {
		checkUnit(t, text, mustEmbed(t, e, text)[0])
	}
}

func testLong(t testing.TB, e embed.Embedder) {
	long := strings.Repeat("one two three four five ", 2000)
	vecs := mustEmbed(t, e, "short", long, "also short")
	for i, v := range vecs {
		checkUnit(t, "a text beside a long one", v)
		if len(v) != e.Dimension() {
			t.Errorf("vector %d beside a long text has length %d, want %d", i, len(v), e.Dimension())
		}
	}
	alone := mustEmbed(t, e, "short")
	checkSame(t, "a text beside a long one", []string{"short"}, vecs[:1], alone)
}

func testOrder(t testing.TB, e embed.Embedder) {
	forward := clone(mustEmbed(t, e, texts...))
	turned := slices.Clone(texts)
	slices.Reverse(turned)
	backward := mustEmbed(t, e, turned...)
	slices.Reverse(backward)
	checkSame(t, "texts in reverse order", texts, backward, forward)
	for i := range forward {
		for j := range i {
			if apart(forward[i], forward[j]) == 0 {
				t.Errorf("%s and %s have the same vector", shorten(texts[i]), shorten(texts[j]))
			}
		}
	}
}

func testBatch(t testing.TB, e embed.Embedder) {
	batch := clone(mustEmbed(t, e, texts...))
	single := make([][]float32, len(texts))
	for i, text := range texts {
		single[i] = mustEmbed(t, e, text)[0]
	}
	checkSame(t, "texts one by one", texts, single, batch)
}

func testDeterministic(t testing.TB, e embed.Embedder) {
	first := clone(mustEmbed(t, e, texts...))
	checkSame(t, "the same call again", texts, mustEmbed(t, e, texts...), first)
	twice := mustEmbed(t, e, texts[0], texts[1], texts[0])
	checkSame(t, "a text twice in one call", texts[:1], twice[2:], twice[:1])
}

func testQuery(t testing.TB, e embed.Embedder) {
	docs := mustEmbed(t, e, texts...)
	vecs, err := e.Embed(t.Context(), embed.Query, texts)
	if err != nil || len(vecs) != len(texts) {
		t.Fatalf("Embed of %d queries gave %d vectors, %v", len(texts), len(vecs), err)
	}
	for i, v := range vecs {
		checkUnit(t, texts[i], v)
		if len(v) != len(docs[i]) {
			t.Errorf("query vector %d has length %d, its document vector %d", i, len(v), len(docs[i]))
		}
	}
}

func testOwnership(t testing.TB, e embed.Embedder) {
	got := mustEmbed(t, e, texts...)
	want := clone(got)
	_ = append(got[0], 9, 9, 9)
	for i := range got[0] {
		got[0][i] = 9
	}
	checkSame(t, "after another vector was written over", texts[1:], got[1:], want[1:])
	for _, v := range got {
		clear(v)
	}
	checkSame(t, "a call after the vectors of another were written over", texts, mustEmbed(t, e, texts...), want)
	kept := mustEmbed(t, e, texts[0])
	mustEmbed(t, e, texts[2])
	checkSame(t, "a vector kept during a later call", texts[:1], kept, want[:1])
}

func testInput(t testing.TB, e embed.Embedder) {
	given := slices.Clone(texts)
	want := clone(mustEmbed(t, e, given...))
	if !slices.Equal(given, texts) {
		t.Errorf("Embed changed the slice of texts to %q", given)
	}
	clear(given)
	checkSame(t, "a call after the caller reused its slice", texts, mustEmbed(t, e, texts...), want)
}

func testCancelled(t testing.TB, e embed.Embedder) {
	// No cache has these texts.
	fresh := []string{"never asked before: a cancelled call", "and its second text"}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	vecs, err := e.Embed(ctx, embed.Document, fresh)
	if !errors.Is(err, context.Canceled) || len(vecs) != 0 {
		t.Errorf("Embed with a cancelled context = %d vectors, %v; want none and context.Canceled", len(vecs), err)
	}
	ctx, cancel = context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	vecs, err = e.Embed(ctx, embed.Document, fresh)
	if !errors.Is(err, context.DeadlineExceeded) || len(vecs) != 0 {
		t.Errorf("Embed after its deadline = %d vectors, %v; want none and context.DeadlineExceeded", len(vecs), err)
	}
	mustEmbed(t, e, fresh...) // a cancelled call leaves nothing broken behind
}

// soon is generous, for busy machines and the race detector.
const soon = 5 * time.Second

func testCancel(t testing.TB, e embed.Embedder) {
	const n = 2000
	many := make([]string, n)
	for i := range many {
		many[i] = strings.Repeat("cancelled text number "+strings.Repeat("i", i%7+1)+" ", 30+i%20) + string(rune('a'+i%26))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var cancelled time.Time
	timer := time.AfterFunc(50*time.Millisecond, func() { cancelled = time.Now(); cancel() })
	vecs, err := e.Embed(ctx, embed.Document, many)
	ended := time.Now()
	if timer.Stop() || err == nil { // a fast fake was done before the cancellation
		if err != nil || len(vecs) != n {
			t.Errorf("Embed of %d texts = %d vectors, %v", n, len(vecs), err)
		}
		return
	}
	<-ctx.Done()
	if !errors.Is(err, context.Canceled) || len(vecs) != 0 {
		t.Errorf("Embed cancelled on its way = %d vectors, %v; want none and context.Canceled", len(vecs), err)
	}
	if late := ended.Sub(cancelled); late > soon {
		t.Errorf("Embed returned %v after it was cancelled, want less than %v", late, soon)
	}
}

func testConcurrent(t testing.TB, e embed.Embedder) {
	want := clone(mustEmbed(t, e, texts...))
	ctx := t.Context()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := e.Embed(ctx, embed.Document, texts)
			if err != nil {
				t.Errorf("Embed beside others: %v", err)
				return
			}
			checkSame(t, "Embed beside others", texts, got, want)
			if e.CountTokens(texts[0]) < 1 || e.Dimension() != len(want[0]) || e.Fingerprint() == "" {
				t.Errorf("CountTokens, Dimension or Fingerprint beside others answered otherwise")
			}
		})
	}
	wg.Wait()
}

func testFingerprint(t testing.TB, e embed.Embedder) {
	before := e.Fingerprint()
	if before == "" {
		t.Errorf("Fingerprint() is empty")
	}
	for _, r := range before {
		if !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == unicode.ReplacementChar {
			t.Errorf("Fingerprint() = %q holds %q, want printable characters without spaces", before, r)
		}
	}
	mustEmbed(t, e, texts[0])
	if after := e.Fingerprint(); after != before {
		t.Errorf("Fingerprint() = %q after a call, %q before", after, before)
	}
}

func testTokens(t testing.TB, e embed.Embedder) {
	if n := e.MaxTokens(); n < 1 {
		t.Errorf("MaxTokens() = %d, want at least 1", n)
	}
	if n := e.CountTokens(""); n < 0 || n > 4 {
		t.Errorf("CountTokens(\"\") = %d, want 0, or a little more from an estimate", n)
	}
	for _, text := range odd {
		if n := e.CountTokens(text); n < 0 {
			t.Errorf("CountTokens(%s) = %d", shorten(text), n)
		}
	}
	last := e.CountTokens("")
	for n := 1; n <= 1000; n *= 10 {
		got := e.CountTokens(strings.Repeat("memory ", n))
		if got < n || got <= last {
			t.Errorf("CountTokens of the word memory %d times = %d, want at least %d and more than %d", n, got, n, last)
		}
		last = got
	}
}

func testAlike(t testing.TB, a, b embed.Embedder) {
	if a.Fingerprint() != b.Fingerprint() {
		t.Errorf("Fingerprint() = %q and %q from two embedders configured alike", a.Fingerprint(), b.Fingerprint())
	}
	checkSame(t, "another embedder configured alike", texts, mustEmbed(t, b, texts...), mustEmbed(t, a, texts...))
}

type meaning struct{ text, near, far string }

var meanings = []meaning{
	{"The cat sits outside", "A feline is outdoors", "A man is playing guitar"},
	{"How do I reset my password?", "I forgot my login and need a new one", "The weather will be sunny tomorrow"},
	{"The server ran out of memory", "The process was killed because RAM was exhausted", "She baked a chocolate cake"},
	{"Our meeting moved to Thursday", "The appointment was rescheduled to another day", "The database index is corrupt"},
}

func testMeaning(t testing.TB, e embed.Embedder, m meaning) {
	v := mustEmbed(t, e, m.text, m.near, m.far)
	near, far := dot(v[0], v[1]), dot(v[0], v[2])
	if near <= far {
		t.Errorf("cosine of %q with %q is %.3f, with %q %.3f; want the first larger", m.text, m.near, near, m.far, far)
	}
}

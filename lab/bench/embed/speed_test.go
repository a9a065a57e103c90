package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/memcore/memcore/embed/minilm"
)

func TestTextHasItsTokens(t *testing.T) {
	for _, tokens := range lengths {
		if got := minilm.New().CountTokens(text(tokens)) + 2; got != tokens {
			t.Errorf("text(%d) has %d tokens with its frame", tokens, got)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		in   []time.Duration
		want time.Duration
	}{{nil, 0}, {[]time.Duration{7}, 7}, {[]time.Duration{9, 1, 5}, 5}} {
		if got := median(tt.in); got != tt.want {
			t.Errorf("median(%v) = %v, want %v", tt.in, got, tt.want)
		}
	}
}

func TestRepeat(t *testing.T) {
	calls := 0
	runs, took, err := repeat(t.Context(), 0.02, func() error { calls++; time.Sleep(time.Millisecond); return nil })
	if err != nil || runs != calls-1 || took < 20*time.Millisecond {
		t.Errorf("repeat for 20 ms = %d runs, %v, %v after %d calls, want one run less and 20 ms at least", runs, took, err, calls)
	}
	broken := errors.New("broken")
	if _, _, err := repeat(t.Context(), 1, func() error { return broken }); !errors.Is(err, broken) {
		t.Errorf("repeat of what fails: error %v, want %v", err, broken)
	}
}

// always takes the same time.
func always(took time.Duration) contender {
	return contender{name: took.String(), run: func(context.Context, int, int, float64) (int, time.Duration, error) { return 2, 2 * took, nil }}
}

// failing fails once, after some calls.
func failing(calls int) contender {
	return contender{name: "failing", run: func(context.Context, int, int, float64) (int, time.Duration, error) {
		if calls--; calls == -1 {
			return 0, 0, errors.New("gone")
		}
		return 1, time.Second, nil
	}}
}

// A rival that fails is dropped; the others go on.
func TestRivalsThatFailAreLeftOut(t *testing.T) {
	var out strings.Builder
	r := run{contenders: []contender{always(time.Millisecond), failing(1), always(6 * time.Second)}, out: &out,
		times: map[setting][]time.Duration{}, gone: map[int]bool{}}
	for n := range 3 {
		if err := r.round(t.Context(), n == 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		setting
		want int
	}{{setting{0, 206, 64}, 3}, {setting{1, 14, 1}, 1}, {setting{1, 206, 64}, 0}, {setting{2, 206, 64}, 1}} {
		if got := len(r.times[tt.setting]); got != tt.want {
			t.Errorf("%+v was measured %d times, want %d", tt.setting, got, tt.want)
		}
	}
	if want := "BenchmarkEmbed/embedder=1ms/tokens=14/batch=64-"; !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "\t2\t1000000 ns/op\t64000.0 texts/s") {
		t.Errorf("lines for benchstat:\n%s\nwant one that begins with %s, and 1000000 ns/op", out.String(), want)
	}
	r.contenders[0] = failing(0)
	if err := r.round(t.Context(), false); err == nil {
		t.Error("round in which the built-in embedder fails: no error")
	}
}

func TestNotesHaveTheirTokens(t *testing.T) {
	dir, model := t.TempDir(), minilm.New()
	files, _, err := writeNotes(dir, 3000)
	if err != nil {
		t.Fatal(err)
	}
	texts, tokens, err := sections(model, dir, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if framed := tokens - 2*len(texts); files < 3 || framed < 2500 || framed > 4500 {
		t.Errorf("writeNotes of 3000 tokens: %d files with %d tokens in sections", files, framed)
	}
	if some, _, err := sections(model, dir, 100); err != nil || len(some) >= len(texts) {
		t.Errorf("sections up to 100 tokens: %d of %d, %v", len(some), len(texts), err)
	}
	if _, _, err := sections(model, t.TempDir(), 100); err == nil {
		t.Error("sections of an empty folder: no error")
	}
}

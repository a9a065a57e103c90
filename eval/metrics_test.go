package eval

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestInjection(t *testing.T) {
	got := injection([]Asked{
		{Answerable: true, Relevant: map[string]int{"a": 1, "b": 1}, Injected: []string{"a", "x"}, Tokens: 30},
		{Answerable: true, Relevant: map[string]int{"a": 1}, Injected: []string{"a", "y"}, Tokens: 10},
		{Answerable: true, Relevant: map[string]int{"a": 1}},
		{Injected: []string{"a"}, Tokens: 20},
		{},
	})
	want := Injection{Precision: 0.5, Recall: 0.5, F1: 0.5, Empty: 1.0 / 3, Silence: 0.5, Tokens: 10}
	if math.Abs(got.Empty-want.Empty) > 1e-12 {
		t.Errorf("Empty = %v, want %v", got.Empty, want.Empty)
	}
	got.Empty = want.Empty
	if got != want {
		t.Errorf("injection = %+v, want %+v", got, want)
	}
	if none := injection(nil); none != (Injection{}) {
		t.Errorf("injection of no queries = %+v, want zeros", none)
	}
}

// The interval of coin tosses is near that of the normal distribution.
func TestInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	values := make([]map[string]float64, 400)
	for i := range values {
		values[i] = map[string]float64{"any@5": float64(r.IntN(2)), "mrr": 1}
	}
	mean, got := means(values)["any@5"], intervals(values)
	half := 1.96 * math.Sqrt(mean*(1-mean)/400)
	if in := got["any@5"]; math.Abs(in[0]-(mean-half)) > 0.006 || math.Abs(in[1]-(mean+half)) > 0.006 {
		t.Errorf("interval of a mean of %v = %v, want about %v to %v", mean, in, mean-half, mean+half)
	}
	if in := got["mrr"]; math.Abs(in[0]-1) > 1e-9 || math.Abs(in[1]-1) > 1e-9 {
		t.Errorf("interval of what is always 1 = %v, want 1 to 1", in)
	}
	if len(intervals(nil)) != 0 {
		t.Errorf("intervals of nothing = %v, want none", intervals(nil))
	}
}

func TestSignTest(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	noise, shift := make([]float64, 300), make([]float64, 300)
	for i := range noise {
		noise[i] = r.NormFloat64()
		shift[i] = noise[i] + 0.3
	}
	centre := 0.0
	for _, v := range noise {
		centre += v / 300
	}
	for i := range noise {
		noise[i] -= centre * 0.5
	}
	if p := signTest(noise); p < 0.1 {
		t.Errorf("signTest of noise = %v, want it not to be significant", p)
	}
	if p := signTest(shift); p > 0.001 {
		t.Errorf("signTest of noise shifted by 0.3 = %v, want it to be significant", p)
	}
	if p := signTest(make([]float64, 10)); p != 1 {
		t.Errorf("signTest of no difference = %v, want 1", p)
	}
	if p := signTest([]float64{1, 1}); p < 0.3 {
		t.Errorf("signTest of two = %v, want it far from significant", p)
	}
}

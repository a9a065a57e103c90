package lazy

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// expressions have everything that package regexp knows.
var expressions = []string{
	``, `a`, `abc`, `^abc`, `abc$`, `^$`, `^`, `$`, `\A\z`, `a*b+c?`, `(?:ab|ba)+`, `[ab]{2,4}c`, `(a|ab)(c|bcd)`, `a.c`, `(?s)a.c`, `[^a]b`, `[^\n]$`,
	`(?m)^a`, `(?m)b$`, `(?m)^$`, `(?m)^a.*b$`, `\bab`, `ab\b`, `\Bab`, `a\B`, `\b`, `\B`, `(?:^|\W)ab(?:$|\W)`, `(?m)\b$`, `(?m)^\B`,
	`(?i)abc`, `(?i)k`, `(?i)ſs`, `(?i)straße`, `(?i)[k-m]b`, `(?i)\bé`, `[é-ü]b`, `\pL+\pN`, `\PL`, `[^\x00-\x{10FFFF}]`, `\x{FFFD}`, `[\x{D7FF}-\x{E000}]`, `[一-龥]{2}`, `\p{Cyrillic}a`,
	`\w+@\w+\.(?:a|b)`, `(?:a?){12}a{12}`, `[ab]*a[ab]{7}`, `(?i)\b(?:no|don't|never)\b[^.!?\n]{0,9}\ba\b`, `x*`, `(?:)|a`, `a||b`, `(?:a$|^b)`, `^(?:a|b)*$`,
	`[ab]{0,5}?ca`, `(?:ab)?c$`, `a?^b`, `a*?b*?\bc`, `a*`, `a?b?`,
}

var letters = []string{"a", "b", "c", "A", "B", "k", "K", "\u212a", "s", "ſ", "S", "é", "É", "ü", "ß", "1", "_", "@", ".", "!", "'", " ", "\n", "\r", "一", "龥", "я", "Я", "\u2028", "\xff", "\xe4\xb8", "\ufffd", "\U0001f600", "\x00", "don't", "never", "ab", "straße"}

func randomText(random *rand.Rand) string {
	var b strings.Builder
	for range random.IntN(14) {
		b.WriteString(letters[random.IntN(len(letters))])
	}
	return b.String()
}

// A matcher says what package regexp says.
func TestMatcher(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 5))
	texts := []string{"", "a", "b", "ab", "aaaaaaaaaaaa", strings.Repeat("ab", 50)}
	for range 3000 {
		texts = append(texts, randomText(random))
	}
	for _, expression := range expressions {
		m, want := newMatcher(expression), regexp.MustCompile(expression)
		require.NotNil(t, m, expression)
		for _, text := range texts {
			if got, ok := m.match(text); !ok || got != want.MatchString(text) {
				t.Fatalf("%q matches %q: %v, %v; want %v", expression, text, got, ok, !got)
			}
		}
	}
}

func FuzzMatcher(f *testing.F) {
	for _, expression := range expressions {
		f.Add(expression, "ab\nc")
	}
	f.Fuzz(func(t *testing.T, expression, text string) {
		want, err := regexp.Compile(expression)
		if err != nil || len(expression) > 200 {
			t.Skip()
		}
		m := newMatcher(expression)
		if m == nil {
			t.Skip()
		}
		for range 2 { // once with new states, once with known ones
			if got, ok := m.match(text); ok && got != want.MatchString(text) {
				t.Errorf("%q matches %q: %v, want %v", expression, text, got, !got)
			}
		}
	})
}

// With too many states a matcher drops them and goes on, then gives up.
func TestMatcherOfManyStates(t *testing.T) {
	const expression = `[ab]*a[ab]{16}c`
	m, want := newMatcher(expression), regexp.MustCompile(expression)
	random := rand.New(rand.NewPCG(3, 5))
	undecided := 0
	for range 3000 {
		var b strings.Builder
		for range 200 {
			b.WriteByte("ab"[random.IntN(2)])
		}
		got, ok := m.match(b.String())
		if !ok {
			undecided++
		} else if got != want.MatchString(b.String()) {
			t.Fatalf("%q matches %q: %v, want %v", expression, b.String(), got, !got)
		}
		if len(m.known) > m.max {
			t.Fatalf("%d states, want at most %d", len(m.known), m.max)
		}
	}
	if m.emptied <= 1 || undecided == 0 {
		t.Errorf("states were dropped %d times and %d texts undecided, want both", m.emptied, undecided)
	}
}

// An Expression with a matcher and one without return what package regexp does.
func TestExpression(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 11))
	for _, expression := range expressions {
		want, fresh, used := regexp.MustCompile(expression), Regexp(expression)(), Regexp(expression)()
		used.read.Store(worthMatcher)
		for range 200 {
			text := randomText(random)
			for _, e := range []*Expression{fresh, used} {
				require.Equal(t, want.MatchString(text), e.MatchString(text), "%q in %q", expression, text)
				require.Equal(t, want.FindString(text), e.FindString(text), "%q in %q", expression, text)
				require.Equal(t, want.FindStringIndex(text), e.FindStringIndex(text), "%q in %q", expression, text)
				require.Equal(t, want.FindStringSubmatch(text), e.FindStringSubmatch(text), "%q in %q", expression, text)
				require.Equal(t, want.FindStringSubmatchIndex(text), e.FindStringSubmatchIndex(text), "%q in %q", expression, text)
				require.Equal(t, want.FindAllString(text, -1), e.FindAllString(text, -1), "%q in %q", expression, text)
				require.Equal(t, want.FindAllStringIndex(text, 2), e.FindAllStringIndex(text, 2), "%q in %q", expression, text)
				require.Equal(t, want.FindAllStringSubmatch(text, -1), e.FindAllStringSubmatch(text, -1), "%q in %q", expression, text)
				require.Equal(t, want.FindAllStringSubmatchIndex(text, -1), e.FindAllStringSubmatchIndex(text, -1), "%q in %q", expression, text)
				require.Equal(t, want.ReplaceAllString(text, "<$0>"), e.ReplaceAllString(text, "<$0>"), "%q in %q", expression, text)
				require.Equal(t, want.ReplaceAllLiteralString(text, "$0"), e.ReplaceAllLiteralString(text, "$0"), "%q in %q", expression, text)
				require.Equal(t, want.ReplaceAllStringFunc(text, strings.ToUpper), e.ReplaceAllStringFunc(text, strings.ToUpper), "%q in %q", expression, text)
			}
		}
	}
}

// Matchers may be used concurrently, while they make states and drop them.
func TestMatcherConcurrently(t *testing.T) {
	m, want := newMatcher(`(?i)\b(?:[ab]*a[ab]{12}c|né)\b`), regexp.MustCompile(`(?i)\b(?:[ab]*a[ab]{12}c|né)\b`)
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(worker), 1))
			for range 500 {
				text := randomText(random) + strings.Repeat("ab"[:1+random.IntN(2)], random.IntN(20)) + "c né"
				if got, ok := m.match(text); ok && got != want.MatchString(text) {
					t.Errorf("it matches %q: %v, want %v", text, got, !got)
				}
			}
		})
	}
	wg.Wait()
}

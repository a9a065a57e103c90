package digest

import (
	"strings"
	tests "testing"

	"github.com/stretchr/testify/require"
)

func TestPattern(t *tests.T) {
	p := patternOf(`(?i)^\W*(?:always|allow(?:s|ed)?)\b|\b(?:from now on|no \w+s)\b`)()
	require.NotNil(t, p.words)
	for text, want := range map[string]bool{
		"Always run it": true, "it allows all": false, "and FROM NOW ON": true, "no mocks": true, "nothing": false, "": false, "ſo, from now on": true,
	} {
		require.Equal(t, want, p.MatchString(text), text)
		require.Equal(t, want, p.expression.MatchString(text), text)
	}
	require.Nil(t, patternOf(`a|b*`)().words, "it matches everywhere")
}

// A pattern matches what its expression does.
func FuzzPattern(f *tests.F) {
	for _, text := range []string{"never push to main", "ſtop, I Kan't", "we don't use mocks in tests, they lie", "immer erst testen", "no, it's wrong", "use tofu here, not terraform"} {
		f.Add(text)
	}
	patterns := []func() *pattern{ofWork, ofProduct, fromNowOn, later, always, insisting, instead, excluding, excludingAny, chatting, forbidding, atHand, pointsAt, definite, general, habitual, contrasting, guarded, conditional, advising, reasoned, terse, ordering, troubled, pastedIn, regretting, preferring, pronominal, deciding, undecided, located, told, correcting, notCorrecting, onlyNow, supposing, quoting, questioning, introducing}
	f.Fuzz(func(t *tests.T, text string) {
		text = strings.ToValidUTF8(text, "")
		for i, compiled := range patterns {
			if p := compiled(); p.expression.MatchString(text) && !p.mayMatch(text) {
				t.Errorf("pattern %d misses %q", i, text)
			}
		}
	})
}

package prompt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/text/prompt"
)

func TestHasQuestionMark(t *testing.T) {
	for text, want := range map[string]bool{
		"which port?":               true,
		"哪个端口？":                     true,
		"ما هو المنفذ؟":             true,
		"Σε ποια θύρα ακούει;":      true,
		"Σε ποια θύρα ακούει\u037e": true,
		"Ո՞րն է նավահանգիստը":       true,
		"የትኛው ወደብ ነው፧":              true,
		"¿Qué puerto usa":           true,
		"":                          false,
		"x := 1; y := 2;":           false,
		"Ακούει στη θύρα 5433.":     false,
		"η θύρα είναι η 5433;":      true,
		"έκδοση 2; έκδοση 3.":       false, // behind a number, and not at the end
	} {
		require.Equal(t, want, prompt.HasQuestionMark(text), text)
	}
}

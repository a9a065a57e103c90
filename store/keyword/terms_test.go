package keyword

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A query shares terms with a text that has its words, in each language of the texts so far.
func TestTerms(t *testing.T) {
	for _, tt := range []struct {
		text, query string
		found       bool
	}{
		{"the tests were running", "running test", true},
		{"getCacheStats is slow", "get_cache_stats", true},
		{"getCacheStats is slow", "cache", true},
		{"渡轮每天早上八点出发", "渡轮", true},
		{"Die Häuser sind auf dem Berg und nicht im Tal", "Haus", true},
		{"deploys on friday", "deploy", true},
		{"nothing of it", "zebra", false},
	} {
		terms := NewTerms()
		text := terms.Of(tt.text)
		all := true
		for _, asked := range terms.Asked(tt.query) {
			has := slices.ContainsFunc(asked.Spellings, func(s string) bool { return slices.Contains(text, s) })
			all = all && (has || asked.Whole)
		}
		require.Equal(t, tt.found, all, "%s: %v, %v", tt.query, text, terms.Asked(tt.query))
	}
	require.Equal(t, []string{"a", "b", "a"}, NewTerms().Of("a b a"), "as often as they occur")
	require.Empty(t, NewTerms().Asked("  "))
	require.Len(t, NewTerms().Asked("where is the harbour"), 1, "without stop words")
	require.Len(t, NewTerms().Asked("the of"), 2, "unless there is nothing else")
	require.Len(t, NewTerms().Demanded("not the harbour"), 3, "with stop words")
}

// Names and single words do not show a language.
func TestLanguageOf(t *testing.T) {
	for query, want := range map[string]string{
		"Which port does the staging server use?": "",
		"Where does Zoë Müller live?":             "",
		"QR code":                                 "",
		"":                                        "",
		"war file":                                "", // Java's, not what was
		"man page of nginx":                       "",
		"Which café did André and René go to?":     "",
		"Welchen Port benutzt der Server?":         "de",
		"Wann war die Überschwemmung in Köln?":     "de",
		"¿Qué puerto usa el servidor de pruebas?":  "es",
		"Hangi bağlantı noktası kullanılıyor?":     "tr",
		"Ce port folosește serverul de pe rețea?":  "ro",
		"Máy chủ thử nghiệm được dùng ở đâu?":      "vi",
		"Jaký port používá zkušební server?":       Undetermined,
		"какой порт":                               "ru",
		"測試伺服器用哪個端口":                               "zh",
		"テストサーバーのポート番号":                            "ja",
		"getCacheStats 返回什么":                       "",
		"getCacheStats retourne une erreur de clé": "fr",
	} {
		require.Equal(t, want, LanguageOf(query), query)
	}
}

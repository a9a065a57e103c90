package keyword

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

func TestTextAnalyzer(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", ""},
		{" \n\t—… !?", ""},
		{"The Caches were caching", "the cach were cach"},
		{"the user's caches, John’s", "the user cach john"},
		{"don't O'Brien", "dont obrien o brien"},
		{"getCacheStats", "getcachestat get cach stat"},
		{"HTTPServer parseJSON2 sha256Sum", "httpserver http server parsejson2 pars json2 sha256sum sha256 sum"},
		{"get_cache_stats", "getcachestat get cach stat"},
		{"kebab-case-name", "kebabcasenam kebab case name"},
		{"ERR_CONN_42 E1234", "errconn42 err conn 42 e1234"},
		{"core/source/source.go", "core/source/source.go core sourc source.go sourc go"},
		{"C:\\notes\\a.md", "c notes/a.md note a.md a md"},
		{"go v1.26.8", "go v1.26.8 1.26.8 v1 26 8"},
		{"10.0.0.5:5433", "10.0.0.5:5433 10.0.0.5 10 0 0 5 5433"},
		{"@scope/pkg-name", "scope/pkg-name scope pkgname pkg name"},
		{"https://example.com/a?x=1", "https://example.com/a https example.com exampl com a x 1"},
		{"ada@example.com", "ada@example.com ada example.com exampl com"},
		{"std::vec std...vec end.", "std::vec std vec std vec end"},
		{"C++ c# #5", "c++ c c# c 5"},
		{"2023-05-07", "2023-05-07 2023 05 07"},
		{"--dry-run .env -x", "dryrun dri run env x"},
		{"naïve Ærø Straße Müller", "naiv aero strass muller"},
		{"thể thế bán", "the the ban thể thế"},
		{"Đồng thời", "dong thoi đồng thời"},
		{"acasă Đuro", "acasa duro"},
		{"Йод Ёлка ОДОΣ", "йод елк одоσ"},
		{"كِتَاب كتاب", "كتاب كتاب"},
		{"ＥＲＲ＿４２　ｶﾞ", "err42 err 42 ガ"},
		{"pass\u200bword co\u00adoperate", "password cooper"},
		{"中文分词", "中 中文 文 文分 分 分词 词"},
		{"用getCache函数", "用 getcach get cach 函 函数 数"},
		{"데이터를", "데 데이 이 이터 터 터를 를"},
		{"ภาษาไทย", "ภ ภา า าษ ษ ษา า าไ ไ ไท ท ทย ย"},
		{"हिन्दी भाषा", "हिन्दी भाषा"},
		{"\xff\xfebad\xff", "bad"},
		{strings.Repeat("x", 300), strings.Repeat("x", 128)},
		{strings.Repeat("ab/", 100) + "c", strings.Repeat("ab ", 100) + "c"},
	} {
		if got := terms(wordsOf(tt.in, english)); got != tt.want {
			t.Errorf("Analyze(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func wordsOf(text string, l *language) analysis.TokenStream {
	analyzer := newTextAnalyzer()
	return analyzer.stem(analyzer.Analyze([]byte(text)), l)
}

func terms(tokens analysis.TokenStream) string {
	var all []string
	for _, token := range tokens {
		all = append(all, string(token.Term))
	}
	return strings.Join(all, " ")
}

func TestParse(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"which port does staging postgres use?", "port stage postgr use"},
		{"What is that?", "what is that"},
		{"port Port PORTS", "port"},
		{"getCacheStats", "(getcachestat) get cach stat"},
		{"getCacheStats getcachestats", "getcachestat get cach stat"},
		{"中文分词 猫", "中 中文 文 文分 分 分词 词 猫"},
		{"ねこ데이터 ね", "ねこ こ데 데이 이터 ね"},
		{"wie spricht man mit den Kunden", "spricht kunden/kund"},
		{"почему мы ждали ключи", "поч ждал ключ"},
		{`title:"x" AND -y* (z~2)^3`, "titl x y (z~2) z 2 3"},
	} {
		var all []string
		for _, term := range parse(tt.in, nil) {
			if term.whole {
				all = append(all, "("+string(bytes.Join(term.spellings, []byte("/")))+")")
			} else {
				all = append(all, string(bytes.Join(term.spellings, []byte("/"))))
			}
		}
		if got := strings.Join(all, " "); got != tt.want {
			t.Errorf("parse(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestWhatFindsWhat(t *testing.T) {
	for _, tt := range []struct {
		text    string
		found   string // queries, separated by |
		missing string
	}{
		{"call getCacheStats() first", "cache stats|getcachestats|getCacheStats|get_cache_stats|STATS", "status|cachet"},
		{"see core/source/source.go", "source.go|core/source/source.go|core source|Source", "rs|cargo/x"},
		{"failed with ERR_CONN_42", "ERR_CONN_42|err conn|err-conn-42|42", "DISK|43"},
		{"exit code E1234", "e1234|E1234", "E12345|1235"},
		{"needs v1.26.8 of it", "1.26.8|v1.26.8|1.26", "2.27.9"},
		{"listens on 10.0.0.5:5433", "5433|10.0.0.5|10.0.0.5:5433|port 5433", "54330"},
		{"import @scope/pkg", "@scope/pkg|scope/pkg|pkg", "@pk"},
		{"commit 9fceb02d0ae5", "9fceb02d0ae5|9FCEB02D0AE5", "9fceb"},
		{"a naïve Bücher-Sammlung", "naive|Naïve|bucher|BÜCHER|sammlung", "nave"},
		{"ключ йод", "ключ|ЙОД|ключи|ключами", "иод|замок"},
		{"数据库的端口是五千", "数据库|端口|库", "密码"},
		{"데이터베이스를 쓴다", "데이터베이스|베이", "베데"},
		{"ＡＰＩ　ｋｅｙ", "api key|API", "ap"},
		{"running tests", "test|runs", "rest"},
		{"Die Häuser an der Straße sind gesichert, und das ist gut", "haus|Häusern|Strasse|gesicherten|which haus is it", "maus"},
		{"Les chevaux mangent dans les prairies avec nous", "cheval mange|prairie", "vache"},
		{"كتب الطالب الدرس", "طالب|الدرس", "قلم"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			ix := indexOf(t, store.Record{ID: "1", Text: tt.text}, store.Record{ID: "2", Text: "nothing alike"})
			for query := range strings.SplitSeq(tt.found, "|") {
				if got := matchedIDs(t, ix, query); !slices.Equal(got, []string{"1"}) {
					t.Errorf("Match(%q) in %q = %q, want the record", query, tt.text, got)
				}
			}
			for query := range strings.SplitSeq(tt.missing, "|") {
				if got := matchedIDs(t, ix, query); len(got) > 0 {
					t.Errorf("Match(%q) in %q = %q, want none", query, tt.text, got)
				}
			}
		})
	}
}

func indexOf(t testing.TB, recs ...store.Record) *Index {
	t.Helper()
	ix, err := Open(t.Context(), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ix.Close()) })
	require.NoError(t, ix.Put(t.Context(), recs))
	require.NoError(t, ix.Commit(t.Context()))
	return ix
}

func matchedIDs(t testing.TB, ix *Index, query string) []string {
	t.Helper()
	matches, err := ix.Match(context.Background(), query, 10, store.Filter{})
	require.NoError(t, err)
	var ids []string
	for _, hit := range matches.Hits {
		ids = append(ids, hit.Record.ID)
	}
	return ids
}

// Each word of any text finds it, in its form there.
func FuzzAnalyzers(f *testing.F) {
	for _, seed := range []string{
		"the user's getCacheStats in core/source/source.go, v1.26.8", "O'Brien's don't can't's", "中文 ガ e\u200b\u0301 ς ß",
		"C++ c#x a--b a::b http://x.y/z?q=1", strings.Repeat("aB1-", 60), "ⱯⱯ" + strings.Repeat("Ɐ", 90), "\xff\xc3", "\xf4ĺ",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		folded := folding{}.Filter([]byte(text))
		if again := (folding{}).Filter(folded); string(again) != string(folded) {
			t.Fatalf("folding %q twice = %q, want %q", text, again, folded)
		}
		held := map[string]bool{}
		spoken, _ := spokenIn(text, newTextAnalyzer().Analyze([]byte(text)))
		tokens := wordsOf(text, spoken)
		for _, token := range tokens {
			held[string(token.Term)] = true
		}
		for _, token := range tokens {
			word := string(folded[token.Start:token.End])
			if !slices.ContainsFunc(parse(word, []*language{spoken}), func(t term) bool {
				return slices.ContainsFunc(t.spellings, func(s []byte) bool { return held[string(s)] })
			}) {
				t.Fatalf("%q of %q becomes %v, want one of %v", word, text, parse(word, []*language{spoken}), fmt.Sprint(held))
			}
		}
	})
}

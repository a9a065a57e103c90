package unigram

import (
	"cmp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// few is a vocabulary with the longest cut, the most probable and unknown letters apart.
var few = Vocabulary{
	Pieces:  []string{"", "", "▁", "▁a", "a", "b", "ab", "abab", "é", "カ", "ガ"},
	Scores:  []float32{0, 0, -2, -3, -3, -3, -4, -9, -5, -6, -6},
	Normal:  map[rune]string{'\t': " ", '\n': " ", '\u00a0': " ", '\u00ad': "", 'ﬀ': "aa", '½': " a b", 'ｶ': "カ", '\ufffd': " ", 'ﾞ': "\u3099"},
	Unknown: 1,
}

func open(t testing.TB) *Tokenizer {
	t.Helper()
	tok, err := Parse(few.Append(nil))
	require.NoError(t, err)
	return tok
}

func TestAppend(t *testing.T) {
	tok := open(t)
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{" \t\n ", ""},
		{"a", "▁a"},
		{"ab", "▁|ab"},
		{"abab", "▁|ab|ab"}, // -10 is more than -11
		{"b a  b", "▁|b|▁a|▁|b"},
		{"xyz", "▁|?"}, // unknown letters in a row are one
		{"xaz", "▁|?|a|?"},
		{"a\u00adb", "▁|ab"},
		{"a\u00a0b", "▁a|▁|b"},
		{"ﬀ", "▁a|a"},
		{"b½", "▁|b|▁a|▁|b"},
		{"e\u0301", "▁|é"},
		{"é", "▁|é"},
		{"ｶﾞ", "▁|ガ"},
		{"ｶﾞﾞ", "▁|ガ|?"},
		{"\xffa\xff", "▁a"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			ids := tok.Append(nil, tt.text, 100)
			var got []string
			for _, id := range ids {
				got = append(got, cmp.Or(few.Pieces[id], "?"))
			}
			require.Equal(t, tt.want, strings.Join(got, "|"))
			require.Equal(t, len(ids), tok.Count(tt.text))
		})
	}
	require.Equal(t, tok.Append(nil, "ab b", 2), tok.Append(nil, "ab b", 9)[:2])
	require.Equal(t, 11, tok.Tokens())
}

func TestParseRefuses(t *testing.T) {
	good := few.Append(nil)
	for n := range good {
		if _, err := Parse(good[:n]); err == nil {
			t.Fatalf("Parse of the first %d of %d bytes gave no error", n, len(good))
		}
	}
	_, err := Parse(append(good, 0))
	require.ErrorIs(t, err, ErrFormat)
}

func FuzzParse(f *testing.F) {
	f.Add(few.Append(nil), "ab xé")
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		tok, err := Parse(data)
		if err != nil {
			require.ErrorIs(t, err, ErrFormat)
			return
		}
		for _, id := range tok.Append(nil, text, 50) {
			require.Less(t, int(id), tok.Tokens())
		}
	})
}

func FuzzAppend(f *testing.F) {
	tok := open(f)
	f.Add("ab e\u0301 ｶﾞ \xff\u0323")
	f.Fuzz(func(t *testing.T, text string) {
		ids := tok.Append(nil, text, 1<<30)
		require.Equal(t, len(ids), tok.Count(text))
		require.LessOrEqual(t, len(ids), 2*4*utf8.RuneCountInString(text)+1)
	})
}

func BenchmarkCount(b *testing.B) {
	tok := open(b)
	text := strings.Repeat("abab a b xyz é ", 1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		tok.Count(text)
	}
}

package wordpiece

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/model/modelfile"
)

// open returns the tokeniser of the model.
func open(t testing.TB) *Tokenizer {
	t.Helper()
	data, err := os.ReadFile("../../../embed/minilm/minilm.bin")
	require.NoError(t, err)
	m, err := modelfile.Parse(data)
	require.NoError(t, err)
	tok, err := New(m.Words)
	require.NoError(t, err)
	return tok
}

// small returns a tokeniser with a short vocabulary; ids count from 0.
func small(t testing.TB, words ...string) *Tokenizer {
	t.Helper()
	tok, err := New("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n" + strings.Join(words, "\n") + "\n")
	require.NoError(t, err)
	return tok
}

func TestAppend(t *testing.T) {
	words := []string{"un", "##aff", "##able", "una", "a", "e", "##a", ",", "[", "]", "中", "run", "##ning", "##n", "!"}
	tok := small(t, words...)
	vocabulary := append([]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}, words...)
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"white space alone", " \t\n\u00a0\u3000", ""},
		{"the longest piece first, and what is left is unknown", "unaffable", "[UNK]"},
		{"pieces", "runnning", "run ##n ##ning"},
		{"capitals and accents", "ÚN Ün UN", "un un un"},
		{"one bad end spoils the word", "runs run", "[UNK] run"},
		{"punctuation is a word", "a,a!", "a , a !"},
		{"Chinese characters are words", "a中a", "a 中 a"},
		{"unknown punctuation", "a?", "a [UNK]"},
		{"controls vanish inside words", "r\x00u\u200bn", "run"},
		{"what is not UTF-8 vanishes", "r\xffu\xe4\xb8n", "run"},
		{"special tokens stand for themselves", "a[SEP]a [MASK]", "a [SEP] a [MASK]"},
		{"only in capitals", "[a]", "[ a ]"},
		{"an accent alone is nothing", "\u0301", ""},
		{"a hundred letters", strings.Repeat("a", 100), "a" + strings.Repeat(" ##a", 99)},
		{"a hundred and one", strings.Repeat("a", 101), "[UNK]"},
		{"letters are counted, not bytes", strings.Repeat("á", 100), "a" + strings.Repeat(" ##a", 99)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			ids := tok.Append(nil, tt.in, 1000)
			for _, id := range ids {
				got = append(got, vocabulary[id])
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("Append(%q) = %q, want %q", tt.in, strings.Join(got, " "), tt.want)
			}
			if n := tok.Count(tt.in); n != len(ids) {
				t.Errorf("Count(%q) = %d, want %d", tt.in, n, len(ids))
			}
		})
	}
}

func TestAppendLimit(t *testing.T) {
	tok := small(t, "a", "##a", "b")
	want := tok.Append(nil, "aaa b [SEP] aa b", 100)
	for limit := range len(want) + 3 {
		got := tok.Append([]int32{7}, "aaa b [SEP] aa b", limit)
		if !slices.Equal(got[1:], want[:min(limit, len(want))]) || got[0] != 7 {
			t.Errorf("Append with limit %d = %d, want 7 and %d", limit, got, want[:min(limit, len(want))])
		}
	}
}

func TestNewWithoutSpecial(t *testing.T) {
	if _, err := New("[PAD]\n[UNK]\n[CLS]\n[SEP]\nword\n"); err == nil || !strings.Contains(err.Error(), "[MASK]") {
		t.Errorf("New of a vocabulary without [MASK]: error %v, want one that names it", err)
	}
}

// Any vocabulary gives what a search for the longest piece among all of them gives.
func TestLongest(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	letters := func(n int) string {
		var text strings.Builder
		for range n {
			text.WriteByte("ab"[random.IntN(2)])
		}
		return text.String()
	}
	var words []string
	for range 3000 {
		word := letters(1 + random.IntN(9))
		if random.IntN(2) == 0 {
			word = "##" + word
		}
		words = append(words, word) // many of them more than once
	}
	long := letters(200)
	words = append(words, "##", "", long[:62], long[:63], "##"+long[:64], "##"+long[:65], long[:120], long[:150])
	p := newPieces(strings.Join(words, "\n"))
	texts := []string{"##", "c", long, long[:149], long[:64], long + "c"}
	for range 3000 {
		texts = append(texts, letters(1+random.IntN(14)))
	}
	for _, text := range texts {
		for _, k := range []kind{initial, continued} {
			var want int32
			length := 0
			for id, word := range words {
				piece, isContinued := strings.CutPrefix(word, "##")
				if isContinued = isContinued && piece != ""; !isContinued {
					piece = word
				}
				if isContinued == (k == continued) && strings.HasPrefix(text, piece) && len(piece) >= max(length, 1) {
					want, length = int32(id), len(piece)
				}
			}
			if id, n := p.longest(k, []byte(text)); n != length || length > 0 && id != want {
				t.Fatalf("longest of %q, kind %d = %d of %d bytes, want %d of %d", text, k, id, n, want, length)
			}
		}
	}
}

// Every code point between two letters gives the tokens of the reference tokeniser.
func TestCodePoints(t *testing.T) {
	tok := open(t)
	file, err := os.ReadFile("../../../embed/minilm/testdata/codepoints.txt")
	require.NoError(t, err)
	blocks := 0
	var ids []int32
	for line := range strings.Lines(string(file)) {
		var start rune
		var want string
		_, err := fmt.Sscanf(line, "%x %s", &start, &want)
		require.NoError(t, err)
		digest := sha256.New()
		for r := start; r < start+4096; r++ {
			if r >= 0xd800 && r < 0xe000 {
				continue
			}
			ids = tok.Append(ids[:0], "a"+string(r)+"b", 100)
			binary.Write(digest, binary.LittleEndian, uint16(len(ids)))
			for _, id := range ids {
				binary.Write(digest, binary.LittleEndian, uint16(id))
			}
		}
		if got := fmt.Sprintf("%x", digest.Sum(nil))[:16]; got != want {
			t.Errorf("tokens of U+%04X to U+%04X differ from the reference", start, start+4095)
		}
		blocks++
	}
	if blocks != 0x110000/4096 {
		t.Errorf("codepoints.txt has %d lines, want %d", blocks, 0x110000/4096)
	}
}

func FuzzAppend(f *testing.F) {
	file, err := os.Open("../../../embed/minilm/testdata/texts.jsonl")
	require.NoError(f, err)
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var line struct{ Text string }
		require.NoError(f, json.Unmarshal(lines.Bytes(), &line))
		f.Add(line.Text)
	}
	f.Add("\xff[CLS\xe4\xb8]")
	tok := open(f)
	f.Fuzz(func(t *testing.T, text string) {
		ids := tok.Append(nil, text, 1<<30)
		for _, id := range ids {
			if id < 0 || id >= modelfile.Vocabulary {
				t.Errorf("Append(%q) holds %d, which is no id", text, id)
			}
		}
		if n := tok.Count(text); n != len(ids) {
			t.Errorf("Count(%q) = %d, want %d", text, n, len(ids))
		}
		half := tok.Append(nil, text, len(ids)/2)
		if !slices.Equal(half, ids[:len(ids)/2]) {
			t.Errorf("Append(%q) with limit %d = %d, want %d", text, len(ids)/2, half, ids[:len(ids)/2])
		}
		if again := tok.Append(nil, strings.ToValidUTF8(text, "\ufffd"), 1<<30); !slices.Equal(again, ids) {
			t.Errorf("Append(%q) = %d, with its bad bytes replaced %d", text, ids, again)
		}
		if spaced := tok.Append(nil, " "+text+"\n", 1<<30); !slices.Equal(spaced, ids) {
			t.Errorf("Append(%q) = %d, with white space around it %d", text, ids, spaced)
		}
	})
}

func BenchmarkNew(b *testing.B) {
	data, err := os.ReadFile("../../../embed/minilm/minilm.bin")
	require.NoError(b, err)
	m, err := modelfile.Parse(data)
	require.NoError(b, err)
	for b.Loop() {
		if _, err := New(m.Words); err != nil {
			b.Fatal(err)
		}
	}
}

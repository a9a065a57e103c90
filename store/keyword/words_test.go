package keyword

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/store"
)

// Words come back as they were packed: no other bytes are words.
func TestWordsAreDecoded(t *testing.T) {
	m := newMixture(5)
	for n := range 50 {
		words := Analyse([]store.Record{m.record(n)})[0]
		packed := words.Append([]byte("before"))
		got, err := DecodeWords(packed[len("before"):])
		require.NoError(t, err)
		require.Equal(t, words, got)
		for cut := range len(words.packed) {
			if _, err := DecodeWords(words.packed[:cut]); err == nil { // it ends with a term
				require.Greater(t, cut, 2+8+fieldCount)
			}
		}
	}
}

func TestWordsOfAnotherVersion(t *testing.T) {
	packed := Analyse([]store.Record{{ID: "1", Text: "tea"}})[0].Append(nil)
	packed[0]++
	_, err := DecodeWords(packed)
	require.ErrorIs(t, err, ErrWords)
	_, err = DecodeWords(nil)
	require.ErrorIs(t, err, store.ErrCorrupt)
	packed[0]--
	_, err = DecodeWords(append(packed, packed[len(packed)-7:]...)) // the term twice
	require.ErrorIs(t, err, store.ErrCorrupt)
}

// The packed form is kept by services: what changes it changes WordsVersion, too.
func TestWordsVersion(t *testing.T) {
	words := Analyse([]store.Record{{ID: "1", Kind: "markdown", Path: "a.md", Headings: []string{"Drinks"}, Text: "We drink tea, tea leaves"}})[0]
	sum := "\xc4\x80C\xbc\x83\x1c\xd5\x9d"
	require.Equal(t, "\x01\x02en"+sum+"\x05\x04\x00\x00\x00"+
		"\x00\x01a\x02\x01\x01\x03.md\x02\x01\x00\x05drink\x03\x01\x01\x00\x04leav\x01\x01"+
		"\x00\x02md\x02\x01\x00\x03tea\x01\x02\x00\x02we\x01\x01", string(words.Append(nil)))
}

// A record with any words is found, whatever their bytes are, or they are refused.
func FuzzDecodeWords(f *testing.F) {
	m := newMixture(6)
	for n := range 5 {
		f.Add(Analyse([]store.Record{m.record(n)})[0].packed)
	}
	f.Fuzz(func(t *testing.T, packed []byte) {
		words, err := DecodeWords(packed)
		if err != nil {
			return
		}
		member := Member{ID: "1", Path: "a.md", Words: words}
		r := inMemory(map[string]store.Record{"1": {ID: "1"}}, NewPart([]Member{member, {ID: "2", Path: "b.md", Words: words}}).With(PartChange{IDs: []string{"2"}}))
		got, err := r.Match(t.Context(), strings.Join(sentences, " "), 9, store.Filter{})
		require.NoError(t, err)
		for _, hit := range got.Hits {
			require.False(t, math.IsNaN(hit.Score) || hit.Score > got.Ceiling, "%v", hit.Score)
		}
	})
}

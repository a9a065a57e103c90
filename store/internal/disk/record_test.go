package disk

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/varint"
	"github.com/memcore/memcore/store"
)

func encode(r store.Record) []byte {
	var e varint.Encoder
	AppendRecord(&e, &r)
	return e
}

func decode(b []byte) (r store.Record, err error) {
	d := varint.Decoder{Rest: b}
	ReadRecord(&d, &r)
	return r, d.End()
}

func TestRecordsOfExtremes(t *testing.T) {
	for _, want := range []store.Record{
		{},
		{StartLine: -1, EndLine: 1<<31 - 1, Tokens: -5},
		{Time: time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC)},
		{Time: time.Date(20000, 1, 1, 0, 0, 0, 0, time.UTC), Headings: make([]string, 1000)},
	} {
		got, err := decode(encode(want))
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestARecordThatEndsEarly(t *testing.T) {
	whole := encode(store.Record{Headings: []string{"A"}, Text: "alpha", Hash: "00"})
	for end := range whole {
		_, err := decode(whole[:end])
		require.ErrorIs(t, err, varint.ErrShort, "cut at %d", end)
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte{}, "text", 1)
	f.Add(encode(store.Record{Headings: []string{"a"}, Text: "b"}), "\xff", -7)
	f.Fuzz(func(t *testing.T, b []byte, text string, tokens int) {
		want, err := decode(b)
		if err != nil {
			want = store.Record{}
		}
		want.Text, want.Tokens, want.Time = text, tokens, time.Unix(want.Time.Unix(), 0).UTC()
		got, err := decode(encode(want))
		require.NoError(t, err)
		require.Equal(t, want, got)
	})
}

func TestPanicsOtherThanFaultsGoOn(t *testing.T) {
	defer func() { require.Equal(t, "a bug", recover()) }()
	Careful(false, func() error { panic("a bug") })
}

func TestPanicsOfAReader(t *testing.T) {
	require.ErrorIs(t, Careful(true, func() error { panic("an offset") }), store.ErrCorrupt)
}

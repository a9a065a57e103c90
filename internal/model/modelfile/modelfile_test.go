package modelfile

import (
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/model/weights"
)

func file(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("../../../embed/minilm/minilm.bin")
	require.NoError(t, err)
	return data
}

// Writing what was read gives the same bytes.
func TestRoundTrip(t *testing.T) {
	data := file(t)
	f, err := Parse(data)
	require.NoError(t, err)
	if string(f.Append(nil)) != string(data) {
		t.Errorf("Append(Parse(file)) differs from the file")
	}
}

func TestParseRefuses(t *testing.T) {
	data := file(t)
	for _, tt := range []struct {
		name string
		data []byte
	}{
		{"nothing", nil},
		{"a few bytes", data[:10]},
		{"the first line alone", data[:len(magic)]},
		{"half a file", data[:len(data)/2]},
		{"a byte less", data[:len(data)-1]},
		{"a byte more", append(data[:len(data):len(data)], 0)},
		{"another format", append([]byte("memcore minilm 1\n"), data[len(magic):]...)},
		{"a vocabulary longer than the file", append([]byte(magic), 0xff, 0xff, 0xff, 0xff)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if f, err := Parse(tt.data); f.Weights != nil || !errors.Is(err, weights.ErrFormat) {
				t.Errorf("Parse of %d bytes = %v, %v; want no weights and ErrFormat", len(tt.data), f.Weights != nil, err)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	data := file(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

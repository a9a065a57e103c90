package main

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"
)

// start is a file up to its vocabulary, which has n pieces.
func start(n uint32) []byte {
	data := append([]byte("E5S1"), 1, 0, 0, 0)
	for _, number := range append(header, n) {
		data = binary.LittleEndian.AppendUint32(data, number)
	}
	return data
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"nothing", nil, "no file of version 1"},
		{"another version", []byte("E5S1\x02\x00\x00\x00"), "no file of version 1"},
		{"another size", append([]byte("E5S1\x01\x00\x00\x00"), make([]byte, 40)...), "number 0 of the header is 0, want 384"},
		{"no vocabulary", start(1000), "too short"},
		{"no tensors", append(start(0), make([]byte, 100)...), "tensor emb.word has 0 numbers"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse(tt.data)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(start(3))
	f.Add(append(start(0), make([]byte, 100)...))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if _, err := parse(data); err == nil && len(data) < 1<<20 {
			panic("so few bytes are no model")
		}
	})
}

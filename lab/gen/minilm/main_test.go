package main

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memcore/memcore/internal/model/weights"
)

// safetensors returns a file with this header and numbers.
func safetensors(header string, numbers ...float32) []byte {
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	data = append(data, header...)
	for _, v := range numbers {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return data
}

func TestParseTensors(t *testing.T) {
	got, err := parseTensors(safetensors(`{"__metadata__":{"format":"pt"},
		"m":{"dtype":"F32","shape":[2,2],"data_offsets":[4,20]},
		"v":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
		"ids":{"dtype":"I64","shape":[9],"data_offsets":[0,72]}}`, 9, 1, 2, 3, 4))
	require.NoError(t, err)
	require.Equal(t, map[string]tensor{
		"m": {2, 2, []float32{1, 2, 3, 4}},
		"v": {1, 1, []float32{9}},
	}, got)
}

func TestParseTensorsRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		file       []byte
	}{
		{"too short", "too short", []byte("abc")},
		{"header beyond the end", "longer than the file", []byte("\xff\xff\xff\xff\xff\xff\xff\xff{}")},
		{"no JSON", "header", safetensors("{")},
		{"three dimensions", "3 dimensions", safetensors(`{"a":{"dtype":"F32","shape":[1,1,1],"data_offsets":[0,4]}}`, 1)},
		{"numbers beyond the end", "tensor a", safetensors(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 1)},
		{"offsets turned round", "tensor a", safetensors(`{"a":{"dtype":"F32","shape":[0],"data_offsets":[4,0]}}`, 1)},
		{"shape and size differ", "tensor a", safetensors(`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,4]}}`, 1)},
		{"offsets below zero", "tensor a", safetensors(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}}`, 1)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := parseTensors(tt.file); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("parseTensors: error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestBuildNamesWhatIsMissing(t *testing.T) {
	_, err := build(map[string]tensor{}, nil)
	if err == nil || !strings.Contains(err.Error(), "embeddings.LayerNorm.weight") {
		t.Errorf("build of nothing: error %v, want one that names the first tensor", err)
	}
}

// A code times its scale is at most half a scale from the number.
func TestSetColumn(t *testing.T) {
	const in, out = 64, 64
	m := weights.Matrix{In: in, Out: out, Codes: make([]byte, in*out), Scales: make([]float32, in*out/weights.Group)}
	value := func(row, col int) float32 {
		return float32(math.Sin(float64(row*out+col))) * float32(1+row/weights.Group)
	}
	apart := make([]float64, in*in) // inputs that have nothing in common: no weight makes up for another
	for i := range in {
		apart[i*in+i] = 1
	}
	for col := range out {
		column := make([]float32, in)
		for row := range column {
			column[row] = value(row, col)
		}
		setColumn(m, col, column, apart)
	}
	for col := range out {
		for row := range in {
			panel, lane := col/weights.Panel, col%weights.Panel
			s := m.Scales[(panel*in/weights.Group+row/weights.Group)*weights.Panel+lane]
			quad := m.Codes[(panel*in+row/weights.Quad*weights.Quad)*weights.Panel+lane*weights.Quad:]
			got := s * float32(int(quad[row%weights.Quad])-weights.Zero)
			if want := value(row, col); math.Abs(float64(got-want)) > float64(s)*0.51 {
				t.Fatalf("number at row %d, column %d is %v, want %v ± half of %v", row, col, got, want, s)
			}
		}
	}
}

func TestCodeOfZeros(t *testing.T) {
	if s := scale(make([]float32, 32)); s != 0 || code(0, s) != 0 {
		t.Errorf("scale and code of zeros = %v, %v, want 0, 0", s, code(0, s))
	}
}

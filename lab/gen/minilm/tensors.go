package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// A tensor is a matrix, perhaps of one row.
type tensor struct {
	rows, cols int
	data       []float32
}

// header describes a tensor in a safetensors file.
type header struct {
	Type    string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// parseTensors reads the float32 tensors of a safetensors file: the length of a JSON header in
// eight bytes, the header, the numbers.
func parseTensors(file []byte) (map[string]tensor, error) {
	if len(file) < 8 {
		return nil, errors.New("file is too short")
	}
	size := binary.LittleEndian.Uint64(file)
	if size > uint64(len(file)-8) {
		return nil, fmt.Errorf("header of %d bytes is longer than the file", size)
	}
	var headers map[string]json.RawMessage
	if err := json.Unmarshal(file[8:8+size], &headers); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	delete(headers, "__metadata__")
	tensors := map[string]tensor{}
	for name, raw := range headers {
		var h header
		if err := json.Unmarshal(raw, &h); err != nil {
			return nil, fmt.Errorf("header of %s: %w", name, err)
		}
		if h.Type != "F32" {
			continue // position_ids, which count from 0
		}
		t, err := h.tensor(file[8+size:])
		if err != nil {
			return nil, fmt.Errorf("tensor %s: %w", name, err)
		}
		tensors[name] = t
	}
	return tensors, nil
}

func (h header) tensor(data []byte) (tensor, error) {
	t := tensor{rows: 1}
	switch len(h.Shape) {
	case 1:
		t.cols = h.Shape[0]
	case 2:
		t.rows, t.cols = h.Shape[0], h.Shape[1]
	default:
		return t, fmt.Errorf("has %d dimensions", len(h.Shape))
	}
	lo, hi := h.Offsets[0], h.Offsets[1]
	if lo < 0 || hi < lo || hi > len(data) || hi-lo != 4*t.rows*t.cols {
		return t, fmt.Errorf("bytes %d to %d do not hold %d×%d numbers", lo, hi, t.rows, t.cols)
	}
	t.data = make([]float32, t.rows*t.cols)
	for i := range t.data {
		t.data[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[lo+4*i:]))
	}
	return t, nil
}

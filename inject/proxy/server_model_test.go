//go:build servers

package proxy_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Sizes of the smallest language model.
const (
	width = 64
	inner = 128
	heads = 2
)

// tinyModel returns a GGUF file of a model that always says "yes": all embeddings are the same
// vector, layers do nothing, and one row of the last matrix is not zero.
func tinyModel(t *testing.T) []byte {
	tokens, kinds := []string{"<unk>", "<s>", "</s>"}, []int32{2, 3, 3}
	for b := range 256 {
		tokens, kinds = append(tokens, fmt.Sprintf("<0x%02X>", b)), append(kinds, 6)
	}
	tokens, kinds = append(tokens, "▁yes"), append(kinds, 1)
	ones := func(n int) []float32 { return slices.Repeat([]float32{1}, n) }
	output := make([]float32, width*len(tokens))
	copy(output[width*(len(tokens)-1):], ones(width))
	g := &gguf{t: t}
	g.value("general.architecture", "llama")
	g.value("general.file_type", uint32(0))
	g.value("llama.context_length", uint32(4096))
	g.value("llama.embedding_length", uint32(width))
	g.value("llama.block_count", uint32(1))
	g.value("llama.feed_forward_length", uint32(inner))
	g.value("llama.attention.head_count", uint32(heads))
	g.value("llama.attention.head_count_kv", uint32(heads))
	g.value("llama.attention.layer_norm_rms_epsilon", float32(1e-5))
	g.value("llama.rope.dimension_count", uint32(width/heads))
	g.value("llama.vocab_size", uint32(len(tokens)))
	g.value("tokenizer.ggml.model", "llama")
	g.value("tokenizer.ggml.tokens", tokens)
	g.value("tokenizer.ggml.scores", make([]float32, len(tokens)))
	g.value("tokenizer.ggml.token_type", kinds)
	g.value("tokenizer.ggml.bos_token_id", uint32(1))
	g.value("tokenizer.ggml.eos_token_id", uint32(2))
	g.value("tokenizer.ggml.unknown_token_id", uint32(0))
	g.tensor("token_embd.weight", ones(width*len(tokens)), width, len(tokens))
	g.tensor("blk.0.attn_norm.weight", ones(width), width)
	for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
		g.tensor("blk.0."+name+".weight", make([]float32, width*width), width, width)
	}
	g.tensor("blk.0.ffn_norm.weight", ones(width), width)
	g.tensor("blk.0.ffn_gate.weight", make([]float32, width*inner), width, inner)
	g.tensor("blk.0.ffn_up.weight", make([]float32, width*inner), width, inner)
	g.tensor("blk.0.ffn_down.weight", make([]float32, inner*width), inner, width)
	g.tensor("output_norm.weight", ones(width), width)
	g.tensor("output.weight", output, width, len(tokens))
	return g.file()
}

// A gguf is a model file: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md.
type gguf struct {
	t                     *testing.T
	values, tensors, data bytes.Buffer
	valueCount, count     uint64
}

const alignment = 32

func (g *gguf) put(to *bytes.Buffer, all ...any) {
	for _, v := range all {
		if s, ok := v.(string); ok {
			g.put(to, uint64(len(s)), []byte(s))
			continue
		}
		require.NoError(g.t, binary.Write(to, binary.LittleEndian, v))
	}
}

func (g *gguf) value(key string, v any) {
	const kindInt32, kindUint32, kindFloat32, kindString, kindArray = 5, 4, 6, 8, 9
	g.valueCount++
	g.put(&g.values, key)
	switch v := v.(type) {
	case string:
		g.put(&g.values, uint32(kindString), v)
	case uint32:
		g.put(&g.values, uint32(kindUint32), v)
	case float32:
		g.put(&g.values, uint32(kindFloat32), v)
	case []string:
		g.put(&g.values, uint32(kindArray), uint32(kindString), uint64(len(v)))
		for _, s := range v {
			g.put(&g.values, s)
		}
	case []float32:
		g.put(&g.values, uint32(kindArray), uint32(kindFloat32), uint64(len(v)), v)
	case []int32:
		g.put(&g.values, uint32(kindArray), uint32(kindInt32), uint64(len(v)), v)
	}
}

func (g *gguf) tensor(name string, numbers []float32, shape ...int) {
	g.count++
	g.put(&g.tensors, name, uint32(len(shape)))
	for _, n := range shape {
		g.put(&g.tensors, uint64(n))
	}
	g.put(&g.tensors, uint32(0), uint64(g.data.Len())) // 0 is f32
	g.put(&g.data, numbers)
	pad(&g.data)
}

func (g *gguf) file() []byte {
	var out bytes.Buffer
	g.put(&out, []byte("GGUF"), uint32(3), g.count, g.valueCount, g.values.Bytes(), g.tensors.Bytes())
	pad(&out)
	return append(out.Bytes(), g.data.Bytes()...)
}

func pad(b *bytes.Buffer) {
	for b.Len()%alignment != 0 {
		b.WriteByte(0)
	}
}

// Package embedtest tests embedders.
//
// TestEmbedder checks the contract. TestMeaning checks that near texts have near vectors, for real
// models. Run both with -race. They embed about a hundred texts.
package embedtest

import (
	"testing"

	"github.com/memcore/memcore/embed"
)

// tolerance is for components: batches differ in the order of additions.
const tolerance = 1e-4

// A check is a clause of the contract. Its testing.TB lets the kit's tests run it on broken
// embedders.
type check struct {
	name string
	test func(t testing.TB, e embed.Embedder)
}

// checks is the contract, clause by clause.
var checks = []check{
	{"no texts give no vectors", testNoTexts},
	{"vectors have length one and one dimension", testUnit},
	{"no text is refused", testAnyText},
	{"a very long text has a vector", testLong},
	{"vectors come in the order of the texts", testOrder},
	{"a batch equals its texts one by one", testBatch},
	{"equal texts have equal vectors", testDeterministic},
	{"queries have vectors of the same dimension", testQuery},
	{"the caller owns the vectors", testOwnership},
	{"the texts are left alone", testInput},
	{"a cancelled call answers with the reason", testCancelled},
	{"cancelling ends a call soon", testCancel},
	{"a call may run beside others", testConcurrent},
	{"the fingerprint is printable and stable", testFingerprint},
	{"tokens are counted", testTokens},
}

// TestEmbedder runs the checks. open returns an embedder, always with the same options, and cleans
// up with t.Cleanup. Texts that differ in a word should differ in vectors.
func TestEmbedder(t *testing.T, open func(t *testing.T) embed.Embedder) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
	t.Run("two embedders configured alike agree", func(t *testing.T) { testAlike(t, open(t), open(t)) })
}

// TestMeaning checks that similar texts are nearer than others. It suits real models trained on
// English.
func TestMeaning(t *testing.T, open func(t *testing.T) embed.Embedder) {
	t.Helper()
	for _, tt := range meanings {
		t.Run(tt.text, func(t *testing.T) { testMeaning(t, open(t), tt) })
	}
}

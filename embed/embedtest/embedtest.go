// Package embedtest holds what every embed.Embedder has to do.
//
// TestEmbedder checks the contract, whatever the vectors mean; TestMeaning checks, for real models
// only, that near texts have near vectors. Run both with -race. The kit asks an embedder for about
// a hundred short texts and a few long ones, and never needs more than it hands to Embed: where a
// network is involved, the caller's open brings its own server.
package embedtest

import (
	"testing"

	"github.com/memcore/memcore/embed"
)

// tolerance is how far two components of what should be the same vector may lie apart: batches of
// another shape add the same numbers in another order.
const tolerance = 1e-4

// A check is one clause of the contract. It takes a testing.TB so that the kit itself can be tested
// with embedders that break it.
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

// TestEmbedder runs every check of the contract as a named subtest, each on an embedder of its own.
// open returns a working embedder, fresh or shared, and uses t.Cleanup to put away what it needs;
// two embedders it returns must be configured alike. Vectors of a fake may mean nothing, but texts
// that differ in a word should differ in their vectors.
func TestEmbedder(t *testing.T, open func(t *testing.T) embed.Embedder) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
	t.Run("two embedders configured alike agree", func(t *testing.T) { testAlike(t, open(t), open(t)) })
}

// TestMeaning checks that a model puts texts of like meaning nearer than unrelated ones. It suits
// any model trained for English sentences, and no fake.
func TestMeaning(t *testing.T, open func(t *testing.T) embed.Embedder) {
	t.Helper()
	for _, tt := range meanings {
		t.Run(tt.text, func(t *testing.T) { testMeaning(t, open(t), tt) })
	}
}

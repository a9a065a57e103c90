// Package storetest tests the contract of package store's indexes, with a subtest a clause. Run it
// with -race. At its end, each test reopens and checks its folder.
package storetest

import (
	"context"
	"testing"

	"github.com/memcore/memcore/store"
)

// A check is a clause of the contract. Its testing.TB lets the kit's tests run it on broken
// indexes.
type check struct {
	name string
	test func(x *fixture)
}

// shared are the clauses of both kinds.
var shared = []check{
	{"an empty index has nothing and no error", testEmpty},
	{"records come back field by field", testFields},
	{"an empty batch changes nothing", testEmptyBatch},
	{"a Commit that fails drops its batch", testFailedCommit},
	{"IDs of another form are refused", testBadIDs},
	{"recs may be changed after Put", testRecordsNotKept},
	{"answers may be changed by the caller", testAnswersOwned},
	{"Document is ordered by line, then ID", testDocumentOrder},
	{"a search has the k best hits, by score, then ID", testHitOrder},
	{"filters narrow a search", testFilter},
	{"Since and Until bound the time", testTimes},
	{"paths in filters are plain text", testOddPaths},
	{"Count and Stats agree with the content", testCounts},
	{"another open index sees a commit at its next read", testSecondReader},
	{"another open index may commit next", testSecondWriter},
	{"an uncommitted batch is lost in a crash", testCrash},
	{"an index whose folder is removed is not an empty one", testRemoved},
	{"an index that lost its manifest or CURRENT is damaged", testLost},
	{"an index of another release is not read", testOtherRelease},
	{"many small commits stay few fragments", testSmallCommits},
	{"Purge leaves nothing on disk of what was deleted", testPurge},
	{"reads beside commits are each of one commit", testWholeCommits},
	{"a cancelled call answers with the reason", testCancelled},
	{"cancelling ends a search soon", testCancelRunning},
	{"after Close there is only ErrClosed, which names the index", testClosed},
	{"random changes, commits and discards agree with a map", testModel},
}

// TestVectorIndex tests a store.VectorIndex. open opens the index in dir, which may be missing or
// already open, as by another process.
func TestVectorIndex(t *testing.T, open func(t *testing.T, dir string, dimension int) store.VectorIndex) {
	t.Helper()
	k := func(t *testing.T) kind {
		return vectorKind(func(dir string, dimension int) store.VectorIndex { return open(t, dir, dimension) })
	}
	run(t, k, shared)
	run(t, k, vectorOnly)
}

// TestKeywordIndex tests a store.KeywordIndex; open is as for TestVectorIndex.
func TestKeywordIndex(t *testing.T, open func(t *testing.T, dir string) store.KeywordIndex) {
	t.Helper()
	k := func(t *testing.T) kind {
		return keywordKind(func(dir string) store.KeywordIndex { return open(t, dir) })
	}
	run(t, k, shared)
	run(t, k, keywordOnly)
}

func run(t *testing.T, k func(t *testing.T) kind, checks []check) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) { newFixture(t, k(t)).run(c) })
	}
}

// A fixture is a check's folder and index.
type fixture struct {
	testing.TB
	kind kind
	dir  string
}

func newFixture(t testing.TB, k kind) *fixture {
	return &fixture{TB: t, kind: k, dir: t.TempDir()}
}

// run checks the folder, too, while the test's context lives.
func (x *fixture) run(c check) {
	x.Helper()
	defer x.checkFolder(x.dir)
	c.test(x)
}

func (x *fixture) checkFolder(dir string) {
	ix := x.kind.open(dir)
	if err := ix.Check(context.Background()); err != nil {
		x.Errorf("Check of the index at the end of the test: %v", err)
	}
	if err := ix.Close(); err != nil {
		x.Errorf("Close at the end of the test: %v", err)
	}
}

// open opens the index, perhaps again, until the test ends.
func (x *fixture) open() *index { return x.openIn(x.dir) }

func (x *fixture) openIn(dir string) *index {
	x.Helper()
	ix := x.kind.open(dir)
	x.Cleanup(func() { ix.Close() })
	return ix
}

// Package store defines the indexes of a memory: one of vectors, one of keywords.
//
// The Markdown files and logs are the truth: an index can be deleted and rebuilt at any time. It
// may refuse damaged files but must never guess. Each index holds whole records, to answer without
// the other. Implementations are flat and lancedb (vectors) and keyword (BM25); package storetest
// tests them.
package store

import (
	"context"
	"slices"
	"strings"
	"time"
)

// A Record is one chunk as an index keeps it.
type Record struct {
	ID        string    // unique in an index, [0-9a-f]{1,64}
	Scope     string    // "project" or "global"
	Kind      string    // "markdown", "conversation" or "document"; "statement" (KindStatement)
	Path      string    // of the document, slash-separated; citations show it
	StartLine int       // first line in the document, from 1
	EndLine   int       // last line, included
	Headings  []string  // headings above the text, outermost first
	Aliases   []string  // what links call its document, to be found by; nil for a VectorIndex
	Session   string    // of a conversation
	Speaker   string    // of a turn
	Time      time.Time // of a turn, or when a file was changed; zero if unknown; in seconds, UTC
	Text      string    // of the chunk, unchanged; the formatter makes it safe
	Before    string    // the turn before, shortened; conversations only
	After     string    // the turn after
	Hash      string    // of the embedded text; equal hashes have equal vectors
	Tokens    int       // size of Text
	Vector    []float32 // L2 norm 1 ± 1e-3; nil for a KeywordIndex and in answers, but for VectorReader
}

// KindStatement is the kind of records that repeat what another record of the document may say: a
// sentence that a user stated. A KeywordIndex does not count them for how rare a word is, nor for a
// document's score.
const KindStatement = "statement"

// A Hit answers a search. Score is raw, higher is better: cosine in [-1, 1] from a VectorIndex,
// BM25 in [0, ∞) from a KeywordIndex. They are not comparable; core turns them into relevance.
type Hit struct {
	Record Record // Vector is nil
	Score  float64
	// Document is, from a KeywordIndex, the BM25 of the record's whole document.
	Document float64
	// Held is, from a KeywordIndex, the terms that the record holds.
	Held Held
}

// A Term is a word of a query.
type Term struct {
	Word    string // as the query has it
	Records int    // how many records of the index hold it, those of the same text counted once
	// Compound means that its parts are terms, too, as in getCacheStats.
	Compound bool
}

// MaxTerms is how many terms of a query count.
const MaxTerms = 64

// Held is a set of terms: bit i is Matches.Terms[i].
type Held struct {
	Itself uint64 // in its text, headings, aliases, path, speaker or date
	Nearby uint64 // there, or in the turns around it
}

// A Filter narrows a search. The zero Filter lets every record pass; fields are joined by AND.
type Filter struct {
	Scope string // "" is any
	Kind  string // "" is any
	// NotKind leaves out a kind; "" leaves out none.
	NotKind string
	Path    string   // a document's path, or the path of a folder above it; "" is any
	Not     []string // paths of documents whose records are left out
	// Since and Until (excluded) bound Record.Time. Zero is no bound; a record without a time
	// passes none.
	Since, Until time.Time
}

// Passes reports whether a record of this scope, kind and path passes the filter.
func (f Filter) Passes(scope, kind, path string) bool {
	return (f.Scope == "" || scope == f.Scope) &&
		(f.Kind == "" || kind == f.Kind) &&
		(f.NotKind == "" || kind != f.NotKind) &&
		(f.Path == "" || path == f.Path || strings.HasPrefix(path, strings.TrimSuffix(f.Path, "/")+"/")) &&
		!slices.Contains(f.Not, path)
}

// Timed reports whether the filter bounds the time of records.
func (f Filter) Timed() bool { return !f.Since.IsZero() || !f.Until.IsZero() }

// PassesAt reports whether a record of this time is within Since and Until.
func (f Filter) PassesAt(t time.Time) bool {
	if !f.Timed() {
		return true
	}
	return !t.IsZero() && !t.Before(f.Since) && (f.Until.IsZero() || t.Before(f.Until))
}

// An Index is common to both kinds. It is safe for concurrent use. A read sees the last Commit of
// any process, never half of one.
type Index interface {
	// Put adds records, or replaces those with the same ID, in the current batch. It does not keep
	// recs. Errors: an invalid ID; ErrDimension; a vector whose norm is not 1. They name the
	// record, and the batch stays as it was.
	Put(ctx context.Context, recs []Record) error
	// Delete removes records by ID, in the current batch. Unknown IDs are no error. The last change
	// of an ID counts.
	Delete(ctx context.Context, ids []string) error
	// Commit makes the batch visible and durable, or none of it after an error, which drops the
	// batch, or a crash. The caller lets one process commit at a time (core holds a lock). An empty
	// batch costs nothing.
	Commit(ctx context.Context) error
	// Discard drops the batch.
	Discard()
	// Purge removes from disk what was deleted or replaced: it rewrites the files that hold such
	// records, and removes all states but the last Commit's. Answers stay the same. Like a commit
	// it is all or nothing, one process at a time, and costs nothing if there is nothing to do. It
	// keeps the batch, and running reads keep their state.
	Purge(ctx context.Context) error

	// Document returns the records of the document with this path, by StartLine, then ID; none for
	// an unknown path.
	Document(ctx context.Context, path string) ([]Record, error)
	// Count is the number of records.
	Count(ctx context.Context) (int, error)
	// Stats describes the index on disk.
	Stats(ctx context.Context) (Stats, error)
	// Check reads the whole index and returns an error wrapping ErrCorrupt if it is inconsistent.
	Check(ctx context.Context) error
	// Close releases all resources and drops the batch. Later calls return ErrClosed.
	Close() error
}

// Stats describes an index on disk.
type Stats struct {
	Engine    string `json:"engine"` // such as "flat" or "bleve"
	Records   int    `json:"records"`
	Bytes     int64  `json:"bytes"`     // on disk
	Fragments int    `json:"fragments"` // files or segments that a search reads
	Deleted   int    `json:"deleted"`   // dead rows on disk

	// Versions counts the index's states on disk, with the current one; 0 if unknown.
	Versions int `json:"versions,omitempty"`
	// Compacted is when Compact last rewrote something, in UTC, or zero.
	Compacted time.Time `json:"compacted,omitzero"`
	// Index says how a search works, such as "exact" or "ivf_flat of 100,000 rows"; "" if there is
	// only one way.
	Index string `json:"index,omitempty"`
}

// A Compactor is an Index that many small commits make slow or large.
type Compactor interface {
	// Compact makes the index fast and small, with the same answers. It is cheap if there is
	// nothing to do, and does not disturb readers. Like a commit it is all or nothing, one process
	// at a time. It keeps the batch. It ends soon after ctx, with ctx.Err().
	Compact(ctx context.Context) error
}

// A VectorIndex finds nearest neighbours.
type VectorIndex interface {
	Index
	VectorSearch
}

// A VectorSearch is what a VectorIndex answers.
type VectorSearch interface {
	// Dimension is the length of every vector, at least 1.
	Dimension() int
	// Nearest returns at most k hits by cosine, best first, equal scores by ID. The caller owns
	// them. Errors: ErrDimension if len(vec) is not Dimension(); a vec of length 0 or not finite;
	// ErrClosed; ctx.Err() soon after ctx ends.
	Nearest(ctx context.Context, vec []float32, k int, f Filter) ([]Hit, error)
	// Similarities returns the cosine of vec to the records with these IDs, without unknown ones.
	Similarities(ctx context.Context, vec []float32, ids []string) (map[string]float64, error)
}

// A VectorReader is a VectorIndex that gives its vectors back.
type VectorReader interface {
	// Each calls do with every record and its vector, in any order, until do fails. Do not keep the
	// vector.
	Each(ctx context.Context, do func(Record) error) error
}

// A KeywordIndex finds records by their words.
type KeywordIndex interface {
	Index
	KeywordSearch
}

// A KeywordSearch is what a KeywordIndex answers.
type KeywordSearch interface {
	// Document is that of Index.
	Document(ctx context.Context, path string) ([]Record, error)
	// Match returns at most k records that share a term with the query, best BM25 first, equal
	// scores by ID. A query is plain text without operators. Errors: ErrClosed; ctx.Err() soon
	// after ctx ends.
	Match(ctx context.Context, query string, k int, f Filter) (Matches, error)
	// Scores returns the scores of Match for these IDs: 0 without a match, none for unknown IDs.
	Scores(ctx context.Context, query string, ids []string) (map[string]Score, error)
}

// A BulkReader is a KeywordSearch of which each call takes time, so that it reads many documents at
// once.
type BulkReader interface {
	// Documents returns what Document does, by path.
	Documents(ctx context.Context, paths []string) (map[string][]Record, error)
}

// A Score is the BM25, in [0, ∞), of a record and of its whole document among all documents. The
// two are not comparable.
type Score struct {
	Record   float64
	Document float64
	Held     Held
}

// Matches is the answer of a KeywordIndex.
type Matches struct {
	Hits []Hit
	// Ceiling is the score of a record with every term many times; a term without records counts as
	// the rarest possible. Hit.Score/Ceiling, in [0, 1], is how much of the query a record covers.
	// 0 without a searchable term.
	Ceiling float64
	// BestDocument is the best Hit.Document that passes the filter.
	BestDocument float64
	// Terms are those of the search.
	Terms []Term
	// Copies is how many records of the index have the text of another one. They are found, but
	// count in no number of records or documents, nor in an average.
	Copies int
	// Language is the query's (ISO 639-1) if its words show that it is not English, "und" if they
	// do not show which, else "".
	Language string
}

// An Engine opens the two indexes of a memory, creating missing ones.
type Engine struct {
	Name     string // such as "flat"
	Vectors  func(ctx context.Context, dir string, dimension int) (VectorIndex, error)
	Keywords func(ctx context.Context, dir string) (KeywordIndex, error)
}

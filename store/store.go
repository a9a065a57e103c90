// Package store says what keeps the indexes derived from a memory: one of vectors, one of keywords.
//
// The Markdown files and logs are the truth. An index can be deleted at any time and is rebuilt
// from them, so a store may refuse files it does not trust; it must never guess. Implementations:
// flat (vectors), keyword (BM25). Package storetest is what each of them has to pass. Every index
// holds whole records, so that either can answer when the other cannot.
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
	Kind      string    // "markdown" or "conversation"
	Path      string    // name of the document, slash-separated; what citations show
	StartLine int       // first line in the document, from 1
	EndLine   int       // last line, included
	Headings  []string  // headings above the text, outermost first
	Session   string    // of a conversation
	Speaker   string    // of a turn
	Time      time.Time // of a turn or, for files, last modification; zero if unknown; kept to the second, in UTC
	Text      string    // what the chunk says, as found; making it safe is the formatter's work
	Before    string    // the turn before, shortened; conversations only
	After     string    // the turn after
	Hash      string    // of the embedded text; equal hashes have equal vectors
	Tokens    int       // size of Text
	Vector    []float32 // L2 norm 1 ± 1e-3; nil for a KeywordIndex and in every answer
}

// A Hit is one answer of a search. Score is raw and higher is better: cosine in [-1, 1] from a
// VectorIndex, BM25 in [0, ∞) from a KeywordIndex. The two cannot be compared; core makes relevance
// of them.
type Hit struct {
	Record Record // Vector is nil
	Score  float64
	// Document is, from a KeywordIndex, the BM25 of the whole document that the record is part of.
	Document float64
	// Held is, from a KeywordIndex, which terms of the query the record holds.
	Held Held
}

// A Term is a word that a query asks for.
type Term struct {
	Word    string // as the query has it
	Records int    // how many records of the index hold it
	// Compound is set if its parts are terms as well, as those of getCacheStats are.
	Compound bool
}

// MostTerms is how many terms of a query a Held tells apart.
const MostTerms = 64

// Held says which terms of a query a record holds: bit i stands for Matches.Terms[i].
type Held struct {
	Itself uint64 // in its text, headings, path, speaker or date
	Nearby uint64 // there, or in the turns around it
}

// A Filter narrows a search. The zero Filter lets every record pass; fields are joined by AND.
type Filter struct {
	Scope string   // "" is any
	Kind  string   // "" is any
	Path  string   // a document's path, or the path of a folder above it; "" is any
	Not   []string // paths of documents whose records are left out
	// Since and Until bound Record.Time: Since is included, Until is not, zero is no bound. A record
	// without a time passes no bound.
	Since, Until time.Time
}

// Passes tells whether a record of this scope, kind and path passes the filter.
func (f Filter) Passes(scope, kind, path string) bool {
	return (f.Scope == "" || scope == f.Scope) &&
		(f.Kind == "" || kind == f.Kind) &&
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

// An Index is what both kinds of index share. All methods are safe for concurrent use. Readers in
// this and other processes see the last Commit, never less and never half of one: an open Index
// notices what another process has committed before its next read.
type Index interface {
	// Put adds records and replaces those with the same ID, within the current batch of changes.
	// It does not keep recs. Nothing is visible before Commit. Errors: an ID of another form;
	// ErrDimension; a vector that is not of length 1.
	Put(ctx context.Context, recs []Record) error
	// Delete removes records by ID, within the current batch; an unknown ID is no error. Of Put
	// and Delete of one ID in a batch the later counts.
	Delete(ctx context.Context, ids []string) error
	// Commit makes the batch visible and durable, all of it or, on error or a crash, none. After an
	// error the batch is dropped. One process commits at a time; keeping it so is the caller's work
	// (core holds a lock). An empty batch costs nothing.
	Commit(ctx context.Context) error
	// Discard drops the batch.
	Discard()

	// Document returns the records of one document (exact path), by StartLine, then ID; none and
	// no error for an unknown path.
	Document(ctx context.Context, path string) ([]Record, error)
	// Count is the number of records.
	Count(ctx context.Context) (int, error)
	// Stats says how the index lives on disk.
	Stats(ctx context.Context) (Stats, error)
	// Check reads the whole index and returns an error wrapping ErrCorrupt if it contradicts itself.
	Check(ctx context.Context) error
	// Close releases everything and drops an uncommitted batch. Afterwards all methods but Close
	// return ErrClosed.
	Close() error
}

// Stats says how an index lives on disk.
type Stats struct {
	Engine    string `json:"engine"` // such as "flat" or "bleve"
	Records   int    `json:"records"`
	Bytes     int64  `json:"bytes"`     // on disk
	Fragments int    `json:"fragments"` // files or segments a search has to look into
	Deleted   int    `json:"deleted"`   // rows that are dead but not yet compacted

	// Versions is how many states of the index are on disk, the current one included; 0 if the engine
	// has no such notion.
	Versions int `json:"versions,omitempty"`
	// Compacted is when Compact last rewrote something, in UTC; zero if never.
	Compacted time.Time `json:"compacted,omitzero"`
	// Index says how a search finds its way, such as "exact" or "ivf_flat of 100,000 rows"; "" where
	// there is only one way.
	Index string `json:"index,omitempty"`
}

// A Compactor is an Index that gets slow or large by many small commits and can mend that. Asking
// for it is optional: an index answers rightly without, and one that has nothing to gain is none.
type Compactor interface {
	// Compact makes the index fast and small again; what it answers stays the same. It is cheap if
	// there is nothing to do. Readers in this and other processes are not disturbed. It counts as a
	// commit: one process at a time, all of it or none. An uncommitted batch is left as it is. It
	// ends soon after ctx, with ctx.Err().
	Compact(ctx context.Context) error
}

// A VectorIndex finds nearest neighbours.
type VectorIndex interface {
	Index
	// Dimension is the length of every vector, at least 1.
	Dimension() int
	// Nearest returns at most k hits by cosine, best first, equal scores by ID. An empty index has
	// no hits and no error. The caller owns what it gets. Errors: ErrDimension if len(vec) is not
	// Dimension(); a vec of length 0 or not finite; ErrClosed; ctx.Err() soon after ctx ends.
	Nearest(ctx context.Context, vec []float32, k int, f Filter) ([]Hit, error)
	// Similarities returns the cosine of vec to the records with these IDs; unknown IDs are left out.
	Similarities(ctx context.Context, vec []float32, ids []string) (map[string]float64, error)
}

// A KeywordIndex finds records by the words in them.
type KeywordIndex interface {
	Index
	// Match returns at most k records that share a term with the query, best BM25 first, equal
	// scores by ID. A query is plain text: no character in it is an operator. A query without a
	// searchable term matches nothing. Errors: ErrClosed; ctx.Err() soon after ctx ends.
	Match(ctx context.Context, query string, k int, f Filter) (Matches, error)
	// Scores returns the scores Match would give the records with these IDs; those that neither match nor
	// belong to a document that does, and unknown IDs, are left out.
	Scores(ctx context.Context, query string, ids []string) (map[string]Score, error)
}

// A Score is how well a record, and the whole document it is part of, match a query: BM25 in [0, ∞).
// That of documents is over all documents of the index; the two cannot be compared.
type Score struct {
	Record   float64
	Document float64
	Held     Held
}

// Matches is the answer of a KeywordIndex.
type Matches struct {
	Hits []Hit
	// Ceiling is the score a record would have that held every term of the query many times; a
	// term no record holds counts as much as the rarest one can. Hit.Score/Ceiling, in [0, 1], is
	// how much of the query the record accounts for: evidence that does not depend on how good the
	// best match happens to be. 0 if the query has no searchable term.
	Ceiling float64
	// BestDocument is the best Hit.Document of all records that match and pass the filter.
	BestDocument float64
	// Terms are those that were searched for.
	Terms []Term
	// Language is that of the query, ISO 639-1, if its words tell that it is not English; "und" if they
	// tell no more than that.
	Language string
}

// An Engine opens the two indexes of a memory in folders it is given, creating them if need be.
type Engine struct {
	Name     string // such as "flat"
	Vectors  func(ctx context.Context, dir string, dimension int) (VectorIndex, error)
	Keywords func(ctx context.Context, dir string) (KeywordIndex, error)
}

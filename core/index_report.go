package core

import (
	"time"

	"github.com/memcore/memcore/core/source"
	"github.com/memcore/memcore/store"
)

// IndexOptions say how to index.
type IndexOptions struct {
	// Rebuild makes all indexes anew, beside the current ones, and swaps them in when complete.
	// Embeddings come from the cache where it has them.
	Rebuild bool
	// KeepEngine is for a caller that wants the engine which the index has, whichever that is: if
	// another process has moved the vectors to another engine since the caller looked (EngineOf),
	// Index changes nothing and fails with ErrEngine.
	KeepEngine bool
	// Progress, if set, is called from one goroutine at a time as work goes on.
	Progress func(Progress)
}

// A Progress is a moment of indexing.
type Progress struct {
	Stage string // "scan", "read" (documents into the keyword index), "share" (with other memories), "embed" (chunks into vectors), "compact"
	Done  int    // documents or chunks so far
	Total int    // of how many; 0 while unknown
	Path  string // the document at hand, if one
}

// An IndexReport says what indexing did.
type IndexReport struct {
	Documents int `json:"documents"` // there are now
	Unchanged int `json:"unchanged"` // cost a stat
	Added     int `json:"added"`
	Changed   int `json:"changed"`
	Removed   int `json:"removed"`

	Chunks   int `json:"chunks"`   // there are now
	Written  int `json:"written"`  // chunks added or replaced
	Deleted  int `json:"deleted"`  // chunks removed
	Embedded int `json:"embedded"` // chunks whose vectors were stored by this run
	Pending  int `json:"pending"`  // chunks still without a vector

	// Unreadable counts documents that the system did not let us read; Skipped says why.
	Unreadable int `json:"unreadable,omitempty"`
	// Skipped are files that were passed over, SkippedLines lines of logs by reason, Warnings what
	// was odd; none of it stopped the work.
	Skipped      []source.Skip  `json:"skipped,omitempty"`
	SkippedLines map[string]int `json:"skippedLines,omitempty"`
	Warnings     []string       `json:"warnings,omitempty"`
	// Redacted counts secrets that were taken out of what was read, by kind, such as "github-pat".
	Redacted map[string]int `json:"redacted,omitempty"`
	// Degraded says why there are pending chunks, such as an embedding model that is away.
	Degraded string `json:"degraded,omitempty"`
	// Shared says what was given to other memories and got from them; nil if the memory is not shared.
	Shared *SharedReport `json:"shared,omitempty"`
	// Rebuilt says why everything was indexed anew; empty if it was not.
	Rebuilt string        `json:"rebuilt,omitempty"`
	Took    time.Duration `json:"took"`
}

// A Status says what a memory holds and how it is.
type Status struct {
	State     State          `json:"state"`
	Folder    string         `json:"folder"`         // of the index
	Engine    string         `json:"engine"`         // of the vectors
	Sources   []string       `json:"sources"`        // what is indexed
	Documents map[string]int `json:"documents"`      // by kind
	Logs      *LogsStatus    `json:"logs,omitempty"` // of agents; nil if there are none
	Chunks    int            `json:"chunks"`
	Embedded  int            `json:"embedded"` // chunks that have a vector
	Embedder  string         `json:"embedder"` // fingerprint the index was made with
	Dimension int            `json:"dimension"`
	Updated   time.Time      `json:"updated,omitzero"` // last change of the index
	Vectors   store.Stats    `json:"vectors"`
	Keywords  store.Stats    `json:"keywords"`
	Shared    *SharedStatus  `json:"shared,omitempty"` // nil if the memory is not shared
	Stale     *Staleness     `json:"stale,omitempty"`
	Problems  []string       `json:"problems,omitempty"` // what is wrong, and what to do
}
